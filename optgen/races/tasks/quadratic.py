"""A quadratic whose curvatures are known: 384 of them, from 0.0025 to 25, in directions that no axis has.

The weight is a matrix W of 24 x 16, and the loss is half the sum of W * (A @ W @ B), with A and B symmetric, of
eigenvalues from 0.05 to 5, in turned bases. So the curvatures are the products of an eigenvalue of A and one of B. That
is what a linear layer meets whose inputs are correlated as B, and whose outputs are weighed by A. There is no noise.
"""

from __future__ import annotations

import math
from typing import Any

import torch

TITLE = "A quadratic of condition 10,000, without noise"
LOSS = "log10 of the loss over that at the start"
TARGET = -2.5
IS_NETWORK = False

STEPS, ROWS, COLUMNS = 400, 24, 16
LOOKS = 20
"""How often the loss is reported."""


def symmetric(size: int, generator: torch.Generator) -> torch.Tensor:
    """A matrix with eigenvalues from 0.05 to 5, equally far apart in their logarithms, in a random basis."""
    basis, _ = torch.linalg.qr(torch.randn(size, size, generator=generator))
    return basis @ torch.diag(5 * torch.logspace(-2, 0, size)) @ basis.T


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    generator = torch.Generator().manual_seed(seed)
    a, b = symmetric(ROWS, generator), symmetric(COLUMNS, generator)
    weight = torch.nn.Parameter(0.1 * torch.randn(ROWS, COLUMNS, generator=generator))
    optimizer = make_optimizer([weight], STEPS)

    def loss_of() -> torch.Tensor:
        return 0.5 * (weight * (a @ weight @ b)).sum()

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    start = loss_of().item()
    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                ratio = loss_of().item() / start
            report(step, math.log10(max(ratio, 0) + 1e-12))
