"""Products of matrices by code of our own, and the tasks of factorizations, in the interpreter of LLVM IR."""

from __future__ import annotations

import array
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

from optgen.backends.target import CpuTarget, host
from optgen.linalg import lapack, reference_product
from optgen.linalg.lapack import LapackCall, Routine, Work
from optgen.linalg.matrices import SUMMED, Addend, ProductShape
from optgen.linalg.own import multiply as own
from optgen.linalg.own import packed
from optgen.linalg.own.tasks import FIELDS, module_text
from optgen.linalg.own.tile import OperandType, Tile, tile_for
from tests.llvm import LlvmError, Machine, Pointer
from tests.llvm.types import integer
from tests.sweeps import swept

I64 = integer(64)
CPUS = {
    "sse2": "+sse2",
    "avx2": "+avx,+avx2,+fma",
    "avx512": "+avx,+avx2,+fma,+avx512f,+avx512vl,+avx512bw,+avx512dq",
}
"""The interpreter needs none of them."""
TILES = [
    (cpu, operand_type, fused)
    for cpu in CPUS
    for operand_type in ("float32", "float64", "bfloat16")
    for fused in (0, 1)
]
SHAPES = ((1, 1, 1, 1), (1, 5, 7, 3), (2, 3, 17, 9), (1, 13, 50, 2), (1, 9, 25, 4), (1, 2, 3, SUMMED + 1))
"""batch, m, n, k: less than a tile, a part of one beside whole ones, more products than are summed at once."""


def tile_of(cpu: str, operand_type: OperandType, fused: int) -> Tile:
    return tile_for(operand_type, CpuTarget("x86_64-unknown-linux-gnu", "x86-64", CPUS[cpu]), fused=bool(fused))


class Product:
    """A product in the interpreter: `multiply` as `optgen.linalg.own.multiply` has it, over memory that begins without
    values where it may."""

    def __init__(self, tile: Tile) -> None:
        self.machine = Machine(module_text(tile, host().triple))
        self.own = own.OwnProduct(tile, *[lambda arguments, work: None] * 3, ())

    def multiply(self, a: Any, b: Any, ta: bool, tb: bool, symmetric: bool, addend: Addend | None) -> np.ndarray:
        (batch, m, k), n = (a.swapaxes(-1, -2) if ta else a).shape, b.shape[-2 if tb else -1]
        c = np.empty((batch, m, n), a.dtype)
        shape = ProductShape(batch, m, n, k)
        panels, _ = own.prepare(self.own, a, b, c, shape, ta, tb, symmetric, addend)
        memory = self.machine.memory
        memory.clear()
        buffer = np.empty(panels.nbytes + 64, np.uint8)
        start = buffer.ctypes.data + 63 & ~63
        memory.add("the panels", start, panels.nbytes, writable=True, known=False)
        panels.place(start)
        for x in {x.ctypes.data: x for x in (a, b, *([addend.matrix] if addend else []))}.values():
            memory.register(x, writable=False)
        memory.register(c, known=False)
        fields = panels.fields.buffer_info()[0]
        memory.add("the fields", fields, 8 * len(FIELDS), writable=False)
        for entry in ("optgen_pack", "optgen_multiply"):
            for part in (2, 0, 1):
                self.machine.call(entry, fields, part, 3)
        return c


@pytest.mark.parametrize(
    ("cpu", "operand_type", "fused"),
    swept(TILES, [("avx2", "float32", 1), ("sse2", "bfloat16", 0)]),
)
def test_products(cpu: str, operand_type: OperandType, fused: int) -> None:
    """Whole numbers, of which every sum is exact; transposed or not, half of what is symmetric, and with addends."""
    product, rng = Product(tile_of(cpu, operand_type, fused)), np.random.default_rng(0)
    dtype = np.float64 if operand_type == "float64" else np.float32
    for number, (batch, m, n, k) in enumerate(SHAPES):
        ta, tb, symmetric = bool(number & 1), bool(number & 2), number == 4
        a = rng.integers(-9, 9, (batch, k, m) if ta else (batch, m, k)).astype(dtype)
        b = a if symmetric else rng.integers(-9, 9, (batch, n, k) if tb else (batch, k, n)).astype(dtype)
        tb = not ta if symmetric else tb
        addend = None
        if number % 2:
            addend = Addend(0.5, -2.0, rng.integers(-9, 9, (batch, m, m if symmetric else n)).astype(dtype))
        c = product.multiply(a, b, ta, tb, symmetric, addend)
        wanted = (a.swapaxes(-1, -2) if ta else a) @ (b.swapaxes(-1, -2) if tb else b)
        assert np.array_equal(c, wanted if addend is None else -2 * addend.matrix + 0.5 * wanted)


@pytest.mark.parametrize("cpu", swept(CPUS, ["avx2"]))
def test_where_products_round(cpu: str) -> None:
    """With infinities, NaN and subnormal numbers, to the bit."""
    product, rng = Product(tile_of(cpu, "float32", 0)), np.random.default_rng(1)
    a, b = (10.0 ** rng.integers(-25, 20, s) * rng.standard_normal(s) for s in ((1, 6, 5), (1, 5, 9)))
    with np.errstate(all="ignore"):
        a, b = a.astype("f4"), b.astype("f4")
        a[0, 0, :3], b[0, 1, 1] = (np.inf, 1e-40, -0.0), np.nan
        c, wanted = product.multiply(a, b, False, False, False, None), reference_product(a, b)
    assert np.array_equal(c, wanted, equal_nan=True)


