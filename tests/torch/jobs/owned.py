"""Sharded matrices that one rank each updates, beside whole ones with the same gradients, and what ranks refuse."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from ranks import values
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import optgen
import optgen.torch
from optgen.torch.memory import sharding_of

SHAPES = ((7, 5), (1, 30), (3,), (64, 300), (33, 16), (9, 12), (0, 4), (2, 3, 5), (16, 16))
"""Vectors are elementwise in `muon_adamw`, as are the matrices of its second group; the filter is a matrix."""
MATRICES = tuple(shape for shape in SHAPES if len(shape) > 1)
PHASED = """\
optimizer Phased "a matrix in two phases, the second of which factorizes"
param lr = 0.1
state start = w
state L: rows x rows = identity(rows)
phase look:
  start' = w
  w'     = w - lr*(g@g^T@g)
phase correct:
  L' = L + g@g^T
  w' = start - lr*(inverse_root(L', 4)@g)
"""
ALL = "--all" in sys.argv
KNOWN = inspect.signature(distribute_tensor).parameters
NO_MESSAGE: dict[str, Any] = {"src_data_rank": None} if "src_data_rank" in KNOWN else {}
"""That all ranks have a whole tensor; without it, as in older PyTorch, rank 0 sends it."""
MORE: tuple[tuple[str, dict[str, Any], torch.dtype], ...] = (
    ("muon_adamw", {"matmul": "bfloat16"}, torch.float32),
    ("shampoo with lookahead(k=2)", {"momentum": 0.9}, torch.float32),
    ("torch/muon", {}, torch.float32),
)
CASES: tuple[tuple[str, dict[str, Any], torch.dtype], ...] = (
    ("muon_adamw", {}, torch.float32),
    ("soap", {"k": 2}, torch.float32),
    ("muon_adamw", {"weights": "kahan"}, torch.bfloat16),
    ("muon_adamw", {"master": True, "storage": "int8_dynamic"}, torch.bfloat16),
    ("muon_adamw", {"storage": "bfloat16_stochastic", "seed": 3}, torch.float32),
    (PHASED, {}, torch.float32),
    *(MORE if ALL else ()),
)
STEPS = 3


def class_of(name: str) -> Any:
    """The optimizers of a spec, by its name or its text."""
    return optgen.torch.optimizer(optgen.parse(name) if "\n" in name else name)


Params = list[torch.nn.Parameter]


def layouts() -> Iterator[tuple[DeviceMesh, list[Any]]]:
    n = dist.get_world_size()
    yield init_device_mesh("cpu", (n,)), [Shard(0)]
    if n == 3:
        return
    yield init_device_mesh("cpu", (n,)), [Shard(1)]
    if n == 4:
        yield init_device_mesh("cpu", (2, 2)), [Replicate(), Shard(0)]
        yield init_device_mesh("cpu", (2, 2)), [Shard(0), Shard(1)]
    else:
        yield init_device_mesh("cpu", (1, n)), [Replicate(), Shard(0)]


def same() -> None:
    """All cases on two ranks; elsewhere, and in other layouts, the first one, and on four ranks two."""
    n = dist.get_world_size()
    for number, (mesh, placements) in enumerate(layouts()):
        for case in range(len(CASES) if (n, number) == (2, 0) else 1 + (n == 4)):
            compare(case, mesh, placements)


def groups_of(name: str, params: Params) -> list[dict[str, Any]]:
    """Two groups: of `muon_adamw`, the second one has a matrix that AdamW updates; others have matrices alone."""
    if name == "muon_adamw":
        return [{"params": params[:-1]}, {"params": params[-1:], "plain": True, "adam_lr": 0.01}]
    matrices = [p for p in params if p.dim() == 2]
    return [{"params": matrices[:2]}, {"params": matrices[2:], "lr": 0.05}]


def compare(case: int, mesh: DeviceMesh, placements: list[Any]) -> None:
    """Train sharded parameters with the gradients that whole ones got; one matrix is whole in both."""
    name, _, dtype = CASES[case]
    shapes = SHAPES if placements[-1] == Shard(0) else MATRICES
    whole, theirs = trained_whole(case, shapes)
    start = [x.to(dtype) for x in values(shapes, 0)]
    sharded = [torch.nn.Parameter(x if k == 1 else cut(x, mesh, placements)) for k, x in enumerate(start)]
    ours = train(case, sharded, shapes)
    for p, q in zip(whole, sharded, strict=True):
        assert torch.equal(p, full(q)), (name, placements, tuple(p.shape), (p - full(q)).abs().max())
    assert list(theirs) == list(ours), (name, theirs.keys(), ours.keys())
    for number, states in theirs.items():
        assert list(states) == list(ours[number]), (name, number, states.keys(), ours[number].keys())
        for key, x in states.items():
            assert torch.equal(x, full(ours[number][key])), (name, number, key)


@functools.cache
def trained_whole(case: int, shapes: tuple[tuple[int, ...], ...]) -> tuple[Params, Any]:
    """Parameters that are not sharded after all steps of a case, and the states of a state dict."""
    params = [torch.nn.Parameter(x.to(CASES[case][2])) for x in values(shapes, 0)]
    return params, train(case, params, shapes)


def train(case: int, params: Params, shapes: Sequence[tuple[int, ...]]) -> Any:
    """Take all steps of a case: the states of a state dict. One matrix has no gradient in the second step."""
    name, options, dtype = CASES[case]
    optimizer = class_of(name)(groups_of(name, params), **options)
    for step in range(STEPS):

        def give(step: int = step) -> torch.Tensor:
            for k, (p, grad) in enumerate(zip(params, values(shapes, step + 1), strict=True)):
                p.grad = None if step == 1 and k == 0 else like(p, grad.to(dtype))
            return torch.zeros(())

        give()
        optimizer.step(give if optimizer.spec.phases else None)
    check_plan(optimizer)
    return optimizer.state_dict()["state"]


def check_plan(optimizer: Any) -> None:
    """What a plan says of states is what is here of them; a matrix that others own has none here."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for row, p in zip(optimizer.plan(), params, strict=True):
        here = [getattr(x, "_local_tensor", x).nbytes for key, x in optimizer.state[p].items() if key != "step"]
        assert row.state_bytes == sum(here), (row, here)
        assert bool(row.place) == (sharding_of(p) is not None), row


