"""Optimizers against their formulas, written a second time in NumPy: what the tests of all families share. float64.

A formula has the name of its spec. It takes one weight, its gradient (rescaled and clipped), what it keeps (0 where
nothing was kept yet), the update count, and what the spec reads; it returns the new weight. A joint formula takes the
lists of all parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import optgen

Array = Any
Kept = defaultdict[str, Any]
Formula = Callable[..., Any]
STEPS = 8
RESCALE, CLIP, LR, WD = 0.5, 1.2, 0.05, 0.1
SHAPES = [(7,), (6, 5), (4, 3, 2, 2), (70, 80), (1,), ()]

DRAWS = optgen.parse("optimizer Draws\nupdate:\n  z = normal()\n  w' = z\n")


@dataclass(frozen=True)
class Traits:
    """What is special about a formula."""

    joint: bool = False
    reads: str = ""
    """The spec's input; or `z`, its first draw."""
    evaluated: bool = False
    """The weight to evaluate a model with is kept as `x`."""
    watched: str = ""
    """A state of kind `shared`, kept by that name with the first parameter."""


def moments(g: Array, s: Kept, beta1: float, beta2: float) -> None:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = beta2 * s["v"] + (1 - beta2) * g * g


def corrected(s: Kept, t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
    return s["m"] / (1 - beta1**t), s["v"] / (1 - beta2**t)


def adam(g: Array, s: Kept, t: int, beta1: float, beta2: float, epsilon: float = 1e-8) -> Array:
    """Adam's step, without its rate."""
    moments(g, s, beta1, beta2)
    m_hat, v_hat = corrected(s, t, beta1, beta2)
    return m_hat / (np.sqrt(v_hat) + epsilon)


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def by_row(x: Array, reduce: Callable[..., Array]) -> Array:
    """One number for each slice x[i], of the shape of x but for lengths of 1."""
    return reduce(x.reshape(len(x), -1), axis=1).reshape(-1, *[1] * (x.ndim - 1))


def flat(xs: list[Array]) -> Array:
    return np.concatenate([np.ravel(x) for x in xs])


def check_steps(formula: Formula, values: dict[str, Any], traits: Traits) -> None:
    """Eight steps with gradients of a noisy bowl, weight decay, rescaling and clipping."""
    rng = np.random.default_rng(7)
    ws = [rng.normal(size=shape) for shape in SHAPES]
    goals = [rng.normal(size=shape) for shape in SHAPES]
    gs, read = ([np.empty(shape) for shape in SHAPES] for _ in range(2))
    want = [w.copy() for w in ws]
    kept: list[Kept] = [defaultdict(float) for _ in ws]
    rule = optgen.load(formula.__name__, dtype="float64", **{"lr": LR, **values})
    state = rule.init(ws)
    step = rule.bind(ws, gs, state, inputs={i.name: read for i in rule.spec.inputs})
    draws = optgen.load(DRAWS, dtype="float64").bind(read, gs) if traits.reads == "z" else None
    settings = {"wd": WD, "rescale_grad": RESCALE, "clip_gradient": CLIP}
    for t in range(1, STEPS + 1):
        for w, g, goal, h in zip(ws, gs, goals, read, strict=True):
            g[...] = w - goal + rng.normal(size=w.shape)
            h[...] = rng.normal(size=w.shape)
        step(**{name: value for name, value in settings.items() if name in rule.spec.reads()})
        if draws:
            draws()
        clipped = [np.clip(RESCALE * g, -CLIP, CLIP) for g in gs]
        if traits.joint:
            want = formula(want, clipped, kept, t, **values)
        else:
            each = zip(want, clipped, kept, read, strict=True)
            extra = (lambda h: {traits.reads: h}) if traits.reads else (lambda _: {})
            want = [formula(w, g, s, t, **extra(h), **values) for w, g, s, h in each]
        assert_close(ws, want)
        if traits.evaluated:
            assert_close(rule.evaluate(ws, state), [s["x"] for s in kept])
        if traits.watched:
            np.testing.assert_allclose(
                state.arrays[traits.watched][-1], kept[0][traits.watched], rtol=1e-11, atol=1e-13
            )


def assert_close(got: list[Array], want: list[Array]) -> None:
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


def check_extremes(name: str) -> None:
    """In float32 nothing becomes NaN or infinite: zero weights, zero gradients, tiny and huge ones, empty and single
    tensors."""
    shapes = [(0,), (0, 3), (3, 0), (1,), (1, 1), (), (5, 4), (9,)]
    ws, gs, read = ([np.zeros(shape, np.float32) for shape in shapes] for _ in range(3))
    rule = optgen.load(name)
    step = rule.bind(ws, gs, inputs={i.name: read for i in rule.spec.inputs})
    for scale in (0.0, 0.0, 1e-30, 1e-12, 0.0, 1.0, 1e12, 0.0):
        for g in gs:
            g[...] = scale
            if g.ndim:
                g[0:1] = 0  # a whole row
        step()
        for w in ws:
            assert np.isfinite(w).all(), f"after a gradient of {scale}"


def named(cases: list[tuple[Formula, dict[str, Any]]]) -> list[str]:
    """The names of their specs, each once."""
    return list(dict.fromkeys(formula.__name__ for formula, _ in cases))


def case_id(x: Any) -> str:
    return str(x.__name__) if callable(x) else str(x)
