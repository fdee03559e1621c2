"""Compiled kernels against the interpreter, to the bit; and each pass against what it started from."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import pipeline
from optgen.ir.nodes import Kernel
from optgen.ir.verify import verify
from optgen.passes import PASSES
from optgen.passes.expand_math import expand_math
from tests.compiler.harness import (
    EVERYTHING,
    SIZES,
    VARIANTS,
    Variant,
    assert_same,
    copies,
    copy_state,
    interpret_step,
    numbers,
    variants,
)

CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"lr": 0.37, "wd": 0.01, "rescale_grad": 1 / 3},
    {"lr": [0.01 * i + 0.001 for i in range(len(SIZES))], "clip_gradient": 0.75},
    {"wd": 0.0, "rescale_grad": -2.5, "clip_gradient": None},
)
ALL = (*VARIANTS, *variants(EVERYTHING))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("variant", ALL, ids=str)
def test_kernel_equals_interpreter(variant: Variant, dtype: str) -> None:
    rule = variant.load(dtype)
    kernels = [variant.build(dtype), pipeline.plan(variant.build(dtype))]
    for special in (False, True):
        rng = np.random.default_rng(special)
        params = [numbers(rng, n, dtype, special=special) for n in SIZES]
        state = rule.init(params)
        # A state that no history leads to is as good a test: every operation sees both signs, and NaN.
        for name in list(state.arrays)[:special]:
            for array in state.arrays[name]:
                array[...] = numbers(rng, array.size, dtype, special=True)
        grads = [numbers(rng, n, dtype, special=special) for n in SIZES]
        reference, reference_state = copies(params), copy_state(state)
        step = rule.bind(params, grads, state)
        hyper = dict(rule.values)
        for i, changes in enumerate(CHANGES if variant.spec is not EVERYTHING else CHANGES[1:3]):
            for grad in grads:
                grad[...] = numbers(rng, grad.size, dtype, special=special)
            step(**changes)
            hyper |= changes
            interpret_step(kernels[i % 2], reference, grads, reference_state, hyper)
            label = f"{variant} {dtype} special={special} {changes}: {('built', 'planned')[i % 2]}"
            assert_same(label, params, state, reference, reference_state)


@pytest.mark.parametrize("size", SIZES)
def test_one_tensor_alone(size: int) -> None:
    for variant in (VARIANTS[-1], *variants(EVERYTHING)):
        rule, kernel = variant.load("float32"), variant.build("float32")
        rng = np.random.default_rng(size)
        w, grad = numbers(rng, size, "float32", special=False), numbers(rng, size, "float32", special=False)
        state = rule.init([w])
        reference, reference_state = [w.copy()], copy_state(state)
        rule.bind([w], [grad], state)()
        interpret_step(kernel, reference, [grad], reference_state, rule.values)
        assert_same(str(variant), [w], state, reference, reference_state)


# ---------------------------------------------------------------- random specs

_UNARY = ("-{}", "sqrt(abs({}))", "cbrt({})", "abs({})", "sign({})", "floor({})", "tanh({})", "exp(-abs({}))")
_UNARY += ("log(abs({}) + 1)", "log1p(abs({}))", "expm1(clip({}, -2, 2))", "({})^2", "({})^3", "(abs({}) + 0.5)^lr")
_BINARY = ("{} + {}", "{} - {}", "{}*{}", "{}/{}", "max({}, {})", "min({}, {})", "clip({}, abs({}))")
_BINARY += ("where({} > 0, {}, 0.5)", "where({} <= 1 or not ({} == 2), lr, t)")
_REDUCE = ("norm", "rms", "sum", "mean", "max", "min")


def _hosts() -> st.SearchStrategy[str]:
    return st.sampled_from(["lr", "t", "0.25", "-3", "lr*t", "sqrt(t)", "1 - 0.9^t", "max(lr, t/4)", "wd"])


def _elements(leaves: tuple[str, ...], scalars: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Expressions that are an element for certain: every operand but a leaf on the right is one."""
    leaf = st.sampled_from(leaves)
    other = st.one_of(leaf, st.sampled_from(scalars) if scalars else _hosts(), _hosts())

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        right = st.one_of(inner, other)
        return st.one_of(
            st.tuples(st.sampled_from(_UNARY), inner).map(lambda x: x[0].format(f"({x[1]})")),
            st.tuples(st.sampled_from(_BINARY), inner, right).map(lambda x: x[0].format(f"({x[1]})", f"({x[2]})")),
        )

    return st.recursive(leaf, grow, max_leaves=5)


