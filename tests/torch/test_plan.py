"""`plan()`: what it says is what steps do, and saying it changes nothing."""

from __future__ import annotations

import copy
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn

import optgen
import optgen.torch
from optgen.execute.choice import KernelChoice
from tests.sweeps import swept

CASES: list[tuple[str, dict[str, Any], torch.dtype]] = [
    ("lion", {}, torch.float32),
    ("muon_adamw", {"storage": "int8_dynamic", "master": True}, torch.bfloat16),
    ("soap otherwise adamw(lr=1e-3) with ema", {"storage": {"v": "bfloat16"}}, torch.float32),
    ("adafactor", {"storage": "int4_dynamic"}, torch.float32),
    ("prodigy", {}, torch.float32),
    ("adammini", {}, torch.float64),
    ("adashift", {"storage": "int8_linear"}, torch.float32),
    ("torch/adam", {"amsgrad": True}, torch.float32),
    ("torch/sgd", {"momentum": 0.9}, torch.complex64),
]


def network(dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.Linear(300, 40), nn.Linear(40, 9), nn.Linear(9, 2))
    net[0].to(memory_format=torch.channels_last)
    return net.to(dtype)


def give_gradients(net: nn.Module) -> None:
    for p in net.parameters():
        p.grad = torch.ones_like(p)


@pytest.mark.parametrize(
    ("name", "given", "dtype"), swept(CASES, lambda case: case[0] in ("muon_adamw", "prodigy", "torch/adam"))
)
def test_a_plan_is_what_steps_do(name: str, given: dict[str, Any], dtype: torch.dtype) -> None:
    """The states, bytes and dtypes of `state`; before a first step, after it, and without having changed anything."""
    net = network(dtype)
    cls: Any = optgen.torch.optimizer(name)
    opt = cls(net, **given)
    before, saved = opt.plan(), copy.deepcopy(opt.state_dict())
    text = repr(opt)
    assert str(opt.state_dict()) == str(saved) and ("states: " in text) == ("torch/" not in name)
    give_gradients(net)
    opt.step()
    plan = opt.plan()
    assert plan == before and [row.name for row in plan] == [x for g in opt.param_groups for x in g["param_names"]]
    params = [p for group in opt.param_groups for p in group["params"]]
    shared = {s.name for s in opt.spec.states if s.kind.value == "shared"}
    for k, (row, p) in enumerate(zip(plan, params, strict=True)):
        kept = {key: x for key, x in opt.state[p].items() if key != "step" and x is not None}
        assert (row.shape, row.dtype) == (tuple(p.shape), str(p.dtype).removeprefix("torch."))
        assert {state.name for state in row.states} == {key for key in kept if not key.endswith(".scale")}
        nbytes = sum(x.nbytes for key, x in kept.items() if not k or key not in shared)
        assert row.state_bytes == nbytes, (row, {key: x.shape for key, x in kept.items()})
        for state in row.states:
            codes = f"{state.name}.scale" in kept
            assert codes == state.storage.startswith(("int8", "int4"))
            assert codes or kept[state.name].is_complex() or str(kept[state.name].dtype) == f"torch.{state.storage}"


def test_a_plan_compiles_no_kernels() -> None:
    """Of parameters whose states are not there yet, as of PyTorch's classes before a step."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    opt = optgen.torch.Adafactor(net)  # type: ignore[arg-type]
    with mock.patch.object(KernelChoice, "kernel", side_effect=AssertionError):
        rows = opt.plan()
    assert [row.update for row in rows] == ["factored", "TorchAdafactor"] * 2 and not opt.state


def test_rows_say_what_differs_and_what_was_refused() -> None:
    net = nn.Sequential(nn.Conv2d(4, 8, 3), nn.Linear(600, 30), nn.Linear(30, 5))
    net[1].bias.requires_grad_(False)
    cls: Any = optgen.torch.optimizer("galore otherwise adamw(lr=3e-4)")
    first, rest = list(net[0].named_parameters()), list(net[1:].named_parameters())
    groups = [{"params": first, "weight_decay": 0.5}, {"params": rest, "adamw_beta1": 0.8}]
    opt = cls(groups, r=6, plain=("2.*",), storage="int8_dynamic", master=True, capturable=True)
    rows = {row.name: row for row in opt.plan()}
    assert {name: (row.update, row.because) for name, row in rows.items()} == {
        "weight": ("galore", ""),
        "bias": ("adamw", "1 dimension"),
        "1.weight": ("galore", ""),
        "1.bias": ("none", "it requires no gradient"),
        "2.weight": ("adamw", "plain='2.*'"),
        "2.bias": ("adamw", "plain='2.*'"),
    }
    assert rows["weight"].values == {"lr": 0.01, "weight_decay": 0.5}
    assert rows["2.weight"].values == {"adamw_lr": 3e-4, "weight_decay": 0, "adamw_beta1": 0.8}
    assert rows["2.weight"].refused == (
        "master: it is float32",
        "capturable: it is on the CPU",
        "adamw_m adamw_v in int8_dynamic: less than 4096 elements",
    )
    opt = cls(net, r=6, plain=(), filters=False)
    assert [row.because for row in opt.plan()][::2] == ["not (rank == 2 or rank > 2 and filters)", "", "not r <= rows"]
    assert opt.plan()[0].flags == {"tall": False, "galore": False} and "1.bias" in str(opt.plan())
    opt.param_groups[0]["lr"] = "fast"
    with pytest.raises(TypeError, match="'lr' must be a number"):
        opt.plan()
    assert "parameters, " not in repr(opt)


@pytest.mark.parametrize("cls", [optgen.torch.Lion, optgen.torch.SGD])
def test_what_cannot_be_planned_is_said(cls: Any) -> None:
    lazy, meta = nn.LazyLinear(2), nn.Linear(3, 4, device="meta")
    opt = cls([*lazy.named_parameters(), ("meta", meta.weight), ("whole", nn.Parameter(torch.ones(2)))], lr=0.1)
    first, second, third, fourth = opt.plan()
    assert (first.update, first.because) == ("unknown", "it has no shape yet")
    assert second.elements == 0 and third.shape == (4, 3) and fourth.update == cls.spec.name
