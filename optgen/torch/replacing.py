"""Ours in the place of a live optimizer of PyTorch."""

from __future__ import annotations

import inspect

import torch

from optgen.torch import torch_classes
from optgen.torch.base import SpecOptimizer
from optgen.torch.classes import by_source
from optgen.torch.rules import check_rules
from optgen.torch.torch_classes import TorchClass


def replace(optimizer: torch.optim.Optimizer) -> SpecOptimizer:
    """An optimizer of optgen that goes on where one of `torch.optim` is: with its groups, states and hooks, not copies.

    Whatever changes values of the old one's groups, as a scheduler does, changes them for the new one; but set
    `scheduler.optimizer` to the new one before it loads a state dict, and before the first step of both if PyTorch is
    not to warn. Step only one of the two. One that is of optgen is returned as it is.

    Raises TypeError for a class that is none of torch.optim's, or has a step of its own, and what a first step would
    raise for the values of its groups.
    """
    if isinstance(optimizer, SpecOptimizer):
        return optimizer
    row = _row_of(type(optimizer))
    cls = by_source(row.source)
    ours = cls.__new__(cls)
    hooks = {name: x for name, x in vars(optimizer).items() if name.endswith("_hooks")}
    ours.__setstate__(
        {
            "defaults": dict(optimizer.defaults),
            "state": optimizer.state,
            "param_groups": optimizer.param_groups,
            "seed": 0,
            "clip_norm": None,
            "in_backward": False,
            "donate_grads": False,
            **hooks,
        }
    )
    for group in ours.param_groups:
        check_rules(ours, group)
    return ours


def _row_of(cls: type) -> TorchClass:
    name = f"{cls.__module__}.{cls.__qualname__}"
    for parent in cls.__mro__:
        row = torch_classes.CLASSES.get(parent.__name__)
        if row is None or row.base is not parent:
            continue
        if inspect.unwrap(cls.step) is not inspect.unwrap(parent.step):  # type: ignore[attr-defined]
            raise TypeError(f"{name} has a step of its own, which is not that of torch.optim.{row.name}")
        return row
    known = ", ".join(torch_classes.CLASSES)
    raise TypeError(f"cannot replace {name}: it is none of {known}, of torch.optim; a wrapper holds the one to replace")
