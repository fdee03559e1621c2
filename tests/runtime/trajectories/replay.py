"""MXNet's optimizers a second time, in float64: what its trajectories would be without its roundings.

A formula takes the states `s` (a dict, zeros where nothing was stored), the weight `w`, the raw gradient `grad` and the
values `o` of this step, and returns the new weight. The names are those of MXNet's arguments.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from runtime import lr_scheduler
from tests.runtime.trajectories.cases import CHANGE, LR_MULT, STEPS, WD_MULT, Case

Array = Any
States = dict[str, Any]
Values = SimpleNamespace
Formula = Callable[[States, Array, Array, Values], Array]


def clipped(x: Array, bound: float | None) -> Array:
    return x if bound is None else np.clip(x, -bound, bound)


def clipped_unless_0(x: Array, bound: float | None) -> Array:
    return clipped(x, bound or None)


def sgd(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad, o.clip_gradient)
    s["mom"] = o.momentum * s["mom"] - o.lr * (g + o.wd * w)
    return w + s["mom"]


def nag(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad, o.clip_gradient)
    if not o.momentum:
        return w - o.lr * (g + o.wd * w)
    new = w + o.momentum**2 * s["mom"] - (1 + o.momentum) * o.lr * (g + o.wd * w)
    s["mom"] = o.momentum * s["mom"] - o.lr * (g + o.wd * new)
    return new


def signum(s: States, w: Array, grad: Array, o: Values) -> Array:
    if not o.momentum:
        return (1 - o.lr * o.wd) * w - o.lr * np.sign(grad)
    g = clipped_unless_0(o.rescale_grad * grad, o.clip_gradient) + o.wd * w
    s["mom"] = o.momentum * s["mom"] - (1 - o.momentum) * g
    return (1 - o.lr * o.wd_lh) * w + o.lr * np.sign(s["mom"])


def ftml(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad + o.wd * w, o.clip_gradient)
    s["v"] = o.beta2 * s["v"] + (1 - o.beta2) * g**2
    d = (1 - o.beta1**o.t) / o.lr * (np.sqrt(s["v"] / (1 - o.beta2**o.t)) + o.epsilon)
    s["z"] = o.beta1 * s["z"] + (1 - o.beta1) * g - (d - o.beta1 * s["d"]) * w
    s["d"] = d
    return -s["z"] / d


def lars(s: States, w: Array, grad: Array, o: Values) -> Array:
    norms = np.linalg.norm(w), o.rescale_grad * np.linalg.norm(grad)
    if all(norms) and not o.name.endswith(("gamma", "beta", "bias")):
        o.lr = o.lr * o.eta * norms[0] / (norms[1] + o.wd * norms[0] + o.eps)
    if o.momentum_correction:
        o.momentum = o.momentum * o.base_lr / o.last_lr
    return sgd(s, w, grad, o)


def lbsgd(s: States, w: Array, grad: Array, o: Values) -> Array:
    n = o.begin_epoch * o.updates_per_epoch + o.t - o.begin_num_update
    s["sum"] = s["sum"] + grad
    if n % o.batch_scale:
        return w
    mean = s["sum"] / o.batch_scale
    s["sum"] = 0 * grad
    progress = n / (o.warmup_epochs * o.updates_per_epoch)
    if o.warmup_strategy == "lars":
        squares = np.sum(w**2), np.sum(mean**2)
        ratio = math.sqrt(squares[0] / (squares[1] + o.wd * squares[0] + 1e-18))
        o.lr = o.lr * min(max(ratio, 0.01), 100)
    else:
        grown = {"linear": progress, "power2": progress**2, "sqrt": math.sqrt(progress)}[o.warmup_strategy]
        o.lr = o.lr * (1 + (o.batch_scale - 1) * min(grown, 1))
    return sgd(s, w, mean, o)


def lamb(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad, o.clip_gradient)
    s["m"] = o.beta1 * s["m"] + (1 - o.beta1) * g
    s["v"] = o.beta2 * s["v"] + (1 - o.beta2) * g**2
    corrections = (1 - o.beta1**o.t, 1 - o.beta2**o.t) if o.bias_correction else (1, 1)
    u = s["m"] / corrections[0] / (np.sqrt(s["v"] / corrections[1]) + o.epsilon) + o.wd * w
    norms = min(max(np.linalg.norm(w), o.lower_bound or 0), o.upper_bound or math.inf), np.linalg.norm(u)
    return w - o.lr * (norms[0] / norms[1] if all(norms) else 1) * u


def dcasgd(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad, o.clip_gradient)
    previous = s.get("previous", w)
    s["previous"] = w
    return w - o.lr * (g + o.wd * w + o.lamda * g**2 * (w - previous))


def sgld(s: States, w: Array, grad: Array, o: Values) -> Array:
    return w - o.lr / 2 * (clipped(o.rescale_grad * grad, o.clip_gradient) + o.wd * w)


def adam(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad + o.wd * w, o.clip_gradient)
    s["m"] = o.beta1 * s["m"] + (1 - o.beta1) * g
    s["v"] = o.beta2 * s["v"] + (1 - o.beta2) * g**2
    rate = o.lr * math.sqrt(1 - o.beta2**o.t) / (1 - o.beta1**o.t)
    return w - rate * s["m"] / (np.sqrt(s["v"]) + o.epsilon)


def adagrad(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad, o.clip_gradient)
    s["h"] = s["h"] + g**2
    return w - o.lr * (g / np.sqrt(s["h"] + o.eps) + o.wd * w)


def rmsprop(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad + o.wd * w, o.clip_gradient)
    s["n"] = o.gamma1 * s["n"] + (1 - o.gamma1) * g**2
    if not o.centered:
        return clipped_unless_0(w - o.lr * g / np.sqrt(s["n"] + o.epsilon), o.clip_weights)
    s["g"] = o.gamma1 * s["g"] + (1 - o.gamma1) * g
    s["delta"] = o.gamma2 * s["delta"] - o.lr * g / np.sqrt(s["n"] - s["g"] ** 2 + o.epsilon)
    return clipped_unless_0(w + s["delta"], o.clip_weights)


def adadelta(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad, o.clip_gradient)
    s["a"] = o.rho * s["a"] + (1 - o.rho) * g**2
    step = np.sqrt(s["d"] + o.epsilon) / np.sqrt(s["a"] + o.epsilon) * g
    s["d"] = o.rho * s["d"] + (1 - o.rho) * step**2
    return w - step - o.wd * w


def ftrl(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped_unless_0(o.rescale_grad * grad, o.clip_gradient)
    n = s["n"] + g**2
    s["z"] = s["z"] + g - (np.sqrt(n) - np.sqrt(s["n"])) * w / o.lr
    s["n"] = n
    moved = (np.sign(s["z"]) * o.lamda1 - s["z"]) / ((o.beta + np.sqrt(n)) / o.lr + o.wd)
    return np.where(np.abs(s["z"]) > o.lamda1, moved, 0)


def adamax(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad + o.wd * w, o.clip_gradient)
    s["m"] = o.beta1 * s["m"] + (1 - o.beta1) * g
    s["u"] = np.maximum(o.beta2 * s["u"], np.abs(g))
    return w - o.lr / (1 - o.beta1**o.t) * s["m"] / s["u"]


def nadam(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad + o.wd * w, o.clip_gradient)
    now, following = (o.beta1 * (1 - 0.5 * 0.96 ** (t * o.schedule_decay)) for t in (o.t, o.t + 1))
    s["product"] = s.get("product", 1.0) * now
    s["m"] = o.beta1 * s["m"] + (1 - o.beta1) * g
    s["v"] = o.beta2 * s["v"] + (1 - o.beta2) * g**2
    mean = (1 - now) * g / (1 - s["product"]) + following * s["m"] / (1 - s["product"] * following)
    return w - o.lr * mean / (np.sqrt(s["v"] / (1 - o.beta2**o.t)) + o.epsilon)


def groupadagrad(s: States, w: Array, grad: Array, o: Values) -> Array:
    g = clipped(o.rescale_grad * grad, o.clip_gradient)
    s["h"] = s["h"] + np.mean(g**2, axis=1, keepdims=True)
    return w - o.lr * g / np.sqrt(s["h"] + o.eps)


def test(s: States, w: Array, grad: Array, o: Values) -> Array:
    return w + o.rescale_grad * grad


FORMULAS: dict[str, tuple[Formula, dict[str, Any]]] = {
    "sgd": (sgd, {"momentum": 0.0}),
    "nag": (nag, {"momentum": 0.0}),
    "signum": (signum, {"momentum": 0.9, "wd_lh": 0.0}),
    "ftml": (ftml, {"beta1": 0.6, "beta2": 0.999, "epsilon": 1e-8}),
    "lars": (lars, {"momentum": 0.0, "eta": 0.001, "eps": 0.0, "momentum_correction": True}),
    "lbsgd": (
        lbsgd,
        {"momentum": 0.0, "warmup_strategy": "linear", "warmup_epochs": 5, "batch_scale": 1, "updates_per_epoch": 32,
         "begin_epoch": 0},
    ),
    "lamb": (
        lamb,
        {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "lower_bound": None,
         "upper_bound": None, "bias_correction": True},
    ),
    "dcasgd": (dcasgd, {"lamda": 0.04}),
    "sgld": (sgld, {}),
    "adam": (adam, {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}),
    "adagrad": (adagrad, {"eps": 1e-7}),
    "rmsprop": (
        rmsprop,
        {"learning_rate": 0.001, "gamma1": 0.9, "gamma2": 0.9, "epsilon": 1e-8, "centered": False,
         "clip_weights": None},
    ),
    "adadelta": (adadelta, {"rho": 0.9, "epsilon": 1e-5}),
    "ftrl": (ftrl, {"learning_rate": 0.1, "lamda1": 0.01, "beta": 1.0}),
    "adamax": (adamax, {"learning_rate": 0.002, "beta1": 0.9, "beta2": 0.999}),
    "nadam": (nadam, {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "schedule_decay": 0.004}),
    "groupadagrad": (groupadagrad, {"eps": 1e-5}),
    "test": (test, {}),
}  # fmt: skip
"""The formulas, and MXNet's defaults of their arguments."""