def cut(x: torch.Tensor, mesh: DeviceMesh, placements: Any) -> torch.Tensor:
    """A tensor that all ranks have, as a DTensor."""
    return distribute_tensor(x, mesh, placements, **NO_MESSAGE)


def like(param: Any, x: torch.Tensor, placements: Any = None) -> torch.Tensor:
    """A tensor that is placed like a parameter, or otherwise."""
    if not isinstance(param, DTensor):
        return x
    return cut(x, param.device_mesh, placements or param.placements)


def full(x: torch.Tensor) -> torch.Tensor:
    return x.full_tensor() if isinstance(x, DTensor) else x


# ---------------------------------------------------------------- traffic, memory, and what is refused


class Pair:
    """Four matrices of one size and a vector, sharded, in two groups, with gradients."""

    def __init__(self, name: str = "soap", **options: Any) -> None:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        shapes = [(8, 8)] * 4
        self.params = [torch.nn.Parameter(cut(x, mesh, [Shard(0)])) for x in values(shapes, 0)]
        named = [(f"net.{k}.weight", p) for k, p in enumerate(self.params)]
        groups: Any = [{"params": named[:2]}, {"params": named[2:]}]
        self.optimizer = optgen.torch.optimizer(name)(groups, **options)
        self.give(1)

    def give(self, seed: int) -> None:
        for p, grad in zip(self.params, values([tuple(p.shape) for p in self.params], seed), strict=True):
            p.grad = like(p, grad)

    def contents(self) -> list[torch.Tensor]:
        states = self.optimizer.state_dict()["state"].values()
        return [full(x).detach().clone() for x in (*self.params, *(x for own in states for x in own.values()))]

    def is_refused(self, kind: type[Exception], message: str) -> None:
        """A step raises an error on all ranks, and changes nothing."""
        before = self.contents()
        with pytest.raises(kind, match=message):
            self.optimizer.step()
        assert all(map(torch.equal, before, self.contents()))


