"""The shelf: specs of one paper each, `papers/NAME`."""

from __future__ import annotations

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, moments


def exadam(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.999) -> Array:
    moments(g, s, beta1, beta2)
    m, v = s["m"], s["v"]
    of_mean = 1 + v / (v + 1e-8) * beta2**t
    of_square = 1 + m**2 / (m**2 + 1e-8) * beta1**t
    u = of_mean * (m + g) / (1 - beta1**t)
    return w - LR * WD * w - LR * u / (np.sqrt(of_square * v / (1 - beta2**t)) + 1e-8)


def sgd_sai(w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9) -> Array:
    if t == 1:
        norm = np.sqrt((g**2).sum())
        s["r"] = norm / (np.sqrt(((g - g.mean()) ** 2).mean()) + 1e-8) if g.ndim > 1 else norm
    s["m"] = momentum * s["m"] + (1 - momentum) * g
    return w - LR * WD * w - LR * s["r"] * s["m"]


def adagc(
    ws: list[Array], gs: list[Array], kept: list[Kept], t: int, warmup: int = 100, lambda_abs: float = 1.0
) -> list[Array]:
    total = np.sqrt(sum((g**2).sum() for g in gs))
    new = []
    for w, g, s in zip(ws, gs, kept, strict=True):
        norm = np.sqrt((g**2).sum())
        if t < warmup:
            h = min(lambda_abs / (total + 1e-8), 1.0)
            s["gamma"] = h * norm if t == 1 else min(s["gamma"], h * norm)
        else:
            h = min(1.05 * s["gamma"] / (norm + 1e-30), 1.0)
            s["gamma"] = h * norm if t == 1 else 0.98 * s["gamma"] + 0.02 * h * norm
        moments(h * g, s, 0.9, 0.999)
        u = s["m"] / (1 - 0.9**t) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)
        new.append(w - LR * WD * w - LR * u)
    return new


def vsgd(w: Array, g: Array, s: Kept, t: int, ratio: float = 30.0, prior: float = 1e-8) -> Array:
    a = 2 * prior + 1.0001
    changes = 2 * prior / (a - 1) if t == 1 else s["b"] / a
    seen = 2 * ratio * prior / (a - 1) if t == 1 else s["c"] / a
    old = s["mu"]
    s["mu"] = (seen * old + changes * g) / (changes + seen)
    square = s["mu"] ** 2 + changes * seen / (changes + seen)
    p, k = t**-0.81, t**-0.9
    s["b"] = (1 - p) * s["b"] + p * (2 * prior + square - 2 * s["mu"] * old + old**2)
    s["c"] = (1 - k) * s["c"] + k * (2 * ratio * prior + square - 2 * g * s["mu"] + g**2)
    return w - LR * WD * w - LR * s["mu"] / (np.sqrt(square) + 1e-8)


def ano(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.92) -> Array:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = 0.99 * s["v"] - 0.01 * np.sign(s["v"] - g**2) * g**2
    u = np.abs(g) * np.sign(s["m"]) / (np.sqrt(s["v"] / (1 - 0.99**t)) + 1e-8)
    return w - LR * WD * w - LR * u


CASES: Cases = [
    (exadam, {}),
    (exadam, {"beta1": 0.8, "beta2": 0.9}),
    (sgd_sai, {}),
    (sgd_sai, {"momentum": 0.0}),
    (adagc, {}),
    (adagc, {"warmup": 3, "lambda_abs": 0.5}),
    (vsgd, {}),
    (vsgd, {"ratio": 3.0, "prior": 0.01}),
    (ano, {}),
    (ano, {"beta1": 0.5}),
]
TRAITS = {adagc: Traits(joint=True)}
