"""The specs of specs/torch beside torch.optim itself: arguments, states, and a hundred steps with each argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import optgen
from optgen import RowSparse, specfiles
from tests.sweeps import swept

Array = Any
STEPS = 100
SHAPES = ((), (33,), (7, 5), (4, 3, 3, 2))
NOT_SPECS = {"LBFGS", "Optimizer"}
HOW = {"foreach", "fused", "capturable", "differentiable"}
"""Arguments of torch's that say how to compute a step, and not what."""
HOW_PRECISE = ("single", "rounded")
"""Flags that say in which precision torch computes."""
KEYS = {"accumulator": "sum"}
"""States that are named otherwise in torch: `sum` is a function of the language."""


def spec_name(cls: type) -> str:
    return "torch/" + re.sub(r"(?<=[a-z])A(?=dam)", "_A", cls.__name__).lower()


def values_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of torch's as those of a spec, which has a param for each number of a tuple."""
    pairs = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "eps": ("eps1", "eps2")}
    pairs |= {"step_sizes": ("step_size_min", "step_size_max"), "ns_coefficients": ("a", "b", "c")}
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        values |= zip(pairs[name], value, strict=True) if isinstance(value, tuple) else [(name, value)]
    return values


ADAM: tuple[dict[str, Any], ...] = (
    {},
    {"lr": 0.1},
    {"betas": (0.5, 0.9)},
    {"betas": (0.0, 0.99), "lr": 0.01},
    {"betas": (0.3, 0.5), "lr": 0.01},
    {"betas": (0.99, 0.9999), "lr": 0.01},
    {"eps": 1e-3, "lr": 0.01},
    {"weight_decay": 0.1, "lr": 0.01},
    {"maximize": True, "weight_decay": 0.1},
)
LARGEST = {"amsgrad": True, "lr": 0.05, "betas": (0.9, 0.9)}
DECOUPLED = {"decoupled_weight_decay": True, "weight_decay": 0.1}
ARGUMENTS: dict[type[torch.optim.Optimizer], tuple[dict[str, Any], ...]] = {
    torch.optim.SGD: (
        {},
        {"lr": 0.05, "momentum": 0.9},
        {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.01, "momentum": 0.5, "maximize": True, "weight_decay": 0.1},
        {"lr": 1e-6, "momentum": 1.2},
    ),
    torch.optim.Adam: (*ADAM, LARGEST, LARGEST | DECOUPLED | {"maximize": True}, DECOUPLED),
    torch.optim.AdamW: (*ADAM, LARGEST),
    torch.optim.Adamax: ADAM,
    torch.optim.NAdam: (*ADAM, DECOUPLED, {"momentum_decay": 0.1, "lr": 0.01}, {"momentum_decay": 0.0}),
    torch.optim.RAdam: (*ADAM, DECOUPLED, DECOUPLED | {"maximize": True}),
    torch.optim.Adagrad: (
        {},
        {"lr": 0.1, "lr_decay": 0.1},
        {"weight_decay": 0.1},
        {"initial_accumulator_value": 0.5, "lr": 0.1},
        {"eps": 1e-2},
        {"maximize": True, "weight_decay": 0.1},
    ),
    torch.optim.Adadelta: (
        {},
        {"rho": 0.5, "lr": 0.3},
        {"rho": 0.0, "lr": 0.3},
        {"eps": 1e-3},
        {"weight_decay": 0.1, "maximize": True, "lr": 0.5},
    ),
    torch.optim.RMSprop: (
        {},
        {"momentum": 0.9, "lr": 0.001},
        {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "eps": 1e-4},
        {"centered": True, "alpha": 0.3},
        {"maximize": True, "weight_decay": 0.01, "alpha": 0.9},
    ),
    torch.optim.Rprop: (
        {},
        {"lr": 0.1, "etas": (0.3, 1.5)},
        {"step_sizes": (1e-3, 0.05)},
        {"step_sizes": (0.05, 1e-3)},
        {"maximize": True},
    ),
    torch.optim.ASGD: (
        {},
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5},
        {"t0": 10.0, "weight_decay": 0.1},
        {"t0": -3.0, "lambd": 0.0},
        {"maximize": True},
    ),
    torch.optim.Adafactor: (
        {},
        {"lr": 0.1, "beta2_decay": -0.5},
        {"beta2_decay": 0.0},
        {"eps": (1e-3, 1e-2)},
        {"d": 2.0, "lr": 0.1},
        {"weight_decay": 0.1, "maximize": True},
    ),
}


