"""How often parameters were updated: int64 for kernels, and a tensor in the state of each, as PyTorch has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from optgen.execute.buffers import Array

STEP = "step"
"""The key of the number of updates, a float32 tensor of shape () on the CPU, as PyTorch's optimizers have it."""


class UpdateCounts:
    """The counts of parameters whose states are the dicts `kept`: `values` (int64), and `kept[i]["step"]`.

    Whoever writes into these tensors sets the counts. They are views of one array, so that reading them all is one
    look. With `has_step` false there are none, and a parameter that has states counts as updated once.
    """

    def __init__(self, kept: Sequence[dict[str, Any]], *, has_step: bool) -> None:
        self._floats: Array | None = None
        if not has_step:
            self.values: Array = np.array([bool(k) for k in kept], np.int64)
            return
        for k in kept:
            k[STEP] = step_tensor(k.get(STEP))
        self._steps = _side_by_side([k[STEP] for k in kept])
        self._address = self._steps.data_ptr()
        self._floats = self._steps.numpy()
        self._bytes = self._floats.tobytes()
        self.values = self._floats.astype(np.int64)

    def is_current(self) -> bool:
        """Whether the tensors still are the memory that is read; `share_memory_` moves it."""
        return self._floats is None or self._steps.data_ptr() == self._address

    def read(self) -> None:
        """Before a step: take the counts from the tensors, if someone wrote into these."""
        if self._floats is not None and self._floats.tobytes() != self._bytes:
            self.values[:] = self._floats

    def write(self) -> None:
        """After a step: give the tensors the counts."""
        if self._floats is not None:
            np.copyto(self._floats, self.values, casting="unsafe")
            self._bytes = self._floats.tobytes()


def step_tensor(x: Any) -> torch.Tensor:
    """A count as a tensor of shape () on the CPU: the same one if it is, else a new one."""
    if isinstance(x, torch.Tensor) and x.dim() == 0 and x.device.type == "cpu" and not x.requires_grad:
        return x
    return torch.tensor(0.0 if x is None else float(x), dtype=torch.float32)


def _side_by_side(tensors: list[torch.Tensor]) -> torch.Tensor:
    """One float32 tensor that has these tensors of shape () as its elements; they get its memory, if need be."""
    first = tensors[0]
    are_there = all(
        t.dtype == torch.float32
        and t.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        and t.storage_offset() == first.storage_offset() + i
        for i, t in enumerate(tensors)
    )
    if are_there:
        return first.as_strided((len(tensors),), (1,))
    together = torch.tensor([float(t) for t in tensors], dtype=torch.float32)
    for t, element in zip(tensors, together, strict=True):
        t.data = element  # the same object, for those who hold it
    return together
