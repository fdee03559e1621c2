"""Products by code of our own: deterministic ones beside their definition, bit by bit, on this CPU and on older ones;
bfloat16 beside NumPy's products of rounded operands."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import product as combinations
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optgen
from optgen import linalg
from optgen.backends import target
from optgen.backends.target import CpuTarget
from optgen.linalg import products
from optgen.linalg.matrices import ProductShape
from optgen.linalg.own import multiply as own
from optgen.linalg.own import packed
from optgen.linalg.own.tasks import ENTRIES, module_text
from optgen.linalg.own.tile import OperandType, tile_for
from optgen.linalg.own.tile_function import PASSES
from optgen.objectcode import link
from tests import sweeps
from tests.linalg.matrices import DTYPES, SHAPES, assert_close, op, operands

X86 = {
    "sse2": "+sse2",
    "avx2": "+avx,+avx2,+fma",
    "avx512": "+avx,+avx2,+fma,+avx512f,+avx512vl,+avx512bw,+avx512dq",
}
TARGETS = [CpuTarget(target.host().triple, "x86-64", features) for features in X86.values()]
RUNNABLE = [
    host for host in TARGETS if "x86_64" in host.triple and set(host.required()) <= set(target.host().required())
]
"""The CPUs whose code this one runs."""
rng = np.random.default_rng(1)


def rounded(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def special(dtype: type, *shape: int) -> np.ndarray:
    """Normal numbers of all sizes, signed zeros, subnormals, some infinities and NaN."""
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-20, 20, shape)
    at = rng.random(shape)
    for k, value in enumerate((0.0, -0.0, 1e-40, -3e-45, np.inf, -np.inf, np.nan)):
        x[(at > 0.02 * k) & (at < 0.02 * k + (0.02 if k < 4 else 0.002))] = value
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def assert_same_bits(x: np.ndarray, y: np.ndarray) -> None:
    """A NaN is a NaN; which one, is left to the processor."""
    bits = f"u{x.itemsize}"
    assert ((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("ta", "tb"), list(combinations([False, True], repeat=2)))
def test_deterministic_products_are_as_defined(dtype: type, ta: bool, tb: bool) -> None:
    for m, k, n in SHAPES:
        a, b = operands(dtype, m, k, n, ta=ta, tb=tb)
        c = linalg.product(a, b, transpose_a=ta, transpose_b=tb, how="deterministic")
        assert_same_bits(c, linalg.reference_product(a, b, transpose_a=ta, transpose_b=tb))
        assert_close(c, op(a, ta), op(b, tb))


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 110), st.integers(1, 110), st.integers(0, 600)),
    *[st.booleans()] * 3,
    st.sampled_from(DTYPES),
)
def test_any_product_is_as_defined(
    shape: tuple[int, int, int, int], ta: bool, tb: bool, same: bool, dtype: type
) -> None:
    """With infinities, NaN, subnormals; in batches; symmetric or not."""
    batch, m, n, k = shape
    a = special(dtype, batch, *((k, m) if ta else (m, k)))
    b = a if same else special(dtype, batch, *((n, k) if tb else (k, n)))
    options: dict[str, Any] = {"transpose_a": ta, "transpose_b": not ta if same else tb, "symmetric": same}
    assert_same_bits(linalg.product(a, b, how="deterministic", **options), linalg.reference_product(a, b, **options))


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_products_have_the_bits_of_whole_ones(dtype: type, ta: bool) -> None:
    for n, k in combinations((1, 7, 8, 95, 96, 97, 203), (0, 1, 300)):
        x, _ = operands(dtype, n, k, 1, (2,), ta=ta)
        for how in ("deterministic", "bfloat16") if dtype == np.float32 else ("deterministic",):
            whole = linalg.product(x, x, transpose_a=ta, transpose_b=not ta, how=how)
            half = linalg.product(x, x, transpose_a=ta, transpose_b=not ta, symmetric=True, how=how)
            assert half.tobytes() == np.swapaxes(half, -1, -2).tobytes()
            assert np.tril(half).tobytes() == np.tril(whole).tobytes()
            if how == "deterministic":
                assert half.tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("host", RUNNABLE, ids=str)
def test_products_with_packed_matrices(host: CpuTarget, dtype: type) -> None:
    """Where each operation rounds, to the bit; the sums of whole numbers are exact in any case. c has other columns."""
    for fused in (False, True):
        tile = tile_for("float32" if dtype == np.float32 else "float64", host, fused=fused)
        code = target.compile_ir(packed.text(tile), host, PASSES).object
        f = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 10)(link.link(code, packed.ENTRY)[packed.ENTRY])
        for (m, k, n), adds in combinations(
            [(23, 9, 100), (1, 3, 31), (6, 1, 49), (0, 5, 2), (2, 0, 1), (9, 600, 3)], (0, 1)
        ):
            a, b = special(dtype, m, k), special(dtype, k, n)
            if fused:
                a, b = (rng.integers(-9, 9, x.shape).astype(dtype) for x in (a, b))
            c = np.full((m, n + 3), 7, dtype)
            wanted = linalg.reference_product(a, b)
            with np.errstate(all="ignore"):
                wanted += c[:, :n] * adds
            turned, panels = a.T.copy(), in_panels(b, tile.width)
            x, strides = (a, (k, 1)) if adds else (turned, (1, m))
            f(m, n, k, x.ctypes.data, *strides, panels.ctypes.data, adds, c.ctypes.data, n + 3)
            assert_same_bits(c[:, :n].copy(), wanted)
            assert (c[:, n:] == 7).all()


def in_panels(b: np.ndarray, width: int) -> np.ndarray:
    """The columns of b in panels of a width."""
    panels = np.zeros((-(-b.shape[1] // width), len(b), width), b.dtype)
    for j, column in enumerate(b.T):
        panels[j // width, :, j % width] = column
    return panels


@pytest.mark.parametrize(("ta", "tb"), list(combinations([False, True], repeat=2)))
def test_bfloat16(ta: bool, tb: bool) -> None:
    for (m, k, n), batch in combinations(SHAPES, ((), (2,))):
        a, b = operands(np.float32, m, k, n, batch, ta, tb)
        c = linalg.product(a, b, transpose_a=ta, transpose_b=tb, how="bfloat16")
        assert_close(c, op(rounded(a), ta), op(rounded(b), tb))


@pytest.mark.parametrize("host", RUNNABLE, ids=lambda host: host.features)
def test_operands_are_rounded_to_nearest_even(host: CpuTarget) -> None:
    """On this CPU and on those without bfloat16, by products with the identity."""
    bits = rng.integers(0, 1 << 32, (300, 67), dtype=np.uint32)
    bits[:, :20] = (bits[:, :20] & 0xFFFF0000) | rng.choice(np.array([0x7FFF, 0x8000, 0x8001], np.uint32), (300, 20))
    x = bits.view(np.float32)
    x[~np.isfinite(rounded(x)) | (abs(x) < np.finfo(np.float32).tiny)] = 1.0
    one = np.eye(67, dtype=np.float32)
    assert_same_bits(linalg.product(x, one, how="bfloat16"), rounded(x))
    assert_same_bits(compiled("bfloat16", host, x, one), rounded(x))
    assert_same_bits(compiled("bfloat16", host, one, x, trans_b=True), rounded(x).T)


def test_bfloat16_with_nan_and_infinities() -> None:
    a, b = operands(np.float32, 33, 20, 300)
    a[3, 4], b[5, 6], a[7, 8] = np.nan, np.inf, -np.inf
    a[9, 1] = np.uint32(0x7F800001).view(np.float32)  # a NaN that would be infinite without its last bits
    with np.errstate(invalid="ignore"):
        expected = rounded(a).astype(float) @ rounded(b).astype(float)
    c = linalg.product(a, b, how="bfloat16")
    assert (np.isnan(c) == np.isnan(expected)).all()
    assert (c[np.isinf(expected)] == expected[np.isinf(expected)]).all()


@pytest.mark.parametrize("how", ["bfloat16", "deterministic"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_bits_do_not_depend_on_threads_or_place(how: linalg.How, symmetric: bool) -> None:
    for batch, k in combinations([(), (3,)], (40, 700)):
        a, _ = operands(np.float32, 500, k, 1, batch)
        seen = set()
        for n in (1, 2, 3):
            optgen.set_num_threads(n)
            memory = np.full(a.size + n, np.nan, np.float32)  # another alignment each time
            memory[n:] = a.ravel()
            x = memory[n:].reshape(a.shape)
            seen.add(linalg.product(x, x, transpose_b=True, symmetric=symmetric, how=how).tobytes())
        assert len(seen) == 1


# ------------------------------------------------------------ other CPUs


def compiled(
    operand_type: OperandType, host: CpuTarget, a: np.ndarray, b: np.ndarray, trans_b: bool = False
) -> np.ndarray:
    """The product by code that is compiled for another CPU; deterministic, if it is not of bfloat16."""
    tile = tile_for(operand_type, host, fused=operand_type == "bfloat16")
    code = target.compile_ir(module_text(tile, host.triple), host).object
    shape = ProductShape(1, len(a), len(b) if trans_b else b.shape[1], a.shape[1])
    c = np.full((shape.m, shape.n), np.nan, a.dtype)
    own.multiply(own.made(tile, link.link(code, *ENTRIES)), a, b, c, shape, False, trans_b, False)
    return c


@pytest.mark.parametrize("dtype", DTYPES)
def test_deterministic_products_have_the_same_bits_on_older_cpus(dtype: type) -> None:
    for m, k, n in ((100, 600, 77), (5, 3, 200)):
        a, b = special(dtype, m, k), special(dtype, k, n)
        for host in RUNNABLE:
            operand_type: OperandType = "float32" if dtype == np.float32 else "float64"
            assert_same_bits(compiled(operand_type, host, a, b), linalg.reference_product(a, b))


def test_products_in_bfloat16_on_cpus_without_it() -> None:
    a, b = operands(np.float32, 101, 600, 77)
    results = [compiled("bfloat16", host, a, b) for host in RUNNABLE]
    for c in results:
        assert_close(c, rounded(a).astype(float), rounded(b).astype(float))
        assert c.tobytes() == results[0].tobytes()


@pytest.mark.parametrize(
    ("operand_type", "fused"),
    sweeps.swept(
        combinations(("float32", "float64", "bfloat16"), (False, True)),
        [("float32", False), ("float64", True), ("bfloat16", True)],
    ),
)
@pytest.mark.parametrize(
    ("triple", "features"),
    [
        ("x86_64-unknown-linux-gnu", "+sse2"),
        ("x86_64-unknown-linux-gnu", "+avx2,+fma"),
        ("x86_64-unknown-linux-gnu", "+avx512f,+avx512bf16,+avx512vl,+avx512bw"),
        ("aarch64-unknown-linux-gnu", "+neon"),
    ],
)
def test_the_sums_of_a_tile_fit_the_registers(
    operand_type: OperandType, fused: bool, triple: str, features: str
) -> None:
    """The loop over k writes no memory."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    host = CpuTarget(triple, "", features)
    tile = tile_for(operand_type, host, fused=fused)
    text = module_text(tile, triple)
    text = text.replace("llvm.x86.sse.", "none.") if "aarch64" in triple else text
    assembly = target.compile_ir(text, host).assembly
    loop = innermost(assembly.split("\ntile:", 1)[1])
    multiplications = [line for line in loop if "mul" in line or "dpbf16" in line or "fmla" in line or "fmadd" in line]
    assert len(multiplications) == tile.rows * tile.vectors
    assert not [line for line in loop if "rsp" in line or "[sp" in line]


