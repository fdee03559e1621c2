"""Launches, run by the PTX interpreter, against the kernels of the CPU, to the bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen.ir import BLOCK
from tests.compiler import test_degenerate
from tests.compiler.features import BATCHES, EVERYTHING, FEATURES, ROWS
from tests.compiler.harness import ALL, DIFFERENT, Array, Case, Shape, by_name, covering
from tests.compiler.test_differential import CODES, LARGE, MODE, MODES, SOME, SPARSE, pairs, specs
from tests.compiler.test_not_finite import BOUNDS
from tests.compiler.test_subnormals import FAINT
from tests.cuda.emulation import Gpu, GpuArray, emulated
from tests.gpu import comparison
from tests.sweeps import swept

SHAPES: tuple[Shape, ...] = (
    *((), (3, 4), (0,), (1,), (31,), (33, 1), (2, 0), (70, 33), (4097,), (3, 1500), (2, 2, 64)),
)
"""A number; rows that fit groups of four and rows that do not; a block and one more, large enough for codes; more rows
than a warp has lanes; more columns than add up at once."""
SMALL: tuple[Shape, ...] = ((3, 4), (31,), (70, 33), (3, 1500))
EACH = swept(covering(ALL), [case for case in DIFFERENT if case != by_name("batch")])  # below, with its own shapes
SIZES: tuple[Shape, ...] = tuple((n,) for n in (0, 1, 3, 31, 33, 255, 257, 4095, 4096, 4097, 3 * 4096 + 5))


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated() as (gpu,):
        yield gpu


class Emulated:
    """The emulated GPU as a library, as those of real ones (`tests/gpu/libraries.py`)."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu

    def put(self, array: Array, offset: int = 0) -> GpuArray:
        return GpuArray(array, self._gpu, offset * array.itemsize)

    def get(self, x: GpuArray) -> Array:
        return x.get()

    def synchronize(self) -> None:
        """Nothing is ever under way."""


def compare(gpu: Gpu, *args: Any, steps: int = 1, **how: Any) -> None:
    comparison.compare(Emulated(gpu), *args, steps=steps, **how)


@pytest.mark.parametrize("case", EACH, ids=str)
def test_every_spec_and_flag(gpu: Gpu, case: Case) -> None:
    shapes = SMALL if case.spec in FEATURES else SHAPES  # they take long
    if case.spec is EVERYTHING:  # which has no rows
        shapes = tuple(shape for shape in SMALL if shape != (70, 33))
    compare(gpu, case, shapes, special=True)


@pytest.mark.parametrize("case", EACH, ids=str)
def test_the_prologue_of_every_spec_and_flag(gpu: Gpu, case: Case) -> None:
    """What the host computes for a step, computed on the GPU: counts, powers and roots, states of kind host."""
    compare(gpu, case, ((3, 4), (5,), (2, 3)), steps=2, capturable=True)


@pytest.mark.parametrize("mode", swept(["float32", *MODES], ["float32", "float64", "mixed-master"]))
def test_faint_numbers(gpu: Gpu, mode: str) -> None:
    how = MODES.get(mode, {})
    large = (4099,) if "int" in str(how.get("storage")) else (515,)  # for codes
    compare(gpu, Case(FAINT, {}), ((5, 33), large), how, steps=2)


@pytest.mark.parametrize("case", BOUNDS, ids=["unset", "set"])
def test_what_is_no_number(gpu: Gpu, case: Case) -> None:
    compare(gpu, case, SHAPES, special=True)


@pytest.mark.parametrize("name", test_degenerate.SPECS)
def test_little_to_do(gpu: Gpu, name: str) -> None:
    compare(gpu, Case(optgen.parse(test_degenerate.SPECS[name]), {}), ((), (0, 4), (3, 5)), steps=2)


def test_rows_and_columns_of_old_and_new_values(gpu: Gpu) -> None:
    """The sweep is split: the columns' part has the old value, the rows' the old and the new one."""
    text = "optimizer Both\nstate s = 0\nupdate:\n  s' = 0.9*s + g\n"
    text += "  r = max(s', per row)\n  c = max(s, per col)\n  w' = w - lr*r*c\n"
    shapes = [shape for shape in SHAPES if shape != (4097,)]  # rows of one element
    compare(gpu, Case(optgen.parse(text), {}), shapes, special=True)


@pytest.mark.parametrize("mode", swept(["float32", "float64", "mixed"], ["float32"]))
def test_batches_of_matrices(gpu: Gpu, mode: str) -> None:
    compare(gpu, by_name("batch"), BATCHES, MODES.get(mode), special=True, steps=2)


MOST = ("float64", "float16", "bfloat16-master", "int8_dynamic", "int4_dynamic", "mixed-master", "scaled")
MOST += ("float16-kahan", "bfloat16-kahan", "float16-stochastic")


@pytest.mark.parametrize("mode", swept(MODES, MOST))
def test_every_mode(gpu: Gpu, mode: str) -> None:
    compare(gpu, by_name("adam"), SHAPES, MODES[mode], special=True, steps=2)


