"""States that are made before the first step, or come from a state dict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

import torch

from optgen.torch import state as states
from optgen.torch.group import load
from optgen.torch.memory import ParamMemory
from optgen.torch.protocols import Owner
from optgen.torch.state import STEP
from optgen.torch.values import GroupValues, options


def make_states(optimizer: Owner, group: Mapping[str, Any], shared: dict[str, torch.Tensor]) -> None:
    """Give each parameter of a group its states before the first update. Parameters without memory get them later."""
    values = GroupValues(optimizer.spec, optimizer.spelling, group).arguments
    storage, master, _ = options(group)
    rules: dict[Any, Any] = {}
    for p in group["params"]:
        if p.is_meta:
            continue
        key = (p.dtype, p.device)
        if key not in rules:
            rules[key] = load(
                optimizer.spec, p, {**values.values, **values.chosen}, storage=storage, master=bool(master)
            )
        memory = ParamMemory(p, by_memory=True)
        kernel = rules[key].kernel(tuple(memory.tensor.shape))
        kept = optimizer.state[p]
        states.prepare(
            kernel,
            kept,
            memory,
            values.values,
            shared,
            by_row=False,
            keys=optimizer.state_keys,
        )
        kept.setdefault(STEP, torch.zeros((), dtype=torch.float32))


def load_state_dict(optimizer: torch.optim.Optimizer, state_dict: Mapping[str, Any]) -> None:
    """`Optimizer.load_state_dict`, but states keep the dtypes that they come with.

    PyTorch's casts each state to the dtype of its parameter. Here a state is converted where it is bound, to the dtype
    that its kernel has.
    """
    loaded = dict(state_dict)
    for hook in list(optimizer._optimizer_load_state_dict_pre_hooks.values()):
        replaced = hook(optimizer, loaded)
        if replaced is not None:
            loaded = replaced
    groups, saved = optimizer.param_groups, deepcopy(loaded["param_groups"])
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(own["params"]) != len(new["params"]) for own, new in zip(groups, saved, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    numbers = chain.from_iterable(group["params"] for group in saved)
    params = dict(zip(numbers, chain.from_iterable(group["params"] for group in groups), strict=True))
    state: defaultdict[Any, Any] = defaultdict(dict)
    for number, values in loaded["state"].items():
        if number in params:
            state[params[number]] = _on_device(values, params[number].device)
        else:
            state[number] = values
    for own, new in zip(groups, saved, strict=True):
        new["params"] = own["params"]
        for key in ("param_names", "storage", "master"):
            if key in own:
                new.setdefault(key, own[key])  # those that PyTorch's state dicts do not have
    optimizer.__setstate__({"state": state, "param_groups": saved})
    for after in list(optimizer._optimizer_load_state_dict_post_hooks.values()):
        after(optimizer)


def _on_device(values: Any, device: torch.device) -> Any:
    """Copies of the tensors of a parameter's state: single numbers stay where they are."""
    if not isinstance(values, Mapping):
        return values
    return {key: _copy(x, device) for key, x in values.items()}


def _copy(x: Any, device: torch.device) -> Any:
    if not isinstance(x, torch.Tensor):
        return deepcopy(x)
    return x.detach().clone() if x.dim() == 0 else x.detach().to(device, copy=True)
