"""Relatives of SGD: momenta, signs, averages, noise."""

from __future__ import annotations

import math

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits


def tiger(w: Array, g: Array, s: Kept, t: int, beta: float = 0.965) -> Array:
    s["m"] = beta * s["m"] + (1 - beta) * g
    return w - LR * np.sign(s["m"]) - LR * WD * w


def sgdw(w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9, nesterov: bool = False) -> Array:
    s["v"] = momentum * s["v"] + g
    return w - LR * WD * w - LR * (momentum * s["v"] + g if nesterov else s["v"])


def madgrad(w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9, epsilon: float = 1e-6) -> Array:
    g, first = g + WD * w, s.setdefault("x0", w.copy())
    weight = (LR + epsilon) * math.sqrt(t)
    s["s"] = s["s"] + weight * g
    s["v"] = s["v"] + weight * g**2
    return momentum * w + (1 - momentum) * (first - s["s"] / (np.cbrt(s["v"]) + epsilon))


def aggmo(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.0, beta2: float = 0.9, beta3: float = 0.99) -> Array:
    g = g + WD * w
    for beta in (beta1, beta2, beta3):
        s[f"v{beta}"] = beta * s[f"v{beta}"] + g
    return w - LR * sum(s[f"v{beta}"] for beta in (beta1, beta2, beta3)) / 3


def optimistic_sgd(w: Array, g: Array, s: Kept, t: int, alpha: float = 1.0, beta: float = 1.0) -> Array:
    g = g + WD * w
    before, s["g"] = s.get("g", g), g
    return w - LR * (alpha * g + beta * (g - before))


def noisysgd(w: Array, g: Array, s: Kept, t: int, z: Array, eta: float = 0.01, gamma: float = 0.55) -> Array:
    return w - LR * (g + math.sqrt(eta / t**gamma) * z) - LR * WD * w


def sghmc(w: Array, g: Array, s: Kept, t: int, z: Array, alpha: float = 0.1) -> Array:
    s["v"] = s["v"] - LR * (g + WD * w) - alpha * s["v"] + math.sqrt(2 * alpha * LR) * z
    return w + s["v"]


def psgld(w: Array, g: Array, s: Kept, t: int, z: Array, alpha: float = 0.99, epsilon: float = 1e-5) -> Array:
    g = g + WD * w
    s["v"] = alpha * s["v"] + (1 - alpha) * g**2
    scale = 1 / (epsilon + np.sqrt(s["v"]))
    return w - LR / 2 * scale * g + np.sqrt(LR * scale) * z


def qhm(w: Array, g: Array, s: Kept, t: int, beta: float = 0.999, nu: float = 0.7) -> Array:
    g = g + WD * w
    s["m"] = beta * s["m"] + (1 - beta) * g
    return w - LR * (1 - nu) * g - LR * nu * s["m"]


def pid(
    w: Array, g: Array, s: Kept, t: int, momentum: float = 0.9, integral: float = 5.0, derivative: float = 10.0
) -> Array:
    g = g + WD * w
    s["i"] = momentum * s["i"] + g
    s["d"] = momentum * s["d"] + (1 - momentum) * (g - s.get("g", g))
    s["g"] = g
    return w - LR * (g + integral * s["i"] + derivative * s["d"])


def accsgd(
    w: Array, g: Array, s: Kept, t: int, kappa: float = 1000.0, xi: float = 10.0, small_const: float = 0.7
) -> Array:
    g, alpha = g + WD * w, 1 - small_const**2 * xi / kappa
    s["x"] = alpha * s.get("x", w) + (1 - alpha) * (w - LR * kappa / small_const * g)
    short = small_const / (small_const + 1 - alpha)
    return short * (w - LR * g) + (1 - short) * s["x"]


def cautious_lion(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.99) -> Array:
    step = np.sign(beta1 * s["m"] + (1 - beta1) * g)
    s["m"] = beta2 * s["m"] + (1 - beta2) * g
    agree = step == np.sign(g)
    return w - LR * WD * w - LR * step * agree / max(np.mean(agree), 1e-3)


def ef_signsgd(w: Array, g: Array, s: Kept, t: int) -> Array:
    p = LR * (g + WD * w) + s["e"]
    step = np.linalg.norm(p.ravel(), 1) / p.size * np.sign(p)
    s["e"] = p - step
    return w - step


def agreement(g: Array, s: Kept, beta: float) -> Array:
    s["m"] = beta * s["m"] + (1 - beta) * g
    return np.sign(g) * np.sign(s["m"])


def powersign(w: Array, g: Array, s: Kept, t: int, base: float = math.e, beta: float = 0.9) -> Array:
    g = g + WD * w
    return w - LR * base ** agreement(g, s, beta) * g


def addsign(w: Array, g: Array, s: Kept, t: int, alpha: float = 1.0, beta: float = 0.9) -> Array:
    g = g + WD * w
    return w - LR * (alpha + agreement(g, s, beta)) * g


def cocob(w: Array, g: Array, s: Kept, t: int, alpha: float = 100.0, epsilon: float = 1e-8) -> Array:
    c = -(g + WD * w)  # the negative gradient, as in the paper
    first = s.setdefault("w1", w.copy())
    s["L"] = np.maximum(s.get("L", epsilon), np.abs(c))
    s["G"] = s["G"] + np.abs(c)
    s["reward"] = np.maximum(s["reward"] + (w - first) * c, 0)
    s["theta"] = s["theta"] + c
    beta = s["theta"] / s["L"] / np.maximum(s["G"] + s["L"], alpha * s["L"])
    return first + beta * (s["L"] + s["reward"])


CASES: Cases = [
    (tiger, {}),
    (tiger, {"beta": 0.5}),
    (sgdw, {}),
    (sgdw, {"momentum": 0.5, "nesterov": True}),
    (madgrad, {}),
    (madgrad, {"momentum": 0.5, "epsilon": 0.1}),
    (aggmo, {}),
    (aggmo, {"beta1": 0.3, "beta2": 0.6, "beta3": 0.8}),
    (optimistic_sgd, {}),
    (optimistic_sgd, {"alpha": 0.5, "beta": 2.0}),
    (noisysgd, {}),
    (noisysgd, {"eta": 2.0, "gamma": 1.5}),
    (sghmc, {}),
    (sghmc, {"alpha": 0.7}),
    (psgld, {}),
    (psgld, {"alpha": 0.5, "epsilon": 0.1}),
    (qhm, {}),
    (qhm, {"beta": 0.8, "nu": 0.4}),
    (pid, {}),
    (pid, {"momentum": 0.5, "integral": 0.3, "derivative": 2.0}),
    (accsgd, {}),
    (accsgd, {"kappa": 50.0, "xi": 3.0, "small_const": 0.4}),
    (cautious_lion, {}),
    (cautious_lion, {"beta1": 0.99, "beta2": 0.5}),
    (ef_signsgd, {}),
    (powersign, {}),
    (powersign, {"base": 1.5, "beta": 0.99}),
    (addsign, {}),
    (addsign, {"alpha": 2.0, "beta": 0.99}),
    (cocob, {}),
    (cocob, {"alpha": 3.0, "epsilon": 0.2}),
]
TRAITS = dict.fromkeys((noisysgd, sghmc, psgld), Traits(reads="z"))