def test_operands_are_rounded_to_bfloat16() -> None:
    product, rng = Product(tile_of("avx2", "bfloat16", 0)), np.random.default_rng(2)
    a, b = rng.standard_normal((1, 3, 1)).astype("f4"), rng.standard_normal((1, 1, 9)).astype("f4")
    x, y = (z.astype(ml_dtypes.bfloat16).astype("f4") for z in (a, b))
    assert np.array_equal(product.multiply(a, b, False, False, False, None), x @ y)


def test_a_panel_that_is_too_short_is_found() -> None:
    """The packing writes no further than where panels end."""
    product = Product(tile_of("avx2", "float32", 0))
    a, b = np.ones((1, 3, 4), "f4"), np.ones((1, 4, 9), "f4")
    prepare = own.prepare

    def short(*args: Any) -> Any:
        panels, works = prepare(*args)
        return own.PanelUse(panels.fields, panels.nbytes - 4, panels.offset_of_a), works

    with (
        mock.patch.object(own, "prepare", short),
        pytest.raises(LlvmError, match=r"pack, block .*the panels, which has"),
    ):
        product.multiply(a, b, False, False, False, None)


@pytest.mark.parametrize(("cpu", "fused"), [("avx2", 1), pytest.param("avx512", 0, marks=pytest.mark.stress)])
def test_products_with_packed_matrices(cpu: str, fused: int) -> None:
    tile, rng = tile_of(cpu, "float32", fused), np.random.default_rng(3)
    machine = Machine(packed.text(tile))
    for m, k, n, adds in ((23, 9, 33, 0), (1, 3, 31, 1), (6, 1, 49, 1), (3, SUMMED + 2, 5, 0), (2, 0, 1, 0)):
        a, b = rng.integers(-9, 9, (m, k)).astype("f4"), rng.integers(-9, 9, (k, n)).astype("f4")
        panels = in_panels(b, tile.width)
        c = np.full((m, n + 3), 7, "f4")
        machine.memory.clear()
        x, y, z = (machine.memory.register(x, writable=x is c) for x in (a, panels, c))
        machine.call(packed.ENTRY, m, n, k, x, k, 1, y, adds, z, n + 3)
        assert np.array_equal(c[:, :n], a @ b + 7 * adds) and (c[:, n:] == 7).all()


def in_panels(b: np.ndarray, width: int) -> np.ndarray:
    """The columns of b in panels of a width."""
    panels = np.zeros((-(-b.shape[1] // width), len(b), width), b.dtype)
    for j, column in enumerate(b.T):
        panels[j // width, :, j % width] = column
    return panels


# ---------------------------------------------------------------- factorizations


def text_of_calls() -> str:
    """The LLVM IR of the tasks that call LAPACK."""
    with (
        mock.patch.object(lapack.code, "load", lambda text, symbol: text),
        mock.patch.object(lapack, "runner", lambda text: text),
    ):
        return str(lapack._run.__wrapped__())


def test_tasks_of_factorizations() -> None:
    """Each call is made once, by whatever part, and has the memory for work that it asked for."""
    machine = Machine(text_of_calls())
    seen: list[int] = []

    def routine(*arguments: Pointer) -> None:
        n, matrix, work = arguments[1], arguments[2], arguments[3]
        assert len(arguments) == lapack.ARGUMENTS
        edge = machine.memory.load(n, I64, 8, RuntimeError)
        for k in range(edge):
            machine.memory.store(moved(work, 8 * k), I64, k, 8, RuntimeError)
        with pytest.raises(RuntimeError, match="which has"):
            machine.memory.store(moved(work, 64 * (edge + 1)), I64, 0, 8, RuntimeError)
        machine.memory.store(matrix, I64, edge, 8, RuntimeError)
        seen.append(edge)

    address = machine.provide(routine)
    matrices = [np.zeros(1, np.int64) for _ in range(3)]
    calls = [
        LapackCall(Routine(address, np.dtype(np.int64)), n, "U", n, x, Work(n, np.dtype("f8")))
        for n, x in enumerate(matrices)
    ]
    table = np.array([call.words for call in calls], np.uint64)
    words = array.array("q", [len(calls), table.ctypes.data, 0])
    machine.memory.register(table)
    machine.memory.add("the words", words.buffer_info()[0], 24, writable=True)
    for x in (*matrices, *(call._integers for call in calls)):
        machine.memory.register(x)
    for part in (1, 0):
        machine.call("optgen_calls", words.buffer_info()[0], part, 2)
    assert seen == [0, 1, 2] and [int(x[0]) for x in matrices] == seen
    assert not machine.heap


def moved(pointer: Pointer, by: int) -> Pointer:
    return Pointer(pointer.address + by, pointer.allocation)