def innermost(function: str) -> list[str]:
    """The instructions of the first loop of a function."""
    lines = function.splitlines()
    labels: dict[str, int] = {}
    for at, line in enumerate(lines):
        if line.startswith(".L") and ":" in line:
            labels[line.split(":")[0]] = at
        for label, start in labels.items():
            if line.startswith("\t") and line.split()[-1] == label:
                return lines[start:at]
    raise AssertionError("there is no loop")


# ------------------------------------------------------------ what follows a product


def swept(product: np.ndarray, addend: linalg.Addend) -> np.ndarray:
    """What a sweep makes of a product, as NumPy defines it."""

    def flushed(x: np.ndarray) -> np.ndarray:
        """For float32, without numbers whose absolute value is below 2^-126 once they have 24 bits."""
        least = 2.0**-126 * (1 - 2.0**-25)
        return np.where(abs(x) < least, np.copysign(0.0, x), x).astype(np.float32)

    dtype = product.dtype.type
    with np.errstate(all="ignore"):
        alpha, beta = dtype(addend.alpha), dtype(addend.beta)
        if dtype is np.float64:
            return beta * addend.matrix + alpha * product
        alpha, beta, z, x = (y.astype(np.float64) for y in map(flushed, (alpha, beta, addend.matrix, product)))
        return flushed(flushed(beta * z).astype(np.float64) + flushed(alpha * x).astype(np.float64))


