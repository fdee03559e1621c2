"""A linear layer that learns from a stream of noisy samples: a quadratic whose gradients are noisy, and never repeat.

Inputs are of 32 numbers, whose variances are 1, 1/2, ..., 1/32 in a turned basis: these are the curvatures. Targets are
of 16 numbers, with noise of deviation 0.5. What is held out is no sample: it is the expected loss itself, less the part
that is noise, which no weight takes away. So it says how an optimizer averages noise while it comes near.
"""

from __future__ import annotations

from typing import Any

import torch

TITLE = "Linear regression on a stream of noisy samples"
LOSS = "expected loss beyond that of the noise"
TARGET = 0.1
IS_NETWORK = False

STEPS, BATCH, INPUTS, OUTPUTS, NOISE = 400, 8, 32, 16, 0.5
LOOKS = 20
"""How often the expected loss is computed."""


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    generator = torch.Generator().manual_seed(seed)
    basis, _ = torch.linalg.qr(torch.randn(INPUTS, INPUTS, generator=generator))
    root = basis * torch.arange(1, INPUTS + 1).rsqrt()  # root @ root.T is the covariance of inputs
    truth = torch.randn(OUTPUTS, INPUTS, generator=generator) * INPUTS**-0.5
    weight = torch.nn.Parameter(torch.zeros(OUTPUTS, INPUTS))
    optimizer = make_optimizer([weight], STEPS)
    for step in range(1, STEPS + 1):
        x = torch.randn(BATCH, INPUTS, generator=generator) @ root.T
        y = x @ truth.T + NOISE * torch.randn(BATCH, OUTPUTS, generator=generator)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = 0.5 * (x @ weight.T - y).square().sum(1).mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        if step % (STEPS // LOOKS) == 0:
            with optimizer.evaluating(), torch.no_grad():
                loss = 0.5 * ((weight - truth) @ root).square().sum()
            report(step, loss.item())
