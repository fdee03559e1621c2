"""Relatives of Adam: a first moment over the root of a second one, element by element."""

from __future__ import annotations

import math

import numpy as np

from tests.optimizers.formulas import LR, WD, Array, Cases, Kept, Traits, adam, corrected, moments, rms


def nadamw(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, epsilon: float = 1e-8) -> Array:
    moments(g, s, beta1, 0.999)
    ahead = beta1 * s["m"] / (1 - beta1 ** (t + 1)) + (1 - beta1) * g / (1 - beta1**t)
    return w - LR * WD * w - LR * ahead / (np.sqrt(s["v"] / (1 - 0.999**t)) + epsilon)


def adam_atan2(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, a: float = 1.27, b: float = 1.0) -> Array:
    moments(g, s, beta1, 0.999)
    m_hat, v_hat = corrected(s, t, beta1, 0.999)
    return w - LR * WD * w - LR * a * np.arctan2(m_hat, b * np.sqrt(v_hat))


def laprop(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.999) -> Array:
    s["n"] = beta2 * s["n"] + (1 - beta2) * g**2
    s["m"] = beta1 * s["m"] + (1 - beta1) * g / (np.sqrt(s["n"] / (1 - beta2**t)) + 1e-15)
    return w - LR * WD * w - LR * s["m"] / (1 - beta1**t)


def adopt(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta1: float = 0.9,
    clip_update: bool = True,
    decoupled_weight_decay: bool = False,
) -> Array:
    g = g if decoupled_weight_decay else g + WD * w
    if t == 1:
        s["v"] = g**2
        return w
    u = g / np.maximum(np.sqrt(s["v"]), 1e-6)
    if clip_update:
        u = np.clip(u, -((t - 1) ** 0.25), (t - 1) ** 0.25)
    s["m"] = beta1 * s["m"] + (1 - beta1) * u
    s["v"] = 0.9999 * s["v"] + (1 - 0.9999) * g**2
    return (w - LR * WD * w if decoupled_weight_decay else w) - LR * s["m"]


def stableadamw(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.99) -> Array:
    moments(g, s, beta1, beta2)
    m_hat, v_hat = corrected(s, t, beta1, beta2)
    rate = LR / max(1.0, rms(g / np.maximum(np.sqrt(v_hat), 1e-8)))
    return w - rate * WD * w - rate * m_hat / (np.sqrt(v_hat) + 1e-8)


def grams(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9) -> Array:
    return w - LR * WD * w - LR * np.sign(g) * np.abs(adam(g, s, t, beta1, 0.999, 1e-6))


def amsgrad_root(s: Kept, largest: bool) -> Array:
    s["largest"] = np.maximum(s["largest"], s["v"])
    return np.sqrt(s["largest"] if largest else s["v"])


def padam(w: Array, g: Array, s: Kept, t: int, partial: float = 0.25, amsgrad: bool = True) -> Array:
    moments(g + WD * w, s, 0.9, 0.999)
    root = amsgrad_root(s, amsgrad) + 1e-8
    return w - LR * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / root ** (2 * partial)


def diffgrad(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9) -> Array:
    g = g + WD * w
    moments(g, s, beta1, 0.999)
    friction = 0.5 * (1 + np.tanh(np.abs(s["g"] - g) / 2))  # the logistic function
    s["g"] = g
    return w - LR * math.sqrt(1 - 0.999**t) / (1 - beta1**t) * friction * s["m"] / (np.sqrt(s["v"]) + 1e-8)


def adabound(
    w: Array, g: Array, s: Kept, t: int, final_lr: float = 0.1, gamma: float = 1e-3, amsbound: bool = False
) -> Array:
    moments(g + WD * w, s, 0.9, 0.999)
    lower, upper = final_lr * (1 - 1 / (gamma * t + 1)), final_lr * (1 + 1 / (gamma * t))
    rate = LR * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) / (amsgrad_root(s, amsbound) + 1e-8)
    return w - np.minimum(np.maximum(rate, lower), upper) * s["m"]


def adamod(w: Array, g: Array, s: Kept, t: int, beta3: float = 0.999) -> Array:
    moments(g, s, 0.9, 0.999)
    rate = LR * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) / (np.sqrt(s["v"]) + 1e-8)
    s["rate"] = beta3 * s["rate"] + (1 - beta3) * rate
    return w - LR * WD * w - np.minimum(rate, s["rate"]) * s["m"]


def kate(w: Array, g: Array, s: Kept, t: int, eta: float = 0.0, epsilon: float = 1e-8) -> Array:
    s["b"] = np.sqrt(s["b"] ** 2 + g**2 + epsilon)
    s["m"] = np.sqrt(s["m"] ** 2 + eta * g**2 + (g / s["b"]) ** 2)
    return w - LR * WD * w - LR * s["m"] / s["b"] ** 2 * g


