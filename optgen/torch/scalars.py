"""One number for each parameter: a vector that kernels read and write, and what `state[p]` shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

Array = Any
Kept = Sequence[dict[str, Any]]


class Scalars:
    """Numbers that `state[p][key]` holds as tensors of shape () on the CPU, of some dtype.

    `values` is the kernels' vector, of a dtype that has more digits. A tensor that was written between steps sets the
    parameter's number.
    """

    def __init__(self, key: str, values: Array, kept: Kept, dtype: torch.dtype) -> None:
        self.values = values
        shown = torch.from_numpy(values).to(dtype, copy=True)
        self._shown: Array = shown.numpy()
        self._last = self._shown.tobytes()
        for k, tensor in zip(kept, shown, strict=True):
            k[key] = tensor

    def read(self) -> None:
        """Before a step: take what was written."""
        if self._shown.tobytes() != self._last:
            self.values[:] = self._shown

    def write(self) -> None:
        """After a step: show the new numbers."""
        np.copyto(self._shown, self.values, casting="unsafe")
        self._last = self._shown.tobytes()


class Counts:
    """Counts that `state[p][key]` holds as numbers of Python."""

    def __init__(self, key: str, values: Array, kept: Kept) -> None:
        self._key, self.values, self._kept = key, values, kept
        self.write()

    def read(self) -> None:
        """Before a step: take what was written."""
        self.values[:] = [int(k[self._key]) for k in self._kept]

    def write(self) -> None:
        """After a step: show the new counts."""
        for k, count in zip(self._kept, self.values.tolist(), strict=True):
            k[self._key] = count


def dtype_of(kept: Mapping[str, Any], key: str, default: torch.dtype) -> torch.dtype:
    """The dtype of a number that is there, if it is one of floats; else the default."""
    there = kept.get(key)
    return there.dtype if isinstance(there, torch.Tensor) and there.dtype.is_floating_point else default
