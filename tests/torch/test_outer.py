"""Outer optimizers and private ones in PyTorch, beside loops over PyTorch's own optimizers."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from tests.process import run
from tests.torch.interrupts import interrupted

H, OUTER_LR, OUTER_MOMENTUM = 3, 0.7, 0.9


def loop(start: torch.Tensor, grads: list[torch.Tensor]) -> torch.Tensor:
    """AdamW with an outer SGD of PyTorch's: fast weights by one, slow weights by the other."""
    fast, slow = Parameter(start.clone()), Parameter(start.clone())
    inner = torch.optim.AdamW([fast], lr=0.02, betas=(0.9, 0.99), weight_decay=0.1)
    outer = torch.optim.SGD([slow], lr=OUTER_LR, momentum=OUTER_MOMENTUM, nesterov=True)
    for t, grad in enumerate(grads, 1):
        fast.grad = grad
        inner.step()
        if t % H == 0:
            slow.grad = slow.detach() - fast.detach()
            outer.step()
            fast.data.copy_(slow.data)
    return fast.detach()


@pytest.mark.parametrize("name", ["diloco(h=3, outer_momentum=0.9)", "snoo(k=3, outer_momentum=0.9)"])
def test_outer_steps_are_those_of_sgd_around_adamw(name: str) -> None:
    """Also across a state dict between outer steps."""
    torch.manual_seed(0)
    start = torch.randn(6, 5, dtype=torch.float64)
    grads = [torch.randn_like(start) for _ in range(8)]
    cls, p = optgen.torch.optimizer(f"torch/adamw with {name}"), Parameter(start.clone())
    values = {"lr": 0.02, "betas": (0.9, 0.99), "weight_decay": 0.1}
    ours = cls([p], **values)
    for t, grad in enumerate(grads):
        if t == 5:
            saved, p = copy.deepcopy(ours.state_dict()), Parameter(p.detach().clone())
            ours = cls([p], **values)
            ours.load_state_dict(saved)
        p.grad = grad
        ours.step()
    torch.testing.assert_close(p.detach(), loop(start, grads), rtol=1e-12, atol=1e-14)


def test_private_noise_has_its_deviation_and_comes_before_the_division() -> None:
    n = 200_000
    p = Parameter(torch.zeros(n, dtype=torch.float64))
    ours = optgen.torch.optimizer("sgd with private(noise=1.5, clip=0.2, batch=8)")([p], lr=1.0, seed=2**40 + 1)
    p.grad = torch.full_like(p, 4.0)
    ours.step()
    noise = p.detach() + 4.0 / 8
    assert abs(noise.mean()) < 4 * 0.3 / 8 / math.sqrt(n)
    assert abs(noise.std() / (0.3 / 8) - 1) < 4 / math.sqrt(2 * n)


def test_private_refuses_gradients_of_some_rows() -> None:
    net = torch.nn.Embedding(10, 3, sparse=True)
    start = net.weight.detach().clone()
    ours = optgen.torch.optimizer("adamw with private")(net.parameters(), lr=0.1)
    net(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(ValueError, match="rows without noise show which examples there were; make the gradient dense"):
        ours.step()
    assert torch.equal(net.weight.detach(), start)


NAMES = ("diloco(h=2)", "snoo(k=2)")


def params_of(opt: Any) -> list[torch.Tensor]:
    return [p for group in opt.param_groups for p in group["params"]]


def give(opt: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for p in params_of(opt):
        p.grad = torch.randn(p.shape, generator=generator)


def made(name: str, **options: Any) -> Any:
    params = [Parameter(torch.linspace(-1, 1, n)) for n in (5, 300)]
    return optgen.torch.optimizer(f"adamw with {name}")(params, lr=0.1, **options)


def contents(opt: Any) -> list[Any]:
    return [[p.tolist(), {key: x.tolist() for key, x in opt.state[p].items()}] for p in params_of(opt)]


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupt_before_an_outer_step_leaves_it_to_the_next_step(name: str) -> None:
    """Also in a pickle, and without gradients: then nothing else is made. A round of gradients is not taken twice."""
    for accumulate in (1, 2):
        opt, twin = made(name, accumulate=accumulate), made(name, accumulate=accumulate)
        for t in range(2 * accumulate - 1):
            for x in (opt, twin):
                give(x, t)
                x.step()
        give(opt, 9)
        give(twin, 9)
        twin.step()
        with interrupted():
            opt.step()
        assert contents(opt) != contents(twin)
        with pytest.raises(RuntimeError, match=r"'outer' is due; save states between steps; .* zero_grad\(\) and step"):
            opt.state_dict()
        other = pickle.loads(pickle.dumps(opt))
        for x in (opt, other):
            x.zero_grad()
            x.step()
            assert contents(x) == contents(twin)
            assert not x._due


@pytest.mark.parametrize("name", NAMES)
def test_updates_of_several_gradients_have_outer_steps(name: str) -> None:
    opt, twin = made(name, accumulate=2), made(name)
    for t in range(5):
        give(opt, 2 * t)
        first = [p.grad for p in params_of(opt)]
        opt.step()
        give(opt, 2 * t + 1)
        for p, a, b in zip(params_of(twin), first, [p.grad for p in params_of(opt)], strict=True):
            p.grad = a + b
        opt.step()
        twin.step()
        assert contents(opt) == contents(twin)


@pytest.mark.parametrize("name", NAMES)
def test_steps_that_are_skipped_keep_no_copies(name: str) -> None:
    opt, twin = made(name, skip_nonfinite=True), made(name)
    for t in range(5):
        give(opt, t)
        give(twin, t)
        opt.step()
        twin.step()
        assert not opt._skipping._before
        assert contents(opt) == contents(twin)
        params_of(opt)[1].grad[7] = math.inf
        opt.step()
        assert contents(opt) == contents(twin)
    assert opt.skipped == 5
    sam = optgen.torch.optimizer("adamw with sam")([Parameter(torch.ones(3))], skip_nonfinite=True)
    sam.step(lambda: give(sam, 0))
    assert not sam._skipping._before


def test_copies_have_the_group_of_workers_and_pickles_ask_for_it() -> None:
    group: Any = object()
    opt = made("diloco(h=2)", workers=group)
    assert copy.deepcopy(opt).workers is group
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(opt))))
    give(other, 0)
    before = contents(other)
    with pytest.raises(RuntimeError, match=r"DiLoCo: it was pickled .*; set opt\.workers to the group, or to None"):
        other.step()
    assert contents(other) == before
    other.load_state_dict(opt.state_dict())
    other.workers = None
    other.step()
    opt.load_state_dict(other.state_dict())
    assert opt.workers is group


JOB = Path(__file__).parent / "jobs" / "outer.py"


def run_ranks(folder: Path, *modes: str) -> None:
    result = run([sys.executable, JOB, folder, *modes], timeout=400, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr


def test_workers_average_weights_once_in_h_steps(tmp_path: Path) -> None:
    """With the bits of one where all have the same gradients, and those of an oracle where each has its own."""
    run_ranks(tmp_path, "same:2", "oracle:2", "skipped:2", "stopped:2")


@pytest.mark.stress
def test_more_workers_and_sharded_ones_and_what_they_refuse(tmp_path: Path) -> None:
    run_ranks(tmp_path, "same:4", "oracle:3", "refused:2", "refused:3", "shards:4")
