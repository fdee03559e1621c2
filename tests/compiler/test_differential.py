"""Compiled kernels against the interpreter, to the bit; and each pass against what it started from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import pipeline
from optgen.ir.nodes import Kernel
from optgen.ir.verify import verify
from optgen.model import Kind
from optgen.passes import PASSES
from optgen.passes.expand_math import expand_math
from tests.compiler.harness import (
    ALL,
    EVERYTHING,
    FEATURES,
    MORE,
    SHAPES,
    SPECS,
    Array,
    Case,
    Shape,
    assert_same,
    built,
    by_name,
    copies,
    copy_state,
    interpret_eval,
    interpret_step,
    numbers,
    planned,
    row_sparse,
    same_bits,
)

CHANGES: tuple[dict[str, Any], ...] = (
    {"lr": 0.37, "wd": 0.01, "rescale_grad": 1 / 3},
    {"lr": [0.01 * i + 0.001 for i in range(100)], "clip_gradient": 0.75},
    {"wd": 0.0, "rescale_grad": -2.5, "clip_gradient": None},
)
STORAGES = ("float16", "bfloat16", "bfloat16_stochastic", "int8_dynamic", "int8_linear")
MODES: dict[str, dict[str, Any]] = {
    "float64": {"dtype": "float64"},
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "float16-master": {"dtype": "float16", "master": True},
    "bfloat16-master": {"dtype": "bfloat16", "master": True, "storage": "bfloat16_stochastic"},
    **{storage: {"storage": storage} for storage in STORAGES},
    "mixed": {"storage": STORAGES},
}
"""How rules are loaded, beside plain float32; the last one stores states in all of these ways, one after the other."""


def test_every_variant_is_reached() -> None:
    for spec in (*SPECS.values(), *FEATURES):
        reached = [variant.flags for case in ALL if case.spec is spec for variant in case.variants()]
        assert [flags for flags in spec.variants() if flags not in reached] == [], spec.name


def load(case: Case, mode: Mapping[str, Any]) -> optgen.UpdateRule:
    storage = mode.get("storage")
    if isinstance(storage, tuple):
        states = [s.name for s in case.spec.states if s.kind is Kind.ELEM]
        storage = dict(zip(states, itertools.cycle(storage), strict=False))
    return case.load(**{**mode, "storage": storage})


def compare(
    case: Case,
    shapes: Sequence[Shape],
    mode: Mapping[str, Any] | None = None,
    *,
    special: bool = False,
    sparse: bool = False,
    lazy: bool = True,
) -> list[Array]:
    """Some steps of the compiled kernels and of the interpreter side by side; the parameters they lead to.

    `sparse`: two gradients of three are row-sparse.
    """
    rule = load(case, mode or {})
    shapes = case.shapes(*shapes)
    if case.is_shared:  # it takes one kernel to sum over all tensors
        shapes = [shape for shape in shapes if rule.variant(shape) == rule.variant(shapes[-1])]
    by_row = [sparse and len(shape) > 0 and i % 3 != 1 for i, shape in enumerate(shapes)]
    rng = np.random.default_rng(special)

    def gradients() -> list[Any]:
        makers = [row_sparse if x else numbers for x in by_row]
        return [make(rng, shape, rule.dtype, special=special) for make, shape in zip(makers, shapes, strict=True)]

    params, *inputs = (
        [numbers(rng, shape, rule.dtype, special=special) for shape in shapes] for _ in range(1 + len(case.spec.inputs))
    )
    flags, ids = case.flags(len(shapes)), [3 * i + 1 for i in range(len(shapes))]
    state = rule.init(params, by_row, flags)
    if special:
        disturb(rng, state)
    how: dict[str, Any] = {"flags": flags, "ids": ids, "lazy": lazy}
    how["inputs"] = {i.name: x for i, x in zip(case.spec.inputs, inputs, strict=True)}
    reference, reference_state = copies(params), copy_state(state)
    grads = gradients()
    step = rule.bind(params, grads, state, **how)
    step.seed = 2**40 + 11
    values = dict(rule.values)
    for k, changes in enumerate(changes_for(case, len(shapes))):
        step(**changes)
        values |= changes
        build = (built, planned)[k % 2]
        interpret_step(rule, reference, grads, reference_state, values, build=build, seed=step.seed, **how)
        label = f"{case} {mode} special={special} sparse={sparse} lazy={lazy} {changes} {build.__name__}"
        assert_same(label, params, state, reference, reference_state)
        grads = gradients()
        step.rebind(grads)
    if case.spec.evaluate:
        for ours, theirs in zip(rule.evaluate(params, state), interpret_eval(rule, params, state), strict=True):
            assert same_bits(ours, theirs), f"{label}: evaluate"
    return params


def changes_for(case: Case, n: int) -> list[dict[str, Any]]:
    """CHANGES as far as the spec reads them, for n tensors."""
    few = CHANGES[:2] if case.spec is EVERYTHING else CHANGES
    read = case.spec.reads() | {"lr", "rescale_grad"}
    return [{k: x[:n] if isinstance(x, list) else x for k, x in changes.items() if k in read} for changes in few]


def disturb(rng: np.random.Generator, state: optgen.State) -> None:
    """A state that no history leads to is as good a test: every operation sees both signs, and NaN."""
    for name in [name for name in state.arrays if name != "w"][:1]:
        for array in state.arrays[name]:
            if array is not None and array.dtype == np.uint8:
                array[...] = rng.integers(0, 255, array.shape)
            elif array is not None:
                array[...] = numbers(rng, array.shape, array.dtype.name, special=True)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_kernel_equals_interpreter(case: Case) -> None:
    params = compare(case, SHAPES)
    if case.spec in FEATURES:
        assert all(np.isfinite(p).mean() > 0.9 for p in params if p.size), "a comparison of NaN says little"
    compare(case, SHAPES, special=True)


@pytest.mark.parametrize("shape", [*SHAPES, *MORE], ids=str)
def test_one_tensor_alone(shape: Shape) -> None:
    for name in ("adam-amsgrad", "everything", "kinds"):
        if by_name(name).shapes(shape):
            compare(by_name(name), [shape])


# ---------------------------------------------------------------- dtypes, storages and rows

SOME = {
    "adam": list(MODES),
    "adafactor-scale_parameter-averaged": ["float64", "bfloat16-master", "int8_linear"],
    "asgd": ["int8_linear", "bfloat16_stochastic"],
    "came": ["float16-master", "int8_dynamic"],
    "everything": ["float64", "mixed"],
    "groupadagrad": ["float64", "bfloat16"],
    "kinds-noisy": ["float64", "bfloat16-master", "mixed"],
    "lamb-bias_correction": ["float16", "int8_dynamic"],
    "novograd": ["float64", "bfloat16_stochastic"],
    "prodigy": ["float64", "bfloat16-master", "mixed"],
    "rows": ["float64", "float16-master", "mixed"],
    "schedulefreeadamw": ["bfloat16", "mixed"],
    "sgld": ["float64", "bfloat16"],
    "sophia": ["float16"],
}
SPARSE = {
    "adafactor": ["float32"],
    "adam": ["float32", "float16-master", "int8_dynamic", "mixed"],
    "adammini": ["float32", "int8_linear"],
    "groupadagrad": ["float32"],
    "lamb": ["int8_linear"],
    "prodigy": ["bfloat16"],
    "rows": ["float32", "mixed"],
    "schedulefreeadamw": ["mixed"],
    "sgld": ["bfloat16"],
}
LONG = (*SHAPES, (3, 5000))
"""With two matrices that are large enough for 8-bit codes."""


def pairs(of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(name, mode) for name, modes in of.items() for mode in modes]


@pytest.mark.parametrize(("name", "mode"), pairs(SOME))
def test_dtypes_and_storages(name: str, mode: str) -> None:
    for special in (False, True):
        compare(by_name(name), LONG, MODES[mode], special=special)


@pytest.mark.parametrize(("name", "mode"), pairs(SPARSE))
def test_row_sparse(name: str, mode: str) -> None:
    for special, lazy in ((False, True), (True, True), (False, False)):
        compare(by_name(name), LONG, MODES.get(mode), special=special, sparse=True, lazy=lazy)


@pytest.mark.stress
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_everything_of_everything(case: Case, mode: str) -> None:
    for special, sparse in itertools.product((False, True), repeat=2):
        compare(case, (*SHAPES, *MORE), MODES[mode], special=special, sparse=sparse)


# ---------------------------------------------------------------- random specs

_UNARY = ("-{}", "sqrt(abs({}))", "cbrt({})", "abs({})", "sign({})", "floor({})", "tanh({})", "exp(-abs({}))")
_UNARY += ("log(abs({}) + 1)", "log1p(abs({}))", "expm1(clip({}, -2, 2))", "({})^2", "({})^3", "(abs({}) + 0.5)^lr")
_BINARY = ("{} + {}", "{} - {}", "{}*{}", "{}/{}", "max({}, {})", "min({}, {})", "clip({}, abs({}))")
_BINARY += ("where({} > 0, {}, 0.5)", "where({} <= 1 or not ({} == 2), lr, t)")
_REDUCE = ("norm", "rms", "sum", "mean", "max", "min")
_HOSTS = ("lr", "t", "0.25", "-3", "lr*t", "sqrt(t)", "1 - 0.9^t", "max(lr, t/4)", "wd", "size", "cols/rows", "step")
_SMALL = {"S": "host", "T": "tensor", "D": "shared", "R": "row", "C": "col"}
"""States that are smaller than an element."""


def _elements(leaves: tuple[str, ...], smaller: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Expressions that are an element for certain: every operand but a leaf on the right is one."""
    leaf = st.sampled_from(leaves)
    other = st.one_of(leaf, st.sampled_from(smaller or _HOSTS), st.sampled_from(_HOSTS))

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        right = st.one_of(inner, other)
        return st.one_of(
            st.tuples(st.sampled_from(_UNARY), inner).map(lambda x: x[0].format(f"({x[1]})")),
            st.tuples(st.sampled_from(_BINARY), inner, right).map(lambda x: x[0].format(f"({x[1]})", f"({x[2]})")),
        )

    return st.recursive(leaf, grow, max_leaves=5)