@dataclass(frozen=True)
class Case:
    """An optimizer of torch with some of its arguments, made while torch's default dtype is `default`."""

    cls: type[torch.optim.Optimizer]
    arguments: Mapping[str, Any]
    default: str = "float32"

    def __str__(self) -> str:
        words = [self.cls.__name__, *(f"{name}={value}" for name, value in self.arguments.items())]
        return "-".join([*words, *(["default"] if self.default != "float32" else [])]).replace(" ", "")

    def load(self, dtype: str, **more: Any) -> optgen.UpdateRule:
        single = {} if self.default == "float32" else {"single": False}
        return optgen.load(spec_name(self.cls), dtype, **values_of(self.arguments), **single, **more)


CASES = [Case(cls, some) for cls, each in ARGUMENTS.items() for some in each]
IN_FLOAT32 = [Case(cls, each[-1 if cls.__name__ != "Adafactor" else 0]) for cls, each in ARGUMENTS.items()]
"""Those whose runs in float32 are compared in `make test`: with the last arguments of each class; Adafactor, which
takes longest to compile, with none."""
CASES += [Case(case.cls, case.arguments, "float64") for case in CASES if case.cls.__name__ in ("NAdam", "ASGD")]


@pytest.fixture
def default_dtype() -> Iterator[Callable[[str], None]]:
    """Sets torch's default dtype until the test ends."""
    before = torch.get_default_dtype()
    yield lambda name: torch.set_default_dtype(getattr(torch, name))
    torch.set_default_dtype(before)


# ---------------------------------------------------------------- gradients

_RNG = np.random.default_rng(15)
START, TARGET = ([_RNG.normal(size=shape) for shape in SHAPES] for _ in range(2))
CURVATURE = [10.0 ** _RNG.uniform(-3, 0.7, shape) for shape in SHAPES]
NOISE = [[_RNG.normal(size=s) * 0.1 * (_RNG.random(s) < 0.9) for s in SHAPES] for _ in range(STEPS)]
"""A tenth of the elements has no gradient in a step."""


def gradients(weights: list[Array], k: int) -> list[Array]:
    """Those of a quadratic bowl whose sides differ by a factor of 5000, with noise, in the weights' dtype."""

    def one(w: Array, target: Array, curvature: Array, noise: Array) -> Array:
        target, curvature, noise = (x.astype(w.dtype) for x in (target, curvature, noise))
        return np.asarray(np.where(noise == 0, 0, curvature * (w - target) + noise), w.dtype)

    return [one(*each) for each in zip(weights, TARGET, CURVATURE, NOISE[k], strict=True)]


def rate(lr: float, k: int) -> float:
    return lr * (1.0 if k < 40 else 0.3 if k < 70 else 0.8)


def torchs(case: Case, dtype: str) -> tuple[list[Array], list[dict[str, Any]]]:
    """Weights and states after a hundred steps of torch's."""
    params = [torch.nn.Parameter(torch.from_numpy(x.astype(dtype))) for x in START]
    optimizer = case.cls(params, foreach=False, **case.arguments)
    (group,) = optimizer.param_groups
    lr = group["lr"]
    for k in range(STEPS):
        group["lr"] = rate(lr, k)
        for p, grad in zip(params, gradients([p.detach().numpy() for p in params], k), strict=True):
            p.grad = torch.from_numpy(grad)
        optimizer.step()
    return [p.detach().numpy() for p in params], [optimizer.state[p] for p in params]


def ours(case: Case, dtype: str) -> tuple[list[Array], optgen.State]:
    params, grads = ([x.astype(dtype) for x in START] for _ in range(2))
    rule = case.load(dtype)
    step = rule.bind(params, grads)
    for k in range(STEPS):
        for array, grad in zip(grads, gradients(params, k), strict=True):
            array[...] = grad
        step(lr=rate(rule.values["lr"], k))
    return params, step.state


