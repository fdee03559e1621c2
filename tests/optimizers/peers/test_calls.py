"""Specs beside the numbers of optax and of pytorch_optimizer, in float64; of optax, every argument of every optimizer
for which there is a spec."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from tests.optimizers.peers.calls import RECORDED, STEPS, Call
from tests.optimizers.peers.optax_cases import optax_calls
from tests.optimizers.peers.optax_chains import NAMES, optax_chains
from tests.optimizers.peers.pytorch_optimizer_cases import pytorch_optimizer_calls
from tests.sweeps import swept

OPTAX, PYTORCH_OPTIMIZER = [*optax_calls(), *optax_chains()], list(pytorch_optimizer_calls())
ALIKE = (
    {"nesterov": False},
    {"preconditioning": "aol"},
    {"ns_coeffs": "dion"},
    {"beta": 0.5, "eps": 1e-3, "adam_eps_root": 1e-3},
    {"weight_decay": 0.1, "adam_weight_decay": 0.2, "adam_learning_rate": 0.01},
    {"ns_coeffs": (3.0, -3.2, 1.2)},
)
"""Arguments of optax's Muon whose code is that of others, or is among that of a call with several arguments."""


def of_one_base() -> set[str]:
    """The chains with each transform and its arguments behind one optimizer only: each of these in its turn."""
    chains: dict[str, list[str]] = {}
    for call in optax_chains():
        chains.setdefault(str(call.transform), []).append(call.id)
    return {calls[turn % len(calls)] for turn, calls in enumerate(chains.values())}


ONE_BASE = of_one_base()


def is_kept(call: Call) -> bool:
    if call.name == "muon":
        return {name: x for name, x in call.arguments.items() if name != "learning_rate"} not in ALIKE
    if call.spec == "sm3":  # which test_formulas.py has, and pytorch_optimizer below with both kinds of momentum
        return False
    return not call.transform or call.id in ONE_BASE


def tolerance(call: Call) -> float:
    """optax rounds functions of the step to float32, in float64 too, and what MultiSteps collects."""
    rounded = call.name in ("adafactor", "madgrad") or "warmup_steps" in call.arguments
    return 5e-6 if rounded or (call.transform and call.transform[1] == "MultiSteps") else 1e-9


@cache
def recorded(library: str) -> dict[str, Any]:
    with np.load(Path(__file__).parent / "data" / f"{library}.npz") as file:
        return dict(file)


def trajectory(call: Call) -> Any:
    weights, grads, estimates, losses = call.numbers()
    now, h_hat = ([x.copy() for x in arrays] for arrays in (grads[0], estimates[0]))
    rule = optgen.load(call.spec, "float64", **call.values())
    step = rule.bind(weights, now, inputs={"h_hat": h_hat} if "h_hat" in call.given else None)
    path = []
    for k in range(STEPS):
        for arrays, new in ((now, grads[k]), (h_hat, estimates[k])):
            for x, y in zip(arrays, new, strict=True):
                x[...] = y
        step(**({"loss": losses[k]} if "value" in call.given else {}))
        path.append(np.concatenate([w.ravel() for w in weights]))
    return np.array(path)[list(RECORDED)]


@pytest.mark.parametrize("call", swept(OPTAX, is_kept), ids=lambda call: f"{call.id}-{call.spec}")
def test_optax(call: Call) -> None:
    rtol = tolerance(call)
    np.testing.assert_allclose(trajectory(call), recorded("optax")[call.id], rtol=rtol, atol=rtol / 1e3)


@pytest.mark.parametrize("call", PYTORCH_OPTIMIZER, ids=lambda call: call.id)
def test_pytorch_optimizer(call: Call) -> None:
    theirs = recorded("pytorch_optimizer")[call.id]
    np.testing.assert_allclose(trajectory(call), theirs, rtol=1e-8, atol=1e-11)


def test_every_spec_of_the_family_and_every_recorded_call_is_compared() -> None:
    assert {call.spec for call in OPTAX} >= set(specfiles.available("optax"))
    transforms = {f"optax/{NAMES.get(name, name)}" for call in OPTAX if call.transform for name in [call.transform[1]]}
    assert transforms >= {name for name in specfiles.transforms() if name.startswith("optax/")}
    for calls, library in ((OPTAX, "optax"), (PYTORCH_OPTIMIZER, "pytorch_optimizer")):
        assert {call.id for call in calls} == set(recorded(library))
        assert len({(call.id, call.spec) for call in calls}) == len(calls)
