"""Flat tensors that others put into groups in place of parameters, as the ZeRO of DeepSpeed does: what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from optgen.execute.rule import UpdateRule
from optgen.torch.memory import is_elementwise
from optgen.torch.rules import Owner

REPLACED = "a flat tensor in place of parameters of other shapes, as DeepSpeed's ZeRO has them"


def note_shapes(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """Have an optimizer know the shapes of the parameters of a group that it is given."""
    optimizer.given_shapes = optimizer.given_shapes.union(map(_shape, group["params"]))


def is_replaced(optimizer: Owner, param: torch.Tensor) -> bool:
    """Whether a parameter has one axis, and no parameter that the optimizer was given has its shape."""
    return param.ndim == 1 and _shape(param) not in optimizer.given_shapes


def check_replaced(optimizer: Owner, rule: UpdateRule, params: Sequence[torch.Tensor]) -> None:
    """ValueError for a flat tensor that stands for parameters, if its update is not the same for each element alone, or
    if an option is about the gradients of all processes."""
    check_replaced_options(optimizer, params, clip_norm=optimizer.clip_norm)
    for p in params:
        if is_replaced(optimizer, p) and not is_elementwise(rule, p):
            raise ValueError(
                f"{optimizer.describe(p)}: {REPLACED}, and {rule.spec.name} does not update each element for itself; "
                "set the stage of ZeRO to 0, or shard the model with FSDP2, torch.distributed.fsdp.fully_shard"
            )


def check_replaced_options(optimizer: Owner, params: Iterable[torch.Tensor], *, clip_norm: float | None) -> None:
    """ValueError for a flat tensor, of whose gradient each process has a part, with an option that is about all."""
    options = {"clip_norm": clip_norm, "skip_nonfinite": optimizer.skip_nonfinite or None}
    asked = [f"{name}={value}" for name, value in options.items() if value is not None]
    for p in params if asked else ():
        if is_replaced(optimizer, p):
            raise ValueError(
                f"{optimizer.describe(p)}: {asked[0]} with {REPLACED}, of whose gradient each process has a part; "
                "leave it out, and have DeepSpeed do this (`gradient_clipping` in its configuration)"
            )


def refuse_evaluation(optimizer: Owner, param: torch.Tensor) -> None:
    """ValueError for a flat tensor, as the module that is evaluated has other tensors."""
    if is_replaced(optimizer, param):
        raise ValueError(
            f"{optimizer.describe(param)}: {REPLACED}: the module has other tensors, which eval() would not change"
        )


def _shape(param: torch.Tensor) -> tuple[int, ...]:
    return tuple(param.shape)
