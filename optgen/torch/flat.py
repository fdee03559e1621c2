"""Parameters of PyTorch's first FSDP: pieces of many parameters in a row, without their rows, columns and bounds."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from optgen.execute.rule import UpdateRule
from optgen.model import DIMENSIONS, Optimizer

KIND = "a flat parameter of FullyShardedDataParallel (FSDP1)"


def is_flat(param: torch.Tensor) -> bool:
    """Whether a parameter is one of FSDP1: a FlatParameter, or with `use_orig_params=True` a piece of one."""
    return getattr(param, "_is_flat_param", False) or getattr(param, "_fsdp_flattened", False)


def check(rule: UpdateRule, param: torch.Tensor) -> None:
    """ValueError for a parameter of FSDP1, `params[0]`, if its update is not the same for each element alone."""
    if is_flat(param) and not _is_elementwise(rule, param):
        raise ValueError(
            f"params[0]: {KIND}, which has lost the shapes of what it is made of, and {rule.spec.name} does not update "
            "each element for itself; shard the model with FSDP2, torch.distributed.fsdp.fully_shard"
        )


def _is_elementwise(rule: UpdateRule, param: torch.Tensor) -> bool:
    return not _reads_shapes(rule.spec) and rule.cut(tuple(param.shape)) == "anywhere"


def _reads_shapes(spec: Optimizer) -> bool:
    return spec.has_stages or spec.joins_params or not spec.reads.isdisjoint(DIMENSIONS)


def check_options(name: str, params: Iterable[torch.Tensor], *, in_backward: bool, clip_norm: float | None) -> None:
    """ValueError where the gradients of FSDP1 are not those that an option is about."""
    if not (in_backward or clip_norm is not None) or not any(map(is_flat, params)):
        return
    if in_backward:
        raise ValueError(
            f"{name}: in_backward=True with {KIND}, whose gradient is summed over the processes after it was "
            "accumulated; leave in_backward out"
        )
    raise ValueError(
        f"{name}: clip_norm={clip_norm:g} with {KIND}, of whose gradient each process has a part; leave clip_norm out, "
        "and call clip_grad_norm_ of the FullyShardedDataParallel before each step"
    )
