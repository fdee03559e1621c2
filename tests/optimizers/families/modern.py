"""The optimizers beyond MXNet, the first half: learning-rate free, factored, with look-ahead, second order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, corrected, moments, rms


def lion(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.99) -> Array:
    direction = np.sign(beta1 * s["m"] + (1 - beta1) * g)
    s["m"] = beta2 * s["m"] + (1 - beta2) * g
    return (1 - LR * WD) * w - LR * direction


def radam(w: Array, g: Array, s: Kept, t: int, beta2: float = 0.999, decoupled_weight_decay: bool = False) -> Array:
    moments(g if decoupled_weight_decay else g + WD * w, s, 0.9, beta2)
    m_hat, v_hat = corrected(s, t, 0.9, beta2)
    start = (1 - LR * WD) * w if decoupled_weight_decay else w
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * t * beta2**t / (1 - beta2**t)
    if length <= 5:
        return start - LR * m_hat
    variance = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return start - LR * math.sqrt(variance) * m_hat / (np.sqrt(v_hat) + 1e-8 / math.sqrt(1 - beta2**t))


def yogi(w: Array, g: Array, s: Kept, t: int, initial_accumulator: float = 1e-6) -> Array:
    g = g + WD * w
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * g
    v = s.get("v", initial_accumulator)
    s["v"] = np.where(v > g**2, v - (1 - 0.999) * g**2, v + (1 - 0.999) * g**2)
    return w - LR * s["m"] / (np.sqrt(s["v"]) + 1e-3)


def novograd(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.95, grad_averaging: bool = False) -> Array:
    square = np.linalg.norm(g) ** 2
    s["v"] = square if t == 1 else 0.98 * s["v"] + (1 - 0.98) * square
    direction = g / (math.sqrt(s["v"]) + 1e-8) + WD * w
    s["m"] = beta1 * s["m"] + direction * (1 - beta1 if grad_averaging else 1)
    return w - LR * s["m"]


def adan(w: Array, g: Array, s: Kept, t: int, beta2: float = 0.92, no_prox: bool = False) -> Array:
    b1, b2, b3 = 1 - 0.98, 1 - beta2, 1 - 0.99  # the betas of the paper
    change = g - s.get("g", g)
    s["g"] = g.copy()
    s["m"] = (1 - b1) * s["m"] + b1 * g
    s["v"] = (1 - b2) * s["v"] + b2 * change
    s["n"] = (1 - b3) * s["n"] + b3 * (g + (1 - b2) * change) ** 2
    m_hat, v_hat, n_hat = (s[k] / (1 - (1 - b) ** t) for k, b in (("m", b1), ("v", b2), ("n", b3)))
    step = LR / (np.sqrt(n_hat) + 1e-8) * (m_hat + (1 - b2) * v_hat)
    return (1 - LR * WD) * w - step if no_prox else (w - step) / (1 + LR * WD)


def ademamix(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta1: float = 0.9,
    alpha: float = 2.0,
    alpha_warmup: int = 0,
    beta3_warmup: int = 0,
) -> Array:
    end = 0.9999
    if alpha_warmup:
        alpha = min(t * alpha / alpha_warmup, alpha)
    if beta3_warmup and t < beta3_warmup:
        x, a, b = t / beta3_warmup, math.log(beta1), math.log(end)
        end = math.exp(a * b / ((1 - x) * b + x * a))
    moments(g, s, beta1, 0.999)
    s["slow"] = end * s["slow"] + (1 - end) * g
    m_hat, v_hat = corrected(s, t, beta1, 0.999)
    return w - LR * ((m_hat + alpha * s["slow"]) / (np.sqrt(v_hat) + 1e-8) + WD * w)


def rprop(
    w: Array, g: Array, s: Kept, t: int, eta_minus: float = 0.5, step_min: float = 1e-6, step_max: float = 50.0
) -> Array:
    product = np.sign(g * s["g"])
    factor = np.choose((product + 1).astype(int), [eta_minus, 1.0, 1.2])
    s["delta"] = np.minimum(np.maximum(s.get("delta", LR) * factor, step_min), step_max)
    s["g"] = np.where(product < 0, 0.0, g)
    return w - np.sign(s["g"]) * s["delta"]


def asgd(w: Array, g: Array, s: Kept, t: int, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6) -> Array:
    eta, mu = s.get("eta", LR), s.get("mu", 1.0)
    w = w * (1 - lambd * eta) - eta * (g + WD * w)
    s["x"] = s["x"] + mu * (w - s["x"]) if mu != 1 else w.copy()
    s["eta"], s["mu"] = LR / (1 + lambd * LR * t) ** alpha, 1 / max(1, t - t0)
    return w


def qhadam(
    w: Array, g: Array, s: Kept, t: int, nu1: float = 0.7, nu2: float = 1.0, decouple_weight_decay: bool = False
) -> Array:
    w, g = ((1 - LR * WD) * w, g) if decouple_weight_decay else (w, g + WD * w)
    for key, beta, x in (("m", 0.995, g), ("v", 0.999, g * g)):  # weighted averages, which need no correction
        s["weight_" + key] = 1 + beta * s["weight_" + key]
        s[key] = s[key] + (x - s[key]) / s["weight_" + key]
    return w - LR * ((1 - nu1) * g + nu1 * s["m"]) / (np.sqrt((1 - nu2) * g * g + nu2 * s["v"]) + 1e-8)


def second_moment(x: Array, s: Kept, keys: str, beta: float) -> Array:
    """The average of x, of rank one for a matrix: row sums times column sums over the sum of all (algorithm 4)."""
    if x.ndim < 2:
        s[keys] = beta * s[keys] + (1 - beta) * x
        return s[keys]
    matrix = x.reshape(len(x), -1)
    row, col = keys[0], keys[1]
    s[row] = beta * s[row] + (1 - beta) * matrix.sum(axis=1)
    s[col] = beta * s[col] + (1 - beta) * matrix.sum(axis=0)
    return (np.outer(s[row], s[col]) / s[row].sum()).reshape(x.shape)


def adafactor(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta1: float = 0.0,
    beta2_decay: float = -0.8,
    eps2: float = 1e-3,
    clip_threshold: float = 1.0,
    relative_step: bool = True,
    scale_parameter: bool = True,
) -> Array:
    u = g / np.sqrt(second_moment(g * g + 1e-30, s, "RC", 1 - t**beta2_decay))
    u = u / max(1.0, rms(u) / clip_threshold)
    u = u * (min(LR, 1 / math.sqrt(t)) if relative_step else LR) * (max(eps2, rms(w)) if scale_parameter else 1)
    if beta1:
        u = s["m"] = beta1 * s["m"] + (1 - beta1) * u
    return w - LR * WD * w - u


def came(w: Array, g: Array, s: Kept, t: int, beta3: float = 0.9999, clip_threshold: float = 1.0) -> Array:
    u = g / np.sqrt(second_moment(g * g + 1e-30, s, "RC", 0.999))
    u = u / max(1.0, rms(u) / clip_threshold)
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * u
    instability = second_moment((u - s["m"]) ** 2 + 1e-16, s, "PQ", beta3) if w.ndim >= 2 else 1.0
    return w - LR * WD * w - LR * s["m"] / np.sqrt(instability)


def adalomo(
    w: Array, g: Array, s: Kept, t: int, decay_rate: float = -0.8, eps2: float = 1e-3, clip_threshold: float = 1.0
) -> Array:
    u = g / np.sqrt(second_moment(g * g + 1e-30, s, "RC", 1 - t**decay_rate))
    alpha = LR * max(eps2, rms(w))
    return w - alpha * WD * w - alpha * u / max(1.0, rms(u) / clip_threshold)


def adammini(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, heads: bool = False, head_dim: int = 1) -> Array:
    blocks = (len(w) // (head_dim if heads else 1) if w.ndim >= 2 else 1, -1)
    squares = np.mean((g * g).reshape(blocks), axis=1, keepdims=True)
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * np.broadcast_to(squares, g.reshape(blocks).shape).reshape(g.shape)
    m_hat, v_hat = corrected(s, t, beta1, 0.999)
    return (1 - LR * WD) * w - LR * m_hat / (np.sqrt(v_hat) + 1e-8)


def prodigy(
    ws: list[Array],
    gs: list[Array],
    ss: list[Kept],
    t: int,
    lr: float = LR,
    d0: float = 1e-6,
    d_coef: float = 1.0,
    use_bias_correction: bool = False,
    safeguard_warmup: bool = False,
) -> list[Array]:
    shared, beta3 = ss[0], math.sqrt(0.999)
    d = shared.get("d", d0)
    lr *= math.sqrt(1 - 0.999**t) / (1 - 0.9**t) if use_bias_correction else 1
    progress = sum((g * (s.setdefault("x0", w.copy()) - w)).sum() for w, g, s in zip(ws, gs, ss, strict=True))
    shared["r"] = beta3 * shared["r"] + (1 - beta3) * lr * d**2 * progress
    new = []
    for w, g, s in zip(ws, gs, ss, strict=True):
        moments(d * g, s, 0.9, 0.999)
        s["s"] = beta3 * s["s"] + (1 - beta3) * (1 if safeguard_warmup else lr) * d**2 * g
        new.append(w - lr * d * WD * w - lr * d * s["m"] / (np.sqrt(s["v"]) + d * 1e-8))
    shared["d"] = max(d, d_coef * shared["r"] / sum(np.abs(s["s"]).sum() for s in ss))
    return new


def dadaptadam(
    ws: list[Array], gs: list[Array], ss: list[Kept], t: int, d0: float = 1e-6, growth_rate: float = math.inf
) -> list[Array]:
    shared, root = ss[0], math.sqrt(0.999)
    d = shared.get("d", d0)
    inner = sum((g * s["s"] / (np.sqrt(s["v"]) + 1e-8)).sum() for g, s in zip(gs, ss, strict=True))
    shared["r"] = root * shared["r"] + (1 - root) * d * LR * inner
    new = []
    for w, g, s in zip(ws, gs, ss, strict=True):
        s["m"] = 0.9 * s["m"] + (1 - 0.9) * d * LR * g
        s["v"] = 0.999 * s["v"] + (1 - 0.999) * g * g
        s["s"] = root * s["s"] + (1 - root) * d * LR * g
        new.append(w - d * LR * WD * w - s["m"] / (np.sqrt(s["v"]) + 1e-8))
    found = shared["r"] / ((1 - root) * sum(np.abs(s["s"]).sum() for s in ss))
    shared["d"] = max(d, min(found, growth_rate * d))
    return new


def schedule_free(
    w: Array,
    d: Array,
    s: Kept,
    t: int,
    beta: float,
    warmup_steps: int = 0,
    r: float = 0.0,
    weight_lr_power: float = 2.0,
) -> Array:
    """The recursion of the paper on x, y (here w) and z, all three kept."""
    lr = LR * (t / warmup_steps if t < warmup_steps else 1)
    x, z = s.get("x", w), s.get("z", w)
    s["largest"] = max(lr, s["largest"])
    weight = t**r * s["largest"] ** weight_lr_power
    s["total"] += weight
    s["z"] = z - lr * (d + WD * w)
    s["x"] = (1 - weight / s["total"]) * x + weight / s["total"] * s["z"]
    return (1 - beta) * s["z"] + beta * s["x"]


def schedulefree_sgd(w: Array, g: Array, s: Kept, t: int, beta: float = 0.9, **weights: Any) -> Array:
    return schedule_free(w, g, s, t, beta, **weights)


def schedulefree_adamw(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, **weights: Any) -> Array:
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * g * g
    d = g / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)
    return schedule_free(w, d, s, t, beta1, **weights)


def mars(w: Array, g: Array, s: Kept, t: int, gamma: float = 0.025) -> Array:
    c = g + gamma * 0.95 / (1 - 0.95) * (g - s.get("g", g))
    s["g"] = g.copy()
    moments(c / max(1.0, float(np.linalg.norm(c))), s, 0.95, 0.99)
    m_hat, v_hat = corrected(s, t, 0.95, 0.99)
    return (1 - LR * WD) * w - LR * m_hat / (np.sqrt(v_hat) + 1e-8)


def cautious_adamw(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9) -> Array:
    moments(g, s, beta1, 0.999)
    m_hat, v_hat = corrected(s, t, beta1, 0.999)
    agree = np.sign(m_hat) * np.sign(g) > 0
    step = m_hat / (np.sqrt(v_hat) + 1e-6) * agree * w.size / (np.count_nonzero(agree) + 1)
    return (1 - LR * WD) * w - LR * step


def sophia(
    w: Array, g: Array, s: Kept, t: int, h_hat: Array, gamma: float = 0.01, rho: float = 1.0, k: int = 10
) -> Array:
    s["m"] = 0.96 * s["m"] + (1 - 0.96) * g
    if t % k == 1 or k == 1:
        s["h"] = 0.99 * s["h"] + (1 - 0.99) * h_hat
    return (1 - LR * WD) * w - LR * np.clip(s["m"] / np.maximum(gamma * s["h"], 1e-12), -rho, rho)


CASES: Cases = [
    (lion, {}),
    (lion, {"beta1": 0.5, "beta2": 0.8}),
    (radam, {}),
    (radam, {"decoupled_weight_decay": True}),
    (radam, {"beta2": 0.6}),  # rho never exceeds 4
    (yogi, {}),
    (yogi, {"initial_accumulator": 1.0}),
    (novograd, {}),
    (novograd, {"beta1": 0.5, "grad_averaging": True}),
    (adan, {}),
    (adan, {"beta2": 0.5, "no_prox": True}),
    (ademamix, {}),
    (ademamix, {"alpha": 5.0, "alpha_warmup": 5, "beta3_warmup": 6}),
    (ademamix, {"beta1": 0.5, "beta3_warmup": 100}),
    (rprop, {}),
    (rprop, {"eta_minus": 0.3, "step_min": 0.03, "step_max": 0.06}),
    (asgd, {}),
    (asgd, {"lambd": 0.5, "alpha": 0.6, "t0": 3.0}),
    (qhadam, {}),
    (qhadam, {"nu1": 1.0, "nu2": 0.8, "decouple_weight_decay": True}),
    (adafactor, {}),
    (adafactor, {"beta1": 0.9, "relative_step": False}),
    (adafactor, {"scale_parameter": False, "clip_threshold": 0.7, "beta2_decay": -0.5}),
    (adafactor, {"eps2": 10.0}),
    (came, {}),
    (came, {"beta3": 0.9, "clip_threshold": 0.5}),
    (adalomo, {}),
    (adalomo, {"decay_rate": -0.5, "eps2": 10.0, "clip_threshold": 0.7}),
    (adammini, {}),
    (adammini, {"beta1": 0.0}),
    (adammini, {"heads": True, "head_dim": 2}),
    (prodigy, {"lr": 2.0, "d0": 0.01}),
    (prodigy, {"lr": 2.0, "d_coef": 3.0, "use_bias_correction": True}),
    (prodigy, {"lr": 2.0, "safeguard_warmup": True}),
    (dadaptadam, {"d0": 0.01}),
    (dadaptadam, {"d0": 1e-4, "growth_rate": 1.5}),
    (schedulefree_sgd, {}),
    (schedulefree_sgd, {"beta": 0.7, "warmup_steps": 5, "r": 1.0, "weight_lr_power": 1.0}),
    (schedulefree_sgd, {"beta": 1.0}),
    (schedulefree_adamw, {}),
    (schedulefree_adamw, {"beta1": 0.7, "warmup_steps": 5, "r": 1.0, "weight_lr_power": 0.0}),
    (mars, {}),
    (mars, {"gamma": 0.5}),
    (cautious_adamw, {}),
    (cautious_adamw, {"beta1": 0.99}),
    (sophia, {"k": 3}),
    (sophia, {"k": 1, "gamma": 2.0, "rho": 0.5}),
]
JOINT = Traits(joint=True, watched="d")
EVALUATED = Traits(evaluated=True)
TRAITS = {
    prodigy: JOINT,
    dadaptadam: JOINT,
    asgd: EVALUATED,
    schedulefree_sgd: EVALUATED,
    schedulefree_adamw: EVALUATED,
    sophia: Traits(reads="h_hat"),
}
