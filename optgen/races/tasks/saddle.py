"""A saddle with many ways down, of which the start shows a trace: how soon does an optimizer leave it?

The loss of a vector x of 16 numbers is the sum of h*x^2/2 + x^4/4, with curvatures h of which eight are between 0.1 and
10, and eight between -1 and -0.01: the minimum is at x^2 = -h where h is negative, and its loss is known. The start is
about 0.001 away from the saddle in these directions, and about 1 in the others. Flat ways down are found last.
"""

from __future__ import annotations

import math
from typing import Any

import torch

TITLE = "A saddle, left along directions of little curvature"
LOSS = "log10 of the loss above the minimum"
TARGET = -2.0
IS_NETWORK = False

STEPS = 400
LOOKS = 20
"""How often the loss is reported."""


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    generator = torch.Generator().manual_seed(seed)
    up, down = torch.logspace(-1, 1, 8), -torch.logspace(-2, 0, 8)
    curvature = torch.cat([up, down]).view(4, 4)  # a matrix, so that optimizers of matrices take it, too
    far = torch.cat([torch.ones(8), torch.full((8,), 1e-3)]).view(4, 4)
    point = torch.nn.Parameter(far * torch.randn(4, 4, generator=generator))
    minimum = -0.25 * down.square().sum().item()
    optimizer = make_optimizer([point], STEPS)

    def loss_of() -> torch.Tensor:
        return (0.5 * curvature * point**2 + 0.25 * point**4).sum()

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                above = loss_of().item() - minimum
            report(step, math.log10(max(above, 0) + 1e-8))
