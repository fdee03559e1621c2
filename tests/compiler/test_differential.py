"""Compiled kernels against the interpreter, to the bit; and each pass against what it started from."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import pipeline
from optgen.axes import Kind
from optgen.execute import storage
from optgen.ir import GRADIENT_FACTOR, Kernel
from optgen.ir.interp import TensorUpdate, interpret
from optgen.ir.verify import verify
from optgen.passes import PASSES
from optgen.passes.expand_math import expand_math
from tests.compiler.features import BATCHES, EVERYTHING, FEATURES, ROWS
from tests.compiler.harness import (
    ALL,
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
    covering,
    interpret_eval,
    interpret_step,
    numbers,
    planned,
    row_sparse,
    same_bits,
)
from tests.sweeps import swept

CHANGES: tuple[dict[str, Any], ...] = (
    {"lr": 0.37, "wd": 0.01, "rescale_grad": 1 / 3},
    {"lr": [0.01 * i + 0.001 for i in range(100)], "wd": 0.0, "clip_gradient": 0.75, "rescale_grad": -2.5},
)
"""Of the values from step to step: the first is judged by the kernel as built, the second by the planned one."""

FACTOR = -1 / 3
"""Of gradients, where a mode scales them."""
SIXTEEN = ("float16", "float16_stochastic", "bfloat16", "bfloat16_stochastic")
STORAGES = (*SIXTEEN, "int8_dynamic", "int8_linear", "int4_dynamic")
MODES: dict[str, dict[str, Any]] = {
    "float64": {"dtype": "float64"},
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "float16-master": {"dtype": "float16", "master": True},
    "bfloat16-master": {"dtype": "bfloat16", "master": True, "storage": "bfloat16_stochastic"},
    "float16-stochastic": {"dtype": "float16", "weights": "stochastic"},
    "bfloat16-stochastic": {"dtype": "bfloat16", "weights": "stochastic", "storage": "bfloat16_stochastic"},
    "float16-kahan": {"dtype": "float16", "weights": "kahan"},
    "bfloat16-kahan": {"dtype": "bfloat16", "weights": "kahan", "storage": "int8_dynamic"},
    **{storage: {"storage": storage} for storage in STORAGES},
    "mixed": {"storage": STORAGES},
    "codes": {"storage": ("int4_dynamic", "int8_linear", "bfloat16_stochastic")},
    "mixed-master": {"dtype": "bfloat16", "master": True, "storage": STORAGES},
    "scaled": {"dtype": "bfloat16", "master": True, "scales_gradient": True},
}
"""How rules are loaded, beside plain float32; `mixed`, `codes`: one state after the other is stored in one of these
ways."""
CODES = ("int8_dynamic", "int8_linear", "int4_dynamic", "codes")
"""The modes that store every state in blocks of codes."""


def test_every_variant_is_reached() -> None:
    for spec in (*SPECS.values(), *FEATURES):
        reached = [variant.flags for case in ALL if case.spec is spec for variant in case.variants()]
        assert [flags for flags in spec.variants() if flags not in reached] == [], spec.name


def load(case: Case, mode: Mapping[str, Any]) -> optgen.UpdateRule:
    stored = mode.get("storage")
    if isinstance(stored, tuple):
        states = [s.name for s in case.spec.states if s.kind is Kind.ELEM]
        stored = dict(zip(states, itertools.cycle(stored), strict=False))
    return case.load(**{**mode, "storage": stored})


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
    state.t[...] = [i % 3 for i in range(len(shapes))]
    if special:
        disturb(rng, state)
    how: dict[str, Any] = {"flags": flags, "ids": ids, "lazy": lazy}
    how["inputs"] = {i.name: x for i, x in zip(case.spec.inputs, inputs, strict=True)}
    reference, reference_state = copies(params), copy_state(state)
    grads = gradients()
    step = rule.bind(params, grads, state, **how)
    step.seed = 2**40 + 11
    values: dict[str, Any] = dict(rule.values)
    if rule.scales_gradient:
        step.gradient_factor = values[GRADIENT_FACTOR] = FACTOR
    for changes, build in zip(changes_for(case, len(shapes)), (built, planned), strict=True):
        step(**changes)
        values |= changes
        interpret_step(rule, reference, grads, reference_state, values, build=build, seed=step.seed, **how)
        label = f"{case} {mode} special={special} sparse={sparse} lazy={lazy} {changes} {build.__name__}"
        assert_same(label, params, state, reference, reference_state)
        grads = gradients()
        step.rebind(grads)
    if case.spec.evaluate:
        expected = interpret_eval(rule, params, state, flags)
        for ours, theirs in zip(rule.evaluate(params, state, flags=flags), expected, strict=True):
            assert same_bits(ours, theirs), f"{label}: evaluate"
    return params


def changes_for(case: Case, n: int) -> list[dict[str, Any]]:
    """CHANGES as far as the spec reads them, for n tensors."""
    read = case.spec.reads | {"lr", "rescale_grad"}
    return [{k: x[:n] if isinstance(x, list) else x for k, x in changes.items() if k in read} for changes in CHANGES]


def disturb(rng: np.random.Generator, state: optgen.State) -> None:
    """A state that no history leads to is as good a test: every operation sees both signs, and NaN."""
    for name in [name for name in state.arrays if name != "w"][:1]:
        for array in state.arrays[name]:
            if array is not None and array.dtype.kind == "u":
                array[...] = rng.integers(0, 255, array.shape)
            elif array is not None:
                array[...] = numbers(rng, array.shape, array.dtype.name, special=True)


@pytest.mark.parametrize("case", swept(ALL, covering(ALL)), ids=str)
def test_kernel_equals_interpreter(case: Case) -> None:
    shapes = SHAPES[::2] if case.spec is EVERYTHING else SHAPES  # it is slow to interpret
    params = compare(case, shapes)
    if case.spec in FEATURES:
        assert all(np.isfinite(p).mean() > 0.9 for p in params if p.size), "a comparison of NaN says little"
    compare(case, shapes, special=True)


@pytest.mark.parametrize("mode", swept(["float32", "float64", "mixed", "bfloat16-master"], ["float32"]))
def test_batches_of_matrices(mode: str) -> None:
    for special in (False, True):
        compare(by_name("batch"), BATCHES, MODES.get(mode), special=special)


@pytest.mark.parametrize("shape", [*SHAPES, *MORE], ids=str)
def test_one_tensor_alone(shape: Shape) -> None:
    for name in ("adam-amsgrad", "everything", "kinds"):
        if by_name(name).shapes(shape):
            compare(by_name(name), [shape])


# ---------------------------------------------------------------- dtypes, storages and rows

SOME = {
    "adafactor-scale_parameter-averaged": ["float64", "int8_linear", "scaled"],
    "came": ["float16-master", "int4_dynamic"],
    "groupadagrad": ["float64", "bfloat16"],
    "kinds": ["mixed-master", "codes"],
    "lamb-bias_correction": ["float16", "bfloat16-kahan", "int8_dynamic", "codes"],
    "novograd": ["float64", "bfloat16_stochastic"],
    "prodigy": ["bfloat16-master", "bfloat16-stochastic", "float16-kahan", "mixed", "scaled"],
    "schedulefreeadamw": ["float64", "mixed", "bfloat16-kahan"],
    "starts": ["float64", "mixed", "bfloat16-master"],
    "sgld": ["float64", "bfloat16"],
    "sophia": ["float16"],
}
FEW = {
    "adafactor-scale_parameter-averaged": ["float64"],
    "came": ["int4_dynamic"],
    "groupadagrad": ["float64", "bfloat16"],
    "kinds": ["mixed-master"],
    "lamb-bias_correction": ["float16", "bfloat16-kahan", "codes"],
    "novograd": ["bfloat16_stochastic"],
    "prodigy": ["mixed", "scaled"],
    "schedulefreeadamw": ["mixed"],
    "starts": ["mixed"],
    "sgld": ["float64"],
    "sophia": ["float16"],
}
"""Those of SOME that differ in what is compiled for a kind of state, a reduction or a type; `make stress` has all."""
SPARSE = {
    "adafactor": ["float32"],
    "adam": [
        "float32",
        "float16-master",
        "bfloat16-stochastic",
        "float16-kahan",
        "int8_dynamic",
        "int4_dynamic",
        "mixed",
        "scaled",
    ],
    "frozen-nothing": ["float32", "int8_dynamic", "mixed-master"],
    "groupadagrad": ["float32"],
    "lamb-bias_correction": ["int8_dynamic", "codes"],
    "prodigy": ["mixed"],
    "rows": ["float32", "mixed"],
    "schedulefreeadamw": ["mixed"],
    "starts": ["float32", "int8_linear"],
    "torchsparseadam": ["float32"],
}
FEW_SPARSE = {
    "adafactor": ["float32"],
    "adam": [
        "float32",
        "float16-master",
        "bfloat16-stochastic",
        "float16-kahan",
        "int8_dynamic",
        "int4_dynamic",
        "mixed",
        "scaled",
    ],
    "frozen-nothing": ["mixed-master"],
    "groupadagrad": ["float32"],
    "lamb-bias_correction": ["codes"],
    "prodigy": ["mixed"],
    "rows": ["float32"],
    "schedulefreeadamw": ["mixed"],
    "starts": ["float32"],
    "torchsparseadam": ["float32"],
}
LONG = (*SHAPES, (3, 5000), (2, 0))
"""With two matrices that are large enough for blocks of codes, and one whose rows have no elements."""


def pairs(of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(name, mode) for name, modes in of.items() for mode in modes]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode: str) -> None:
    for special in (False, True):
        compare(by_name("adam"), SHAPES, MODES[mode], special=special)


@pytest.mark.parametrize(("name", "mode"), swept(pairs(SOME), pairs(FEW)))
def test_dtypes_and_storages(name: str, mode: str) -> None:
    compare(by_name(name), LONG, MODES[mode])


@pytest.mark.parametrize(("name", "mode"), swept(pairs(SPARSE), pairs(FEW_SPARSE)))
def test_row_sparse(name: str, mode: str) -> None:
    for special, lazy in ((False, True), (True, True), (False, False)):
        compare(by_name(name), LONG, MODES.get(mode), special=special, sparse=True, lazy=lazy)


@pytest.mark.stress
@pytest.mark.parametrize("case", ALL, ids=str)
def test_everything_of_everything(case: Case) -> None:
    for mode in MODES:
        # Rows of quantized states need one kernel for gradients of both kinds.
        whole = case.spec is ROWS and mode in CODES
        for special, sparse in itertools.product((False, True), (False, not whole)):
            compare(case, (*SHAPES, *MORE), MODES[mode], special=special, sparse=sparse)


# ---------------------------------------------------------------- random specs

_UNARY: tuple[str, ...] = (
    "-{}",
    "sqrt(abs({}))",
    "cbrt({})",
    "abs({})",
    "sign({})",
    "floor({})",
    "float32({})",
    "bfloat16({})",
    "stored({})",
    "tanh({})",
    "exp(-abs({}))",
)
_UNARY += ("log(abs({}) + 1)", "log1p(abs({}))", "expm1(clip({}, -2, 2))", "({})^2", "({})^3", "(abs({}) + 0.5)^lr")
_UNARY += (
    "sin({})",
    "cos({})",
    "tan({})",
    "atan({})",
    "sigmoid({})",
    "erf({})",
    "cosh({})",
    "softplus({})",
    "ceil({})",
    "round({})",
)
_BINARY: tuple[str, ...] = ("{} + {}", "{} - {}", "{}*{}", "{}/{}", "max({}, {})", "min({}, {})", "clip({}, abs({}))")
_BINARY += (
    "atan2({}, {})",
    "mod({}, {})",
    "max({}, {}, 0.5)",
    "min(1, {}, {}, 0.25)",
    "clip({}, {}, 0.5)",
    "where({} > 0, {}, 0.5)",
    "where({} <= 1 or not ({} == 2), lr, t)",
)
_REDUCE = ("norm", "rms", "std", "logsumexp", "sum", "mean", "max", "min")
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
    leaves: tuple[str, ...] = ("w", "grad", "g", "m", "v")
    smaller: tuple[str, ...] = tuple(kept)

    def reduction(scope: str) -> str:
        return f"{draw(st.sampled_from(_REDUCE))}({draw(_elements(leaves, smaller))}{scope})"

    for i in range(draw(st.integers(0, 3))):
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"z{i} = {draw(st.sampled_from(('normal', 'uniform', 'rademacher')))}()")
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


def random_buffers(
    rng: np.random.Generator, kernel: Kernel, shape: Shape, shared: dict[str, Array]
) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for b in kernel.buffers:
        dtype = storage.dtype_of(b)
        of = storage.shape_of(b, shape, by_row=False)
        new = rng.integers(0, 255, of).astype(dtype) if dtype == "uint8" else numbers(rng, of, dtype, special=False)
        arrays[b.name] = shared.setdefault(b.name, new) if b.kind is Kind.SHARED else new
    return arrays


def check_passes(text: str, mode: Mapping[str, Any], seed: int) -> None:
    """One step by the kernel as built, and after each pass."""
    spec = optgen.parse(text)
    rule = optgen.load(spec, **mode)
    kernels = [pipeline.build(spec, rule.variant((4096, 1)))]
    for run in PASSES:
        kernels.append(verify(run(kernels[-1])))
    results = []
    for kernel in (*kernels, verify(expand_math(kernels[0])), verify(expand_math(kernels[-1]))):
        rng, tensors = np.random.default_rng(seed), []
        shared: dict[str, Array] = {}
        for i, shape in enumerate(((5, 300), (70,))):
            hyper = dict(zip(kernel.hyper, rng.uniform(0.1, 3, len(kernel.hyper)), strict=True))
            tensors.append(TensorUpdate(random_buffers(rng, kernel, shape, shared), hyper, i + 1, i))
        interpret(kernel, tensors, seed)
        results.append([array for tensor in tensors for array in tensor.buffers.values()])
    assert all(same_bits(a, b) for other in results for a, b in zip(results[0], other, strict=True)), text


LARGE = ((17, 300), (600, 7))
"""Large enough for blocks of codes."""
MODE = st.sampled_from([{}, {"dtype": "float64"}, *({"storage": s} for s in STORAGES)])


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), MODE, st.integers(0, 9))
def test_passes_keep_the_result(text: str, mode: Mapping[str, Any], seed: int) -> None:
    check_passes(text, mode, seed)


@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(specs(), MODE)
def test_random_kernels(text: str, mode: Mapping[str, Any]) -> None:
    compare(Case(optgen.parse(text), {}), LARGE, mode)


@pytest.mark.stress
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs(), MODE, st.integers(0, 1000))
def test_many_random_kernels(text: str, mode: Mapping[str, Any], seed: int) -> None:
    check_passes(text, mode, seed)
    compare(Case(optgen.parse(text), {}), LARGE, mode)
