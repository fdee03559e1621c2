"""Launches, run by the PTX interpreter, against the kernels of the CPU, to the bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import State
from tests.compiler.harness import (
    ALL,
    SPECS,
    Array,
    Case,
    Shape,
    by_name,
    copy_state,
    numbers,
    row_sparse,
    same_bits,
)
from tests.compiler.test_differential import MODES, SOME, SPARSE, changes_for, disturb, load, pairs
from tests.cuda.emulation import Gpu, GpuArray, emulated

SHAPES: tuple[Shape, ...] = ((), (3, 4), (0,), (31,), (70, 129), (2, 0), (33, 1), (4097,), (3, 1500), (2, 2, 64))
"""A number; rows that fit groups of four and rows that do not; a block and one more; more rows than columns add up."""


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


def on_gpu(gpu: Gpu, state: State) -> State:
    """A copy of a state on the GPU: what is one array stays one; what is known before any element is read stays here."""
    kinds = {name for name, arrays in state.arrays.items() for a in arrays if a is not None and is_host(name)}
    memo: dict[int, Any] = {}
    for name, arrays in state.arrays.items():
        for a in arrays:
            if a is not None:
                memo[id(a)] = a.copy() if name in kinds else GpuArray(a, gpu)
    return State({n: [None if a is None else memo[id(a)] for a in x] for n, x in state.arrays.items()}, state.t.copy())


HOST: set[str] = set()


def is_host(name: str) -> bool:
    return name in HOST


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
    HOST.clear()
    HOST.update(s.name for s in case.spec.states if s.kind.value == "host")
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
    how: dict[str, Any] = {"flags": case.flags(len(shapes)), "ids": [3 * i + 1 for i in range(len(shapes))], "lazy": lazy}
    state = rule.init(params, by_row, how["flags"])
    state.t[...] = [i % 3 for i in range(len(shapes))]
    if special:
        disturb(rng, state)
    skip = offset * params[0].itemsize
    theirs, their_state = [GpuArray(p, gpu, skip) for p in params], on_gpu(gpu, state)
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
        assert_same(label, params, state, theirs, their_state)
        grads = gradients()
        steps[0].rebind(grads)
        steps[1].rebind([put(gpu, g, skip) for g in grads])
    if case.spec.evaluate:
        for a, b in zip(rule.evaluate(params, state), ours.evaluate(theirs, their_state), strict=True):
            assert same_bits(a, b.get()), f"{label}: evaluate"


def assert_same(
    label: str, params: Sequence[Array], state: State, theirs: Sequence[GpuArray], their_state: State
) -> None:
    there = copy_state(
        State(
            {n: [x if x is None or isinstance(x, np.ndarray) else x.get() for x in a] for n, a in their_state.arrays.items()},
            their_state.t,
        )
    )
    from tests.compiler import harness

    harness.assert_same(label, params, state, [x.get() for x in theirs], there)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_spec_and_variant(gpu: Gpu, case: Case) -> None:
    compare(gpu, case, SHAPES, special=True)


_ = (SPECS, MODES, SOME, SPARSE, by_name, pairs)
