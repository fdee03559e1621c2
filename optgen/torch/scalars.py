"""One number for each parameter: a vector that kernels read and write, and what `state[p]` shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from optgen.execute.buffers import Array

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


def dtype_of(kept: Mapping[str, Any], key: str, default: torch.dtype) -> torch.dtype:
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
