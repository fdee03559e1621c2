"""IVON, Gravity and SPAM against their formulas: weights that are sampled, velocities that are, and spikes."""

from __future__ import annotations

import math

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, adam


def ivon(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    z: Array,
    ess: float = 1e6,
    hess_init: float = 1.0,
    beta1: float = 0.9,
    beta2: float = 0.99999,
) -> Array:
    if t == 1:
        s["h"], s["x"] = hess_init, w
    seen = s["h"] if t == 1 else g * (w - s["x"]) * ess * (s["h"] + WD)
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    spread = (1 - beta2) ** 2 / 2 * (s["h"] - seen) ** 2 / (s["h"] + WD)
    s["h"] = beta2 * s["h"] + (1 - beta2) * seen + spread
    s["x"] = s["x"] - LR * (s["m"] / (1 - beta1**t) + WD * s["x"]) / (s["h"] + WD)
    return s["x"] + z / np.sqrt(ess * (s["h"] + WD))


def gravity(w: Array, g: Array, s: Kept, t: int, z: Array, alpha: float = 0.01, beta: float = 0.9) -> Array:
    if t == 1:
        s["v"] = z * alpha / LR
    d, decay = g + WD * w, (beta * t + 1) / (t + 2)
    limit = 1 / np.abs(d).max()
    s["v"] = decay * s["v"] + (1 - decay) * d / (1 + (d / limit) ** 2)
    return w - LR * s["v"]


def spam(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta1: float = 0.9,
    beta2: float = 0.999,
    threshold: float = 5000.0,
    interval: int = 500,
    warmup: int = 150,
) -> Array:
    after = (t - 1) % interval + 1
    spike = (g * g > threshold * s["v"]) & (np.asarray(s["v"]) > 0)
    g = np.where(spike, np.sign(g) * np.sqrt(threshold * s["v"]), g)
    if after == 1:
        s["m"] = s["v"] = 0.0
    u = adam(g, s, after, beta1, beta2)
    return w - LR * (1 - math.cos(math.pi * min(after / warmup, 1))) / 2 * (u + WD * w)


CASES: Cases = [
    (ivon, {}),
    (ivon, {"ess": 100.0, "hess_init": 0.5, "beta2": 0.9, "beta1": 0.5}),
    (gravity, {}),
    (gravity, {"alpha": 0.2, "beta": 0.5}),
    (spam, {}),
    (spam, {"threshold": 2.0, "interval": 3, "warmup": 2, "beta2": 0.9}),
]
TRAITS = {ivon: Traits(reads="z", evaluated=True), gravity: Traits(reads="z")}
