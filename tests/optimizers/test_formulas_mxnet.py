"""The optimizers of MXNet against their formulas, written a second time in NumPy: float64, with rates that change.

A formula takes one weight, what it keeps (0 where nothing was kept yet) and what the step is given; it returns the new
weight.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import optgen

Array = Any
Kept = defaultdict[str, Any]
Formula = Callable[..., Array]
RATES = (0.05, 0.05, 0.02, 0.0625, 0.0625, 0.04, 0.03)  # one a step
RESCALE, WD = 0.5, 0.1
SHAPES = [(7,), (6, 5), (4, 3, 2, 2), (70, 80), (1,), ()]


@dataclass(frozen=True)
class Step:
    """What one step is given: the gradient as it comes in, the update count, the rate and the bound on gradients."""

    grad: Array
    t: int
    lr: float
    bound: float | None

    def clipped(self, x: Array) -> Array:
        return x if self.bound is None else np.clip(x, -self.bound, self.bound)

    @property
    def g(self) -> Array:
        return self.clipped(RESCALE * self.grad)

    def decayed(self, w: Array) -> Array:
        return self.clipped(RESCALE * self.grad + WD * w)


def corrected(h: Step, beta1: float, beta2: float) -> float:
    """The rate, with the corrections of both moments."""
    return h.lr * math.sqrt(1 - beta2**h.t) / (1 - beta1**h.t)


def averages(g: Array, s: Kept, beta1: float, beta2: float) -> None:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = beta2 * s["v"] + (1 - beta2) * g**2


def sgd(w: Array, s: Kept, h: Step, momentum: float = 0.0) -> Array:
    s["mom"] = momentum * s["mom"] - h.lr * (h.g + WD * w)
    return w + s["mom"]


def nag(w: Array, s: Kept, h: Step, momentum: float = 0.0) -> Array:
    new = w + momentum**2 * s["mom"] - (1 + momentum) * h.lr * (h.g + WD * w)
    s["mom"] = momentum * s["mom"] - h.lr * (h.g + WD * new)
    return new


def signum(w: Array, s: Kept, h: Step, momentum: float = 0.9, wd_lh: float = 0.0) -> Array:
    if not momentum:
        return w - h.lr * WD * w - h.lr * np.sign(h.grad)
    s["mom"] = momentum * s["mom"] - (1 - momentum) * (h.g + WD * w)
    return w - h.lr * wd_lh * w + h.lr * np.sign(s["mom"])


def dcasgd(w: Array, s: Kept, h: Step, momentum: float = 0.0, lamda: float = 0.04) -> Array:
    s["mom"] = momentum * s["mom"] - h.lr * (h.g + WD * w + lamda * h.g**2 * (w - s.get("previous", w)))
    s["previous"] = w
    return w + s["mom"]


def lars(
    w: Array,
    s: Kept,
    h: Step,
    momentum: float = 0.0,
    eta: float = 0.001,
    eps: float = 0.0,
    momentum_correction: bool = True,
    skip: bool = False,
) -> Array:
    w_norm, g_norm = np.linalg.norm(w), RESCALE * np.linalg.norm(h.grad)
    rate = h.lr if skip else h.lr * eta * w_norm / (g_norm + WD * w_norm + eps)
    momentum *= h.lr / s.get("lr", h.lr) if momentum_correction else 1
    s["lr"] = h.lr
    s["mom"] = momentum * s["mom"] - rate * (h.g + WD * w)
    return w + s["mom"]


def lbsgd(
    w: Array,
    s: Kept,
    h: Step,
    momentum: float = 0.0,
    warmup_strategy: str = "linear",
    warmup_epochs: int = 5,
    batch_scale: int = 1,
    updates_per_epoch: int = 32,
    begin_epoch: int = 0,
) -> Array:
    s["sum"] = s["sum"] + h.grad
    count, warm = begin_epoch * updates_per_epoch + h.t, warmup_epochs * updates_per_epoch
    if count % batch_scale:
        return w
    h = replace(h, grad=s["sum"] / batch_scale)
    s["sum"] = 0
    grown = {"linear": lambda x: x, "power2": lambda x: x**2, "sqrt": math.sqrt}
    if warmup_strategy == "lars":
        square = np.linalg.norm(w) ** 2
        factor = np.clip(np.sqrt(square / (np.linalg.norm(h.grad) ** 2 + WD * square + 1e-18)), 0.01, 100)
    elif count >= warm:
        factor = batch_scale
    else:
        factor = 1 + (batch_scale - 1) * grown[warmup_strategy](count / warm)
    s["mom"] = momentum * s["mom"] - h.lr * factor * (h.g + WD * w)
    return w + s["mom"]


def ftml(w: Array, s: Kept, h: Step, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8) -> Array:
    g = h.decayed(w)
    s["v"] = beta2 * s["v"] + (1 - beta2) * g**2
    d = (1 - beta1**h.t) / h.lr * (np.sqrt(s["v"] / (1 - beta2**h.t)) + epsilon)
    s["z"] = beta1 * s["z"] + (1 - beta1) * g - (d - beta1 * s["d"]) * w
    s["d"] = d
    return -s["z"] / d


def adam(
    w: Array, s: Kept, h: Step, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, amsgrad: bool = False
) -> Array:
    averages(h.decayed(w), s, beta1, beta2)
    s["largest"] = np.maximum(s["largest"], s["v"])
    v = s["largest"] if amsgrad else s["v"]
    return w - corrected(h, beta1, beta2) * s["m"] / (np.sqrt(v) + epsilon)


def adamw(
    w: Array,
    s: Kept,
    h: Step,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    correct_bias: bool = True,
) -> Array:
    averages(h.g, s, beta1, beta2)
    rate = corrected(h, beta1, beta2) if correct_bias else h.lr
    return w - rate * s["m"] / (np.sqrt(s["v"]) + epsilon) - h.lr * WD * w


def adabelief(
    w: Array,
    s: Kept,
    h: Step,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    correct_bias: bool = True,
) -> Array:
    g = h.decayed(w)
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["s"] = beta2 * s["s"] + (1 - beta2) * (g - s["m"]) ** 2 + epsilon
    rate = corrected(h, beta1, beta2) if correct_bias else h.lr
    return w - rate * s["m"] / (np.sqrt(s["s"]) + epsilon)


def adamax(w: Array, s: Kept, h: Step, beta1: float = 0.9, beta2: float = 0.999) -> Array:
    g = h.decayed(w)
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["u"] = np.maximum(beta2 * s["u"], abs(g))
    return w - h.lr / (1 - beta1**h.t) * s["m"] / s["u"]


def nadam(
    w: Array,
    s: Kept,
    h: Step,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    schedule_decay: float = 0.004,
) -> Array:
    g = h.decayed(w)
    averages(g, s, beta1, beta2)
    now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay)) for t in (h.t, h.t + 1))
    s["product"] = s.get("product", 1.0) * now
    m_bar = (1 - now) * g / (1 - s["product"]) + then * s["m"] / (1 - s["product"] * then)
    return w - h.lr * m_bar / (np.sqrt(s["v"] / (1 - beta2**h.t)) + epsilon)


def adagrad(w: Array, s: Kept, h: Step, eps: float = 1e-7) -> Array:
    s["h"] = s["h"] + h.g**2
    return w - h.lr * (h.g / np.sqrt(s["h"] + eps) + WD * w)


def groupadagrad(w: Array, s: Kept, h: Step, eps: float = 1e-5) -> Array:
    s["h"] = s["h"] + np.mean(h.g**2, axis=1, keepdims=True)
    return w - h.lr * h.g / np.sqrt(s["h"] + eps)


def rmsprop(
    w: Array,
    s: Kept,
    h: Step,
    gamma1: float = 0.9,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    centered: bool = False,
    clip_weights: float = math.inf,
) -> Array:
    g = h.decayed(w)
    s["n"] = gamma1 * s["n"] + (1 - gamma1) * g**2
    if centered:
        s["gbar"] = gamma1 * s["gbar"] + (1 - gamma1) * g
        s["delta"] = gamma2 * s["delta"] - h.lr * g / np.sqrt(s["n"] - s["gbar"] ** 2 + epsilon)
        return np.clip(w + s["delta"], -clip_weights, clip_weights)
    return np.clip(w - h.lr * g / np.sqrt(s["n"] + epsilon), -clip_weights, clip_weights)


def adadelta(w: Array, s: Kept, h: Step, rho: float = 0.9, epsilon: float = 1e-5) -> Array:
    s["a"] = rho * s["a"] + (1 - rho) * h.g**2
    step = np.sqrt(s["delta"] + epsilon) / np.sqrt(s["a"] + epsilon) * h.g
    s["delta"] = rho * s["delta"] + (1 - rho) * step**2
    return w - (step + WD * w)


def ftrl(w: Array, s: Kept, h: Step, lamda1: float = 0.01, beta: float = 1.0) -> Array:
    g = h.g
    s["z"] = s["z"] + g - (np.sqrt(s["n"] + g**2) - np.sqrt(s["n"])) * w / h.lr
    s["n"] = s["n"] + g**2
    new = (np.sign(s["z"]) * lamda1 - s["z"]) / ((beta + np.sqrt(s["n"])) / h.lr + WD)
    return np.where(abs(s["z"]) > lamda1, new, 0.0)


def trust(w: Array, u: Array, lower_bound: float, upper_bound: float) -> Array:
    return np.clip(np.linalg.norm(w), lower_bound, upper_bound) / np.linalg.norm(u)


def lamb(
    w: Array,
    s: Kept,
    h: Step,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    lower_bound: float = 0.0,
    upper_bound: float = math.inf,
    bias_correction: bool = True,
) -> Array:
    averages(h.g, s, beta1, beta2)
    of_m, of_v = (1 - beta1**h.t, 1 - beta2**h.t) if bias_correction else (1, 1)
    u = s["m"] / of_m / (np.sqrt(s["v"] / of_v) + epsilon) + WD * w
    return w - h.lr * trust(w, u, lower_bound, upper_bound) * u


def lans(
    w: Array,
    s: Kept,
    h: Step,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    lower_bound: float = 0.0,
    upper_bound: float = math.inf,
) -> Array:
    g = h.clipped(h.grad / np.linalg.norm(h.grad))
    averages(g, s, beta1, beta2)
    root = np.sqrt(s["v"] / (1 - beta2**h.t)) + epsilon
    for share, direction in ((beta1, s["m"] / (1 - beta1**h.t)), (1 - beta1, g)):
        u = direction / root + WD * w
        s["step"] = s["step"] + share * trust(w, u, lower_bound, upper_bound) * u
    return w - h.lr * s.pop("step")


ZERO_IS_OFF = (sgd, nag, signum, lars, lbsgd, ftml, adam, adamw, adabelief, rmsprop, ftrl, lamb, lans)
ZERO_IS_ZERO = (dcasgd, adamax, nadam, adagrad, groupadagrad, adadelta)
FORMULAS = ZERO_IS_OFF + ZERO_IS_ZERO
CASES: list[tuple[Formula, dict[str, Any]]] = [
    *((formula, {}) for formula in FORMULAS),
    (sgd, {"momentum": 0.9}),
    (nag, {"momentum": 0.9}),
    (signum, {"momentum": 0.0}),
    (signum, {"momentum": 0.5, "wd_lh": 0.1}),
    (dcasgd, {"momentum": 0.9, "lamda": 2.0}),
    (lars, {"momentum": 0.9, "eta": 0.5}),
    (lars, {"momentum": 0.9, "momentum_correction": False, "eps": 1.0}),
    (lars, {"momentum": 0.9, "skip": True}),
    (lbsgd, {"momentum": 0.9, "batch_scale": 3, "updates_per_epoch": 2, "begin_epoch": 1}),
    (lbsgd, {"batch_scale": 2, "updates_per_epoch": 1, "warmup_strategy": "power2"}),
    (lbsgd, {"batch_scale": 2, "warmup_epochs": 1, "updates_per_epoch": 5, "warmup_strategy": "sqrt"}),
    (lbsgd, {"batch_scale": 2, "warmup_epochs": 0}),
    (lbsgd, {"momentum": 0.9, "batch_scale": 2, "warmup_strategy": "lars"}),
    (ftml, {"beta1": 0.3, "beta2": 0.9, "epsilon": 0.1}),
    (adam, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1}),
    (adam, {"beta2": 0.5, "amsgrad": True}),
    (adamw, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1, "correct_bias": False}),
    (adabelief, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1, "correct_bias": False}),
    (adamax, {"beta1": 0.5, "beta2": 0.7}),
    (nadam, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1, "schedule_decay": 1.0}),
    (adagrad, {"eps": 0.1}),
    (groupadagrad, {"eps": 0.1}),
    (rmsprop, {"gamma1": 0.5, "epsilon": 0.1, "clip_weights": 0.4}),
    (rmsprop, {"centered": True}),
    (rmsprop, {"centered": True, "gamma1": 0.5, "gamma2": 0.3, "epsilon": 0.1, "clip_weights": 0.4}),
    (adadelta, {"rho": 0.5, "epsilon": 0.1}),
    (ftrl, {"lamda1": 0.5, "beta": 0.1}),
    (lamb, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1, "bias_correction": False}),
    (lamb, {"lower_bound": 2.0, "upper_bound": 5.0}),
    (lans, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1}),
    (lans, {"lower_bound": 2.0, "upper_bound": 5.0}),
]
named = pytest.mark.parametrize("formula", FORMULAS, ids=lambda x: x.__name__)


@pytest.mark.parametrize("bound", [None, 0.3])
@pytest.mark.parametrize(("formula", "values"), CASES, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_steps(formula: Formula, values: dict[str, Any], bound: float | None) -> None:
    rng = np.random.default_rng(7)
    shapes = [(6, 5), (70, 80)] if formula is groupadagrad else SHAPES
    ws = [rng.normal(size=shape) for shape in shapes]
    grads = [np.empty(shape) for shape in shapes]
    want = [w.copy() for w in ws]
    kept: list[Kept] = [defaultdict(float) for _ in ws]
    given = {name: value for name, value in values.items() if name != "skip"} | {"clip_gradient": bound}
    flags = {"skip": [True] * len(ws)} if "skip" in values else None
    rule = optgen.load(formula.__name__, dtype="float64", **given)
    step = rule.bind(ws, grads, rule.init(ws), flags=flags)
    for t, rate in enumerate(RATES, start=1):
        for grad in grads:
            grad[...] = rng.normal(size=grad.shape)
        settings = {"lr": rate, "wd": WD, "rescale_grad": RESCALE}
        step(**{name: value for name, value in settings.items() if name in rule.spec.reads})
        each = zip(want, kept, grads, strict=True)
        want = [formula(w, s, Step(grad, t, rate, bound), **values) for w, s, grad in each]
        for x, y in zip(ws, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@named
def test_a_clip_gradient_of_zero(formula: Formula) -> None:
    """MXNet's fused optimizers take 0 as no clipping; those it writes in Python clip to 0, and the decay is left."""

    def stepped(grad: float, **values: Any) -> Array:
        w = np.array([[1.0, -2.0]])
        rule = optgen.load(formula.__name__, dtype="float64", **values)
        rule.bind([w], [np.full_like(w, grad)], rule.init([w]))()
        return w

    unclipped = stepped(0.5)
    same_as = unclipped if formula in ZERO_IS_OFF else stepped(0.0)
    np.testing.assert_array_equal(stepped(0.5, clip_gradient=0.0), same_as)
    assert (stepped(0.0) != unclipped).any()