FEW = {
    "adafactor-scale_parameter-averaged": ["float64"],
    "groupadagrad": ["bfloat16"],
    "lamb-bias_correction": ["float16", "codes"],
    "novograd": ["bfloat16_stochastic"],
    "prodigy": ["mixed", "scaled"],
    "schedulefreeadamw": ["mixed"],
    "starts": ["mixed"],
    "sgld": ["float64"],
    "sophia": ["float16"],
}


@pytest.mark.parametrize(("name", "mode"), swept(pairs(SOME), pairs(FEW)))
def test_dtypes_and_storages(gpu: Gpu, name: str, mode: str) -> None:
    compare(gpu, by_name(name), SHAPES, MODES[mode])


FEW_SPARSE = {
    "adafactor": ["float32"],
    "adam": ["float32", "int8_dynamic", "mixed"],
    "frozen-nothing": ["float32"],
    "lamb-bias_correction": ["codes"],
    "prodigy": ["mixed"],
    "rows": ["float32"],
    "starts": ["float32"],
    "torchsparseadam": ["float32"],
}


@pytest.mark.parametrize(("name", "mode"), swept(pairs(SPARSE), pairs(FEW_SPARSE)))
def test_row_sparse(gpu: Gpu, name: str, mode: str) -> None:
    shapes = [shape for shape in SHAPES if shape != (4097,)]  # there are rows of one element without these
    for special, lazy in ((True, True), (False, False)):
        compare(gpu, by_name(name), shapes, MODES.get(mode), special=special, sparse=True, lazy=lazy)


@pytest.mark.parametrize("mode", ["bfloat16", "int8_dynamic", "int4_dynamic", "mixed-master"])
def test_wide_accesses_in_rows(gpu: Gpu, mode: str) -> None:
    """Rows that are multiples of 16 elements, with a whole unit of work and a rest."""
    compare(gpu, by_name("adam"), ((7, 784), (3, 784)), MODES[mode], sparse=True)


@pytest.mark.parametrize(
    "mode",
    swept(["float32", "float64", "bfloat16", "int8_dynamic", "int4_dynamic"], ["float32", "bfloat16", "int4_dynamic"]),
)
def test_any_alignment(gpu: Gpu, mode: str) -> None:
    """Tensors that begin between two groups of four: all buffers alike, and a state that is not like the others."""
    for offset in (1, 2, 4):  # 4: aligned for float32, not for 16 bits
        compare(gpu, by_name("sgd"), SIZES, MODES.get(mode), offset=offset)
        compare(gpu, by_name("lamb-bias_correction"), ((4097,), (3, 4)), MODES.get(mode), offset=offset)


@pytest.mark.parametrize("mode", swept(["float32", "float64", "bfloat16", "int8_dynamic", "int4_dynamic"], ["float32"]))
def test_any_alignment_of_rows(gpu: Gpu, mode: str) -> None:
    for offset in (1, 2, 4):
        compare(gpu, by_name("adafactor"), ((2, 0), (3, 0, 2), (0, 3), (3, 5)), MODES.get(mode), offset=offset)


@pytest.mark.parametrize(
    ("name", "count"),
    swept(
        [("adam", 2), ("adam", 3), ("lamb-bias_correction", 3), ("adafactor", 2), ("groupadagrad", 2)],
        [("adam", 3), ("groupadagrad", 2)],
    ),
)
def test_gradients_are_summed_as_they_are_read(gpu: Gpu, name: str, count: int) -> None:
    compare(gpu, by_name(name), SHAPES, {"dtype": "bfloat16"}, several=count)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_size(gpu: Gpu, size: Shape) -> None:
    for name in ("adam", "lamb-bias_correction"):
        compare(gpu, by_name(name), [size])


def test_many_tensors_are_one_launch_for_each_sweep(gpu: Gpu) -> None:
    compare(gpu, by_name("adam"), [(k + 1,) for k in range(70)], steps=2)
    assert len(gpu.launches) == 2  # steps
    gpu.launches.clear()
    compare(gpu, by_name("lamb-bias_correction"), [(k, 3) for k in range(70)], steps=2)
    assert [name.rpartition("_f32_")[2] for name, _ in gpu.launches] == ["0_sweep", "1_fold", "2_sweep"] * 2


def test_large_reductions(gpu: Gpu) -> None:
    """More blocks of the tree than a warp folds at once, and twice that."""
    for size in (65 * BLOCK + 1, 4097 * 64 + 5):
        compare(gpu, NORM, [(size,)])


NORM = Case(
    optgen.parse('optimizer Norm "a sum over all elements"\nupdate:\n  w\' = w - lr*g/(1 + norm(g) + max(w))\n'), {}
)


@pytest.mark.stress
@pytest.mark.parametrize("case", ALL, ids=str)
def test_everything_of_everything(gpu: Gpu, case: Case) -> None:
    for mode in MODES:
        whole = case.spec is ROWS and mode in CODES
        for special, sparse in itertools.product((False, True), (False, not whole)):
            compare(gpu, case, (*SHAPES, *SIZES), MODES[mode], special=special, sparse=sparse, offset=int(special))


@pytest.mark.stress
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs(), MODE)
def test_random_kernels(text: str, mode: Mapping[str, Any]) -> None:
    with emulated() as (gpu,):
        compare(gpu, Case(optgen.parse(text), {}), LARGE, mode)
