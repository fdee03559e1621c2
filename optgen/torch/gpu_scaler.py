"""What a GradScaler tells steps on a GPU, which the host does not wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from optgen.torch.shards import sharding_of


class GpuScaler:
    """The scale and `found_inf` of a GradScaler, which makes new ones for each step, at addresses that stay.

    `tensors` has them for each GPU that steps read them on: two float32 of shape (), 1 and 0 without a GradScaler.
    """

    def __init__(self) -> None:
        self.tensors: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}

    def on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """The two on a GPU."""
        if device not in self.tensors:
            one = torch.ones((), dtype=torch.float32, device=device)
            self.tensors[device] = one, torch.zeros_like(one)
        return self.tensors[device]

    def write(self, scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> None:
        """Have the next steps use these two, in the order of the current streams; None is no GradScaler."""
        for own_scale, own_found_inf in self.tensors.values():
            _write(own_scale, scale, 1.0)
            _write(own_found_inf, found_inf, 0.0)


def _write(own: torch.Tensor, new: torch.Tensor | None, default: float) -> None:
    if new is None:
        own.fill_(default)
    else:
        own.copy_(new.reshape(()), non_blocking=True)


def can_stay(found_inf: torch.Tensor, groups: Iterable[Mapping[str, Any]]) -> bool:
    """Whether all parameters that have gradients can be updated without the host knowing what `found_inf` is.

    It has to know it for parameters on the CPU, sparse gradients and shards.
    """
    params = [p for group in groups for p in group["params"] if p.grad is not None]
    return found_inf.is_cuda and all(
        p.is_cuda and p.grad.layout == torch.strided and sharding_of(p) is None for p in params
    )