@st.composite
def specs(draw: st.DrawFn) -> str:
    """States of any kinds, and up to three draws or reductions, each of which may depend on those before."""
    kept = draw(st.lists(st.sampled_from(sorted(_SMALL)), unique=True))
    declared = [f"state {name}: {_SMALL[name]} = 0.5" for name in kept]
    lines: list[str] = []
    leaves, smaller = ("w", "grad", "g", "m", "v"), tuple(kept)

    def reduction(scope: str) -> str:
        return f"{draw(st.sampled_from(_REDUCE))}({draw(_elements(leaves, smaller))}{scope})"

    for i in range(draw(st.integers(0, 3))):
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"z{i} = {draw(st.sampled_from(('normal', 'uniform')))}()")
            leaves += (f"z{i}",)
        else:
            lines.append(f"e{i} = {draw(_elements(leaves, smaller))}")
            leaves += (f"e{i}",)
            lines.append(f"r{i} = {reduction(draw(st.sampled_from(('', ', per row', ', per col', ', over params'))))}")
            smaller += (f"r{i}",)
    for name in kept:
        scope = {"R": ", per row", "C": ", per col", "D": ", over params"}.get(name, "")
        lines.append(f"{name}' = 0.5*{name} + {draw(st.sampled_from(_HOSTS)) if name == 'S' else reduction(scope)}")
        smaller += (f"{name}'",)
    for state in ("m", "v"):
        lines.append(f"{state}' = {draw(_elements(leaves, smaller))}")
        leaves += (f"{state}'",)
    lines.append(f"w' = {draw(_elements(leaves, smaller))}")
    body = "\n".join(("param lr = 0.3", *declared, "state m = 0", "state v = w", "update:", *(f"  {x}" for x in lines)))
    return f'optimizer Random "random"\n{body}\n'


