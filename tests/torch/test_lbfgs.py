"""L-BFGS as a spec beside torch.optim.LBFGS and optax.lbfgs, one step for each call, without a line search."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import Parameter

import optgen
import optgen.torch

OPTAX = (
    (0.007500000000000007, -0.048, 0.065),
    (0.005182749376738139, -0.0397044779865945, 0.05888095169634928),
    (0.0019531183763745108, -0.019952274143279148, 0.029962977074216506),
    (0.0009685832487988468, -0.009976366931023122, 0.014981609187521342),
    (0.0005072255655106185, -0.004985823923248497, 0.007497946678428729),
    (0.00018440305203143404, -0.0024984521576609767, 0.003727707723786113),
)
"""Weights after each step of optax.lbfgs(0.5, memory_size=3, linesearch=None) of optax 0.2.8, in float64."""


def test_the_trajectory_is_that_of_optax() -> None:
    """On a quadratic, from weights with so short a gradient that no first step is shortened."""
    matrix = np.array([[2, 0.3, 0], [0.3, 1, 0.2], [0, 0.2, 0.5]])
    w, g = np.array([0.1, -0.05, 0.08]), np.zeros(3)
    step = optgen.load("lbfgs", "float64", lr=0.5, history=2).bind([w], [g])
    for expected in OPTAX:
        g[:] = matrix @ w
        step()
        np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-14)


def test_the_trajectory_is_that_of_torch() -> None:
    torch.manual_seed(0)
    sizes: list[tuple[int, ...]] = [(7,), (4, 3), ()]
    scales = [torch.rand(size, dtype=torch.float64) + 0.5 for size in sizes]
    ours, theirs = ([Parameter(torch.full(size, 2.0, dtype=torch.float64)) for size in sizes] for _ in range(2))

    def loss(params: list[Parameter]) -> torch.Tensor:
        terms = [((p - 1) ** 2 * s + 0.1 * (p - 1) ** 4).sum() for p, s in zip(params, scales, strict=True)]
        return torch.stack(terms).sum()

    optimizers = (
        optgen.torch.optimizer("lbfgs")(ours, lr=0.5, history=3),
        torch.optim.LBFGS(theirs, lr=0.5, history_size=4, max_iter=1, tolerance_change=0),
    )
    for _ in range(12):
        for params, optimizer in zip((ours, theirs), optimizers, strict=True):

            def closure(params: list[Parameter] = params) -> torch.Tensor:
                for p in params:
                    p.grad = None
                value = loss(params)
                value.backward()
                return value

            optimizer.step(closure)
        for p, q in zip(ours, theirs, strict=True):
            torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-11)
    assert float(loss(ours).detach()) < 1e-4