@named
def test_zeros_and_extremes_in_float32(formula: Formula) -> None:
    """Nothing becomes NaN or infinite: zero weights, zero gradients, tiny and huge ones, empty and single tensors."""
    shapes = [(0, 3), (3, 0), (1, 1), (5, 4)] if formula is groupadagrad else [(0,), (0, 3), (3, 0), (1,), (), (5, 4)]
    ws = [np.zeros(shape, np.float32) for shape in shapes]
    grads = [np.zeros(shape, np.float32) for shape in shapes]
    rule = optgen.load(formula.__name__)
    step = rule.bind(ws, grads, rule.init(ws))
    for scale in (0.0, 0.0, 1e-30, 1e-12, 0.0, 1.0, 1e12, 0.0):
        for grad in grads:
            grad[...] = scale
            if grad.ndim:
                grad[0:1] = 0
        step()
        assert all(np.isfinite(w).all() for w in ws), f"after a gradient of {scale}"


def test_test_adds_the_gradient_and_keeps_the_sum() -> None:
    w, grad = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    rule = optgen.load("test", dtype="float64")
    step = rule.bind([w], [grad], rule.init([w]))
    step(rescale_grad=2.0)
    kept: Array = step.state.arrays["kept"][0]
    assert w.tolist() == kept.tolist() == [2.0, -1.5]


@pytest.mark.parametrize(("name", "direction"), [("lars", 2.0), ("lamb", 2 / (2 + 1e-6)), ("lans", 1 / (1 + 1e-6))])
def test_without_a_norm_the_rate_is_plain(name: str, direction: float) -> None:
    w, grad = np.zeros(1), np.full(1, 2.0)
    rule = optgen.load(name, dtype="float64", lr=0.1)
    rule.bind([w], [grad], rule.init([w]))()
    np.testing.assert_allclose(w, -0.1 * direction, rtol=1e-12)
