"""The optimizers that keep what former updates had."""

from __future__ import annotations

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, flat


def adashift(w: Array, g: Array, s: Kept, t: int, n: int = 10, spatial: bool = True) -> Array:
    past: list[Array] = s.setdefault("past", [])
    past.append(g + WD * w)
    last = past[-n:]
    weights = [0.9**i for i in range(len(last))]
    m = sum(a * x for a, x in zip(weights, reversed(last), strict=True)) / sum(0.9**i for i in range(n))
    if t <= n:
        return w
    square = past[t - n - 1] ** 2
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * (square.max() if spatial else square)
    return w - LR * m / (np.sqrt(s["v"] / (1 - 0.999 ** (t - n))) + 1e-8)


def lbfgs(
    ws: list[Array], gs: list[Array], kept: list[Kept], t: int, history: int = 9, curvature: float = 1e-10
) -> list[Array]:
    """The two-loop recursion over pairs of steps and changes of the gradient, as Nocedal and Wright have it (algorithm
    7.4); pairs of no curvature take a place, and are passed over."""
    s = kept[0]
    g, w = flat([g + WD * w for g, w in zip(gs, ws, strict=True)]), flat(ws)
    pairs = s.setdefault("pairs", [])
    if t > 1:
        pairs.append((s["move"], g - s["g"]))
        ys = pairs[-1][0] @ pairs[-1][1]
        s["gamma"] = ys / (pairs[-1][1] @ pairs[-1][1]) if ys > curvature else s["gamma"]
    else:
        s["gamma"] = 1.0
    used = [(move, change) for move, change in pairs[-history - 1 :] if move @ change > curvature]
    q, factors = g.copy(), []
    for move, change in reversed(used):
        factors.append((move @ q) / (move @ change))
        q -= factors[-1] * change
    q *= s["gamma"]
    for (move, change), a in zip(used, reversed(factors), strict=True):
        q += (a - (change @ q) / (move @ change)) * move
    s["move"], s["g"] = -LR * (1 if t > 1 else min(1, 1 / np.abs(g).sum())) * q, g
    ends = np.cumsum([x.size for x in ws])[:-1]
    return [x.reshape(like.shape) for x, like in zip(np.split(w + s["move"], ends), ws, strict=True)]


def yellowfin(
    ws: list[Array], gs: list[Array], kept: list[Kept], t: int, lr: float = LR, beta: float = 0.999, window: int = 20
) -> list[Array]:
    s, g = kept[0], flat([g + WD * w for g, w in zip(gs, ws, strict=True)])

    def mean(key: str, x: Array) -> Array:
        s[key] = beta * s[key] + (1 - beta) * x
        return s[key] / (1 - beta**t)

    past = s.setdefault("past", [])
    past.append(g @ g)
    h_max, h_min = mean("max", max(past[-window:])) + 1e-6, mean("min", min(past[-window:])) + 1e-6
    average, n2 = mean("g", g), mean("n2", g @ g)
    mean("n1", np.linalg.norm(g))
    c = max(n2 - average @ average, 1e-6)
    p = (mean("dist", s["n1"] / (s["n2"] + 1e-6)) * h_min) ** 2 / (2 * c)
    x = 0.0
    for _ in range(60):  # Newton's method for p*x = (1 - x)^3, from below
        x += ((1 - x) ** 3 - p * x) / (p + 3 * (1 - x) ** 2)
    mu = max(x, (np.sqrt(h_max / h_min) - 1) / (np.sqrt(h_max / h_min) + 1)) ** 2
    s["v"] = mu * s["v"] + g
    ends = np.cumsum([x.size for x in ws])[:-1]
    new = flat(ws) - lr * (1 - np.sqrt(mu)) ** 2 / h_min * min(1, t / (10 * window)) * s["v"]
    return [x.reshape(like.shape) for x, like in zip(np.split(new, ends), ws, strict=True)]


CASES: Cases = [
    (adashift, {}),
    (adashift, {"n": 1}),
    (adashift, {"n": 3}),
    (adashift, {"n": 2, "spatial": False}),
    (lbfgs, {}),
    (lbfgs, {"history": 1}),
    (lbfgs, {"history": 3, "curvature": 5e-3}),
    (yellowfin, {"lr": 100.0}),
    (yellowfin, {"lr": 1.0, "beta": 0.7, "window": 3}),
]
TRAITS = {lbfgs: Traits(joint=True), yellowfin: Traits(joint=True)}