@pytest.mark.parametrize("how", ["native", "bfloat16", "deterministic"])
@pytest.mark.parametrize("own_is_faster", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_follows_a_product_has_the_bits_of_a_sweep(
    how: linalg.How, own_is_faster: bool, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With subnormal numbers, infinities and NaN; for all k, in batches, symmetric or not."""
    if how == "bfloat16" and dtype == np.float64:
        return
    monkeypatch.setattr(products, "_own_is_faster", lambda: own_is_faster)
    monkeypatch.setattr(products, "OWN_MIN_MULTIPLICATIONS", 0)
    shapes = [(1, 1, 1), (100, 600, 77), (97, 5, 200), (5, 0, 7), (0, 3, 3), (200, 9, 200)]
    for (m, k, n), alpha, batch in combinations(shapes, (1.0, -0.3, 1e-30), ((), (2,))):
        a, b = operands(dtype, m, k, n, batch)
        z = special(dtype, *batch, m, n)
        b[..., ::3] *= dtype(1e-38 if alpha == 1 else 1e-8)  # products around the smallest normal number
        addend = linalg.Addend(alpha, 0.7, z)
        assert_same_bits(linalg.product(a, b, how=how, addend=addend), swept(linalg.product(a, b, how=how), addend))
        addend = linalg.Addend(alpha, 1e-10, linalg.product(a, a, transpose_b=True, symmetric=True, how=how))
        both = {"transpose_b": True, "symmetric": True, "how": how}
        assert_same_bits(linalg.product(a, a, **both, addend=addend), swept(addend.matrix, addend))


def test_what_follows_a_product_on_machines_that_do_not_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MXCSR", replace(target.MXCSR, flushing=None))
    tile = tile_for("float32", target.host(), fused=True)
    text = module_text(tile, target.host().triple)
    monkeypatch.undo()
    assert text != module_text(tile, target.host().triple)
    own_product = own.made(tile, link.link(target.compile_ir(text, target.host()).object, *ENTRIES))
    (a, b), z, c = operands(np.float32, 50, 20, 40), special(np.float32, 50, 40), np.empty((50, 40), np.float32)
    b[:, ::3] *= np.float32(1e-38)
    addend = linalg.Addend(1.0, 0.7, z)
    own.multiply(own_product, a, b, c, ProductShape(1, 50, 40, 20), False, False, False, addend)
    monkeypatch.setattr(products, "_own_is_faster", lambda: True)
    monkeypatch.setattr(products, "OWN_MIN_MULTIPLICATIONS", 0)
    assert_same_bits(c, swept(linalg.product(a, b), addend))


def test_bad_addends() -> None:
    x = np.ones((3, 3), np.float32)
    with pytest.raises(ValueError, match=r"the addend must be float32 of shape \(3, 3\), not float32, \(1, 3\)"):
        linalg.product(x, x, addend=linalg.Addend(1.0, 1.0, x[:1]))
    with pytest.raises(ValueError, match=r"the addend must be float32 .* not float64"):
        linalg.product(x, x, addend=linalg.Addend(1.0, 1.0, x.astype(float)))
    with pytest.raises(ValueError, match="out overlaps"):
        linalg.product(x, x, out := x + 1, addend=linalg.Addend(1.0, 1.0, out))