BASE = {"learning_rate": 0.01, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": None, "begin_num_update": 0}


def trajectory(case: Case) -> Array:
    """The elements of all weights, one row for each step. What is kept is rounded to the type it is stored in."""
    formula, defaults = FORMULAS[case.optimizer]
    args = {**BASE, **defaults, **case.args}
    stored = np.float16 if case.storage == "float16" else np.float32
    weights, grads = case.inputs()
    states: list[States] = [defaultdict(float) for _ in weights]
    rates = _rates(case, args)
    path = []
    for step, rate in enumerate(rates):
        for i, (name, s, w) in enumerate(zip(case.shapes, states, weights, strict=True)):
            lr_mult, wd_mult = _multipliers(case, name)
            o = Values(
                **args,
                name=name if case.named == "names" else str(i),
                t=args["begin_num_update"] + step + 1,
                base_lr=rate,
            )
            o.lr, o.wd, o.last_lr = lr_mult * rate, wd_mult * args["wd"], rates[max(step - 1, 0)]
            rows = case.rows(step) if case.sparse else None
            new = _update(formula, s, w.astype(float), grads[step][i].astype(float), o, rows, "lazy" in case.label)
            weights[i] = new.astype(stored)
            s.update({k: v.astype(stored).astype(float) for k, v in s.items() if isinstance(v, np.ndarray)})
        path.append(np.concatenate([w.ravel() for w in weights]))
    return np.array(path).astype(case.dtype)


def _update(formula: Formula, s: States, w: Array, grad: Array, o: Values, rows: Array | None, lazy: bool) -> Array:
    if rows is None:
        return formula(s, w, grad, o)
    present = np.zeros_like(grad)
    present[rows] = grad[rows]
    if not lazy:
        return formula(s, w, present, o)
    part = defaultdict(float, {name: value[rows] for name, value in s.items()})
    new = w.copy()
    new[rows] = formula(part, w[rows], grad[rows], o)
    for name, value in part.items():
        s.setdefault(name, np.zeros((len(w), *value.shape[1:])))[rows] = value
    return new


def _rates(case: Case, args: dict[str, Any]) -> list[float]:
    """The learning rate of each step, before multipliers."""
    if case.schedule is None:
        changed = args["learning_rate"] if case.new_rate is None else case.new_rate
        return [args["learning_rate"]] * CHANGE + [changed] * (STEPS - CHANGE)
    name, settings = case.schedule
    schedule = getattr(lr_scheduler, name)(**settings)
    if "learning_rate" in case.args and case.optimizer != "ftrl":
        schedule.base_lr = case.args["learning_rate"]
    first = args["begin_num_update"] + (case.optimizer != "lbsgd")  # which asks before it counts
    return [schedule(first + step) for step in range(STEPS)]


def _multipliers(case: Case, name: str) -> tuple[float, float]:
    """Of the learning rate and of the weight decay."""
    if not case.named:
        return 1.0, 1.0
    decayed = ("_weight",) if case.optimizer == "lars" else ("_weight", "_gamma")
    exempt = case.named == "names" and not name.endswith(decayed)
    return LR_MULT.get(name, 1.0), WD_MULT.get(name, 0.0 if exempt else 1.0)