def distance(a: list[Array], b: list[Array]) -> float:
    """The root of the sum of squared differences of all tensors."""
    return float(np.sqrt(sum(np.sum((x.astype(np.float64) - y) ** 2) for x, y in zip(a, b, strict=True))))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_hundred_steps(case: Case, default_dtype: Callable[[str], None]) -> None:
    default_dtype(case.default)
    expected, states = torchs(case, "float64")
    weights, state = ours(case, "float64")
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    for i, theirs in enumerate(states):
        kept = {KEYS.get(name, name): arrays[i] for name, arrays in state.arrays.items() if arrays[i] is not None}
        assert kept.keys() == theirs.keys() - {"step"}
        for name, value in kept.items():
            np.testing.assert_allclose(value, theirs[name].numpy().reshape(value.shape), rtol=1e-12, atol=1e-13)
        assert theirs.get("step", STEPS) == state.t[i]


@pytest.mark.parametrize("case", swept(CASES, lambda case: case in IN_FLOAT32), ids=str)
def test_a_hundred_steps_in_float32(case: Case, default_dtype: Callable[[str], None]) -> None:
    """At most twice as far from torch's in float64 as torch's are. test_optimizer_info.py has shorter runs of more."""
    default_dtype(case.default)
    expected, in_float32 = (torchs(case, dtype)[0] for dtype in ("float64", "float32"))
    assert distance(ours(case, "float32")[0], expected) <= 2 * distance(in_float32, expected)


SPARSE = (
    (torch.optim.SparseAdam, {}),
    (torch.optim.SparseAdam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "maximize": True}),
    (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "maximize": True}),
)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # a remark of torch on its own tensors
@pytest.mark.parametrize(("cls", "arguments"), SPARSE)
def test_row_sparse_gradients(cls: Any, arguments: dict[str, Any]) -> None:
    """Rows are left alone that are missing; one step has no row at all."""
    rng, shape = np.random.default_rng(3), (6, 4)
    start = rng.normal(size=shape)
    param, mine = torch.nn.Parameter(torch.from_numpy(start.copy())), start.copy()
    optimizer = cls([param], **arguments)
    rule = optgen.load(spec_name(cls), "float64", **values_of(arguments))
    assert rule.lazy
    step = rule.bind([mine], [RowSparse(np.arange(0), np.zeros((0, 4)))])
    for k in range(STEPS):
        rows = np.flatnonzero(rng.random(6) < 0.4 * (k != 5))
        values = rng.normal(size=(len(rows), 4))
        param.grad = torch.sparse_coo_tensor(rows[None], torch.from_numpy(values), shape, check_invariants=True)
        optimizer.step()
        step.rebind([RowSparse(rows, values)])
        step()
    np.testing.assert_allclose(mine, param.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_every_class_has_a_spec_with_its_arguments_and_defaults() -> None:
    classes = [getattr(torch.optim, name) for name in torch.optim.__all__ if name not in NOT_SPECS]
    classes = [cls for cls in classes if isinstance(cls, type)]
    assert sorted(map(spec_name, classes)) == sorted(specfiles.available("torch"))
    for cls in classes:
        spec = optgen.load(spec_name(cls)).spec
        signature = inspect.signature(cls).parameters
        defaults = {name: x.default for name, x in signature.items() if name not in {"params", *HOW}}
        declared = {p.name: p.default for p in spec.params}
        declared |= {f.name: f.default for f in spec.flags if f.condition is None and f.name not in HOW_PRECISE}
        expected = values_of(defaults) | ({"adjust_lr_fn": "original"} if "adjust_lr_fn" in defaults else {})
        assert (spec.name, declared) == (f"Torch{cls.__name__}", expected)


def test_scalars_of_float32_are_rounded_in_a_float64_run() -> None:
    """torch keeps them so unless its default dtype is float64; the difference is seen in a float64 run."""
    for name, state in (("torch/nadam", "mu_product"), ("torch/asgd", "eta")):
        runs = [optgen.load(name, "float64", lr=0.1, single=single) for single in (True, False)]
        steps = [rule.bind([np.ones(3)], [np.ones(3)]) for rule in runs]
        for step in steps:
            step()
        single, double = (step.state.arrays[state][0] for step in steps)
        assert single != double and single == np.float32(double)


@pytest.mark.parametrize("name", specfiles.available("torch"))
def test_a_step_without_gradient_and_rate_moves_no_weight(name: str) -> None:
    """As those steps that make states which are then loaded."""
    weight = np.array([[0.5, -2.0], [0.0, 3.0]], np.float32)
    before = weight.copy()
    optgen.load(name, lr=0).bind([weight], [np.zeros_like(weight)])()
    assert (weight == before).all()
