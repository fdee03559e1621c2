"""Histories in `optimizer.state[p]`: the entries along a first axis, each of the parameter's shape and order."""

from __future__ import annotations

from typing import Any

import torch

from optgen.torch import codes
from optgen.torch.memory import Form, ParamMemory, as_pairs, is_dtensor


class OtherShapeError(ValueError):
    """A state is there, but has another shape than kernels expect."""

    def __init__(self, key: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
        super().__init__(f"state['{key}']: shape {found}, expected {expected}")


def refuse_shards(key: str, memory: ParamMemory) -> None:
    """ValueError for a parameter of which other processes have parts."""
    if is_dtensor(memory.param):
        raise ValueError(f"state['{key}'] is a history, and these are not kept of parameters that are sharded")


def bindable(
    entries: int, key: str, there: Any, memory: ParamMemory, start: float | str, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `state[p]` holds, and the same memory as a kernel takes it: `there` if it can be bound as it is, else a
    copy of it, or a new one. OtherShapeError if it has another shape."""
    one = memory.empty_state(dtype, "meta")
    shape, strides = (entries, *one.shape), (one.numel(), *one.stride())
    kept = there
    if there is not None:
        codes.check_tensor(key, there)
        if tuple(there.shape) not in (shape, (*shape, 2)):
            raise OtherShapeError(key, tuple(there.shape), shape)
    if there is None or not lies_like(there, (one.dtype, shape, strides), memory.tensor.device):
        kept = torch.empty_strided(shape, strides, dtype=one.dtype, device=memory.tensor.device)
        pairs = as_pairs(kept)
        if there is None:
            assert not isinstance(start, str)
            pairs.fill_(start)
        else:
            pairs.copy_(as_pairs(there.detach()).reshape(pairs.shape))
    first = memory.like_bound(kept[0])
    return kept, as_pairs(kept).as_strided((entries, *first.shape), (first.numel(), *first.stride()))


def lies_like(there: torch.Tensor, form: Form, device: torch.device) -> bool:
    """Whether a tensor has this dtype, shape and order, and is its own memory on this device."""
    dtype, shape, strides = form
    return (
        there.dtype == dtype
        and there.device == device
        and there.shape == shape
        and (there.stride() == strides or there.numel() < 2)
        and not there.is_neg()
        and not there.is_conj()
        and not there.requires_grad
    )