def focus(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta2: float = 0.999, gamma: float = 0.1) -> Array:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["average"] = beta2 * s["average"] + (1 - beta2) * w
    center = s["average"] / (1 - beta2**t)
    w = w - LR * WD * center
    return w - LR * (np.sign(s["m"]) + gamma * np.sign(w - center))


def stablespam(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    gamma1: float = 0.7,
    gamma2: float = 0.9,
    theta: float = 0.999,
    interval: int = 1000,
) -> Array:
    if t % interval == 0:
        s["m"], s["v"], s["since"] = 0.0, 0.0, 0
    s["since"] += 1
    top = np.abs(g).max()
    s["top"] = theta * s["top"] + (1 - theta) * top
    bound = s["top"] / (1 - theta**t)
    g = np.where(np.abs(g) > bound, g / top * bound, g)
    n = np.linalg.norm(g)
    s["n1"], s["n2"] = gamma1 * s["n1"] + (1 - gamma1) * n, gamma2 * s["n2"] + (1 - gamma2) * n**2
    scale = s["n1"] / (1 - gamma1**t) / (np.sqrt(s["n2"] / (1 - gamma2**t)) + 1e-8)
    moments(scale * g / n, s, 0.9, 0.999)
    m_hat, v_hat = corrected(s, s["since"], 0.9, 0.999)
    return (1 - LR * WD) * w - LR * m_hat / (np.sqrt(v_hat) + 1e-8)


def optimistic_adam(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.5, beta2: float = 0.9) -> Array:
    u = adam(g + WD * w, s, t, beta1, beta2)
    before, s["u"] = s.get("u", u), u
    return w - 2 * LR * u + LR * before


def acprop(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, epsilon: float = 1e-16) -> Array:
    root = np.sqrt(s["v"] / (1 - 0.999 ** (t - 1))) if t > 1 else 1.0
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * (g - s["m"]) ** 2 + 1e-16
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    return w - LR * WD * w - LR * g / (root + epsilon)


def adamc(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, normalized: bool = True) -> Array:
    # The rate is LR in all steps here, and so is the largest: tests of rates that change are below.
    return w - LR * WD * w - LR * adam(g, s, t, beta1, 0.999)


def positive_negative(g: Array, s: Kept, t: int, beta1: float, beta0: float) -> Array:
    """The momenta of odd and of even steps, kept apart."""
    now, other = ("odd", "even") if t % 2 else ("even", "odd")
    s[now] = beta1**2 * s[now] + (1 - beta1**2) * g
    return ((1 + beta0) * s[now] - beta0 * s[other]) / math.sqrt((1 + beta0) ** 2 + beta0**2)


def pnm(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.9, beta0: float = 1.0) -> Array:
    return w - LR * WD * w - LR * positive_negative(g, s, t, beta1, beta0)


def adapnm(w: Array, g: Array, s: Kept, t: int, beta0: float = 1.0, amsgrad: bool = True) -> Array:
    momentum = positive_negative(g, s, t, 0.9, beta0) / (1 - 0.9**t)
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * g**2
    root = (amsgrad_root(s, amsgrad) + 1e-8) / math.sqrt(1 - 0.999**t)
    return w - LR * WD * w - LR * momentum / root


def simplified_ademamix(w: Array, g: Array, s: Kept, t: int, beta1: float = 0.99, alpha: float = 0.0) -> Array:
    s["m"] = beta1 * s["m"] + g
    s["v"] = 0.95 * s["v"] + (1 - 0.95) * g**2
    return w - LR * ((s["m"] + alpha * g) / (np.sqrt(s["v"] / (1 - 0.95**t)) + 1e-8) + WD * w)


def smorms3(w: Array, g: Array, s: Kept, t: int, lr: float = LR) -> Array:
    g = g + WD * w
    memory = s.get("memory", 1.0)
    s["m"] = (memory * s["m"] + g) / (memory + 1)
    s["v"] = (memory * s["v"] + g**2) / (memory + 1)
    steady = s["m"] ** 2 / (s["v"] + 1e-16)
    s["memory"] = 1 + memory * (1 - steady)
    return w - np.minimum(lr, steady) * g / (np.sqrt(s["v"]) + 1e-16)


