"""Optimizers that measure: norms and sums of rows, of tensors, and of all parameters together."""

from __future__ import annotations

import functools
import math

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, adam, by_row, flat, moments

norm = np.linalg.norm


def fromage(w: Array, g: Array, s: Kept, t: int, min_norm: float = 0.0) -> Array:
    return (w - LR * g * max(norm(w.ravel()), min_norm) / max(norm(g.ravel()), min_norm)) / math.sqrt(1 + LR**2)


def sinkgd(w: Array, g: Array, s: Kept, t: int) -> Array:
    x = g.reshape(len(g), -1) if g.ndim >= 2 else g / max(norm(g.ravel()) / math.sqrt(g.size), 1e-300)
    for _ in range(5 if g.ndim >= 2 else 0):
        x = math.sqrt(x.shape[1]) * x / norm(x, axis=1, keepdims=True)
        x = math.sqrt(x.shape[0]) * x / norm(x, axis=0, keepdims=True)
    return w - LR * WD * w - LR * x.reshape(w.shape)


def larc(
    w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9, trust_coefficient: float = 0.02, clip_rate: bool = True
) -> Array:
    length, steepness = norm(w.ravel()), norm(g.ravel())
    rate = trust_coefficient * length / (steepness + WD * length + 1e-8)
    s["v"] = momentum * s["v"] + (min(rate / LR, 1.0) if clip_rate else rate) * (g + WD * w)
    return w - LR * s["v"]


def projected(w: Array, g: Array, u: Array, delta: float) -> tuple[Array, bool]:
    """A step without its part along the weight, of each row or of the tensor, where weight and gradient are at a right
    angle; and whether they are."""
    if w.ndim < 2:
        return u, False
    for reduce in (by_row, lambda x, f: f(x)):
        length = w.size / len(w) if reduce is by_row else w.size
        lengths = [np.sqrt(reduce(x * x, np.sum)) + 1e-8 for x in (g, w)]
        if np.max(np.abs(reduce(g * w, np.sum)) / lengths[0] / lengths[1]) < delta / math.sqrt(length):
            direction = w / lengths[1]
            return u - direction * reduce(direction * u, np.sum), True
    return u, False


def adamp(
    w: Array, g: Array, s: Kept, t: int, delta: float = 0.1, wd_ratio: float = 0.1, nesterov: bool = False
) -> Array:
    moments(g, s, 0.9, 0.999)
    root = np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8
    u, flat_there = projected(w, g, (0.9 * s["m"] + (1 - 0.9) * g if nesterov else s["m"]) / root, delta)
    return w - LR * WD * (wd_ratio if flat_there else 1) * w - LR * u / (1 - 0.9**t)


def sgdp(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    momentum: float = 0.9,
    delta: float = 0.1,
    wd_ratio: float = 0.1,
    nesterov: bool = False,
) -> Array:
    s["v"] = momentum * s["v"] + g
    u, flat_there = projected(w, g, momentum * s["v"] + g if nesterov else s["v"], delta)
    return w - LR * WD * (wd_ratio if flat_there else 1) / (1 - momentum) * w - LR * u


def amos(
    w: Array, g: Array, s: Kept, t: int, beta: float = 0.999, eta: float = 1.0, c: float = 0.25, d: float = 0.25
) -> Array:
    square = by_row(g * g, np.mean) if w.ndim >= 2 else np.mean(g * g)
    s["v"] = beta * s["v"] + (1 - beta) * square
    v_hat = s["v"] / (1 - beta**t)
    gamma = (1 + c * math.sqrt(LR) * s["b"]) ** -0.5 * LR**2 * square / v_hat
    step = (1 + d * math.sqrt(LR * eta) * s["b"]) ** -1 * (LR * eta / np.sqrt(v_hat) * g + gamma * w / 2)
    s["b"] = s["b"] + gamma * (1 + s["b"])
    return w - step


def sm3(w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9, cover: str = "axes") -> Array:
    g = g + WD * w
    x = g.reshape(len(g), -1) if g.ndim >= 2 and cover == "rows" else g
    bound = functools.reduce(np.minimum, [s[f"axis {k}"] for k in range(x.ndim)] or [s["number"]]) + x**2
    s["number"] = bound
    for k in range(x.ndim):
        s[f"axis {k}"] = bound.max(axis=tuple(i for i in range(x.ndim) if i != k), keepdims=True)
    s["m"] = momentum * s["m"] + (1 - momentum) * (x / np.sqrt(bound)).reshape(g.shape)
    return w - LR * s["m"]


