"""Steps of several phases: what transforms and specs with them compute, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import arguments, pipeline
from optgen.diagnostics import Source, SpecErrors
from optgen.ir import Variant
from optgen.ir.interp import TensorUpdate, interpret
from tests.sweeps import swept

Array = Any
SHAPES = ((6, 5), (7,), (2, 3, 4))
FIRST = (5000,)
STARTS = """\
optimizer Starts "a state that starts in the second phase, draws, and codes"
state m = g
state n: tensor = norm(g)
phase one:
  z  = normal()
  w' = w + lr*g + 0.01*z
phase two:
  u  = uniform()
  m' = 0.5*m + g
  n' = n + t
  w' = w - lr*m'/(1 + n') - 0.01*u
eval:
  w' = w + m
"""


def gradients(step: int) -> list[Array]:
    rng = np.random.default_rng(step)
    return [rng.normal(size=s) for s in SHAPES]


def put(to: list[Array], values: list[Array]) -> None:
    for a, b in zip(to, values, strict=True):
        a[...] = b


BASES = "sgd", "adam", "torch/adamw", "schedulefree_sgd", "adam with lookahead(k=2), ema"
ADAPTIVE = "adam", "schedulefree_sgd"
"""Bases with which `make test` has the adaptive SAM alone. It has both with sgd, and with the others the plain one."""


@pytest.mark.parametrize(
    ("base", "adaptive"),
    swept(
        [(base, adaptive) for base in BASES for adaptive in (False, True)],
        lambda case: case[0] == "sgd" or case[1] == (case[0] in ADAPTIVE),
    ),
)
def test_sam_is_its_base_with_gradients_of_higher_weights(base: str, adaptive: bool) -> None:
    """Beside the base alone, whose weights are those that descend starts from."""
    name = f"{base}{',' if ' with ' in base else ' with'} sam(rho = 0.1)"
    w = [np.random.default_rng(i).normal(size=s) for i, s in enumerate(SHAPES)]
    g, alone, of_alone = ([x.copy() for x in w] for _ in range(3))
    step = optgen.load(name, "float64", lr=0.1, adaptive=adaptive).bind(w, g)
    reference = optgen.load(base, "float64", lr=0.1).bind(alone, of_alone)
    for t in range(5):
        up = gradients(2 * t)
        scale = [np.abs(x) if adaptive else np.ones_like(x) for x in w]
        norm = math.sqrt(sum(((s * x) ** 2).sum() for s, x in zip(scale, up, strict=True)))
        wanted = [x + 0.1 / (norm + 1e-12) * s * s * d for x, s, d in zip(w, scale, up, strict=True)]
        put(g, up)
        step.ascend()
        for a, b in zip(w, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
        put(g, gradients(2 * t + 1))
        put(of_alone, gradients(2 * t + 1))
        step.descend()
        reference()
        for a, b in zip(w, alone, strict=True):
            np.testing.assert_array_equal(a, b)
        assert step.state.t.tolist() == reference.state.t.tolist() == [t + 1] * 3
    if reference.rule.spec.evaluate:
        for a, b in zip(step.evaluate(), reference.evaluate(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_start_is_computed_in_the_first_phase_that_sets_the_state() -> None:
    """Of all phases, or of some; the later ones go on from there."""
    spec = optgen.parse("""\
optimizer Started
state all = 2*g
state late = 3*g
phase one:
  all' = all + g
  w'   = w
phase two:
  all'  = 10*all + g
  late' = late + g
  w'    = w
phase three:
  late' = 10*late + g
  w'    = w - lr*late
""")
    w, g = np.zeros(1), np.zeros(1)
    step = optgen.load(spec, "float64").bind([w], [g])
    every, late = (step.state.arrays[name][0] for name in ("all", "late"))
    for phase, grad, all_after, late_after in (
        ("one", 1.0, 3.0, 0.0),
        ("two", 5.0, 35.0, 20.0),
        ("three", 7.0, 35.0, 207.0),
        ("one", 1.0, 36.0, 207.0),
        ("two", 5.0, 365.0, 212.0),
        ("three", 7.0, 365.0, 2127.0),
    ):
        g[...] = grad
        getattr(step, phase)()
        assert (every[0], late[0]) == (all_after, late_after), phase


def test_extra_adam_beside_numpy() -> None:
    w, m, v = np.array([1.0, -2.0, 0.5]), 0.0, 0.0
    bound, g = w.copy(), np.zeros(3)
    step = optgen.load("extra_adam", "float64", lr=0.1, wd=0.01).bind([bound], [g])
    curvature = np.array([3.0, 1.0, 0.1])
    for t in range(1, 6):
        at = w
        for phase, count in (("extrapolate", 2 * t - 1), ("correct", 2 * t)):
            g[...] = curvature * bound
            d = curvature * at + 0.01 * at
            m, v = 0.5 * m + 0.5 * d, 0.9 * v + (1 - 0.9) * d**2
            at = w - 0.1 * (m / (1 - 0.5**count)) / (np.sqrt(v / (1 - 0.9**count)) + 1e-8)
            getattr(step, phase)()
            np.testing.assert_allclose(bound, at, rtol=1e-13)
        w = at


def test_extragradient_finds_a_saddle_point() -> None:
    """Of x*y, around which gradient steps go in growing circles."""
    x, y, gx, gy = np.ones(1), np.ones(1), np.zeros(1), np.zeros(1)
    step = optgen.load("extragradient", "float64", lr=0.3).bind([x, y], [gx, gy])
    for _ in range(200):
        for phase in step.phases:
            gx[:], gy[:] = y, -x
            getattr(step, phase)()
    assert math.hypot(x[0], y[0]) < 1e-3


STATES = ("float64", None), ("float32", None), ("float32", "int8_dynamic")


@pytest.mark.parametrize(
    ("name", "dtype", "storage"),
    swept(
        [(name, *states) for name in ("starts", "extra_adam", "sgd with sam(adaptive = true)") for states in STATES],
        lambda case: case[0] == "extra_adam" or case[1:] != ("float32", None),
    ),
)
def test_the_kernels_of_phases_are_those_of_the_interpreter(name: str, dtype: str, storage: str | None) -> None:
    if name == "sgd with sam(adaptive = true)":
        name, values = "sgd with sam", {"adaptive": True}
    else:
        values = {}
    spec: Any = optgen.parse(STARTS) if name == "starts" else name
    rule = optgen.load(spec, dtype, storage=storage, lr=0.1, **values)
    rng = np.random.default_rng(3)
    w, g = rng.normal(size=FIRST).astype(dtype), np.zeros(FIRST, dtype)
    step = rule.bind([w], [g])
    step.seed = 5
    own = {"w": w.copy(), **{k: x[0].copy() for k, x in step.state.arrays.items()}}
    numbers = {k: math.nan if x is None else x for k, x in rule.values.items()}
    numbers |= {"rank": 1, "size": 5000, "rows": 5000, "cols": 1, "matrices": 1}
    for t in (1, 2, 3):
        for phase in step.phases:
            g[:] = rng.normal(size=FIRST)
            variant = rule.variant(FIRST, {"phase": phase})
            kernel = pipeline.build(rule.spec, variant)
            interpret(kernel, [TensorUpdate(own | {"grad": g.copy()}, numbers | {"step": t}, t)], seed=5)
            getattr(step, phase)()
            np.testing.assert_array_equal(w, own["w"])
            for k, x in step.state.arrays.items():
                np.testing.assert_array_equal(x[0], own[k], err_msg=f"{k} in {phase} of {t}")


def test_order_gradients_and_values() -> None:
    class Parameter:
        def __init__(self, x: Array) -> None:
            self.x, self.grad = x, None

        __array__ = property(lambda self: self.x.__array__)
        __array_interface__ = property(lambda self: self.x.__array_interface__)

    w, g = np.ones(4), np.ones(4)
    step = optgen.load("sgd with sam", "float64", lr=0.5).bind([w], [g])
    with pytest.raises(TypeError, match=r"step.ascend\(\), new gradients, step.descend\(\)"):
        step()
    with pytest.raises(RuntimeError, match="the phase 'ascend' is due, and not 'descend'"):
        step.descend()
    step.ascend(lr=0.25)
    with pytest.raises(RuntimeError, match="the phase 'descend' is due, and not 'ascend'"):
        step.ascend()
    with pytest.raises(RuntimeError, match="within a step"):
        step.evaluate()
    with pytest.raises(ValueError, match="'rho' must be in"):
        step.descend(rho=-1)
    assert step.due == "descend" and not step.is_whole
    step.descend()
    np.testing.assert_allclose(w, 0.75)
    with pytest.raises(AttributeError, match="its phases are ascend, descend"):
        _ = step.climb
    torch = pytest.importorskip("torch")
    a, b = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    found = optgen.load("extragradient", "float64").bind([a, b])
    a.grad = torch.ones(2, dtype=torch.float64)
    found.extrapolate()
    b.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"params\[1\] has a gradient in the phase 'correct', and had none in"):
        found.correct()
    b.grad = None
    found.correct()
    assert found.state.t.tolist() == [1, 0]


def test_products_in_a_phase() -> None:
    """A step of which one phase is several kernels."""
    spec = optgen.parse("""\
optimizer Both
state s = w
phase one:
  s' = w
  w' = w + lr*(g@g^T)@g
phase two:
  w' = s - lr*g
""")
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    step, start = optgen.load(spec, "float64", lr=0.1).bind([w], [g]), w.copy()
    step.one()
    np.testing.assert_allclose(w, start + 0.1 * (g @ g.T) @ g, rtol=1e-13)
    step.two()
    np.testing.assert_allclose(w, start - 0.1 * g, rtol=1e-13)
    assert step.state.t.tolist() == [1]


def test_what_variants_and_cuts_are() -> None:
    spec = pipeline.check(pipeline.chain("adam with sam"))
    assert spec.phases == ("ascend", "descend")
    flags = arguments.resolve(spec, {}).flags
    assert flags["phase"] == "ascend"
    symbols = {pipeline.symbol(spec, Variant({**flags, "phase": x})) for x in spec.phases}
    assert symbols == {"optgen_adamsam_phase_ascend_f32", "optgen_adamsam_phase_descend_f32"}
    rule = optgen.load("adam with sam")
    assert rule.cut((4, 4)) == "blocks" and not rule.lazy
    assert optgen.load("extragradient").cut((4, 4)) == "anywhere"
    with pytest.raises(ValueError, match="a step has phases, and code of the caller between them"):
        rule.bind([np.ones(2, np.float32)], capturable=True)


def test_a_base_with_phases_is_refused() -> None:
    with pytest.raises(SpecErrors, match="the base has phases, and cannot be used"):
        pipeline.chain("adam with sam, ema")
    text = "optimizer Two\nupdate:\n  w' = use extra_adam()\n"
    with pytest.raises(SpecErrors, match="extra_adam has phases, and cannot be used"):
        pipeline.check(Source("<text>", text))


def test_later_phases_read_the_draws_of_those_above() -> None:
    """MeZO: the same direction in all phases, which is kept nowhere, and no gradients."""
    weights = [np.ones(s) for s in SHAPES]
    step: Any = optgen.load("mezo", "float64", lr=0.1, wd=0.5, eps=0.01).bind(weights)
    seen = []
    for above, behind in ((3.0, 2.5), (1.0, 1.25)):
        before = [w.copy() for w in weights]
        step.ahead()
        drawn = [(w - x) / 0.01 for w, x in zip(weights, before, strict=True)]
        step.behind(loss=above)
        assert all(np.allclose(w, x - 0.01 * z) for w, x, z in zip(weights, before, drawn, strict=True))
        step.descend(loss=behind)
        c = (above - behind) / 0.02
        for w, x, z in zip(weights, before, drawn, strict=True):
            np.testing.assert_allclose(w, x - 0.1 * (c * z + 0.5 * x), rtol=1e-9, atol=1e-9)
        seen.append(np.concatenate([z.ravel() for z in drawn]))
    assert abs(np.corrcoef(*seen)[0, 1]) < 0.5 and abs(seen[0].std() - 1) < 0.3
    step.ahead()
    with pytest.raises(TypeError, match="MeZO reads 'loss'"):
        step.behind()


@pytest.mark.parametrize("flagged", [False, True])
def test_kept_draws_follow_flags(flagged: bool) -> None:
    text = """\
optimizer Kept
flag  cold = false
phase one:
  z  = normal()      if not cold
  z  = rademacher()  otherwise
  u  = uniform()
  w' = w + 0.1*z*u
phase two:
  v  = uniform()
  w' = w - lr*g*z + v
phase three:
  w' = w - 0.1*u*z
"""
    rule = optgen.load(optgen.parse(text), lr=0.5, cold=flagged)
    weights, grads = [np.ones(37, np.float32)], [np.full(37, 2, np.float32)]
    step: Any = rule.bind(weights, grads)
    before = weights[0].copy()
    step.one()
    zu = (weights[0] - before) / 0.1
    step.two()
    after = weights[0].copy()
    step.three()
    np.testing.assert_allclose(weights[0], after - 0.1 * zu, rtol=1e-5, atol=1e-6)
