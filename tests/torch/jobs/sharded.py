"""Sharded parameters beside whole ones: `python sharded.py FOLDER same:RANKS norms:RANKS`; `save`, `load`: checkpoints;
`--all`: with more optimizers, and with each of them on all meshes.

Several modes, each with its number of ranks, run one after the other: to import PyTorch takes longer than most of them.
Each ends with an AssertionError where a sharded parameter differs from the whole one that got the same gradients.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import observing
import owned
import pytest
import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from ranks import values
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.utils import get_total_norm

import optgen.torch
from optgen.torch.hooks import total_norm

SHAPES = ((7, 5), (1, 300), (3,), (130, 70), (9001,), (2, 3, 65), (5, 1024), (15, 301), (1,))
MATRICES = tuple(shape for shape in SHAPES if len(shape) > 1)
MORE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("adammini", {}),
    ("torch/adafactor", {}),
    ("novograd", {}),
    ("came", {"lr": 1e-3}),
    ("torch/sgd", {"momentum": 0.9}),
)
"""With `--all`. Their sums over rows, columns and tensors are those of others here."""
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("adam", {}),
    ("lion", {"storage": "bfloat16_stochastic"}),
    ("adam", {"storage": "int8_dynamic"}),
    ("adam", {"storage": {"m": "int4_dynamic", "v": "int8_linear"}}),
    ("sgld", {"seed": 3}),
    ("lamb", {}),
    ("adafactor", {}),
    ("prodigy", {}),
    ("lars", {"storage": "bfloat16"}),
    ("torch/adamw", {"amsgrad": True}),
    *(MORE if owned.ALL else ()),
)
FEW = "lamb", "adafactor", "prodigy"
"""Those that sum over the elements of a tensor, of its rows and columns, and of all tensors."""
SOAP = """\
optimizer SoapAdamW for matrix "SOAP for matrices, AdamW for vectors"
flag matrix = rank == 2
otherwise use adamw() as adam
update:
  w' = use soap(k = 2) as soap
