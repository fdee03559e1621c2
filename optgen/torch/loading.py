"""States that are made, or taken from a state dict, after a look at whose they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import torch

from optgen.axes import Kind
from optgen.execute.rule import UpdateRule
from optgen.ir import COMPENSATION
from optgen.model import StateDecl
from optgen.spec_identity import difference, identity
from optgen.torch import state as states
from optgen.torch.bound import kernel_of, memory_of, restarts_at_rows
from optgen.torch.features import with_huge_pages
from optgen.torch.following import check_following, relink
from optgen.torch.foreign import converted
from optgen.torch.forms import SCALE, check_tensor, count_of, step_tensor
from optgen.torch.halves import MASTER
from optgen.torch.host import HOST, check_on_host
from optgen.torch.memory import check_flat, check_layout, is_dtensor, is_here
from optgen.torch.networks import PLAIN
from optgen.torch.owned import make_owned
from optgen.torch.owners import is_owned
from optgen.torch.rules import Owner, blocks_by_row, decode_states, decode_uncoded, has_memory, load
from optgen.torch.spelling import OPTIONS, STORAGE_OPTIONS, naming
from optgen.torch.state import STEP
from optgen.torch.values import GroupValues, options_of

# ---------------------------------------------------------------- whose states they are

SPEC = "optgen_spec"
"""The key of a group that says which spec it is of. It is in the groups themselves, as torch.distributed.checkpoint
takes the keys of flattened state dicts from there. PyTorch's classes have none."""
ADDED = ("foreach", "maximize", "capturable", "differentiable", "fused", "decoupled_weight_decay")
"""Keys of groups that PyTorch's optimizers came to have, so that older state dicts lack them."""
VALUES = frozenset((
    "alpha", "amsgrad", "beta2_decay", "betas", "centered", "d", "dampening", "eps", "etas",
    "initial_accumulator_value", "lambd", "lr", "lr_decay", "momentum", "momentum_decay", "nesterov",
    "ns_coefficients", "ns_steps", "adjust_lr_fn", "rho", "step_sizes", "t0", "weight_decay",
))  # fmt: skip
"""The keys of groups that some optimizer of PyTorch has, but for those of ADDED."""
STATES = frozenset((
    "acc_delta", "ax", "col_var", "eta", "exp_avg", "exp_avg_sq", "exp_inf", "grad_avg", "max_exp_avg_sq",
    "momentum_buffer", "mu", "mu_product", "prev", "row_var", "square_avg", "step_size", "sum", "variance",
))  # fmt: skip
"""The states that some optimizer of PyTorch has, beside the count."""

TO_CONVERT = "; load it into an optimizer of its own class, from which optgen.torch.convert() makes one of this class"
"""What errors say of a state dict that may be of another optimizer's."""

ALIKE = (
    f": parameters that are '{PLAIN}' are a group beside the others; make this optimizer as the saved one was, of the "
    "network, or with its plain=(...)"
)
"""What errors say of state dicts that are of other groups, of one with a flag `plain`."""


def mark_groups(optimizer: Owner, groups: Iterable[dict[str, Any]]) -> None:
    """Have groups, or what is pickled, say which spec they are of."""
    own = identity(optimizer.spec)
    for group in groups:
        group[SPEC] = dict(own)


def check_specs(optimizer: Owner, groups: Iterable[Mapping[str, Any]]) -> None:
    """ValueError if a group of a state dict, or of a pickle, is of another spec, of another version of it, or of one
    with other states."""
    name = type(optimizer).__name__
    for group in groups:
        try:
            saved = group.get(SPEC)
            differs = difference(optimizer.spec, saved) if optimizer.saves_identity or saved is not None else None
        except ValueError as error:
            raise ValueError(f"{name}: '{SPEC}' of a group: {error}") from None
        if differs is not None:
            is_other = saved is None or int(saved["name"]) != identity(optimizer.spec)["name"]
            raise ValueError(
                f"{name}: the state dict is of another optimizer: {differs}{TO_CONVERT if is_other else ''}"
            )