def apollodqn(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta: float = 0.9,
    bound: float = 0.01,
    epsilon: float = 1e-4,
    rebound: str = "constant",
) -> Array:
    g, alpha = g + WD * w, (1 - beta) / (1 - beta**t)
    change = g - s["m"]
    s["m"] = s["m"] + alpha * change
    if t > 1:
        length = np.sum(s["d"] ** 4) ** 0.25 + (epsilon / bound if rebound == "constant" else epsilon)
        y, d = change * alpha / length, s["d"] / length
        s["B"] = s["B"] - (np.sum(d * y) + np.sum(d * s["B"] * d)) * d**2  # the weak secant condition
    size = np.abs(s["B"]) + np.zeros(w.shape)
    belief = rebound == "belief"
    least = np.abs(change).max() if belief else bound
    s["d"] = s["m"] / (np.maximum(size, least) + (epsilon / alpha if belief else 0))
    return w - LR * s["d"]


def ldog(w: Array, g: Array, s: Kept, t: int, lr: float = LR, reps_rel: float = 1e-6) -> Array:
    return dog([w], [g], [s], t, lr, reps_rel)[0]


def dog(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, lr: float = LR, reps_rel: float = 1e-6
) -> list[Array]:
    gs, s = [g + WD * w for w, g in zip(ws, gs, strict=True)], ss[0]
    first = s.setdefault("x0", flat(ws))
    s["r"] = max(s.get("r", reps_rel * (1 + norm(first))), norm(flat(ws) - first))
    s["G"] += norm(flat(gs)) ** 2
    return [w - lr * s["r"] / math.sqrt(s["G"] + 1e-8) * g for w, g in zip(ws, gs, strict=True)]


def dowg(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, lr: float = LR, epsilon: float = 1e-4
) -> list[Array]:
    gs, s = [g + WD * w for w, g in zip(ws, gs, strict=True)], ss[0]
    first = s.setdefault("x0", flat(ws))
    s["r2"] = max(s.get("r2", epsilon), norm(flat(ws) - first) ** 2)
    s["v"] += s["r2"] * norm(flat(gs)) ** 2
    return [w - lr * s["r2"] / (math.sqrt(s["v"]) + epsilon) * g for w, g in zip(ws, gs, strict=True)]


def adai(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, beta0: float = 0.1, decoupled_weight_decay: bool = False
) -> list[Array]:
    new = []
    gs = gs if decoupled_weight_decay else [g + WD * w for w, g in zip(ws, gs, strict=True)]
    for g, s in zip(gs, ss, strict=True):
        s["v"] = 0.99 * s["v"] + (1 - 0.99) * g**2
    mean = np.mean(flat([s["v"] for s in ss])) / (1 - 0.99**t)
    for w, g, s in zip(ws, gs, ss, strict=True):
        beta1 = np.clip(1 - s["v"] / (1 - 0.99**t) / mean * beta0, 0, 1 - 1e-3)
        s["product"] = s.get("product", 1.0) * beta1
        s["m"] = beta1 * s["m"] + (1 - beta1) * g
        new.append((1 - LR * WD * decoupled_weight_decay) * w - LR * s["m"] / (1 - s["product"]))
    return new


def dadaptsgd(
    ws: list[Array],
    gs: list[Array],
    ss: list[Kept],
    t: int,
    lr: float = LR,
    d0: float = 1e-6,
    momentum: float = 0.9,
    growth_rate: float = math.inf,
) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    first, d = s.setdefault("x0", w), s.get("d", d0)
    rate = d * lr / s.setdefault("n0", norm(g))
    s["progress"] += rate * np.dot(g, s["s"] + np.zeros(g.shape))
    s["s"] = s["s"] + rate * g
    s["d"] = max(d, min(2 * s["progress"] / norm(s["s"]), d * growth_rate))
    return split(momentum * w + (1 - momentum) * (first - s["s"]), ws)


def split(x: Array, like: list[Array]) -> list[Array]:
    pieces = np.split(x, np.cumsum([w.size for w in like])[:-1])
    return [piece.reshape(w.shape) for piece, w in zip(pieces, like, strict=True)]


def dadaptlion(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, d0: float = 1e-6, beta1: float = 0.9
) -> list[Array]:
    w, g, s, root = flat(ws), flat(gs), ss[0], math.sqrt(0.999)
    d = s.get("d", d0)
    step = np.sign(beta1 * s["m"] + (1 - beta1) * g)
    s["m"] = 0.999 * s["m"] + (1 - 0.999) * d * LR * g
    s["r"] = root * s["r"] + (1 - root) * d * LR * np.sum(step * s["s"])
    s["s"] = root * s["s"] + (1 - root) * d * LR * step
    s["d"] = max(d, s["r"] / (1 - root) / norm(s["s"], 1))
    return split(w - d * LR * (step + WD * w), ws)


