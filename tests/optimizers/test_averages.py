"""What states hold, by the equations, beside what updates with a gradient that stays the same make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.averages import Average, States, states_of
from optgen.shapes import sizes
from tests.sweeps import swept

SHAPE = (4, 3)
STEPS = 7
KINDS: dict[str, dict[str, Any]] = {
    "adam": {"wd": 0.1},
    "sgd": {"momentum": 0.9, "wd": 0.1},
    "torch/sgd": {"momentum": 0.8, "dampening": 0.3, "nesterov": True},
    "torch/adagrad": {"initial_accumulator_value": 0.5},
    "torch/adamw": {"amsgrad": True, "maximize": True},
    "torch/rmsprop": {"momentum": 0.9, "centered": True},
    "torch/nadam": {},
    "stableadamw": {},
    "madgrad": {},
    "muon_adamw": {},
    "lion with grokfast, lookahead(k=3)": {},
    "adamw with snoo(k=3), ema": {},
}
"""Specs and arguments of all forms that the equations have; `make stress` has every spec."""


def states(rule: Any, shape: tuple[int, ...] = SHAPE) -> States:
    return states_of(rule.spec, rule.decide(shape, {}), {**rule.values, **sizes(shape, rule.spec.last_two)})


def of_defaults(name: str) -> dict[str, Any]:
    params = optgen.load(name).spec.all_params
    return {"r": 2} if "r" in params and name.startswith("matrix/") else {}


@pytest.mark.parametrize(
    ("name", "values"),
    swept(
        [*KINDS.items(), *((x, None) for x in specfiles.all_available())],
        lambda case: case[1] is not None,
    ),
)
def test_states_are_what_the_equations_say(name: str, values: dict[str, Any] | None) -> None:
    values = of_defaults(name) if values is None else values
    rule = optgen.load(name, "float64", **values)
    if rule.spec.phases or rule.spec.given or rule.spec.inputs:
        pytest.skip("it takes more than one gradient")
    rng = np.random.default_rng(3)
    w, g = rng.normal(size=SHAPE), rng.normal(size=SHAPE)
    found = states(rule)
    decays = {x.decay for x in found.averages.values()}
    if decays != {0.0}:
        w[...] = 0.0  # and of what the weight adds then, the first update sees nothing
    step = rule.bind([w], [g])
    for count in range(1, STEPS + 1 if decays <= {0.0} else 2):
        step()
        kept = {key: np.asarray(x[0]).reshape(-1) for key, x in step.state.arrays.items()}
        for key, average in found.averages.items():
            if not average.of_weights:
                total, left = average.share(count)
                expected = total * g.reshape(-1) ** average.power + left * average.start
                np.testing.assert_allclose(kept[key], expected, rtol=1e-9, atol=1e-12, err_msg=f"{key} at {count}")
        for key, x in found.computed(count).items():
            np.testing.assert_allclose(kept[key], x, rtol=1e-6, err_msg=f"{key} at {count}")


def average_of(name: str, key: str, **values: Any) -> Average:
    return states(optgen.load(name, **values)).averages[key]


def test_limits_and_counts() -> None:
    """What a mean, a sum, and a sum that never ends come to, and which states the count corrects."""
    mean, total = average_of("adamw", "m"), average_of("torch/sgd", "momentum_buffer", momentum=0.75)
    assert (mean.steady, total.steady, average_of("adagrad", "h").steady) == (pytest.approx(1), 4.0, None)
    assert mean.share(10**9) == (pytest.approx(1), 0.0)
    assert average_of("stableadamw", "v").share(10**6)[0] == pytest.approx(1)
    assert average_of("adam", "v", wd=0.1).decay == pytest.approx(0.1)
    assert average_of("torch/sgd", "momentum_buffer", momentum=0.5, maximize=True).steady == -2.0
    counted = {name: states(optgen.load(name)).counted for name in ("adamw with diloco", "lion", "adabelief")}
    assert counted == {"adamw with diloco": {"m", "v"}, "lion": frozenset(), "adabelief": {"m", "s"}}


def test_what_is_no_mean_is_not_taken_for_one() -> None:
    """A variance about the mean, a maximum, rotated moments, the last gradient alone, and noisy gradients."""
    for name, keys in {
        "adabelief": {"m"},
        "torch/adamax": {"exp_avg"},
        "soap": {"m"},
        "optimistic_sgd": set(),
        "adamw with private": set(),
        "adamw with clip_norm": set(),
        "adamw with diloco": {"m", "v"},
        "prodigy": set(),
    }.items():
        assert states(optgen.load(name)).averages.keys() == keys, name
