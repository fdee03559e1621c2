"""Flat tensors that others put into groups in place of parameters, as the ZeRO of DeepSpeed does: what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch.nn.parameter import is_lazy

from optgen.execute.rule import UpdateRule
from optgen.torch.memory import is_elementwise
from optgen.torch.rules import Owner


class GivenParams:
    """The parameters that an optimizer was given, and the shapes that they had then.

    They are known by their ids, as `torch.utils.swap_tensors` refuses what weak references are to.
    """

    def __init__(self, params: Iterable[torch.Tensor] = ()) -> None:
        self._ids: set[int] = set()
        self._shapes: set[torch.Size] = set()
        self.add(params)

    def add(self, params: Iterable[torch.Tensor]) -> None:
        """Parameters that are put into a group by `add_param_group`."""
        for p in params:
            self._ids.add(id(p))
            if not is_lazy(p):
                self._shapes.add(p.shape)

    def has(self, param: torch.Tensor) -> bool:
        """Whether this very tensor, or one of its shape, is among them."""
        return id(param) in self._ids or param.shape in self._shapes


def is_replaced(optimizer: Owner, param: torch.Tensor) -> bool:
    """Whether a parameter has one axis, and the optimizer was given neither it nor one of its shape."""
    return param.ndim == 1 and not optimizer.given_params.has(param)


def check_replaced(optimizer: Owner, rule: UpdateRule, params: Sequence[torch.Tensor]) -> None:
    """ValueError for a flat tensor that stands for parameters, if its update is not the same for each element alone, or
    if an option is about the gradients of all processes."""
    check_replaced_options(optimizer, params, clip_norm=optimizer.clip_norm)
    for p in params:
        if is_replaced(optimizer, p) and not is_elementwise(rule, p):
            raise ValueError(
                f"{optimizer.describe(p)}: {_described(p)}, and {rule.spec.name} does not update each element for "
                "itself; set the stage of ZeRO to 0, or shard the model with FSDP2, torch.distributed.fsdp.fully_shard"
            )


def check_replaced_options(optimizer: Owner, params: Iterable[torch.Tensor], *, clip_norm: float | None) -> None:
    """ValueError for a flat tensor, of whose gradient each process has a part, with an option that is about all."""
    options = {"clip_norm": clip_norm, "skip_nonfinite": optimizer.skip_nonfinite or None}
    asked = [f"{name}={value}" for name, value in options.items() if value is not None]
    for p in params if asked else ():
        if is_replaced(optimizer, p):
            raise ValueError(
                f"{optimizer.describe(p)}: {asked[0]} with {_described(p)}, of whose gradient each process has a part; "
                "leave it out, and have DeepSpeed do this (`gradient_clipping` in its configuration)"
            )


def refuse_evaluation(optimizer: Owner, param: torch.Tensor) -> None:
    """ValueError for a flat tensor, as the module that is evaluated has other tensors."""
    if is_replaced(optimizer, param):
        raise ValueError(
            f"{optimizer.describe(param)}: {_described(param)}: the module has other "
            "tensors, which eval() would not change"
        )


def _described(param: torch.Tensor) -> str:
    size = param.numel()
    return f"a flat tensor of {size} elements in place of parameters of other shapes, as DeepSpeed's ZeRO has them"