def schedulefree_radam(
    w: Array,
    g: Array,
    s: Kept,
    t: int,
    beta1: float = 0.9,
    beta2: float = 0.999,
    silent_sgd_phase: bool = True,
    r: float = 0.0,
) -> Array:
    """x, y (here w) and z, all three kept."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * t * beta2**t / (1 - beta2**t)
    s["v"] = beta2 * s["v"] + (1 - beta2) * g**2
    rate, d = 0.0 if silent_sgd_phase else LR, g
    if length > 4:
        rate = LR * math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        d = g / (np.sqrt(s["v"] / (1 - beta2**t)) + 1e-8)
    s["largest"] = max(rate, s["largest"])
    weight = t**r * s["largest"] ** 2
    s["total"] += weight
    share = weight / s["total"] if s["total"] else 0.0
    s["z"] = s.get("z", w) - rate * (d + WD * w)
    s["x"] = (1 - share) * s.get("x", w) + share * s["z"]
    return (1 - beta1) * s["z"] + beta1 * s["x"]


def fadam(w: Array, g: Array, s: Kept, t: int, eps2: float = 0.01, clip_threshold: float = 1.0) -> Array:
    s["f"] = 0.999 * s["f"] + (1 - 0.999) * g**2
    information = s["f"] / (1 - 0.999**t)
    root = np.sqrt(information) + min(1e-8, eps2 * rms(g))
    u, decay = (x / root / max(1.0, rms(x / root) / clip_threshold) for x in (g, w))
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * u
    return w - LR * (s["m"] + WD * decay)


def adahessian(
    w: Array, g: Array, s: Kept, t: int, h_hat: Array, hessian_power: float = 1.0, average_kernels: bool = True
) -> Array:
    h = np.abs(h_hat)
    if average_kernels and w.ndim == 4:
        h = np.broadcast_to(h.mean(axis=(2, 3), keepdims=True), w.shape)
    s["m"] = 0.9 * s["m"] + (1 - 0.9) * g
    s["v"] = 0.999 * s["v"] + (1 - 0.999) * h**2
    m_hat, v_hat = corrected(s, t, 0.9, 0.999)
    return w - LR * WD * w - LR * m_hat / (np.sqrt(v_hat) ** hessian_power + 1e-4)


CASES: Cases = [
    (nadamw, {}),
    (nadamw, {"beta1": 0.5, "epsilon": 0.1}),
    (adam_atan2, {}),
    (adam_atan2, {"beta1": 0.5, "a": 2.0, "b": 3.0}),
    (laprop, {}),
    (laprop, {"beta1": 0.5, "beta2": 0.8}),
    (adopt, {}),
    (adopt, {"clip_update": False, "beta1": 0.5}),
    (adopt, {"decoupled_weight_decay": True}),
    (stableadamw, {}),
    (stableadamw, {"beta1": 0.5, "beta2": 0.7}),
    (grams, {}),
    (grams, {"beta1": 0.99}),
    (padam, {}),
    (padam, {"partial": 0.4, "amsgrad": False}),
    (diffgrad, {}),
    (diffgrad, {"beta1": 0.5}),
    (adabound, {}),
    (adabound, {"final_lr": 0.5, "gamma": 0.3}),
    (adabound, {"final_lr": 0.02, "gamma": 0.9, "amsbound": True}),
    (adamod, {}),
    (adamod, {"beta3": 0.5}),
    (kate, {}),
    (kate, {"eta": 0.5, "epsilon": 0.1}),
    (focus, {}),
    (focus, {"beta1": 0.5, "beta2": 0.7, "gamma": 0.4}),
    (stablespam, {}),
    (stablespam, {"gamma1": 0.5, "gamma2": 0.4, "theta": 0.3, "interval": 3}),
    (optimistic_adam, {}),
    (optimistic_adam, {"beta1": 0.9, "beta2": 0.999}),
    (acprop, {}),
    (acprop, {"beta1": 0.5, "epsilon": 0.1}),
    (adamc, {}),
    (adamc, {"beta1": 0.5, "normalized": False}),
    (pnm, {}),
    (pnm, {"beta1": 0.5, "beta0": 0.4}),
    (adapnm, {}),
    (adapnm, {"beta0": 0.4, "amsgrad": False}),
    (simplified_ademamix, {}),
    (simplified_ademamix, {"beta1": 0.9, "alpha": 3.0}),
    (smorms3, {}),
    (smorms3, {"lr": 2.0}),
    (schedulefree_radam, {}),
    (schedulefree_radam, {"silent_sgd_phase": False, "beta1": 0.7, "r": 1.0}),
    (schedulefree_radam, {"beta2": 0.6}),  # rho never exceeds 4
    (fadam, {}),
    (fadam, {"eps2": 1e-9, "clip_threshold": 0.2}),
    (adahessian, {}),
    (adahessian, {"average_kernels": False, "hessian_power": 0.5}),
]
TRAITS = {schedulefree_radam: Traits(evaluated=True), adahessian: Traits(reads="h_hat")}
