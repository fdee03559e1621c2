"""The forms in which `optimizer.state[p]` holds what kernels read otherwise: histories, and single numbers, on the CPU
and for captured graphs on a GPU. `codes.py` has codes in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from optgen.execute.buffers import Array
from optgen.torch.memory import Form, ParamMemory, as_pairs, is_dtensor

SCALE = ".scale"
"""What the keys of scales end with."""


def check_tensor(key: str, there: Any) -> None:
    """TypeError if a state is no tensor, ValueError if it is a meta tensor."""
    if not isinstance(there, torch.Tensor):
        raise TypeError(f"state['{key}']: expected a tensor, not {there!r}")
    if there.is_meta:
        raise ValueError(f"state['{key}']: a meta tensor, which holds no numbers")


# ---------------------------------------------------------------- histories


class OtherShapeError(ValueError):
    """A state is there, but has another shape than kernels expect."""

    def __init__(self, key: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
        super().__init__(f"state['{key}']: shape {found}, expected {expected}")


def refuse_shards(key: str, memory: ParamMemory) -> None:
    """ValueError for a parameter of which other processes have parts."""
    if is_dtensor(memory.param):
        raise ValueError(f"state['{key}'] is a history, and these are not kept of parameters that are sharded")


def bindable_history(
    entries: int, key: str, there: Any, memory: ParamMemory, start: float | str, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `state[p]` holds, and the same memory as a kernel takes it: `there` if it can be bound as it is, else a
    copy of it, or a new one. OtherShapeError if it has another shape."""
    one = memory.empty_state(dtype, "meta")
    shape, strides = (entries, *one.shape), (one.numel(), *one.stride())
    kept = there
    if there is not None:
        check_tensor(key, there)
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


# ---------------------------------------------------------------- single numbers

Kept = Sequence[dict[str, Any]]


class Scalars:
    """Numbers that `state[p][key]` holds as tensors of shape () on the CPU, of some dtype.

    `values` is the kernels' vector, of a dtype that has more digits. A tensor that was written between steps sets the
    parameter's number. All of them are views of one array, so that reading them is one look; those that were there stay
    the same objects, for whoever holds them. One that was there for several parameters stays that of the first.
    """

    def __init__(self, key: str, values: Array, kept: Kept, dtype: torch.dtype) -> None:
        self.values = values
        found: set[int] = set()
        for k, value in zip(kept, values, strict=True):
            if not is_cpu_scalar(k.get(key)) or id(k[key]) in found:
                k[key] = torch.tensor(value, dtype=dtype, device="cpu")
            found.add(id(k[key]))
        self._tensor = side_by_side([k[key] for k in kept], dtype)
        self._address = self._tensor.data_ptr()
        self._shown: Array = self._tensor.numpy()
        self._last = self._shown.tobytes()

    def is_current(self) -> bool:
        """Whether the tensors still are the memory that is read; `share_memory_` moves it."""
        return self._tensor.data_ptr() == self._address

    def read(self) -> None:
        """Before a step: take what was written."""
        if self._shown.tobytes() != self._last:
            self.values[:] = self._shown

    def write(self) -> None:
        """After a step: show the new numbers."""
        self._shown[:] = self.values
        self._last = self._shown.tobytes()


class PythonCounts:
    """Counts that `state[p][key]` holds as numbers of Python."""

    def __init__(self, key: str, values: Array, kept: Kept) -> None:
        self._key, self.values, self._kept = key, values, kept
        self.write()

    def is_current(self) -> bool:
        """True, as the numbers are looked up anew."""
        return True

    def read(self) -> None:
        """Before a step: take what was written."""
        self.values[:] = [int(k[self._key]) for k in self._kept]

    def write(self) -> None:
        """After a step: show the new counts."""
        for k, count in zip(self._kept, self.values.tolist(), strict=True):
            k[self._key] = count


LARGEST_COUNT = 1 << 53


def count_of(x: Any, key: str) -> int:
    """The number of updates that a state has; ValueError if it is none."""
    try:
        count = int(x) if float(x).is_integer() else -1
    except (TypeError, ValueError, OverflowError, RuntimeError):  # text, NaN, infinity, several elements, no memory
        count = -1
    if not 0 <= count <= LARGEST_COUNT:
        raise ValueError(f"state['{key}'] is {x!r}, which is no number of updates")
    return count


def is_cpu_scalar(x: Any) -> bool:
    """Whether something is a tensor of shape () on the CPU that others may hold."""
    return isinstance(x, torch.Tensor) and x.dim() == 0 and x.device.type == "cpu" and not x.requires_grad


def step_tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """A count as a tensor of shape () on the CPU: the same one if it is, else a new one."""
    return x if is_cpu_scalar(x) else torch.tensor(0.0 if x is None else float(x), dtype=dtype, device="cpu")


def number_dtype(kept: Mapping[str, Any], key: str, default: torch.dtype) -> torch.dtype:
    """The dtype of a number that is there, if it is one of floats; else the default."""
    there = kept.get(key)
    return there.dtype if isinstance(there, torch.Tensor) and there.dtype.is_floating_point else default


def side_by_side(tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """One tensor that has these tensors of shape () as its elements; they get its memory, if they have not."""
    first = tensors[0]
    memory, begin = first.untyped_storage().data_ptr(), first.storage_offset()
    for i, t in enumerate(tensors):
        if t.dtype != dtype or t.untyped_storage().data_ptr() != memory or t.storage_offset() != begin + i:
            break
    else:
        return first.as_strided((len(tensors),), (1,), begin)
    together = torch.tensor([t.item() for t in tensors], dtype=dtype, device=first.device)
    for t, element in zip(tensors, together, strict=True):
        t.data = element
    return together


# ---------------------------------------------------------------- single numbers on a GPU


class GpuScalars:
    """Numbers that `state[p][key]` holds as tensors of shape () on the GPU, of some dtype.

    `values` is the kernels' vector. What is copied between the two is part of a captured graph.
    """

    def __init__(self, key: str, values: torch.Tensor, kept: Kept, dtype: torch.dtype) -> None:
        self._values, self._shown = values, shown(key, values.to(dtype), kept)

    def is_current(self) -> bool:
        """True, as the tensors in `state[p]` are looked at one by one."""
        return True

    def read(self) -> None:
        """Before a step: take what was written."""
        self._values.copy_(self._shown)

    def write(self) -> None:
        """After a step: show the new numbers."""
        self._shown.copy_(self._values)


def shown(key: str, values: torch.Tensor, kept: Kept) -> torch.Tensor:
    """A vector with these values, whose elements `state[p][key]` holds: the one that is there, if it has their dtype
    and device, else `values` itself."""
    there = [k.get(key) for k in kept]
    if not all(isinstance(x, torch.Tensor) and (x.dtype, x.device) == (values.dtype, values.device) for x in there):
        for k, value in zip(kept, values, strict=True):
            k[key] = value
    found = side_by_side([k[key] for k in kept], values.dtype)
    return found.copy_(values)