@st.composite
def specs(draw: st.DrawFn) -> str:
    """Up to three reductions, each of which may depend on the one before."""
    lines, leaves, scalars = [], ("w", "grad", "g", "m", "v"), ()
    for i in range(draw(st.integers(0, 3))):
        lines.append(f"e{i} = {draw(_elements(leaves, scalars))}")
        leaves += (f"e{i}",)
        lines.append(f"r{i} = {draw(st.sampled_from(_REDUCE))}({draw(_elements(leaves, scalars))})")
        scalars += (f"r{i}",)
    for state in ("m", "v"):
        lines.append(f"{state}' = {draw(_elements(leaves, scalars))}")
        leaves += (f"{state}'",)
    lines.append(f"w' = {draw(_elements(leaves, scalars))}")
    body = "\n".join(f"  {line}" for line in lines)
    return f'optimizer Random "random"\nparam lr = 0.3\nstate m = 0\nstate v = w\nupdate:\n{body}\n'


def stages(kernel: Kernel) -> list[tuple[str, Kernel]]:
    """The kernel after each pass, and with its elementary functions expanded before and after all of them."""
    found = [("build", kernel), ("expand_math alone", verify(expand_math(kernel)))]
    for run in PASSES:
        kernel = verify(run(kernel))
        found.append((run.__name__, kernel))
    return [*found, ("expand_math", verify(expand_math(kernel)))]


def check_stages(text: str, dtype: str, seed: int, *, native: bool) -> None:
    spec = optgen.parse(text)
    rng = np.random.default_rng(seed)
    sizes = (5, 4500)
    params = [numbers(rng, n, dtype, special=False) for n in sizes]
    grads = [numbers(rng, n, dtype, special=False) for n in sizes]
    values = {"lr": 0.3, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 2.0}
    results = []
    kernels = stages(pipeline.build(spec, {}, dtype))
    for name, kernel in kernels:
        w = copies(params)
        state = optgen.State({"m": [np.zeros_like(x) for x in w], "v": copies(w)}, np.zeros(len(w), np.int64))
        for _ in range(2):
            interpret_step(kernel, w, grads, state, values)
        results.append((name, w, state))
    if native:
        used = {name: x for name, x in values.items() if name not in ("wd", "clip_gradient") or name in spec.reads()}
        rule = optgen.load(spec, dtype, **used)
        w = copies(params)
        state = rule.init(w)
        step = rule.bind(w, grads, state)
        step()
        step()
        results.append(("native", w, state))
    _, w, state = results[0]
    for name, other, other_state in results[1:]:
        assert_same(f"{name}\n{text}", w, state, other, other_state)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), st.sampled_from(["float32", "float64"]), st.integers(0, 9))
def test_passes_keep_the_result(text: str, dtype: str, seed: int) -> None:
    check_stages(text, dtype, seed, native=False)


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), st.sampled_from(["float32", "float64"]), st.integers(10, 19))
def test_random_kernels(text: str, dtype: str, seed: int) -> None:
    check_stages(text, dtype, seed, native=True)


@pytest.mark.stress
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs(), st.sampled_from(["float32", "float64"]), st.integers(0, 1000))
def test_many_random_kernels(text: str, dtype: str, seed: int) -> None:
    check_stages(text, dtype, seed, native=True)
