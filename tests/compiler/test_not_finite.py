"""NaN, infinities and signs: in every spec and variant, a NaN gradient shows in the weight at the update it is for."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.ir import Variant
from tests.compiler.features import FEATURES
from tests.compiler.harness import (
    ALL,
    CASES,
    KERNELS,
    PLAIN_CASES,
    Array,
    Case,
    Shape,
    by_name,
    copies,
    covering,
    interpret_step,
    is_of_one_gradient,
    kernels,
    same_bits,
)
from tests.compiler.test_accuracy import ELEMENTWISE, MEASURED, Steps
from tests.compiler.test_differential import MODES, compare, load
from tests.sweeps import swept

SHAPES: tuple[Shape, ...] = ((8, 520), (4160,), (8, 13, 8, 5))
"""Large enough for 8-bit states."""
AT = 2 * 520 + 7
"""The element whose gradient is no number."""

OF_ITS_TENSOR = {"Adafactor", "CAME", "LAMB", "LANS", "LARS", "MARS", "NovoGrad", "TorchAdafactor"}
OF_ITS_TENSOR |= {
    "AdaGradNorm",
    "AdaLomo",
    "Adai",
    "AdamHD",
    "Amos",
    "ApolloDQN",
    "DAdaptSGD",
    "DoG",
    "DoWG",
    "EFSignSGD",
    "FAdam",
}
OF_ITS_TENSOR |= {"Fromage", "Gravity", "LARC", "LDoG", "NSGD", "SGDHD", "SinkGD", "StableAdamW", "StableSPAM"}
"""Specs in which the new value of each element follows from a norm, or another sum, of the whole gradient."""
OF_ITS_ROW = {"GroupAdaGrad", "Amos"}
OF_ALL_LATER = {"DAdaptAdam", "DAdaptLion", "Prodigy"}
"""The rate that they find from sums over all gradients is that of the next update."""

EACH = KERNELS | kernels(*PLAIN_CASES)
VARIANTS = {symbol.removeprefix("optgen_"): x for symbol, x in EACH.items() if x[0].spec not in FEATURES}
VARIANTS = {name: x for name, x in VARIANTS.items() if is_of_one_gradient(x[0].spec)}
COVERING = kernels(*covering([*ALL, *PLAIN_CASES]))


def is_covering(name: str) -> bool:
    """Whether a kernel is one of those in which a flag of a spec has a value for the first time."""
    return f"optgen_{name}" in COVERING


def reached(case: Case, variant: Variant, shape: Shape, update: int) -> Array:
    """Which weights the formula makes NaN, of those of one tensor, whose first gradient has a NaN at AT."""
    name, flags = case.spec.name, variant.flags
    places = np.zeros(shape, bool)
    places.reshape(-1)[AT] = True
    whole = name in OF_ITS_TENSOR and not flags.get("skip")
    whole |= flags.get("warmup_strategy") == "lars" and not (flags["gathers"] and update == 1)
    whole |= name in OF_ALL_LATER and update > 1
    if name in OF_ITS_ROW and len(shape) > 1:
        places[AT // shape[1]] = True
    elif whole:
        places[...] = True
    return places


@pytest.mark.parametrize("name", swept(VARIANTS, is_covering))
def test_a_nan_gradient_shows_at_once(name: str) -> None:
    """And stays: where LBSGD gathers, all of a tensor is NaN when the batch is complete."""
    case, variant = VARIANTS[name]
    rng = np.random.default_rng(0)
    w = rng.standard_normal(8 * 520).astype(np.float32)
    steps = Steps(case, variant, SHAPES, w, clip_gradient=0.5, lr=0.1, wd=0.01)
    for x in steps.inputs.values():
        x[...] = 1
    for update in (1, 2):
        steps.grad[...] = rng.standard_normal(steps.grad.shape)
        if update == 1:
            steps.grad.reshape(-1)[AT] = np.nan
        steps.step()
        assert np.array_equal(np.isnan(steps.w), reached(case, variant, steps.w.shape, update)), update


IN_STORAGES = [
    (str(x), mode)
    for x, mode in zip(covering(CASES), itertools.cycle(MODES), strict=False)
    if is_of_one_gradient(x.spec)
]


@pytest.mark.parametrize(("name", "mode"), swept(IN_STORAGES, IN_STORAGES[::3]))  # MODES are 13, so these have all
def test_a_nan_gradient_shows_in_every_storage(name: str, mode: str) -> None:
    """Also in the update after it, from the stored states: a block of 8-bit codes that holds a NaN is NaN."""
    case = by_name(name)
    rule = load(case, MODES[mode])
    rng = np.random.default_rng(0)
    (shape, *_) = case.shapes(*SHAPES)
    params = [rng.standard_normal(shape).astype(np.float32).astype(rule.dtype)]
    flags = case.flags(1)
    state = rule.init(params, flags=flags)
    for update in (1, 2):
        grads = [rng.standard_normal(shape).astype(params[0].dtype)]
        if update == 1:
            grads[0].reshape(-1)[AT] = np.nan
        inputs = {i.name: [np.ones_like(params[0])] for i in case.spec.inputs}
        interpret_step(rule, params, grads, state, rule.values, flags=flags, inputs=inputs)
        expected = reached(case, rule.variant(shape, {k: v[0] for k, v in flags.items()}), shape, update)
        assert np.isnan(params[0].astype(np.float32))[expected].all(), update


def test_a_nan_input_shows_when_it_is_read() -> None:
    """Sophia's estimate of the curvature is read at updates 1, 1 + k, ..."""
    w, g, h = (np.ones(3, np.float32) for _ in range(3))
    step = optgen.load("sophia", k=2).bind([w], [g], inputs={"h_hat": [h]})
    step()
    h[1] = np.nan
    step()
    assert np.isfinite(w).all()
    step()
    assert np.isnan(w).tolist() == [False, True, False]


