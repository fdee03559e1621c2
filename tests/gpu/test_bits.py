"""Steps on a GPU come to the bits of the CPU: every spec, dtype and storage, whatever the sizes and addresses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import optgen
from tests.compiler.features import FEATURES
from tests.compiler.harness import ALL, MORE, SHAPES, SPECS, Array, Case, Shape, arrays_of, by_name, same_bits
from tests.compiler.test_differential import LONG, MODES, SOME, SPARSE, pairs
from tests.compiler.test_pieces import Problem, updated_in_pieces
from tests.gpu.comparison import compare, fetched
from tests.gpu.libraries import Library

SIZES: tuple[Shape, ...] = ((0,), (1,), (3,), (31,), (33,), (4095,), (4097,), (3 * 4096 + 5,))
"""Around warps and the blocks of the reduction tree."""
ONE_EACH = tuple(next(c for c in ALL if c.spec is spec) for spec in (*SPECS.values(), *FEATURES))
OTHERS = ("float64", "bfloat16", "mixed-master")
"""The ways to load all specs; the rest of MODES is tried with some."""


@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_spec_and_variant(torch_library: Library, case: Case) -> None:
    compare(torch_library, case, (*SHAPES, *MORE))
    compare(torch_library, case, (*SHAPES, *MORE), special=True)


@pytest.mark.parametrize("mode", OTHERS)
@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_every_spec_in_other_dtypes_and_storages(torch_library: Library, case: Case, mode: str) -> None:
    compare(torch_library, case, LONG, MODES[mode])


@pytest.mark.parametrize("mode", MODES)
def test_every_mode(torch_library: Library, mode: str) -> None:
    for special in (False, True):
        compare(torch_library, by_name("adam"), (*SHAPES, *SIZES), MODES[mode], special=special)


@pytest.mark.parametrize(("name", "mode"), pairs(SOME))
def test_dtypes_and_storages(torch_library: Library, name: str, mode: str) -> None:
    compare(torch_library, by_name(name), LONG, MODES[mode], special=True)


@pytest.mark.parametrize(("name", "mode"), pairs(SPARSE))
def test_row_sparse(torch_library: Library, name: str, mode: str) -> None:
    for special, lazy in ((False, True), (True, True), (False, False)):
        compare(torch_library, by_name(name), LONG, MODES.get(mode), special=special, sparse=True, lazy=lazy)


@pytest.mark.parametrize("several", [2, 5])
@pytest.mark.parametrize("mode", ["float32", "float64", "float16-master", "int8_dynamic"])
def test_gradients_are_summed(torch_library: Library, mode: str, several: int) -> None:
    for name in ("adam", "kinds"):
        compare(torch_library, by_name(name), SHAPES, MODES.get(mode), several=several)


@pytest.mark.parametrize("name", ["adam", "adafactor", "lamb-bias_correction", "sgld", "prodigy", "schedulefreeadamw"])
def test_sizes_and_addresses(library: Library, name: str) -> None:
    """Arrays of both libraries, one tensor alone and many, that begin at any multiple of their elements' size."""
    case = by_name(name)
    for offset in range(5):
        compare(library, case, (*SIZES, (5, 7), (130, 36)), offset=offset)
    for shape in case.shapes(*SIZES):
        compare(library, case, [shape])


@pytest.mark.parametrize("name", ["adamw", "came", "novograd", "schedulefreesgd"])
def test_many_steps(library: Library, name: str) -> None:
    compare(library, by_name(name), ((257, 300), (70_001,), (17,)), steps=25)


@pytest.mark.parametrize("name", ["adam", "lamb-bias_correction", "groupadagrad", "came"])
def test_many_blocks(torch_library: Library, name: str) -> None:
    """More work than the GPU takes at a time, and trees of more than one pass."""
    compare(torch_library, by_name(name), ((4099, 2051), (700_000, 9), (5,)) if name == "adam" else ((999, 8201), (5,)))


@pytest.mark.parametrize(("name", "arguments"), [("muon_adamw", {}), ("shampoo", {"epsilon": 0.1})])
def test_products_come_close(library: Library, name: str, arguments: dict[str, Any]) -> None:
    """Products and factorizations round otherwise than on the CPU."""
    rng = np.random.default_rng(0)
    shapes = [(257, 300), (300, 130), (64, 64)]
    weights, grads = ([rng.normal(size=s).astype("f") for s in shapes] for _ in range(2))
    there, gradients = ([library.put(x) for x in arrays] for arrays in (weights, grads))
    steps = (
        optgen.load(name, **arguments).bind(weights, grads),
        optgen.load(name, target="cuda", **arguments).bind(there, gradients),
    )
    for step in (*steps, *steps):
        step(lr=0.01)
    library.synchronize()
    for x, w in zip(there, weights, strict=True):
        np.testing.assert_allclose(library.get(x), w, rtol=1e-2, atol=1e-3)


# ---------------------------------------------------------------- pieces


class OnGpu(Problem):
    """A problem whose pieces are on the GPU."""

    def __init__(self, library: Library, case: Case, mode: dict[str, Any], gradients: int, ranks: int) -> None:
        self._library = library
        super().__init__(case, {**mode, "target": "cuda"}, gradients, ranks)

    def part(self, x: Array, i: int, rank: int) -> Any:
        return self._library.put(super().part(x, i, rank))


@pytest.mark.parametrize("mode", ["float32", "bfloat16-master", "int8_linear"])
@pytest.mark.parametrize("name", ["adam", "lamb", "sgld", "prodigy"])
def test_pieces(torch_library: Library, name: str, mode: str) -> None:
    """Two owners, each in a thread of its own, with partial results exchanged between them."""
    case = next(c for c in ALL if c.spec.name.lower() == name)
    whole = Problem(case, MODES.get(mode, {}), 2, 2)
    step = whole.rule.bind(whole.params, whole.grads, inputs=whole.inputs, flags=whole.flags)
    problem = OnGpu(torch_library, case, MODES.get(mode, {}), 2, 2)
    parts, states = updated_in_pieces(problem, 2)
    torch_library.synchronize()
    step.seed = 77
    for _ in range(2):
        step(lr=0.1)
    held = [fetched(state) for state in states]
    for i, w in enumerate(whole.params):
        joined = np.concatenate([torch_library.get(part[i]).reshape(-1) for part in parts])
        assert same_bits(joined, w.reshape(-1)), f"{case}: tensor {i} of shape {w.shape}"
        for name, array in arrays_of(step.state, i).items():
            owners = [r for r in range(2) if problem.span(i, r)[0] < problem.span(i, r)[1]]
            found = [arrays_of(held[r], i)[name].reshape(-1) for r in owners]
            if array.shape == ():
                assert all(same_bits(x, array.reshape(-1)) for x in found), f"{case}: state {name}[{i}]"
            elif owners:
                assert same_bits(np.concatenate(found), array.reshape(-1)), f"{case}: state {name}[{i}]"


# ---------------------------------------------------------------- all of it


@pytest.mark.stress
@pytest.mark.parametrize("case", ALL, ids=str)
def test_everything_of_everything(torch_library: Library, case: Case) -> None:
    for mode in MODES:
        # Rows of 8-bit states need one kernel for gradients of both kinds.
        whole = case.spec.name == "Rows" and mode in ("int8_dynamic", "int8_linear")
        for special, sparse in itertools.product((False, True), (False, not whole)):
            compare(torch_library, case, (*SHAPES, *MORE), MODES[mode], special=special, sparse=sparse)
