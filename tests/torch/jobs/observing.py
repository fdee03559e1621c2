"""Sharded parameters beside whole ones, by optimizers that are evaluated and monitored, and that leave steps out."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.distributed as dist
from ranks import values
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import optgen
import optgen.torch

SHAPES = ((7, 5), (33, 300), (5, 1024), (3, 4))
"""Large ones have rows of 256 elements or more, whose codes lie in the same blocks in shards and in whole."""
STEPS = 3
OWNED = "muon with ema"
"""Matrices that one rank each updates."""
ROWS = "optimizer Rows\nstate a = w\nupdate:\n  w' = w - lr*g\n  a' = w'\neval:\n  w' = a - mean(a, per col)"


class Both:
    """An optimizer of whole parameters, and one of the same in shards."""

    def __init__(self, spec: Any, **options: Any) -> None:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        make = optgen.torch.optimizer(spec)
        self.whole = [torch.nn.Parameter(x) for x in values(SHAPES, 0)]
        self.sharded = [torch.nn.Parameter(distribute_tensor(x, mesh, [Shard(0)])) for x in values(SHAPES, 0)]
        self.optimizers = [make(params, **options) for params in (self.whole, self.sharded)]

    def step(self, seed: int, spoilt: float | None = None) -> None:
        """A step, with a value in the last element of all gradients, which the last rank has."""
        for p, q, grad in zip(self.whole, self.sharded, values(SHAPES, seed), strict=True):
            if spoilt is not None:
                grad[-1, -1] = spoilt
            p.grad, q.grad = grad, distribute_tensor(grad, q.device_mesh, q.placements)  # type: ignore[attr-defined]
        for optimizer in self.optimizers:
            optimizer.step()

    def are_alike(self) -> bool:
        return all(torch.equal(p, q.full_tensor()) for p, q in zip(self.whole, self.sharded, strict=True))  # type: ignore[attr-defined]


def evaluate() -> None:
    for spec, options in (
        ("adam with ema", {"storage": "int8_dynamic"}),
        ("torch/asgd", {"t0": 0.0}),
        (OWNED, {}),
    ):
        both = Both(spec, **options)
        for step in range(STEPS):
            both.step(step + 1)
        trained = [p.detach().clone() for p in both.whole]
        if spec == OWNED:  # states come to owners in shards
            both.optimizers[1].load_state_dict(both.optimizers[1].state_dict())
        for optimizer in both.optimizers:
            optimizer.eval()
        assert both.are_alike() and not torch.equal(trained[0], both.whole[0]), spec
        for optimizer in both.optimizers:
            optimizer.train()
        assert both.are_alike() and all(map(torch.equal, trained, both.whole)), spec
        both.step(STEPS)
        assert both.are_alike(), spec
    rows = Both(optgen.parse(ROWS))
    rows.step(1)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0.*: a piece .* reads sums, rows or columns"):
        rows.optimizers[1].eval()


def skip() -> None:
    """All ranks leave out a step in which one rank has a NaN; large numbers are finite, and their norm is not."""
    for spec in ("adam", OWNED):
        both = Both(spec, skip_nonfinite=True)
        for seed, spoilt in enumerate((None, math.nan, 1e30, math.inf)):
            both.step(seed, spoilt)
            assert both.are_alike(), spec
        assert [optimizer.skipped for optimizer in both.optimizers] == [2, 2], spec


def monitor() -> None:
    """Each rank is told the numbers of all parameters, by sums over shards or by their owners."""
    for spec in ("adam", "muon"):
        both = Both(spec)
        for optimizer in both.optimizers:
            optimizer.monitor("norm(g)", "norm(w' - w)/norm(w)", every=2)
        for seed in range(3):
            both.step(seed)
            assert both.are_alike(), spec
        whole, sharded = (optimizer.monitored for optimizer in both.optimizers)
        assert len(whole) == len(SHAPES)
        for name, numbers in whole.items():
            assert sharded[name] == pytest.approx(numbers, rel=1e-6), spec


def accumulate() -> None:
    """Gradients of two calls, summed in shards or by the owners."""
    for spec in ("adam", "muon"):
        both = Both(spec, accumulate=2)
        for seed in range(5):
            both.step(seed)
            assert both.are_alike(), spec
        assert both.optimizers[1].accumulated == 1


def observe() -> None:
    evaluate()
    skip()
    monitor()
    accumulate()