@pytest.mark.parametrize("name", swept([name for name in MEASURED if name not in ELEMENTWISE], is_covering))
@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_infinity_follows_the_arithmetic(name: str, infinity: float) -> None:
    """NaN, infinities and numbers are where the formula with its sums has them, in float64, in two updates.

    Elementwise specs: `test_accuracy`.
    """
    case, variant = MEASURED[name]
    rng = np.random.default_rng(0)
    for bound in (None, 0.5):
        w = rng.standard_normal(24).astype(np.float32)
        steps = Steps(case, variant, ((4, 6), (24,)), w, wd=0.01, clip_gradient=bound)
        for x in steps.inputs.values():
            x[...] = 1
        for update in (1, 2):
            steps.grad[...] = rng.standard_normal(steps.grad.shape)
            if update == 1:
                steps.grad.reshape(-1)[7] = infinity
            before = steps.arrays()
            steps.step()
            with np.errstate(all="ignore"):
                formula = steps.formula(before)
            for key, ours in steps.after().items():
                theirs = np.broadcast_to(formula.names.get(key + "'", formula.names[key]).value, ours.shape)
                assert np.array_equal(np.isnan(ours), np.isnan(theirs)), key
                infinite = np.isinf(ours)
                assert np.array_equal(infinite, np.isinf(theirs)), key
                assert np.array_equal(np.signbit(ours[infinite]), np.signbit(theirs[infinite])), key


# ---------------------------------------------------------------- the language

_BOUNDS = optgen.parse("""\
optimizer Bounds "what comparisons make of elements that are no numbers, and of bounds in the wrong order"
param bound = none
param least = 0.5
param most  = -0.5

state low  = w
state high = w
state both = w
state s    = w

update:
  low'  = clip(g, low, high)
  high' = clip(g, least, bound) + clip(w, bound, most)
  both' = clip(grad, least, most) + clip(g, most)
  s'    = sign(g)*max(w, sign(s)) - min(sign(g), high)
  w'    = where(abs(g) <= 1, sign(w), clip(w, bound))
""")
BOUNDS = (Case(_BOUNDS, {}), Case(_BOUNDS, {"bound": 0.25}))
"""Every value is a bound once."""


