"""Sharded matrices, which their owners update: `python owned.py same RANKS FOLDER`, and `save` and `load`.

Each mode ends with an AssertionError where a sharded parameter differs from the whole one that got the same gradients.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import ranks
import torch
import torch.distributed as dist
from sharded import values
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import optgen.torch

SHAPES = ((7, 5), (1, 30), (3,), (64, 300), (33, 16), (9, 12), (0, 4), (2, 3, 5), (16, 16))
"""Vectors and batches are elementwise in `muon_adamw`, as are the matrices of its second group."""
CASES: tuple[tuple[str, dict[str, Any], torch.dtype], ...] = (
    ("muon_adamw", {}, torch.float32),
    ("muon_adamw", {"matmul": "bfloat16"}, torch.float32),
    ("muon_adamw", {"master": True, "storage": "int8_dynamic"}, torch.bfloat16),
    ("muon_adamw", {"storage": "bfloat16_stochastic", "seed": 3}, torch.float32),
    ("soap", {"k": 2}, torch.float32),
    ("shampoo", {"momentum": 0.9}, torch.float32),
    ("torch/muon", {}, torch.float32),
    ("soap with sam", {}, torch.float32),
)
STEPS = 3
Params = list[torch.nn.Parameter]


def layouts() -> Iterator[tuple[DeviceMesh, list[Any]]]:
    n = dist.get_world_size()
    yield init_device_mesh("cpu", (n,)), [Shard(0)]
    yield init_device_mesh("cpu", (n,)), [Shard(1)]
    if n == 4:
        yield init_device_mesh("cpu", (2, 2)), [Replicate(), Shard(0)]
        yield init_device_mesh("cpu", (2, 2)), [Shard(0), Shard(1)]
    else:
        yield init_device_mesh("cpu", (1, n)), [Replicate(), Shard(0)]


def same() -> None:
    for number, (mesh, placements) in enumerate(layouts()):
        for name, options, dtype in CASES if number == 0 else CASES[:1] + CASES[4:5]:
            compare(name, options, dtype, mesh, placements)


def groups_of(name: str, params: Params) -> list[dict[str, Any]]:
    """Two groups: of `muon_adamw`, the second one has a matrix that AdamW updates; others have matrices alone."""
    if name == "muon_adamw":
        return [{"params": params[:-1]}, {"params": params[-1:], "plain": True, "adam_lr": 0.01}]
    matrices = [p for p in params if p.dim() == 2]
    return [{"params": matrices[:2]}, {"params": matrices[2:], "lr": 0.05}]


def compare(name: str, options: dict[str, Any], dtype: torch.dtype, mesh: DeviceMesh, placements: list[Any]) -> None:
    """Train whole and sharded parameters with the same gradients; one matrix is whole in both."""
    shapes = [shape for shape in SHAPES if len(shape) > 1 or placements[-1] == Shard(0)]
    start = [x.to(dtype) for x in values(shapes, 0)]
    whole = [torch.nn.Parameter(x.clone()) for x in start]
    sharded = [torch.nn.Parameter(x if k == 1 else distribute_tensor(x, mesh, placements)) for k, x in enumerate(start)]
    kind = optgen.torch.optimizer(name)
    one, many = (kind(groups_of(name, params), **options) for params in (whole, sharded))
    for step in range(STEPS):
        for optimizer, params in ((one, whole), (many, sharded)):

            def give(params: Params = params, step: int = step) -> torch.Tensor:
                grads = values([tuple(p.shape) for p in params], step + 1)
                for k, (p, grad) in enumerate(zip(params, grads, strict=True)):
                    is_left_out = step == 1 and k == 0
                    own = grad.to(dtype)
                    p.grad = None if is_left_out else distribute_like(own, p)
                return torch.zeros(())

            give()
            optimizer.step(give if optimizer.spec.phases else None)
    check_alike(name, whole, sharded, one, many)


def distribute_like(x: torch.Tensor, param: Any) -> torch.Tensor:
    return distribute_tensor(x, param.device_mesh, param.placements) if isinstance(param, DTensor) else x


def check_alike(name: str, whole: Params, sharded: Params, one: Any, many: Any) -> None:
    for p, q in zip(whole, sharded, strict=True):
        assert torch.equal(p, full(q)), (name, tuple(p.shape), (p - full(q)).abs().max())
    theirs, ours = one.state_dict()["state"], many.state_dict()["state"]
    assert list(theirs) == list(ours), (name, theirs.keys(), ours.keys())
    for number, states in theirs.items():
        assert list(states) == list(ours[number]), (name, number, states.keys(), ours[number].keys())
        for key, x in states.items():
            assert torch.equal(x, full(ours[number][key])), (name, number, key)


def full(x: torch.Tensor) -> torch.Tensor:
    return x.full_tensor() if isinstance(x, DTensor) else x


if __name__ == "__main__":
    mode, number, where = sys.argv[1:]
    functions = {"same": (same, ())}
    function, arguments = functions[mode]
    ranks.run(int(number), function, Path(where), *arguments)