def swats(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, epsilon: float = 1e-9, beta2: float = 0.999
) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    if s["found"]:
        s["velocity"] = 0.9 * s["velocity"] + g
        return split(w - (1 - 0.9) * s["found"] * s["velocity"], ws)
    moments(g, s, 0.9, beta2)
    p = -LR * math.sqrt(1 - beta2**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(s["v"]) + epsilon)
    fit = np.dot(p, p) / -np.dot(p, g)
    s["average"] = beta2 * s["average"] + (1 - beta2) * fit
    if t > 1 and abs(s["average"] / (1 - beta2**t) - fit) < epsilon:
        s["found"] = s["average"] / (1 - beta2**t)
    return split(w + p, ws)


def adagrad_norm(ws: list[Array], gs: list[Array], ss: list[Kept], t: int, b0: float = 0.1) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    s["b"] = math.hypot(s.get("b", b0), norm(g))
    return split(w - LR / s["b"] * g, ws)


def nsgd(ws: list[Array], gs: list[Array], ss: list[Kept], t: int, beta: float = 0.9) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    s["m"] = beta * s["m"] + (1 - beta) * g
    return split(w - LR * s["m"] / norm(s["m"]), ws)


def sgd_hd(ws: list[Array], gs: list[Array], ss: list[Kept], t: int, hypergrad_lr: float = 1e-4) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    s["rate"] = s.get("rate", LR) + hypergrad_lr * np.dot(g, s.get("g", 0 * g))
    s["g"] = g
    return split(w - s["rate"] * g, ws)


def adam_hd(ws: list[Array], gs: list[Array], ss: list[Kept], t: int, hypergrad_lr: float = 1e-7) -> list[Array]:
    w, g, s = flat(ws), flat(gs) + WD * flat(ws), ss[0]
    s["rate"] = s.get("rate", LR) + hypergrad_lr * np.dot(g, s.get("u", 0 * g))
    s["u"] = adam(g, s, t, 0.9, 0.999)
    return split(w - s["rate"] * s["u"], ws)


CASES: Cases = [
    (fromage, {}),
    (fromage, {"min_norm": 2.0}),
    (sinkgd, {}),
    (larc, {}),
    (larc, {"momentum": 0.5, "trust_coefficient": 2.0, "clip_rate": False}),
    (larc, {"trust_coefficient": 0.1}),
    (adamp, {}),
    (adamp, {"delta": 1.2, "nesterov": True}),
    (adamp, {"delta": 9.0, "wd_ratio": 0.5}),
    (sgdp, {}),
    (sgdp, {"delta": 1.2, "nesterov": True, "momentum": 0.5}),
    (sgdp, {"delta": 9.0, "wd_ratio": 0.5}),
    (amos, {}),
    (amos, {"beta": 0.5, "eta": 0.3, "c": 9.0, "d": 7.0}),
    (sm3, {}),
    (sm3, {"momentum": 0.0}),
    (sm3, {"cover": "rows"}),
    (apollodqn, {}),
    (apollodqn, {"beta": 0.5, "bound": 0.5, "epsilon": 0.1}),
    (apollodqn, {"rebound": "belief", "epsilon": 0.1}),
    (ldog, {"lr": 2.0, "reps_rel": 0.01}),
    (dog, {}),
    (dog, {"lr": 2.0, "reps_rel": 0.01}),
    (dowg, {}),
    (dowg, {"lr": 2.0, "epsilon": 0.1}),
    (adai, {}),
    (adai, {"beta0": 0.5, "decoupled_weight_decay": True}),
    (dadaptsgd, {"d0": 0.01, "lr": 2.0}),
    (dadaptsgd, {"d0": 0.01, "momentum": 0.0, "growth_rate": 1.2}),
    (dadaptlion, {"d0": 0.01}),
    (dadaptlion, {"d0": 1e-4, "beta1": 0.5}),
    (swats, {}),
    (swats, {"epsilon": 1e-3, "beta2": 0.5}),
    (adagrad_norm, {}),
    (adagrad_norm, {"b0": 50.0}),
    (nsgd, {}),
    (nsgd, {"beta": 0.5}),
    (sgd_hd, {}),
    (adam_hd, {"hypergrad_lr": 1e-5}),
]
TRAITS = {
    **dict.fromkeys((adai, adagrad_norm, nsgd), Traits(joint=True)),
    dog: Traits(joint=True, watched="r"),
    dowg: Traits(joint=True, watched="r2"),
    dadaptsgd: Traits(joint=True, watched="d"),
    dadaptlion: Traits(joint=True, watched="d"),
    swats: Traits(joint=True, watched="found"),
    sgd_hd: Traits(joint=True, watched="rate"),
    adam_hd: Traits(joint=True, watched="rate"),
}