def test_what_clip_and_sign_say() -> None:
    """NaN stays, a bound that is NaN clips nothing, and of bounds in the wrong order the lower one holds."""
    nan, inf = math.nan, math.inf
    table = [  # x, low, high, clip(x, low, high), sign(x)
        (2.0, -1.0, 1.0, 1.0, 1.0),
        (-inf, -1.0, 1.0, -1.0, -1.0),
        (inf, -1.0, nan, inf, 1.0),
        (-3.0, nan, 1.0, -3.0, -1.0),
        (-0.0, nan, nan, -0.0, 0.0),
        (nan, -1.0, 1.0, nan, nan),
        (nan, 1.0, -1.0, nan, nan),
        (-2.0, 1.0, -1.0, 1.0, -1.0),
        (0.0, 1.0, -1.0, 1.0, 0.0),
        (2.0, 1.0, -1.0, 1.0, 1.0),
        (inf, inf, -inf, inf, 1.0),
    ]
    x, low, high, clipped, signs = (np.array(column, np.float32) for column in zip(*table, strict=True))
    spec = optgen.parse("""\
optimizer Clip "its bounds are elements"
input low
input high
state s = 0
update:
  s' = sign(grad)
  w' = clip(grad, low, high)
""")
    rule = optgen.load(spec)
    inputs = {"low": [low], "high": [high]}
    for compiled in (False, True):
        w = np.zeros_like(x)
        state = rule.init([w])
        if compiled:
            rule.bind([w], [x], state, inputs)()
        else:
            interpret_step(rule, [w], [x], state, rule.values, inputs=inputs)
        assert same_bits(w, clipped) and same_bits(state.arrays["s"][0], signs)


@pytest.mark.parametrize("case", BOUNDS, ids=["unset", "set"])
def test_comparisons_are_the_interpreters(case: Case) -> None:
    compare(case, SHAPES, special=True)


# ---------------------------------------------------------------- the sign of rescale_grad


@pytest.mark.parametrize("name", swept([name for name in VARIANTS if name != "signum_f32"], is_covering))
def test_a_negative_rescale_grad_and_gradient(name: str) -> None:
    """Bits are those of the positive ones; but Signum without momentum takes the sign of the gradient as it comes."""
    case, variant = VARIANTS[name]
    ends = []
    for bound, sign in itertools.product((None, 0.5), (1, -1)):
        rng = np.random.default_rng(0)
        w = rng.standard_normal(24).astype(np.float32)
        given: dict[str, Any] = {"clip_gradient": bound, "rescale_grad": 0.75 * sign}
        steps = Steps(case, variant, ((4, 6), (24,), (4, 3, 2, 1)), w, lr=0.1, wd=0.01, **given)
        for x in steps.inputs.values():
            x[...] = 1
        for _ in range(4):
            steps.grad[...] = sign * rng.standard_normal(steps.grad.shape)
            steps.step()
        kept = steps.after()
        kept.pop("cum", None)  # LBSGD gathers gradients as they come
        ends.append(kept)
    for plus, minus in (ends[:2], ends[2:]):
        for key, x in plus.items():
            assert same_bits(x, minus[key]), key


def test_lars_keeps_its_ratio_with_a_negative_rescale_grad() -> None:
    """The rate is lr*eta*|w|/|g|, not lr."""
    w, g = np.full(4, 2, np.float32), np.full(4, -1, np.float32)
    (start,) = copies([w])
    optgen.load("lars", eta=0.5, lr=0.1, rescale_grad=-1.0).bind([w], [g])()
    np.testing.assert_allclose(w, start - 0.1 * 0.5 * 4 / 2, rtol=1e-6)