def after_passes(k: int) -> Callable[[optgen.model.Optimizer, Any], Kernel]:
    """A build that runs the first k passes, the math expanded last, or for k = -1 first."""

    def build(spec: optgen.model.Optimizer, variant: Any) -> Kernel:
        kernel = pipeline.build(spec, variant)
        for run in PASSES[:k]:
            kernel = verify(run(kernel))
        return verify(expand_math(kernel))

    return build


def check_random(text: str, mode: Mapping[str, Any], seed: int) -> None:
    spec = optgen.parse(text)
    rng = np.random.default_rng(seed)
    values = {"lr": 0.3, "rescale_grad": 0.5} | {
        n: x for n, x in (("wd", 0.1), ("clip_gradient", 2.0)) if n in spec.reads()
    }
    rule = optgen.load(spec, **values, **mode)
    shapes = ((17, 300), (600, 7))  # large enough for 8-bit codes
    params, grads = ([numbers(rng, shape, rule.dtype, special=False) for shape in shapes] for _ in range(2))
    state = rule.init(params)
    results = []
    for k in range(len(PASSES) + 1):
        w, kept = copies(params), copy_state(state)
        for _ in range(2):
            interpret_step(rule, w, grads, kept, rule.values, build=after_passes(k), seed=seed)
        results.append((w, kept))
    step = rule.bind(params, grads, state)
    step.seed = seed
    step()
    step()
    for k, (w, kept) in enumerate(results):
        assert_same(f"after {[p.__name__ for p in PASSES[:k]]}\n{text}", params, state, w, kept)


MODE = st.sampled_from([{}, {"dtype": "float64"}, *({"storage": s} for s in STORAGES)])


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), MODE, st.integers(0, 9))
def test_random_kernels(text: str, mode: Mapping[str, Any], seed: int) -> None:
    """Every pass keeps the result, and so does the backend."""
    check_random(text, mode, seed)


@pytest.mark.stress
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs(), MODE, st.integers(0, 1000))
def test_many_random_kernels(text: str, mode: Mapping[str, Any], seed: int) -> None:
    check_random(text, mode, seed)
