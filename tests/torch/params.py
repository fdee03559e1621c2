"""Parameters of an optimizer, and steps with random gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import Parameter


def numbers(shape: Any, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def params_of(opt: torch.optim.Optimizer) -> list[Parameter]:
    return [p for group in opt.param_groups for p in group["params"]]


def step(opt: torch.optim.Optimizer, seed: int = 0) -> None:
    for k, p in enumerate(params_of(opt)):
        p.grad = torch.empty_like(p).copy_(numbers(p.shape, seed + 100 * k, torch.float64)).detach()
    opt.step()
