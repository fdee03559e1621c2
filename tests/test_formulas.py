"""The shipped specs against their formulas, written out a second time in NumPy: five steps in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen

Array = Any
Formula = Callable[..., Array]
STEPS = 5
RESCALE, LR, WD = 0.5, 0.05, 0.01


def clipped(x: Array, bound: float | None) -> Array:
    return x if bound is None else np.clip(x, -bound, bound)


def sgd(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None, momentum: float = 0.0) -> Array:
    g = clipped(RESCALE * grad, c)
    if not momentum:
        return (1 - LR * WD) * w - LR * g
    s["mom"] = momentum * s["mom"] - LR * (g + WD * w)
    return w + s["mom"]


def nag(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None, momentum: float = 0.0) -> Array:
    g = clipped(RESCALE * grad, c)
    if not momentum:
        return (1 - LR * WD) * w - LR * g
    new = w + momentum**2 * s["mom"] - (1 + momentum) * LR * (g + WD * w)
    s["mom"] = momentum * s["mom"] - LR * (g + WD * new)
    return new


def signum(
    w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None, momentum: float = 0.9, wd_lh: float = 0.0
) -> Array:
    if not momentum:
        return (1 - LR * WD) * w - LR * np.sign(grad)
    s["mom"] = momentum * s["mom"] - (1 - momentum) * (clipped(RESCALE * grad, c) + WD * w)
    return (1 - LR * wd_lh) * w + LR * np.sign(s["mom"])


def adam(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None, amsgrad: bool = False) -> Array:
    g = clipped(RESCALE * grad + WD * w, c)
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * g
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * g**2
    v = s["v"]
    if amsgrad:
        v = s["v_max"] = np.maximum(s["v_max"], s["v"])
    return w - LR * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(v) + 1e-8)


def adagrad(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None) -> Array:
    g = clipped(RESCALE * grad, c)
    s["h"] = s["h"] + g**2
    return w - LR * (g / np.sqrt(s["h"] + 1e-7) + WD * w)


def rmsprop(
    w: Array,
    grad: Array,
    s: dict[str, Array],
    t: int,
    c: float | None,
    centered: bool = False,
    clip_weights: float | None = None,
) -> Array:
    g = clipped(RESCALE * grad + WD * w, c)
    s["n"] = 0.9 * s["n"] + (1 - 0.9) * g**2
    if not centered:
        return clipped(w - LR * g / np.sqrt(s["n"] + 1e-8), clip_weights)
    s["gbar"] = 0.9 * s["gbar"] + (1 - 0.9) * g
    s["delta"] = 0.9 * s["delta"] - LR * g / np.sqrt(s["n"] - s["gbar"] ** 2 + 1e-8)
    return clipped(w + s["delta"], clip_weights)


def adadelta(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None) -> Array:
    g = clipped(RESCALE * grad, c)
    s["acc"] = 0.9 * s["acc"] + (1 - 0.9) * g**2
    step = np.sqrt(s["delta"] + 1e-5) / np.sqrt(s["acc"] + 1e-5) * g
    s["delta"] = 0.9 * s["delta"] + (1 - 0.9) * step**2
    return w - (step + WD * w)


def ftrl(w: Array, grad: Array, s: dict[str, Array], t: int, c: float | None, lamda1: float = 0.01) -> Array:
    g = clipped(RESCALE * grad, c)
    s["z"] = s["z"] + g - (np.sqrt(s["n"] + g**2) - np.sqrt(s["n"])) * w / LR
    s["n"] = s["n"] + g**2
    new = (np.sign(s["z"]) * lamda1 - s["z"]) / ((1 + np.sqrt(s["n"])) / LR + WD)
    return np.where(np.abs(s["z"]) > lamda1, new, 0.0)


def lamb(
    w: Array,
    grad: Array,
    s: dict[str, Array],
    t: int,
    c: float | None,
    bias_correction: bool = True,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
) -> Array:
    g = clipped(RESCALE * grad, c)
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * g
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * g**2
    m, v = s["m"], s["v"]
    if bias_correction:
        m, v = m / (1 - 0.9**t), v / (1 - 0.999**t)
    u = m / (np.sqrt(v) + 1e-6) + WD * w
    r1, r2 = np.linalg.norm(w), np.linalg.norm(u)
    r1 = max(r1, lower_bound) if lower_bound is not None else r1
    r1 = min(r1, upper_bound) if upper_bound is not None else r1
    return w - LR * (r1 / r2 if r1 and r2 else 1.0) * u


CASES: list[tuple[Formula, dict[str, Any]]] = [
    (sgd, {}),
    (sgd, {"momentum": 0.9}),
    (nag, {}),
    (nag, {"momentum": 0.9}),
    (signum, {}),
    (signum, {"momentum": 0.0}),
    (signum, {"wd_lh": 0.1}),
    (adam, {}),
    (adam, {"amsgrad": True}),
    (adagrad, {}),
    (rmsprop, {}),
    (rmsprop, {"centered": True}),
    (rmsprop, {"clip_weights": 0.4}),
    (rmsprop, {"centered": True, "clip_weights": 0.4}),
    (adadelta, {}),
    (ftrl, {}),
    (ftrl, {"lamda1": 0.5}),
    (lamb, {}),
    (lamb, {"bias_correction": False}),
    (lamb, {"upper_bound": 0.5}),
    (lamb, {"lower_bound": 50.0}),
]


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize(("formula", "values"), CASES, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_five_steps(formula: Formula, values: dict[str, Any], clip: float | None) -> None:
    rng = np.random.default_rng(7)
    w = rng.normal(size=(37, 5))
    want = w.copy()
    states: dict[str, Array] = {
        n: np.zeros_like(w) for n in ("mom", "m", "v", "v_max", "h", "n", "gbar", "delta", "acc", "z")
    }
    extra = {} if clip is None else {"clip_gradient": clip}
    kernel = optgen.load(formula.__name__, dtype="float64", **values, **extra)
    grad = np.empty_like(w)
    step = kernel.bind([w], [grad], kernel.init([w]))
    given = {"lr": LR, "wd": WD, "rescale_grad": RESCALE}
    for t in range(1, STEPS + 1):
        grad[...] = rng.normal(size=w.shape)
        step(**{name: value for name, value in given.items() if name in kernel.spec.reads()})
        want = formula(want, grad, states, t, clip, **values)
        np.testing.assert_allclose(w, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["sgd", "nag", "signum", "adam", "rmsprop", "ftrl", "lamb"])
def test_a_clip_gradient_of_zero_is_off(name: str) -> None:
    assert _one_step(name, clip_gradient=0.0) == _one_step(name)


@pytest.mark.parametrize("name", ["adagrad", "adadelta"])
def test_a_clip_gradient_of_zero_clips_to_zero(name: str) -> None:
    assert _one_step(name, clip_gradient=0.0) == [1.0, -2.0] != _one_step(name)


def _one_step(name: str, **values: float) -> list[float]:
    w, grad = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    kernel = optgen.load(name, dtype="float64", **values)
    kernel.bind([w], [grad], kernel.init([w]))()
    return w.tolist()