"""
CHECKPOINTS = (*CASES, ("muon_adamw", {"storage": "int8_dynamic"}), (SOAP, {}))
STEPS = 3


def layouts() -> Iterator[tuple[DeviceMesh, list[Any], bool]]:
    """Meshes with placements, and whether sums come to the same bits there: of two axes for two processes, of one for
    others."""
    n = dist.get_world_size()
    if n == 2:
        yield init_device_mesh("cpu", (1, n)), [Replicate(), Shard(0)], True
        yield init_device_mesh("cpu", (n, 1)), [Replicate(), Shard(0)], True
    else:
        yield init_device_mesh("cpu", (n,)), [Shard(0)], True
    if n > 2:
        yield init_device_mesh("cpu", (n,)), [Shard(1)], False


def same() -> None:
    for number, (mesh, placements, exact) in enumerate(layouts()):
        for name, options in CASES:
            if number and not owned.ALL and name not in FEW:
                continue
            if exact or not ("int" in str(options.get("storage")) or name == "torch/adafactor"):
                compare(name, options, mesh, placements, exact=exact)
        if not exact:
            refuse_codes(mesh, placements)
    codes_move()
    if dist.get_world_size() > 1:
        matrices()


def matrices() -> None:
    """Matrices that one rank each updates."""
    owned.same()
    if dist.get_world_size() == 2:
        owned.exchanges_once()
        owned.refused()
        owned.takes_what_comes_later()


def refuse_codes(mesh: DeviceMesh, placements: list[Any]) -> None:
    """Blocks of codes are not cut along columns; nor are matrices of the last two axes."""
    param = torch.nn.Parameter(distribute_tensor(torch.zeros(8, 1024), mesh, placements))
    with pytest.raises(ValueError, match="first axis only"):
        optgen.torch.optimizer("adam")([param], storage="int8_dynamic")
    batch = torch.nn.Parameter(distribute_tensor(torch.zeros(2, 8, 9), mesh, placements))
    batch.grad = distribute_tensor(torch.ones(2, 8, 9), mesh, placements)
    with pytest.raises(ValueError, match="matrices stay whole"):
        optgen.torch.Adafactor([batch]).step()


def compare(name: str, options: dict[str, Any], mesh: DeviceMesh, placements: list[Any], *, exact: bool) -> None:
    """Train sharded parameters with the gradients that whole ones got."""
    along = max((p.dim for p in placements if isinstance(p, Shard)), default=0)
    shapes = MATRICES if along else SHAPES
    of_codes = "int" in str(options.get("storage"))
    case = CASES.index((name, options))
    whole, states = trained_replicas(name, options, mesh) if of_codes else trained_whole(case, shapes)
    sharded = [torch.nn.Parameter(distribute_tensor(x, mesh, placements)) for x in values(shapes, 0)]
    optimizer = optgen.torch.optimizer(name)(sharded, **options)
    for step in range(STEPS):
        for q, grad in zip(sharded, values(shapes, step + 1), strict=True):
            q.grad = distribute_tensor(grad, mesh, placements)
        optimizer.step()
    for k, (p, q) in enumerate(zip(whole, sharded, strict=True)):
        full = q.full_tensor()  # type: ignore[attr-defined]
        close = torch.equal(p, full) if exact else torch.allclose(p, full, rtol=1e-5, atol=1e-6)
        assert close, (name, options, placements, shapes[k], (p - full).abs().max())
        for key, x in optimizer.state[q].items():
            own = states[k][key]
            assert tuple(x.shape) == tuple(own.shape), (name, key, x.shape, own.shape)
            if exact:
                assert torch.equal(whole_of(x), own), (name, key)


def trained_replicas(
    name: str, options: dict[str, Any], mesh: DeviceMesh
) -> tuple[list[torch.Tensor], list[dict[str, Any]]]:
    """DTensors that every rank has whole, whose blocks of codes are those of shards, and the states of each."""
    everywhere = [Replicate()] * mesh.ndim
    params = [torch.nn.Parameter(distribute_tensor(x, mesh, everywhere)) for x in values(SHAPES, 0)]
    optimizer = optgen.torch.optimizer(name)(params, **options)
    for step in range(STEPS):
        for p, grad in zip(params, values(SHAPES, step + 1), strict=True):
            p.grad = distribute_tensor(grad, mesh, everywhere)
        optimizer.step()
    found = [{key: whole_of(x) for key, x in optimizer.state[p].items()} for p in params]
    return [whole_of(p.detach()) for p in params], found


def single(optimizer: torch.optim.Optimizer, param: torch.Tensor) -> dict[str, Any]:
    """What a state dict of one parameter has."""
    (group,) = optimizer.state_dict()["param_groups"]
    return {"state": {0: dict(optimizer.state[param])}, "param_groups": [{**group, "params": [0]}]}


def whole_of(x: torch.Tensor) -> torch.Tensor:
    return x.full_tensor() if isinstance(x, DTensor) else x


def codes_move() -> None:
    """Codes of whole parameters, whose blocks run on over short rows, become those of shards: the numbers that they
    stand for, encoded by row. Those of shards go on, bit by bit, where the parameter is whole."""
    mesh, shapes = init_device_mesh("cpu", (dist.get_world_size(),)), ((130, 70), (9001,), (700, 6), (15, 301))
    adam = optgen.torch.optimizer("adam")
    make = functools.partial(adam, storage={"m": "int4_dynamic", "v": "int8_linear"})

    def step(optimizer: Any, number: int) -> None:
        for p, grad in zip(optimizer.param_groups[0]["params"], values(shapes, number), strict=True):
            p.grad = distribute_tensor(grad, mesh, p.placements) if isinstance(p, DTensor) else grad
        optimizer.step()

    whole = make([torch.nn.Parameter(x) for x in values(shapes, 0)])
    step(whole, 1)
    parts = [torch.nn.Parameter(distribute_tensor(x, mesh, [Shard(0)])) for x in values(shapes, 0)]
    sharded, numbers = make(parts), adam([torch.nn.Parameter(x) for x in values(shapes, 0)])
    for optimizer in (sharded, numbers):
        optimizer.load_state_dict(whole.state_dict())
    assert [len(sharded.state[p]) for p in parts] == [5, 3, 3, 5], "rows of less than 16 elements have no codes"
    for p, q in zip(parts, numbers.param_groups[0]["params"], strict=True):
        decoded = adam([p])
        decoded.load_state_dict(single(sharded, p))
        for key in ("m", "v"):
            found, expected = whole_of(decoded.state[p][key]), numbers.state[q][key]
            if len(sharded.state[p]) == 3:
                assert torch.equal(found, expected), (key, tuple(q.shape))
            torch.testing.assert_close(found, expected, rtol=0.07, atol=0.05)
    step(sharded, 2)
    back = make([torch.nn.Parameter(whole_of(p.detach()).clone()) for p in parts])
    saved = sharded.state_dict()
    saved["state"] = {k: {key: whole_of(x) for key, x in kept.items()} for k, kept in saved["state"].items()}
    back.load_state_dict(saved)
    for optimizer in (sharded, back):
        step(optimizer, 3)
    for p, q in zip(parts, back.param_groups[0]["params"], strict=True):
        assert torch.equal(whole_of(p.detach()), q) or len(sharded.state[p]) == 3, tuple(q.shape)


@functools.cache
def trained_whole(case: int, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[torch.Tensor], list[dict[str, Any]]]:
    """Parameters that are not sharded after all steps of a case, and the states of each."""
    name, options = CASES[case]
    params = [torch.nn.Parameter(x) for x in values(shapes, 0)]
    optimizer = optgen.torch.optimizer(name)(params, **options)
    for step in range(STEPS):
        for p, grad in zip(params, values(shapes, step + 1), strict=True):
            p.grad = grad
        optimizer.step()
    return [p.detach() for p in params], [optimizer.state[p] for p in params]


def before_ranks() -> None:
    """What all ranks compare with is computed once, and its kernels are compiled, before they are made."""
    for case in range(len(CASES)):
        for shapes in (SHAPES, MATRICES):
            trained_whole(case, shapes)
    for case in range(len(owned.CASES)):
        for shapes in (owned.SHAPES, owned.MATRICES):
            owned.trained_whole(case, shapes)


def norms() -> None:
    """Each process has the norm of the whole gradients: sharded, replicated, and of tensors that are no DTensors."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole = values([(7, 3), (5,), (1, 2), (4,)], 0)
    placements = Shard(0), Replicate(), Shard(0)
    parts = [distribute_tensor(x, mesh, [p]) for x, p in zip(whole, placements, strict=False)]
    torch.testing.assert_close(total_norm([*parts, whole[-1]]), get_total_norm(whole))


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Tanh(), torch.nn.Linear(65, 300))
    fully_shard(net[0])
    fully_shard(net)
    return net