def check_values(optimizer: Owner, groups: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    """ValueError if one of some groups, beside those here, is of another optimizer of PyTorch: it has values of that
    which are not in the group here, where a user may have put them, or lacks what this class always had."""
    own = {*optimizer.defaults, *optimizer.spelling.defaults}
    needed = [] if optimizer.saves_identity else sorted(own.difference(ADDED, OPTIONS))
    for group, here in groups:
        others, missing = sorted(VALUES & group.keys() - own - here.keys()), [x for x in needed if x not in group]
        if others or missing:
            what = f"has {', '.join(others)}" if others else f"lacks {', '.join(missing)}"
            raise ValueError(
                f"{type(optimizer).__name__}: the state dict is of another optimizer: a group {what}{TO_CONVERT}"
            )


def check_states(optimizer: Owner, saved: Mapping[torch.Tensor, Any]) -> None:
    """ValueError if a parameter's states are those of another optimizer: one is of PyTorch's and not of the spec, or
    some are unknown, and none are of the spec; or if one is a meta tensor. TypeError if they are no dict."""
    key_of = optimizer.state_keys.key_of
    own = [key_of(s.name) for s in optimizer.spec.states]
    known = {*own, *(given.name for given in optimizer.spec.inputs)}
    beside = {STEP, MASTER, COMPENSATION} - known
    for p, values in saved.items():
        if not isinstance(values, Mapping):
            raise TypeError(f"the state of {optimizer.describe(p)}: expected a dict of its tensors, not {values!r}")
        for name, x in values.items():
            if isinstance(x, torch.Tensor) and x.is_meta and not p.is_meta:
                raise ValueError(f"state['{name}'] of {optimizer.describe(p)}: a meta tensor, which holds no numbers")
        names = map(str, values)
        found = [name for name in names if name not in beside and not name.endswith(SCALE)]
        others = set(found) - known
        if others & STATES or (own and others and not set(own).intersection(found)):
            raise ValueError(
                f"{type(optimizer).__name__}: the state dict is of another optimizer: {optimizer.describe(p)} has the "
                f"states {', '.join(found)} there, and {', '.join(own) or 'none'} here{TO_CONVERT}"
            )


# ---------------------------------------------------------------- states that are made, or loaded


def make_states(
    optimizer: Owner, group: Mapping[str, Any], state: MutableMapping[Any, Any], shared: dict[str, torch.Tensor]
) -> None:
    """Give each parameter of a group its entry in `state`, of what is there, or as it is before the first update.

    Parameters without memory or that need no gradient get theirs when they are first updated.
    """
    values = GroupValues(optimizer.spec, optimizer.spelling, group)
    rules: dict[Any, UpdateRule] = {}
    owned: dict[UpdateRule, list[torch.Tensor]] = {}
    for p in group["params"]:
        is_numbers = p.is_floating_point() or p.is_complex()
        if not is_here(p) or (p not in state and not (p.requires_grad and is_numbers)):
            continue
        with naming([p], optimizer.describe):
            check_layout(p)
            check_on_host(type(optimizer).__name__, values.options, [p])
            alike = p.dtype, p.device, blocks_by_row(p)
            rule = rules.get(alike)
            if rule is None:
                rule = rules[alike] = load(optimizer, p, values.arguments, values.options)
            check_flat(rule, p)
            decode_uncoded(optimizer, rule, [p], state, values)
            if is_owned(rule, p):
                owned.setdefault(rule, []).append(p)
                state.setdefault(p, {})
            else:
                _make_state(optimizer, rule, p, state, shared)
    for rule, params in owned.items():
        optimizer.owners.assign(rule, params)
        for p in params:
            with naming([p], optimizer.describe):
                _make_owned(optimizer, rule, p, state)


def _make_state(
    optimizer: Owner,
    rule: UpdateRule,
    p: torch.Tensor,
    state: MutableMapping[Any, Any],
    shared: dict[str, torch.Tensor],
) -> None:
    keys, kept = optimizer.state_keys, state.setdefault(p, {})
    memory = memory_of(rule, p if rule.target.name == p.device.type else optimizer.mirrors.of(p))
    try:
        if keys.has_step:
            count_of(kept.get(STEP, 0), STEP)
            kept[STEP] = step_tensor(kept.get(STEP), keys.scalar_dtype(kept))
        by_row = restarts_at_rows(rule, memory)
        states.bindable(kernel_of(rule, memory), kept, memory, rule.values, shared, keys, by_row=by_row)
        for given in optimizer.spec.inputs:
            if given.name in kept:
                kept[given.name] = states.values_like(memory, given.name, kept[given.name])
    except (TypeError, ValueError) as error:
        raise type(error)(f"params[0]: {error}") from error


def _make_owned(optimizer: Owner, rule: UpdateRule, p: torch.Tensor, state: MutableMapping[Any, Any]) -> None:
    """Of a parameter that its owner updates whole."""
    if optimizer.spec.joins_params or optimizer.spec.inputs:
        return  # refused by the first step
    try:
        make_owned(optimizer.owners, rule, p, state[p], optimizer.state_keys)
    except (TypeError, ValueError) as error:
        raise type(error)(f"params[0]: {error}") from error


def load_state_dict(optimizer: Any, state_dict: Mapping[str, Any]) -> None:
    """`Optimizer.load_state_dict`, but states keep the dtypes that they come with.

    PyTorch's casts each state to the dtype of its parameter. Here a state is converted if it is kept otherwise, to what
    its kernel has.
    """
    loaded = dict(state_dict)
    for hook in list(optimizer._optimizer_load_state_dict_pre_hooks.values()):
        replaced = hook(optimizer, loaded)
        if replaced is not None:
            loaded = replaced
    loaded = converted(optimizer, loaded)
    groups, saved = optimizer.param_groups, deepcopy(loaded["param_groups"])
    check_specs(optimizer, saved)
    params = _numbered(groups, saved)
    silent = [(dict(new), own) for own, new in zip(groups, saved, strict=True) if SPEC not in new]
    check_states(optimizer, {params[number]: x for number, x in loaded["state"].items() if number in params})
    state: defaultdict[Any, Any] = defaultdict(dict)
    on_host = {p for group in groups if options_of(group).on_host for p in group["params"]}
    for number, values in loaded["state"].items():
        if number in params:
            state[params[number]] = _copy(values, HOST if params[number] in on_host else params[number].device)
        else:
            state[number] = values
    for own, new in zip(groups, saved, strict=True):
        new["params"] = own["params"]
        if "param_names" in own:
            new.setdefault("param_names", own["param_names"])
        for key, default in optimizer.defaults.items():
            if key in own:
                new.setdefault(key, default)
        if optimizer.spec.following:
            check_following(new)
            relink(optimizer.spec, optimizer.spelling, new)
        _decode(optimizer, own, new, state)
        _check_states_are_complete(optimizer, new, state)
    check_values(optimizer, silent)
    if optimizer.makes_states_at_construction:
        shared: dict[str, torch.Tensor] = {}
        for group in saved:
            make_states(optimizer, group, state, shared)
    optimizer.__setstate__({"state": state, "param_groups": saved})
    for after in list(optimizer._optimizer_load_state_dict_post_hooks.values()):
        after(optimizer)


def _numbered(groups: Sequence[Mapping[str, Any]], saved: Sequence[Mapping[str, Any]]) -> dict[Any, torch.Tensor]:
    """The parameters of groups, by their numbers in saved ones; ValueError, in PyTorch's words, if sizes differ."""
    is_plain = any(PLAIN in group for group in (*groups, *saved))
    hint = f"; they have {_sizes(saved)} parameters there, and {_sizes(groups)} here{ALIKE}" if is_plain else ""
    if len(groups) != len(saved):
        raise ValueError(f"loaded state dict has a different number of parameter groups{hint}")
    if any(len(own["params"]) != len(new["params"]) for own, new in zip(groups, saved, strict=True)):
        raise ValueError(
            f"loaded state dict contains a parameter group that doesn't match the size of optimizer's group{hint}"
        )
    numbers, params = (chain.from_iterable(group["params"] for group in some) for some in (saved, groups))
    return dict(zip(numbers, params, strict=True))


def _sizes(groups: Sequence[Mapping[str, Any]]) -> str:
    return " + ".join(str(len(group["params"])) for group in groups)


def _check_states_are_complete(
    optimizer: Owner, group: Mapping[str, Any], saved: Mapping[torch.Tensor, Mapping[str, Any]]
) -> None:
    """ValueError if a parameter of a loaded group has updates behind it, and lacks its count or a state of the spec.

    A state would otherwise start as before the first update. Masters follow from weights, so they may be missing.
    """
    keys = optimizer.state_keys
    saved_params = [p for p in group["params"] if saved.get(p) and has_memory(p)]
    if not saved_params:
        return
    values = GroupValues(optimizer.spec, optimizer.spelling, group)
    for p in saved_params:
        kept = saved[p]
        with naming([p], optimizer.describe):
            rule = load(optimizer, p, values.arguments, values.options)
        shape = tuple(p.shape if is_dtensor(p) else memory_of(rule, p).tensor.shape)
        own = [keys.key_of(s.name) for s in rule.states_of(shape)]
        found = [key for key in own if kept.get(key) is not None]
        has_updates = _count(optimizer, p, kept[STEP]) > 0 if STEP in kept else bool(found)
        missing = [key for key in ([STEP] if keys.has_step else []) + own if kept.get(key) is None]
        _check_shapes(optimizer, p, kept, [s for s in rule.states_of(shape) if s.kind is Kind.ELEM and not s.entries])
        if has_updates and missing:
            raise ValueError(
                f"{type(optimizer).__name__}: the state dict is of another optimizer, or of one with other arguments: "
                f"{optimizer.describe(p)} has the states {', '.join(map(str, kept))} there, and no {', '.join(missing)}"
            )


def _check_shapes(optimizer: Owner, p: torch.Tensor, kept: Mapping[str, Any], own: Sequence[StateDecl]) -> None:
    """TypeError if a state with numbers for each element is no tensor, ValueError if it has another shape than the
    parameter, and is no codes."""
    for key in (optimizer.state_keys.key_of(s.name) for s in own):
        there = kept.get(key)
        if there is None or is_dtensor(p) or (isinstance(there, torch.Tensor) and there.dtype == torch.uint8):
            continue
        with naming([p], optimizer.describe):
            try:
                check_tensor(key, there)
                states.check_size(key, there, p)
            except (TypeError, ValueError) as error:
                raise type(error)(f"params[0]: {error}") from None


def _count(optimizer: Owner, p: torch.Tensor, step: Any) -> int:
    """The number of updates of a parameter; ValueError, naming it, for what is none."""
    try:
        return count_of(step, STEP)
    except ValueError as error:
        raise ValueError(f"{optimizer.describe(p)}: {error}") from None


def _decode(
    optimizer: Owner, own: Mapping[str, Any], new: dict[str, Any], state: Mapping[torch.Tensor, dict[str, Any]]
) -> None:
    """Have a loaded group keep states as the optimizer's own does; codes that are kept otherwise become numbers.

    Of how the saved one kept them, the storage alone says what is there.
    """
    before = options_of({**own, "storage": new.get("storage")})
    for key in STORAGE_OPTIONS:
        new.pop(key, None)
        if key in own:
            new[key] = own[key]
    if options_of(new).storage != before.storage:
        given = GroupValues(optimizer.spec, optimizer.spelling, new).arguments
        decode_states(optimizer, new["params"], state, given, before)


def _copy(x: Any, device: torch.device) -> Any:
    """A copy of what a parameter's state holds, on its device: single numbers stay where they are."""
    if isinstance(x, torch.Tensor):
        if x.dim() == 0:
            return x.detach().clone()
        if x.layout != torch.strided or is_dtensor(x):
            return x.detach().to(device, copy=True)
        return with_huge_pages(torch.empty_like(x, requires_grad=False, device=device)).copy_(x.detach())
    if isinstance(x, Mapping):
        return {key: _copy(value, device) for key, value in x.items()}
    if isinstance(x, Iterable) and not isinstance(x, str | bytes):
        return type(x)(_copy(value, device) for value in x)  # type: ignore[call-arg]
    return x