def exchanges_once() -> None:
    """One all-to-all to owners and one back; states are whole, on one rank each, and ranks have as many."""
    pair = Pair()
    pair.optimizer.step()
    with mock.patch.object(dist, "all_to_all_single", side_effect=dist.all_to_all_single) as exchange:
        pair.optimizer.step()
    assert exchange.call_count == 2
    n = dist.get_world_size()
    own = [p for p in pair.params if len(pair.optimizer.state[p]) > 1]
    assert len(own) in (4 // n, -(-4 // n))
    for p in pair.params:
        states = pair.optimizer.state[p]
        assert int(states["step"]) == 2 and all(tuple(x.shape) == (8, 8) for k, x in states.items() if k != "step")
    # A state dict of whole tensors, as of one process.
    content, other = pair.optimizer.state_dict(), Pair()
    content["state"] = {k: {name: full(x) for name, x in own.items()} for k, own in content["state"].items()}
    other.optimizer.load_state_dict(content)
    assert all(map(torch.equal, pair.contents()[4:], other.contents()[4:]))


def refused() -> None:
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    pair = Pair(k=1)
    pair.optimizer.step()
    # A matrix of the second group; that of the first one is not updated either.
    pair.params[3].grad._local_tensor[-1:] = float("nan")  # type: ignore[union-attr]
    pair.is_refused(ArithmeticError, r"(gradient of )?parameter 'net.3.weight': it has a NaN.*nothing was updated")
    pair.give(2)
    grad, pair.params[1].grad = pair.params[1].grad, None if rank == last else pair.params[1].grad
    pair.is_refused(RuntimeError, rf"'net.1.weight' has a gradient .*rank 0.* has no gradient .*rank {last}")
    pair.params[1].grad = grad
    rate = pair.optimizer.param_groups[1]["lr"]
    pair.optimizer.param_groups[1]["lr"] = "fast" if rank == 0 else rate
    pair.is_refused(TypeError, r"'lr'" if rank == 0 else r"^rank 0: .*'lr'")
    pair.optimizer.param_groups[1]["lr"] = rate
    pair.optimizer.step()
    with pytest.raises(ValueError, match=r"in_backward=True, but params\[0\] is a shard .* whole"):
        Pair("soap", in_backward=True)
    with pytest.raises(ValueError, match=r"'net.0.weight' is sharded; LBFGS shares values .* keep its parameters unsh"):
        Pair("lbfgs").optimizer.step()
    plain = Pair("muon_adamw")
    plain.params[2].grad = torch.zeros(8, 8)
    plain.is_refused(ValueError, r"gradient of parameter 'net.2.weight': no DTensor, .*distribute_tensor")


def takes_what_comes_later() -> None:
    """A gradient that is placed otherwise, and a parameter that is added."""
    pairs = [Pair("muon_adamw"), Pair("muon_adamw")]
    for number, pair in enumerate(pairs):
        for step in range(2):
            pair.give(step)
            if number:
                grad = pair.params[0].grad
                assert grad is not None
                placed = full(grad) / dist.get_world_size()
                mesh = pair.params[0].device_mesh  # type: ignore[attr-defined]
                pair.params[0].grad = DTensor.from_local(placed, mesh, [Partial()])
                pair.params[1].grad = like(pair.params[1], full(pair.params[1].grad), [Replicate()])  # type: ignore[arg-type]
            pair.optimizer.step()
            if not step:
                pair.params.append(torch.nn.Parameter(like(pair.params[0], torch.ones(5, 3))))
                pair.optimizer.add_param_group({"params": [("later", pair.params[-1])]})
    for p, q in zip(*(pair.params for pair in pairs), strict=True):
        assert torch.allclose(full(p), full(q), rtol=1e-5)
    assert torch.equal(full(pairs[0].params[1]), full(pairs[1].params[1]))
    assert not torch.equal(full(pairs[0].params[-1]), torch.ones(5, 3))