def train(net: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        for p, grad in zip(net.parameters(), values([tuple(p.shape) for p in net.parameters()], step), strict=True):
            p.grad = distribute_tensor(grad, p.device_mesh, p.placements)  # type: ignore[attr-defined]
        optimizer.step()


def full(net: torch.nn.Module) -> list[torch.Tensor]:
    return [p.full_tensor() for p in net.parameters()]  # type: ignore[attr-defined]


def save(folder: str) -> None:
    """Train 3 steps and save; go on for 2 steps, whose result is what `load` is to come to."""
    for name, options in CHECKPOINTS:
        net = network()
        optimizer = owned.class_of(name)(net.parameters(), **options)
        train(net, optimizer, range(3))
        if name not in dict(CASES):
            check_full_state_dict(net, optimizer, name, options)
        state = {"net": net.state_dict(), "optimizer": get_optimizer_state_dict(net, optimizer)}
        dcp.save(state, checkpoint_id=f"{folder}/{label(name, options)}")
        train(net, optimizer, range(3, 5))
        result = full(net)
        if dist.get_rank() == 0:
            torch.save(result, f"{folder}/{label(name, options)}.pt")


def check_full_state_dict(net: torch.nn.Module, optimizer: Any, name: str, options: dict[str, Any]) -> None:
    """What rank 0 has of all states, and others nothing, makes an optimizer like the first one."""
    there = StateDictOptions(full_state_dict=True, cpu_offload=True)
    content = get_optimizer_state_dict(net, optimizer, options=there)
    assert bool(content) == (dist.get_rank() == 0)
    other = owned.class_of(name)(net.parameters(), **options)
    back = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_optimizer_state_dict(net, other, content, options=back)
    ours, theirs = (get_optimizer_state_dict(net, x)["state"] for x in (other, optimizer))
    for param, states in theirs.items():
        for key, x in states.items():
            found = ours[param][key]
            assert torch.equal(*(y.full_tensor() if isinstance(y, DTensor) else y for y in (x, found))), (param, key)


def load(folder: str) -> None:
    for name, options in CHECKPOINTS:
        net = network()
        optimizer = owned.class_of(name)(net.parameters(), **options)
        state = {"net": net.state_dict(), "optimizer": get_optimizer_state_dict(net, optimizer)}
        dcp.load(state, checkpoint_id=f"{folder}/{label(name, options)}")
        net.load_state_dict(state["net"])
        set_optimizer_state_dict(net, optimizer, state["optimizer"])
        train(net, optimizer, range(3, 5))
        expected = torch.load(f"{folder}/{label(name, options)}.pt", weights_only=True)
        for a, b in zip(full(net), expected, strict=True):
            assert torch.equal(a, b), (name, options, tuple(b.shape), (a - b).abs().max())


def label(name: str, options: dict[str, Any]) -> str:
    return "_".join([name.split('"')[0].replace("/", "-"), *map(str, options.values())])


if __name__ == "__main__":
    folder, *modes = (given for given in sys.argv[1:] if given != "--all")
    torch.set_num_threads(1)
    before_ranks()
    functions = {
        "same": (same, ()),
        "matrices": (matrices, ()),
        "norms": (norms, ()),
        "observed": (observing.observe, ()),
        "save": (save, (folder,)),
        "load": (load, (folder,)),
    }
    for mode, number in (given.split(":") for given in modes):
        print(f"{mode} on {number} ranks", file=sys.stderr, flush=True)
        function, arguments = functions[mode]
        ranks.run(int(number), function, Path(folder), *arguments)
