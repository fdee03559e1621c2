"""Outer steps over several workers: `python outer.py FOLDER same:2 oracle:3 refused:2 shards:4 skipped:2 stopped:2`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pytest
import ranks
import torch
import torch.distributed as dist
from ranks import values
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

import optgen.torch
from optgen.torch import workers
from tests.torch.interrupts import interrupted

SHAPES = ((7, 5), (3,), (16, 12))
H = 3
DILOCO = f"adamw with diloco(h={H}, outer_lr=0.5, outer_momentum=0.5)"
LOCAL_SGD = """\
optimizer LocalSGD "several steps between means"
param k: int = 2 in [1, inf)
update:
  fast = w - lr*g
  w'   = mean(fast, over workers)   every k
  w'   = fast                       otherwise
"""


def params(**how: Any) -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(x.to(**how)) for x in values(SHAPES, 0)]


def step(optimizer: Any, seed: int) -> None:
    some = [p for group in optimizer.param_groups for p in group["params"]]
    for p, grad in zip(some, values(SHAPES, seed), strict=True):
        p.grad = grad.to(p.dtype)
    optimizer.step()


@contextmanager
def counted() -> Iterator[list[int]]:
    """The numbers of elements of all all-reduces in a block; other exchanges are errors."""
    sizes: list[int] = []
    plain = dist.all_reduce

    def all_reduce(x: torch.Tensor, *args: Any, **how: Any) -> Any:
        sizes.append(x.numel())
        return plain(x, *args, **how)

    with mock.patch.object(dist, "all_reduce", all_reduce), mock.patch.object(dist, "all_gather_object", None):
        yield sizes


def same() -> None:
    """Workers with the same gradients have the bits of one alone, and exchange weights once in each H steps."""
    cases: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        (DILOCO, {"lr": 0.01}, {}),
        (DILOCO, {"lr": 0.01, "master": True, "storage": {"slow": "bfloat16"}}, {"dtype": torch.bfloat16}),
        (DILOCO.replace("adamw", "muon_adamw"), {"lr": 0.01}, {"dtype": torch.float64}),
    )
    alone = [dist.new_group([k]) for k in range(dist.get_world_size())][dist.get_rank()]
    for name, options, how in cases:
        cls = optgen.torch.optimizer(name)
        one, several = params(**how), params(**how)
        first: Any = cls(one, workers=alone, **options)
        second: Any = cls(several, **options)
        for t in range(1, 2 * H + 2):
            step(first, t)
            with counted() as sizes, mock.patch.object(workers, "BUCKET_BYTES", 50 * 8 if t < H + 1 else 64 << 20):
                step(second, t)
            if t == H:  # 35, 3 and 192 elements, in rows of 5, 1 and 12
                assert sizes == [3, 3, *([38, 48, 48, 48, 48] if how.get("dtype") == torch.float64 else [38, 96, 96])]
            else:
                assert sizes == ([3, 3, sum(map(torch.numel, several))] if t % H == 0 else []), sizes
        for a, b in zip(one, several, strict=True):
            assert torch.equal(a.detach(), b.detach()), name
            assert all(torch.equal(x, second.state[b][key]) for key, x in first.state[a].items())


def skipped() -> None:
    """A step with an outer step, in which one worker has an infinity, is left out by all, and made up for."""
    rank = dist.get_rank()
    for clip_norm in (None, 1e6):
        cls, some = optgen.torch.optimizer(DILOCO), params()
        alone: Any = cls([torch.nn.Parameter(p.detach().clone()) for p in some], lr=0.01, workers=dist.group.WORLD)
        optimizer: Any = cls(some, lr=0.01, skip_nonfinite=True, clip_norm=clip_norm)
        for t in (1, 2, 3, 4):
            if t == H:
                for p, grad in zip(some, values(SHAPES, 7), strict=True):
                    p.grad = grad / (1 - rank)
                optimizer.step()
                assert optimizer.skipped == 1
            step(optimizer, t)
            step(alone, t)
        for a, b in zip(some, alone.param_groups[0]["params"], strict=True):
            assert torch.equal(a.detach(), b.detach())
    mesh = init_device_mesh("cpu", (2,))  # ranks of one worker, which differ in what is not sharded
    cut = torch.nn.Parameter(distribute_tensor(torch.ones(4), mesh, [Shard(0)]))
    whole = torch.nn.Parameter(torch.ones(2))
    plain: Any = optgen.torch.optimizer("sgd")([cut, whole], lr=1.0, skip_nonfinite=True, clip_norm=1.0)
    cut.grad = distribute_tensor(torch.ones(4), mesh, [Shard(0)])
    whole.grad = torch.full((2,), 1.0 if rank else float("nan"))
    plain.step()
    assert plain.skipped == 1
    assert whole.tolist() == [1.0, 1.0]


def stopped() -> None:
    """An interrupt of one worker between its weights and their mean, which its next step makes, with the others."""
    (some, twins), cls = (params(), params()), optgen.torch.optimizer(DILOCO)
    optimizer, twin = (cls(x, lr=0.01) for x in (some, twins))
    for t in range(1, 2 * H + 1):
        step(twin, 10 * t + dist.get_rank())
        with interrupted() if t == H and dist.get_rank() else nullcontext():
            step(optimizer, 10 * t + dist.get_rank())
        if t == H and dist.get_rank():
            optimizer.zero_grad()
            optimizer.step()
        for a, b in zip(some, twins, strict=True):
            assert torch.equal(a.detach(), b.detach())


def oracle() -> None:
    """Workers with gradients of their own: the equations in NumPy, where all of them are; from a state dict, too."""
    size, rank = dist.get_world_size(), dist.get_rank()
    start = [x.double().numpy() for x in values(SHAPES, 0)]
    some = params(dtype=torch.float64)
    optimizer: Any = optgen.torch.optimizer(f"sgd with diloco(h={H}, outer_lr=0.7, outer_momentum=0.9)")(some, lr=0.1)
    slow, velocity = start, [0.0 * x for x in start]
    fast = [list(start) for _ in range(size)]
    for t in range(1, 3 * H + 1):
        for k in range(size):
            fast[k] = [w - 0.1 * g.double().numpy() for w, g in zip(fast[k], values(SHAPES, 100 * k + t), strict=True)]
        if t % H == 0:
            delta = [s - sum(each) / size for s, *each in zip(slow, *fast, strict=True)]
            velocity = [0.9 * v + d for v, d in zip(velocity, delta, strict=True)]
            slow = [s - 0.7 * (d + 0.9 * v) for s, d, v in zip(slow, delta, velocity, strict=True)]
            fast = [list(slow) for _ in range(size)]
        step(optimizer, 100 * rank + t)
        for p, w in zip(some, fast[rank], strict=True):
            np.testing.assert_allclose(p.detach().numpy(), w, rtol=1e-12, atol=1e-13)
        if t == H + 1:
            saved = copy.deepcopy(optimizer.state_dict())
            some = [torch.nn.Parameter(p.detach().clone()) for p in some]
            optimizer = type(optimizer)(some, lr=0.1)
            optimizer.load_state_dict(saved)
    w = torch.nn.Parameter(torch.full((2,), float(rank)))
    local: Any = optgen.torch.optimizer(optgen.parse(LOCAL_SGD))([w], lr=1.0)
    for _ in range(2):
        w.grad = torch.ones(2)
        local.step(lambda: torch.tensor(1.0))
    assert w.tolist() == [(size - 1) / 2 - 2] * 2


def refused() -> None:
    """Errors on all ranks, before anything has changed: other counts, weights and gradients, and what cannot be."""
    rank, cls = dist.get_rank(), optgen.torch.optimizer(DILOCO)

    def check(optimizer: Any, kind: type[Exception], message: str) -> None:
        some = [p for group in optimizer.param_groups for p in group["params"]]
        before = copy.deepcopy([p.detach() for p in some])
        with pytest.raises(kind, match=message):
            optimizer.step()
        assert all(torch.equal(a, p.detach()) for a, p in zip(before, some, strict=True))
        assert [int(optimizer.state[p]["step"]) for p in some] == [H - 1] * len(some)

    def ready(more: float = 0.0, **options: Any) -> Any:
        optimizer = cls([torch.nn.Parameter(p.detach() + more) for p in params()], lr=0.01, **options)
        for t in range(1, H):
            step(optimizer, t)
        return optimizer

    check(ready(more=float(rank)), RuntimeError, "parameter 0 of group 0, .* is at update 3, .* slow of the checksum")
    wrong = ready()
    wrong.param_groups[0]["lr"] = 0.01 if rank else "much"
    check(wrong, TypeError, "^(rank 0: )?AdamWDiLoCo: 'lr' must be a number|^(rank 0: )?lr")
    missing = ready()
    if rank:
        missing.param_groups[0]["params"][1].grad = None
    check(missing, RuntimeError, r"^(rank 1: )?AdamWDiLoCo: an outer step is of all parameters, and is due for")
    with mock.patch.object(dist, "get_backend_config", lambda group: "cuda:nccl"):
        some = params()
        with pytest.raises(ValueError, match=r"has weights on 'cpu', and the process group .* tensors on cuda only"):
            step(cls(some, lr=0.01), 1)
        assert all(torch.equal(p.detach(), x) for p, x in zip(some, values(SHAPES, 0), strict=True))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    cut = torch.nn.Parameter(distribute_tensor(values(SHAPES, 0)[2].bfloat16(), mesh, [Shard(0)]))
    before = cut.detach().clone()
    owned: Any = optgen.torch.optimizer(DILOCO.replace("adamw", "muon_adamw"))([cut], lr=0.01, master=True)
    cut.grad = torch.ones_like(cut)
    with pytest.raises(ValueError, match=r"parameter 0 .* has a master at its owner alone"):
        owned.step()
    assert torch.equal(cut.detach().to_local(), before.to_local())  # type: ignore[attr-defined]
    net = torch.nn.Linear(3, 2)
    wrapped = DistributedDataParallel(net)
    optimizer: Any = cls(net.parameters(), h=1)
    wrapped(torch.ones(1, 3)).sum().backward()
    with pytest.raises(ValueError, match="AdamWDiLoCo with DistributedDataParallel, which averages gradients"):
        optimizer.step()
    for option in ("in_backward", "donate_grads"):
        with pytest.raises(ValueError, match=f"AdamWDiLoCo: {option}=True with a mean over workers"):
            cls(params(), **{option: True})


def shards() -> None:
    """Two workers of two ranks each, between which parameters are cut, beside two workers with whole ones."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("workers", "shards"))
    worker, group = mesh.get_coordinate()[0], mesh.get_group("workers")
    for name in (DILOCO, DILOCO.replace("adamw", "muon_adamw"), "adamw with snoo(k=2)"):
        cls = optgen.torch.optimizer(name)
        own = {"workers": group} if "diloco" in name else {}
        whole = params()
        cut = [torch.nn.Parameter(distribute_tensor(p.detach().clone(), mesh["shards"], [Shard(0)])) for p in params()]
        first: Any = cls(whole, lr=0.01, **own)
        second: Any = cls(cut, lr=0.01, **own)
        for t in range(1, 2 * H + 2):
            grads = values(SHAPES, 10 * t + worker)
            for a, b, grad in zip(whole, cut, grads, strict=True):
                a.grad, b.grad = grad, distribute_tensor(grad, mesh["shards"], [Shard(0)])
            first.step()
            second.step()
        for a, b in zip(whole, cut, strict=True):
            assert torch.equal(a.detach(), b.detach().full_tensor()), name  # type: ignore[attr-defined]
        if "snoo" in name:
            check_conversion(first, second)


def check_conversion(whole: Any, cut: Any) -> None:
    """Sharded states carry over as whole ones do, to shards and to owners."""
    for target in ("adamw", "muon_adamw", "lion with ema"):
        new, other = (optgen.torch.convert(x, target, lr=0.01) for x in (whole, cut))
        saved, theirs = new.state_dict()["state"], other.state_dict()["state"]
        for k, states in saved.items():
            for key, x in states.items():
                y = theirs[k][key]
                assert torch.equal(x, y.full_tensor() if isinstance(y, DTensor) else y), (target, k, key)


if __name__ == "__main__":
    folder, *modes = sys.argv[1:]
    torch.set_num_threads(1)
    for name in (DILOCO, DILOCO.replace("adamw", "muon_adamw"), "adamw with snoo(k=2)"):
        step(optgen.torch.optimizer(name)(params(), lr=0.01), 1)  # compiled once, before there are ranks
    functions = {
        "same": same,
        "oracle": oracle,
        "refused": refused,
        "shards": shards,
        "skipped": skipped,
        "stopped": stopped,
    }
    for mode, number in (given.split(":") for given in modes):
        print(f"{mode} on {number} ranks", file=sys.stderr, flush=True)
        ranks.run(int(number), functions[mode], Path(folder))
