"""L-BFGS as a spec beside torch.optim.LBFGS, which takes one step for each call and searches no line."""

from __future__ import annotations

import torch
from torch.nn import Parameter

import optgen.torch


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
