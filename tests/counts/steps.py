"""What steps of optgen take: of PyTorch's optimizers, and of rules bound to arrays of NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

import optgen
import optgen.torch
from tests.counts.measure import Row, report

Shape = tuple[int, ...]

LAYERS: Sequence[Shape] = ((64, 20), (64,), (2, 64), (2,))
"""The parameters of a perceptron of 20, 64 and 2 units."""
CLASSES = {"torch.AdamW": optgen.torch.AdamW, "torch.Lion": optgen.torch.Lion}
"""One of PyTorch's optimizers, and one of ours."""


def torch_rows() -> Iterator[Row]:
    """A step of one group, and of 20 and 200 with a parameter each: with the same gradients, with other ones
    at each step, as `backward` makes them after `zero_grad`, and with these and a schedule."""
    for name, make in CLASSES.items():
        for groups, shapes in ((1, LAYERS), (20, 5 * LAYERS), (200, 50 * LAYERS)):
            words = f"{name}, {groups} group{'s' * (groups > 1)}"
            for what, new, scheduled in (
                ("same gradients", False, False),
                ("new gradients", True, False),
                ("new gradients and rates", True, True),
            ):
                params = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
                optimizer = make(params if groups == 1 else [{"params": [p]} for p in params], lr=1e-3)
                yield Row(f"{words}, {what}", *_step(optimizer, params, new=new, scheduled=scheduled))


def _step(optimizer: Any, params: list[Any], *, new: bool, scheduled: bool) -> tuple[Callable[[], Any], ...]:
    """A step of an optimizer, and what comes before it in a training loop."""
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999) if scheduled else None
    sets = itertools.cycle([[torch.ones_like(p) for p in params] for _ in range(3 if new else 1)])

    def before() -> None:
        if new:
            optimizer.zero_grad()
        for p, grad in zip(params, next(sets), strict=True):
            p.grad = grad
        if schedule is not None and optimizer.state:  # not before the first step
            schedule.step()

    return optimizer.step, before  # of which a schedule has made one of its own


def bound_rows() -> Iterator[Row]:
    """A call of a bound step: of one kernel with sums over tensors and without, of products, and of two phases."""
    adam, rates, sets = bound("adam"), itertools.count(1), itertools.cycle([ones(LAYERS), ones(LAYERS)])
    yield Row("bound adam", adam)
    yield Row("bound adam, another rate", lambda: adam(lr=1 / next(rates)))
    yield Row("bound adam, new gradients", adam, lambda: adam.rebind(next(sets)))
    yield Row("bound lamb", bound("lamb"))
    yield Row("bound muon", bound("muon", [shape for shape in LAYERS if len(shape) == 2]))
    sam = bound("adam with sam")
    yield Row("bound adam with sam, both phases", lambda: (sam.ascend(), sam.descend()))


def bound(name: str, shapes: Sequence[Shape] = LAYERS) -> Any:
    return optgen.load(name).bind(ones(shapes), ones(shapes))


def ones(shapes: Sequence[Shape]) -> list[Any]:
    return [np.ones(shape, np.float32) for shape in shapes]


if __name__ == "__main__":
    report([*torch_rows(), *bound_rows()])
