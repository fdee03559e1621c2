"""Rosenbrock's function: a valley that is steep across, flat along, and bent, so that no direction leads down for long.

The point is a matrix of 2 x 1, so that optimizers of matrices take it, too. The start is drawn around (-1.2, 1).
"""

from __future__ import annotations

import math
from typing import Any

import torch

TITLE = "Rosenbrock's function of two variables"
LOSS = "log10 of the loss"
TARGET = -1.0
IS_NETWORK = False

STEPS = 500
LOOKS = 20
"""How often the loss is reported."""


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    generator = torch.Generator().manual_seed(seed)
    start = torch.tensor([[-1.2], [1.0]]) + 0.1 * torch.randn(2, 1, generator=generator)
    point = torch.nn.Parameter(start)
    optimizer = make_optimizer([point], STEPS)

    def loss_of() -> torch.Tensor:
        x, y = point
        return ((1 - x) ** 2 + 100 * (y - x * x) ** 2).sum()

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = loss_of().item()
            report(step, math.log10(loss + 1e-12))
