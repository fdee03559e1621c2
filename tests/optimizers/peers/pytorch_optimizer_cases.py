"""Calls of pytorch_optimizer 4.1.0, and the specs and arguments that compute the same, where the two agree.

Left out, as they differ from the papers or from the authors' code: ADOPT (which bounds a step by t, not t - 1),
SimplifiedAdEMAMix (whose momentum is an average, not a sum), AdamC and AdamP (whose epsilon is added before the
correction), cautious Lion (which divides by one element more), ScheduleFreeRAdam's steps of SGD (of the rate 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.optimizers.peers.calls import SHAPES, Call

DECAY = {"weight_decay": 0.1}
COUPLED = {**DECAY, "weight_decouple": False}
OURS = {"weight_decay": None, "weight_decouple": None, "wd": 0.1}


def pytorch_optimizer_calls() -> Iterator[Call]:
    def call(name: str, spec: str, renamed: dict[str, Any], tensors: int = 3, **arguments: Any) -> Call:
        return Call(name, {"lr": 0.05, **arguments}, spec, renamed, (), SHAPES[:tensors])

    yield call("stableadamw", "stableadamw", {**OURS, "kahan_sum": None}, kahan_sum=False, **DECAY)
    yield call("tiger", "tiger", OURS, **DECAY)
    yield call("fromage", "fromage", {})
    yield call("grams", "grams", OURS, **DECAY)
    yield call("madgrad", "madgrad", OURS, **DECAY)
    yield call("aggmo", "aggmo", OURS, **DECAY)
    yield call("padam", "padam", {**OURS, "amsgrad": False}, **COUPLED)
    yield call("diffgrad", "diffgrad", OURS, **COUPLED)
    yield call("sgdp", "sgdp", OURS, momentum=0.9, delta=1.0, **DECAY)
    yield call("sgdp", "sgdp", OURS, momentum=0.5, delta=3.0, nesterov=True, **DECAY)
    yield call("adai", "adai", OURS, **DECAY)
    swd = {**OURS, "stable_weight_decay": None, "decoupled_weight_decay": True}
    yield call("adai", "adai", swd, stable_weight_decay=True, weight_decouple=True, **DECAY)
    yield call("adabound", "adabound", OURS, gamma=0.1, **COUPLED)
    yield call("adamod", "adamod", OURS, betas=(0.9, 0.99, 0.9999), **DECAY)
    yield call("sm3", "sm3", {}, 2, momentum=0.9)
    yield call("sm3", "sm3", {}, 2, momentum=0.0)
    yield call("qhm", "qhm", OURS, momentum=0.9, nu=0.7, **COUPLED)
    yield call("pid", "pid", OURS, momentum=0.9, **DECAY)
    yield call("accsgd", "accsgd", OURS, **DECAY)
    yield call("schedulefreeradam", "schedulefree_radam", OURS, betas=(0.9, 0.9), **DECAY)
    yield call("pnm", "pnm", {**OURS, "betas": None, "beta1": 0.8, "beta0": 0.5}, betas=(0.8, 0.5), **DECAY)
    three = {"betas": None, "beta1": 0.8, "beta2": 0.9, "beta0": 0.5}
    yield call("adapnm", "adapnm", {**OURS, **three}, betas=(0.8, 0.9, 0.5), **DECAY)
    plain = {"ams_bound": None, "amsgrad": False}
    yield call("adapnm", "adapnm", {**OURS, **three, **plain}, betas=(0.8, 0.9, 0.5), ams_bound=False, **DECAY)
    yield call("sgdw", "sgdw", OURS, momentum=0.9, **DECAY)
    yield call("dadaptsgd", "dadaptsgd", {}, d0=0.01)
    yield call("dadaptlion", "dadaptlion", OURS, d0=0.01, weight_decouple=True, **DECAY)
    yield call("apollodqn", "apollodqn", {"warmup_steps": None}, warmup_steps=0)
    yield call("apollodqn", "apollodqn", {**OURS, "warmup_steps": None}, warmup_steps=0, rebound="belief", **DECAY)
    yield call("swats", "swats", {"epsilon": 1e-6}, 1)
    yield call("gravity", "gravity", {}, alpha=0.0)
    yield call("kate", "kate", {**OURS, "delta": None, "eta": 0.1}, delta=0.1, **DECAY)
    yield call("focus", "focus", OURS, gamma=0.3, **DECAY)
    names = {**OURS, "update_proj_gap": None, "interval": 4}
    yield call("stablespam", "stablespam", names, gamma1=0.5, theta=0.9, update_proj_gap=4, **DECAY)
    yield call("amos", "amos", {"eta": 0.5}, 1)
