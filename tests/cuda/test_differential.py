"""Launches, run by the PTX interpreter, against the kernels of the CPU, to the bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import State
from optgen.ir.nodes import BLOCK
from optgen.model import Kind
from tests.compiler.harness import (
    ALL,
    ROWS,
    Case,
    Shape,
    assert_same,
    by_name,
    numbers,
    row_sparse,
    same_bits,
)
from tests.compiler.test_differential import (
    LARGE,
    MODE,
    MODES,
    SOME,
    SPARSE,
    changes_for,
    disturb,
    load,
    pairs,
    specs,
)
from tests.cuda.emulation import Gpu, GpuArray, emulated

SHAPES: tuple[Shape, ...] = ((), (3, 4), (0,), (31,), (70, 129), (2, 0), (33, 1), (4097,), (3, 1500), (2, 2, 64))
"""A number; rows that fit groups of four and rows that do not; a block and one more; more rows than columns add up."""

LONG: tuple[Shape, ...] = (*SHAPES[:-1], (3, 5000))
"""With one that is large enough for 8-bit codes."""
SIZES: tuple[Shape, ...] = tuple((n,) for n in (0, 1, 3, 31, 33, 255, 257, 4095, 4096, 4097, 3 * 4096 + 5))


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated() as (gpu,):
        yield gpu


def put(gpu: Gpu, x: Any, offset: int = 0) -> Any:
    """A gradient, dense, row-sparse or several, on the GPU."""
    if isinstance(x, list):
        return [put(gpu, y, offset) for y in x]
    if isinstance(x, optgen.RowSparse):
        return optgen.RowSparse(GpuArray(x.indices, gpu), GpuArray(x.values, gpu, offset))
    return GpuArray(x, gpu, offset)


def on_gpu(gpu: Gpu, case: Case, state: State) -> State:
    """A copy of a state on the GPU, but for what is known before any element is read. What is one array stays one."""
    hosts = {s.name for s in case.spec.states if s.kind is Kind.HOST}
    memo: dict[int, Any] = {}
    for name, arrays in state.arrays.items():
        for a in arrays:
            if a is not None and id(a) not in memo:
                memo[id(a)] = a.copy() if name in hosts else GpuArray(a, gpu)
    return State({n: [None if a is None else memo[id(a)] for a in x] for n, x in state.arrays.items()}, state.t.copy())


def from_gpu(state: State) -> State:
    def get(x: Any) -> Any:
        return x if x is None or isinstance(x, np.ndarray) else x.get()

    return State({name: list(map(get, arrays)) for name, arrays in state.arrays.items()}, state.t)


def compare(
    gpu: Gpu,
    case: Case,
    shapes: Sequence[Shape],
    mode: Mapping[str, Any] | None = None,
    *,
    special: bool = False,
    sparse: bool = False,
    lazy: bool = True,
    several: int = 1,
    offset: int = 0,
) -> None:
    """Two steps on both; tensors on the GPU begin `offset` elements behind an aligned address."""
    rule, ours = load(case, mode or {}), load(case, {**(mode or {}), "target": "cuda"})
    shapes = case.shapes(*shapes)
    if case.is_shared:
        shapes = [shape for shape in shapes if rule.variant(shape) == rule.variant(shapes[-1])]
    by_row = [sparse and len(shape) > 0 and i % 3 != 1 for i, shape in enumerate(shapes)]
    rng = np.random.default_rng(special)

    def gradients() -> list[Any]:
        def make(x: bool, shape: Shape) -> Any:
            one = (row_sparse if x else numbers)(rng, shape, rule.dtype, special=special)
            more = [numbers(rng, shape, rule.dtype, special=special) for _ in range(1, several)]
            return [one, *more] if more else one

        return [make(x, shape) for x, shape in zip(by_row, shapes, strict=True)]

    params, *inputs = (
        [numbers(rng, shape, rule.dtype, special=special) for shape in shapes] for _ in range(1 + len(case.spec.inputs))
    )
    how: dict[str, Any] = {
        "flags": case.flags(len(shapes)),
        "ids": [3 * i + 1 for i in range(len(shapes))],
        "lazy": lazy,
    }
    state = rule.init(params, by_row, how["flags"])
    state.t[...] = [i % 3 for i in range(len(shapes))]
    if special:
        disturb(rng, state)
    skip = offset * params[0].itemsize
    theirs, their_state = [GpuArray(p, gpu, skip) for p in params], on_gpu(gpu, case, state)
    named = {i.name: x for i, x in zip(case.spec.inputs, inputs, strict=True)}
    there = {name: [GpuArray(x, gpu) for x in arrays] for name, arrays in named.items()}
    grads = gradients()
    steps = (
        rule.bind(params, grads, state, named, **how),
        ours.bind(theirs, [put(gpu, g, skip) for g in grads], their_state, there, **how),
    )
    for changes in changes_for(case, len(shapes)):
        for step in steps:
            step.seed = 2**40 + 11
            step(**changes)
        label = f"{case} {mode} special={special} sparse={sparse} lazy={lazy} offset={offset} {changes}"
        assert_same(label, params, state, [x.get() for x in theirs], from_gpu(their_state))
        grads = gradients()
        steps[0].rebind(grads)
        steps[1].rebind([put(gpu, g, skip) for g in grads])
    if case.spec.evaluate:
        for a, b in zip(rule.evaluate(params, state), ours.evaluate(theirs, their_state), strict=True):
            assert same_bits(a, b.get()), f"{label}: evaluate"


@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_spec_and_variant(gpu: Gpu, case: Case) -> None:
    compare(gpu, case, SHAPES, special=True)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode(gpu: Gpu, mode: str) -> None:
    compare(gpu, by_name("adam"), LONG, MODES[mode], special=True)


@pytest.mark.parametrize(("name", "mode"), pairs(SOME))
def test_dtypes_and_storages(gpu: Gpu, name: str, mode: str) -> None:
    compare(gpu, by_name(name), LONG, MODES[mode])


@pytest.mark.parametrize(("name", "mode"), pairs(SPARSE))
def test_row_sparse(gpu: Gpu, name: str, mode: str) -> None:
    for special, lazy in ((True, True), (False, False)):
        compare(gpu, by_name(name), LONG, MODES.get(mode), special=special, sparse=True, lazy=lazy)


@pytest.mark.parametrize("mode", ["float32", "float64", "bfloat16", "int8_dynamic"])
def test_any_alignment(gpu: Gpu, mode: str) -> None:
    """Tensors that begin between two groups of four: all buffers alike, and a state that is not like the others."""
    for offset in (1, 2, 3):
        compare(gpu, by_name("sgd"), SIZES, MODES.get(mode), offset=offset)
        compare(gpu, by_name("lamb-bias_correction"), ((4097,), (3, 4)), MODES.get(mode), offset=offset)
        compare(gpu, by_name("adafactor"), ((2, 0), (3, 0, 2), (0, 3), (3, 5)), MODES.get(mode), offset=offset)


@pytest.mark.parametrize("count", [2, 3])
def test_gradients_are_summed_as_they_are_read(gpu: Gpu, count: int) -> None:
    for name in ("adam", "lamb-bias_correction", "adafactor"):
        compare(gpu, by_name(name), SHAPES, {"dtype": "bfloat16"}, several=count)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_size(gpu: Gpu, size: Shape) -> None:
    for name in ("adam", "lamb-bias_correction"):
        compare(gpu, by_name(name), [size])


def test_many_tensors_are_one_launch_for_each_sweep(gpu: Gpu) -> None:
    compare(gpu, by_name("adam"), [(k + 1,) for k in range(70)])
    assert len(gpu.launches) == 2  # steps
    gpu.launches.clear()
    compare(gpu, by_name("lamb-bias_correction"), [(k, 3) for k in range(70)])
    assert [name.rpartition("_f32_")[2] for name, _ in gpu.launches] == ["0_sweep", "1_fold", "2_sweep"] * 2


def test_large_reductions(gpu: Gpu) -> None:
    """More blocks of the tree than a warp folds at once, and twice that."""
    for size in (65 * BLOCK + 1, 4097 * 64 + 5):
        compare(gpu, NORM, [(size,)])


NORM = Case(
    optgen.parse('optimizer Norm "a sum over all elements"\nupdate:\n  w\' = w - lr*g/(1 + norm(g) + max(w))\n'), {}
)


@pytest.mark.stress
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_everything_of_everything(gpu: Gpu, case: Case, mode: str) -> None:
    whole = case.spec is ROWS and mode in ("int8_dynamic", "int8_linear")
    for special, sparse in itertools.product((False, True), (False, not whole)):
        compare(gpu, case, (*SHAPES, *SIZES), MODES[mode], special=special, sparse=sparse, offset=int(special))


@pytest.mark.stress
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs(), MODE)
def test_random_kernels(text: str, mode: Mapping[str, Any]) -> None:
    with emulated() as (gpu,):
        compare(gpu, Case(optgen.parse(text), {}), LARGE, mode)
