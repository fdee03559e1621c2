"""states='cpu': parameters on a device whose states are on the host. There is no device here but a stand-in."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

import optgen.torch
from optgen.torch import host, optimizer
from optgen.torch.evaluating import _Found
from tests.torch.standin_device import LINKS, LateLink, OnDevice

SHAPES = ((70, 70), (129,), (), (8, 3, 5))
HOW: dict[str, dict[str, Any]] = {
    "torch/adamw": {},
    "torch/sgd": {"momentum": 0.9},
    "lamb": {"clip_norm": None},
    "adafactor": {},
    "prodigy": {},
    "sgld": {"seed": 3},
    "lion": {"storage": "int8_dynamic"},
    "schedulefree_adamw": {},
    "muon_adamw": {},
}


FEW = ("torch/adamw", "adafactor", "prodigy", "lion")
"""The specs that each run has; the others are of `make stress`."""


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(host, "CudaLink", LateLink)
    LINKS.clear()
    yield


def weights(dtype: torch.dtype = torch.float32, shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def there(values: Sequence[torch.Tensor], device: str = "cuda:0") -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(OnDevice(x.clone(), device)) for x in values]


def give(params: Sequence[torch.Tensor], k: int, device: str = "cuda:0") -> None:
    generator = torch.Generator().manual_seed(k + 1)
    for p in params:
        grad = torch.randn(p.shape, generator=generator).to(p.dtype)
        p.grad = OnDevice(grad, device) if isinstance(p, OnDevice) else grad


def numbers(p: Any) -> torch.Tensor:
    for link in LINKS:
        link.finish()
    return p.held if isinstance(p, OnDevice) else p.detach()


def assert_same(a: torch.optim.Optimizer, b: torch.optim.Optimizer) -> None:
    for p, q in zip(params_of(a), params_of(b), strict=True):
        assert torch.equal(numbers(p), numbers(q))
        assert a.state[p].keys() == b.state[q].keys()
        for key, x in a.state[p].items():
            assert x.device.type == "cpu" and torch.equal(x, b.state[q][key]), key


def params_of(opt: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [p for group in opt.param_groups for p in group["params"]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", [pytest.param(x, marks=[] if x in FEW else [pytest.mark.stress]) for x in HOW])
def test_the_bits_of_the_cpu(name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several parts, of which each waits for its own gradients; some parameters have none at times."""
    monkeypatch.setattr(host, "PART_BYTES", 1000)
    cls, how, values = optimizer(name), HOW[name], weights(dtype)
    far, near = there(values), [torch.nn.Parameter(x.clone()) for x in values]
    how = {**how, "master": dtype == torch.bfloat16}
    a, b = cls(far, states="cpu", **how), cls(near, **how)
    for k in range(4):
        for opt, own in ((a, far), (b, near)):
            give(own, k)
            if k == 1 and name != "prodigy":
                own[1].grad = None
            opt.param_groups[0]["lr"] = 0.01 / (k + 1)
            opt.step()
    assert_same(a, b)
    again = cls(there(values), states="cpu", **how)
    again.load_state_dict(copy.deepcopy(b.state_dict()))
    for p, q in zip(params_of(again), near, strict=True):
        numbers(p).copy_(q.detach())
        torch.autograd.graph.increment_version(p)
    for opt in (again, b):
        give(params_of(opt), 9)
        opt.step()
    assert_same(again, b)


def test_what_travels() -> None:
    """Parameters and gradients come in each step, and what somebody has written, through `data` too, counts."""
    far = there(weights(shapes=((100, 100), (100, 100))))
    opt = optgen.torch.Lion(far, states="cpu")
    for k in range(3):
        give(far, k)
        if k == 2:
            far[1].grad = None
            numbers(far[0]).fill_(3.0)
        opt.step()
    assert (numbers(far[0]) - 3.0).abs().max() < 0.01
    (link,) = LINKS
    steps = [entry for entry in link.log if entry != "wait"]
    assert steps[-6:] == ["fetch 4", "send 2", "fetch 4", "send 2", "fetch 3", "send 1"]


def test_parts_are_asked_for_before_the_first_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PART_BYTES", 1)
    far = there(weights())
    opt = optgen.torch.Lion(far, states="cpu")
    for k in range(2):
        give(far, k)
        opt.step()
    assert LINKS[0].log[-12:] == ["fetch 2"] * 4 + ["wait", "send 1"] * 4


@pytest.mark.parametrize("name", ["schedulefree_adamw", "adamw with ema"])
def test_weights_to_evaluate_with(name: str) -> None:
    far, near = there(weights()), [torch.nn.Parameter(x) for x in weights()]
    a, b = optimizer(name)(far, states="cpu", lr=0.1), optimizer(name)(near, lr=0.1)
    for k in range(3):
        for opt, own in ((a, far), (b, near)):
            give(own, k)
            opt.step()
    assert_same(a, b)
    found = [x for _, x in _Found(a).all()]  # which the stand-in cannot write into parameters
    with b.evaluating():
        assert all(torch.equal(x, p) for x, p in zip(found, near, strict=True))
    assert not torch.equal(found[0], near[0])


def test_phases() -> None:
    cls = optimizer("adamw with sam(rho=0.05)")
    far, near = there(weights()), [torch.nn.Parameter(x) for x in weights()]
    a, b = cls(far, states="cpu", lr=0.1), cls(near, lr=0.1)
    for k in range(2):
        for phase in ("ascend", "descend"):
            for opt, own in ((a, far), (b, near)):
                give(own, 2 * k + len(phase))
                getattr(opt, phase)()
    assert_same(a, b)


def test_other_devices_than_those_of_nvidia() -> None:
    far, near = there(weights(), "mps:0"), [torch.nn.Parameter(x) for x in weights()]
    with pytest.raises(ValueError, match="with states='cpu' those on any device"):
        optgen.torch.Lion(far)
    a, b = optgen.torch.Lion(far, states="cpu"), optgen.torch.Lion(near)
    links = a.mirrors._links
    links[far[0].device] = LateLink(far[0].device)
    for k in range(2):
        for opt, own in ((a, far), (b, near)):
            give(own, k, "mps:0")
            opt.step()
    assert_same(a, b)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"states": "gpu"}, "states: 'cpu', or None for where parameters are, not 'gpu'"),
        ({"states": "cpu", "capturable": True}, "states='cpu' with capturable=True"),
        ({"states": "cpu", "donate_grads": True}, "donate_grads"),
    ],
)
def test_what_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        optgen.torch.Lion(there(weights()), **how)


def test_nothing_changes_on_the_cpu() -> None:
    a, b = ([torch.nn.Parameter(x) for x in weights()] for _ in range(2))
    first, second = optgen.torch.Lion(a, states="cpu"), optgen.torch.Lion(b)
    for opt, own in ((first, a), (second, b)):
        give(own, 0)
        opt.step()
    assert_same(first, second)
    assert not LINKS
