"""The storage codes against definitions of their own: tables of fractions, and rounding by comparison."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optgen.ir import Buffer, codec
from optgen.ir.interp import call
from optgen.ir.storage import STORAGES, Codec, Storage, bfloat16, blocks, dynamic4, dynamic8, float16, linear8, packing
from tests.ir.numpy_builder import NumpyBuilder

Array = Any
BUILDER = NumpyBuilder()
SIGNED = pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
IN_BLOCKS = [name for name, x in STORAGES.items() if x.block]
CODECS = [
    (f"{name}, {sign}", x, known)
    for name, x in STORAGES.items()
    for sign, known in (("signed", x.codec), ("unsigned", x.unsigned))
    if known is not None
]
"""The codecs of all storages: what they are called, whose they are, and they themselves."""
SPECIAL = np.array([0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0, 1, 0x7F7FFFFF, 0x00800000], np.uint32)


def numbers(n: int) -> Array:
    """Random bit patterns and special values of float32, of both signs."""
    bits = np.concatenate([np.random.default_rng(1).integers(0, 2**31, n, dtype=np.uint32), SPECIAL])
    return np.concatenate([bits, bits | np.uint32(2**31)]).view(np.float32)


# ---------------------------------------------------------------- bfloat16


def test_bfloat16_decodes_every_code() -> None:
    code = np.arange(2**16, dtype=np.uint32)
    got = bfloat16.decode(BUILDER, code.view(np.int32))
    assert np.array_equal(got.view(np.uint32), np.where(code & 0x7F80, code, code & 0x8000) << 16)


def test_bfloat16_is_the_nearest_for_the_neighbourhood_of_every_code() -> None:
    code = np.arange(2**16, dtype=np.int64)[:, None]
    low = np.array([0, 1, 2, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0x8002, 0xFFFE, 0xFFFF, *range(0x10, 0xFFFF, 0x333)])
    bits = (code << 16 | low).astype(np.uint32)
    got = bfloat16.encode_nearest(BUILDER, bits.view(np.int32).view(np.float32))
    up = (low > 0x8000) | ((low == 0x8000) & (code % 2 == 1))
    want = np.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, np.minimum(code + up, code | 0x7FFF))
    assert np.array_equal(got, want)


def test_bfloat16_agrees_with_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numbers(200_000)
    x = x[~np.isnan(x)]
    assert np.array_equal(bfloat16.encode_nearest(BUILDER, x), x.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_bfloat16_rounds_up_as_often_as_it_should() -> None:
    """For all random bits: codes stay, and the mean of the two codes beside x, weighted by how often, is x."""
    random = np.arange(2**16, dtype=np.int32)
    for bits in (0x3F800000, 0x3F801234, 0xBF80FFFF, 0x00000001, 0x80007FFF, 0x7F7F4000, 0xFF7F4000):
        x = np.array(bits, np.uint32).view(np.int32).view(np.float32)
        codes, counts = np.unique(bfloat16.encode_stochastic(BUILDER, x, random), return_counts=True)
        assert codes[0] == bits >> 16
        assert len(codes) == 1 or (codes[1] == codes[0] + 1 and counts[1] == bits & 0xFFFF)
    special = np.array([0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    for bits in (0, 0xFFFF):
        got = bfloat16.encode_stochastic(BUILDER, special, np.int32(bits))
        assert got.tolist() == [0x7F80, 0xFF80, 0x7FC0, 0x7FC0]


# ---------------------------------------------------------------- float16


def test_float16_decodes_every_code_and_keeps_it() -> None:
    code = np.arange(2**16, dtype=np.uint16)
    known = code.view(np.float16).astype(np.float32)
    got = float16.decode(BUILDER, code.astype(np.int32))
    assert np.array_equal(got, known, equal_nan=True) and np.array_equal(np.signbit(got), np.signbit(known))
    numbers = code[~np.isnan(known)]
    for random in (0, 0xFFFF):
        again = float16.encode_stochastic(BUILDER, known[~np.isnan(known)], np.int32(random))
        assert np.array_equal(again, numbers)
    assert np.array_equal(
        float16.encode_stochastic(BUILDER, known[np.isnan(known)], np.int32(7)) & 0x7FFF, [0x7E00] * 2046
    )


def test_float16_is_the_nearest_for_the_neighbourhood_of_every_code() -> None:
    """All codes, all points halfway between two of them, and the float32 beside both."""
    codes = np.arange(2**15, dtype=np.uint16).view(np.float16).astype(np.float32)
    codes = codes[np.isfinite(codes)]
    middles = np.append((codes[:-1] + codes[1:]) / 2, np.float32(65520))
    x = np.concatenate([f(y) for y in (codes, middles) for f in (lambda y: y, _above, _below)])
    x = np.concatenate([x, -x, np.array([np.inf, -np.inf, 1e30, 2.0**-126, 1e-20], np.float32)])
    x = x[(np.abs(x) >= 2.0**-126) | (x == 0)]
    with np.errstate(over="ignore"):
        known = x.astype(np.float16).astype(np.float32)
    got = float16.nearest(BUILDER, x)
    assert np.array_equal(got, known) and np.array_equal(np.signbit(got), np.signbit(known))
    assert np.isnan(float16.nearest(BUILDER, np.array([np.nan], np.float32))).all()


def _above(x: Array) -> Array:
    return np.nextafter(x, np.float32(np.inf))


def _below(x: Array) -> Array:
    return np.nextafter(x, np.float32(-np.inf))


def test_float16_rounds_up_as_often_as_it_should() -> None:
    """For all random bits, the mean of the two codes beside x, weighted by how often, is x; of small x up to 2^-16 of
    the distance between them."""
    random = np.arange(2**16, dtype=np.int32)
    for x in (1.0, 1.0003, -3.14159, 60000.7, 65503.9, 2.0**-14 * 1.3, 2.0**-15 * 1.3, -(2.0**-24) * 0.7, 1e-9):
        codes, counts = np.unique(float16.encode_stochastic(BUILDER, np.float32(x), random), return_counts=True)
        values = codes.astype(np.uint16).view(np.float16).astype(np.float64)
        assert len(codes) <= 2 and abs(codes[-1] - codes[0]) <= 1
        gap = abs(values[-1] - values[0])
        assert abs((values * counts).sum() / 2**16 - float(np.float32(x))) <= max(gap, 2.0**-24) * 2.0**-13
    assert set(float16.encode_stochastic(BUILDER, np.float32(65535), random)) == {0x7BFF, 0x7C00}


# ---------------------------------------------------------------- the dynamic map


def table(signed: bool) -> list[Fraction]:
    """Each decade cut into equal cells, their centres; 0 and 1."""
    values = [Fraction(0), Fraction(1)]
    for decade in range(7):
        count = 2**decade if signed else 2 ** (decade + 1)
        top = Fraction(10) ** (decade - 6)
        edges = [top / 10 + (top - top / 10) * k / count for k in range(count + 1)]
        centres = [(a + b) / 2 for a, b in pairwise(edges)]
        values += centres + ([-c for c in centres] if signed else [])
    return sorted(values)


def middles(signed: bool) -> Array:
    """What separates the codes: code k for numbers between middle k - 1 and middle k."""
    values = table(signed)
    found = np.array([float((a + b) / 2) for a, b in pairwise(values)])
    if not signed:
        found[0] = 0.0  # only 0 becomes 0
    return found


def check_dynamic(x: Array, signed: bool) -> None:
    """Codes are those of the nearest values, except within 12 units in the last place of where they change."""
    got = dynamic8.encode(BUILDER, x, signed)
    boundaries = middles(signed)
    want = np.searchsorted(boundaries, x.astype(np.float64))
    wrong = got != want
    near = boundaries[np.minimum(got, want)[wrong]]
    assert np.all(np.abs(got - want) <= 1)
    assert np.all(np.abs(x[wrong] - near) <= 12 * np.spacing(np.abs(near).astype(np.float32)))
    assert np.all(np.diff(got[np.argsort(x)]) >= 0)


@SIGNED
def test_dynamic_map_decodes_to_its_table(signed: bool) -> None:
    values = table(signed)
    exact = np.array([float(v) for v in values])
    got = dynamic8.decode(BUILDER, np.arange(256, dtype=np.int32), signed)
    assert got.dtype == np.float32 and len(values) == 256
    assert np.all(np.abs(got - exact) <= 1.2 * np.spacing(np.abs(exact).astype(np.float32)))
    assert got[[127 if signed else 0, 255]].tolist() == [0.0, 1.0]
    assert np.array_equal(dynamic8.encode(BUILDER, got, signed), np.arange(256))


@SIGNED
def test_dynamic_map_encodes_to_the_nearest(signed: bool) -> None:
    boundaries = middles(signed).astype(np.float32)
    around = boundaries[boundaries != 0].view(np.int32)[:, None] + np.arange(-200, 201)
    check_dynamic(around.astype(np.int32).view(np.float32).ravel(), signed)
    # The rest: every 97th number from 0 to a little past 1.
    check_dynamic(np.arange(0, 0x3F800004, 97, dtype=np.int32).view(np.float32), signed)


@SIGNED
@pytest.mark.stress
def test_dynamic_map_encodes_every_number_to_the_nearest(signed: bool) -> None:
    chunk = 2**22
    for begin in range(0, 0x3F800004, chunk):
        x = np.arange(begin, min(begin + chunk, 0x3F800004), dtype=np.int32).view(np.float32)
        check_dynamic(x, signed)
        if signed:
            check_dynamic(-x, signed)


# ---------------------------------------------------------------- the dynamic map in 4 bits

MAPS_OF_4_BITS = {
    True: [0.0055, 0.0325, 0.0775, 0.2125, 0.4375, 0.6625, 0.8875],
    False: [
        0.00055,
        0.00325,
        0.00775,
        0.02125,
        0.04375,
        0.06625,
        0.08875,
        *(0.1 + 0.9 * j / 16 for j in range(1, 16, 2)),
    ],
}
"""What stands for positive numbers below 1."""


@SIGNED
def test_4_bits_decode_to_their_map(signed: bool) -> None:
    positive = [*MAPS_OF_4_BITS[signed], 1.0]
    expected = [*(-x for x in reversed(positive[:-1])), 0.0, *positive] if signed else positive
    code = np.arange(16, dtype=np.int32)
    got = dynamic4.decode(BUILDER, code, signed)
    assert got.dtype == np.float32 and np.allclose(got, expected, rtol=1e-7, atol=0)
    assert np.array_equal(dynamic4.encode(BUILDER, got, signed), code)
    assert (signed and got[7] == 0) or got[0] > 0, "no second moment becomes 0"


@SIGNED
def test_4_bits_encode_to_the_nearest(signed: bool) -> None:
    """Around every middle, bit by bit, and in between; NaN has the code 0."""
    values = dynamic4.decode(BUILDER, np.arange(16, dtype=np.int32), signed).astype(np.float64)
    middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    around = (middles.view(np.int32)[:, None] + np.arange(-50, 51)).astype(np.int32).view(np.float32).ravel()
    x = np.concatenate([around, np.linspace(-1 if signed else 0, 1, 100_001, dtype=np.float32)])
    got = dynamic4.encode(BUILDER, x, signed)
    distance = np.abs(values[got] - x)
    nearest = np.abs(values - x[:, None].astype(np.float64)).min(axis=1)
    assert np.all(distance - nearest <= np.spacing(np.abs(x)))
    assert np.all(np.diff(got[np.argsort(x)]) >= 0)
    ends = np.array([2.0, np.inf, -0.0, np.nan, -1.0, -np.inf], np.float32)
    zero = 7 if signed else 0
    assert dynamic4.encode(BUILDER, ends, signed).tolist() == [15, 15, zero, 0, 0, 0]


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (7,), (3, 5), (3, 4), (0, 5), (4, 0)])
def test_two_codes_are_in_a_byte(shape: tuple[int, ...]) -> None:
    codes = np.random.default_rng(1).integers(0, 16, shape).astype(np.uint8)
    packed = packing.pack(codes)
    assert packed.shape == (*shape[:-1], (shape[-1] + 1) // 2) and packed.dtype == np.uint8
    assert np.array_equal(packing.unpack(packed, shape[-1]), codes)
    if packed.size:
        assert np.array_equal(packed[..., 0] & 15, codes[..., 0])
    if shape[-1] % 2:
        assert not (packed[..., -1] >> 4).any()


# ---------------------------------------------------------------- the linear code


def linear_table(signed: bool) -> Array:
    """The magnitudes of all codes without a sign: octaves of 16, the first of which begins at 0."""
    return np.array([float((f << e) - 16) for e in range(8 if signed else 16) for f in range(16, 32)])


@SIGNED
def test_linear_code(signed: bool) -> None:
    table = linear_table(signed)
    code = np.arange(table.size, dtype=np.int32)
    got = linear8.decode(BUILDER, code, signed)
    assert np.array_equal(got, table) and got[-1] == linear8.largest(signed)
    assert np.array_equal(linear8.encode(BUILDER, got, signed), code)
    largest = np.array([linear8.largest(signed)], np.float32).view(np.int32)[0]
    x = np.arange(0, largest + 3, 101, dtype=np.int32).view(np.float32)
    found = linear8.encode(BUILDER, x, signed)
    nearest = np.minimum(np.searchsorted((table[1:] + table[:-1]) / 2, x.astype(np.float64)), table.size - 1)
    if not signed:
        nearest = np.maximum(nearest, x > 0)
    off = found != nearest
    assert off.mean() < 1e-6 and np.all(np.abs(found - nearest) <= 1)
    assert np.all(np.diff(found) >= 0)
    if signed:
        assert np.array_equal(linear8.decode(BUILDER, code + 128, signed), -got)
        negative = linear8.encode(BUILDER, -x, signed)
        assert np.array_equal(negative, found + 128 * (x > 0))
        assert linear8.encode(BUILDER, np.array([-0.0, np.nan, -np.nan], np.float32), signed).tolist() == [0, 0, 0]


# ---------------------------------------------------------------- blocks


def coded(storage: str, rows: Array, scale: Array, signed: bool) -> tuple[Array, Array]:
    """The codes of blocks, one a row, and the numbers they stand for."""
    buffer = Buffer("m", True, storage=storage, nonnegative=not signed)
    with np.errstate(all="ignore"):
        codes = codec.encoder(buffer)(BUILDER, rows, codec.encode_scale(buffer)(BUILDER, scale))
        return codes, codec.decoder(buffer)(BUILDER, codes, codec.decode_scale(buffer)(BUILDER, scale))


@SIGNED
@pytest.mark.parametrize("storage", IN_BLOCKS)
def test_a_block_of_any_numbers(storage: str, signed: bool) -> None:
    """A scale, codes, values: the largest number stays, what is not finite makes all NaN, nothing else does; but for
    the dynamic maps, numbers of which the reciprocal is subnormal are not finite."""
    rows = numbers(40_000).reshape(-1, 8)
    rows = np.concatenate([rows, np.zeros((1, 8), np.float32), np.full((1, 8), 1e-40, np.float32)])
    rows = BUILDER.from_bits((rows if signed else np.abs(rows)).view(np.int32))
    scale = blocks.magnitude(BUILDER, rows).max(axis=1, keepdims=True).view(np.float32)
    codes_of, back = coded(storage, rows, scale, signed)
    finite = (np.isfinite(scale) if storage == "int8_linear" else scale <= 2.0**126).ravel()
    assert np.isnan(back[~finite]).all() and np.isfinite(back[finite]).all()
    assert codes_of.min() >= 0 and codes_of.max() < 2 ** STORAGES[storage].bits
    usual = finite & (scale > 2.0**-100).ravel()
    largest = np.abs(rows).argmax(axis=1)[usual]
    kept = np.take_along_axis(back[usual], largest[:, None], 1) / np.take_along_axis(rows[usual], largest[:, None], 1)
    kept_whole = 1 + 2.0**-22 if storage == "int8_linear" else 1
    lowest = 0.8875 if storage == "int4_dynamic" else 0.99296875  # these maps have no -1
    assert np.all((np.abs(kept - 1) <= kept_whole - 1) | (np.abs(kept - lowest) < 1e-6))
    assert not back[(scale == 0).ravel()].any()


@pytest.mark.parametrize("storage", IN_BLOCKS)
def test_codes_with_a_sign_have_one_zero(storage: str) -> None:
    """So a state that may be -0 loses nothing by an unsigned code."""
    known = STORAGES[storage].codec
    assert known is not None
    plus, minus = (known.decode(BUILDER, known.encode(BUILDER, np.array([x], np.float32))) for x in (0.0, -0.0))
    assert plus.view(np.uint32) == minus.view(np.uint32) == 0


@pytest.mark.parametrize(("storage", "known"), [x[1:] for x in CODECS], ids=[x[0] for x in CODECS])
def test_what_every_codec_holds(storage: Storage, known: Codec) -> None:
    """Codes are in range, and what they stand for is kept; in blocks the largest code stands for the largest number,
    and without them NaN and infinities are themselves."""
    random = (np.int32(0),) if storage.needs_draws else ()
    x = numbers(10_000)
    if storage.block:
        x = np.append(np.linspace(0 if known is storage.unsigned else -1, 1, 1001, dtype=np.float32), np.float32("nan"))
        x *= np.float32(known.largest)
    with np.errstate(all="ignore"):
        codes = known.encode(BUILDER, x, *random)
        values = known.decode(BUILDER, codes)
        again = known.decode(BUILDER, known.encode(BUILDER, values, *random))
    assert codes.min() >= 0 and codes.max() < 2**storage.bits and codes.dtype == values.view(np.int32).dtype
    assert np.array_equal(values, again, equal_nan=True)
    if storage.block:
        assert np.nanmax(values) == known.largest and (known is not storage.unsigned or values[x > 0].min() > 0)
    else:
        assert np.array_equal(np.isnan(values), np.isnan(x)) and np.array_equal(values[np.isinf(x)], x[np.isinf(x)])


def test_the_recorded_operations_are_the_same() -> None:
    """What `Emitter` records, run by the interpreter, is what `NumpyBuilder` computes."""
    x, unit = numbers(5000), np.random.default_rng(2).uniform(-1, 1, 5000).astype(np.float32)
    code, small = np.arange(256, dtype=np.int32), np.arange(16, dtype=np.int32)
    random = np.arange(x.size, dtype=np.int32) % 65536
    cases: list[tuple[Any, tuple[Array, ...]]] = [
        (float16.nearest, (x,)),
        (blocks.magnitude, (x,)),
        (blocks.reciprocal, (x,)),
    ]
    for _, storage, known in CODECS:
        elements = (np.abs(unit) if known is storage.unsigned else unit) if storage.block else x
        cases.append((known.decode, (small if storage.is_packed else code,)))
        cases.append((known.encode, (elements, random) if storage.needs_draws else (elements,)))
    for function, args in cases:
        with np.errstate(all="ignore"):
            want = function(BUILDER, *args)
        got = call(function, *args)
        assert got.dtype == want.dtype
        assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f"), function


def test_reciprocal() -> None:
    scale = np.array([0, 2.0**-126, 4, math.inf, math.nan, 2.0**126, 2.0**127], np.float32)
    with np.errstate(all="ignore"):
        got = blocks.reciprocal(BUILDER, scale)
    assert got.tolist() == [0, 2.0**126, 0.25, 0, 0, 2.0**-126, 0]


# ---------------------------------------------------------------- how much is lost


def stored(storage: str, x: Array, signed: bool) -> Array:
    """x after a store and a load, in blocks."""
    block = x.astype(np.float32).reshape(-1, STORAGES[storage].block)
    scale = np.abs(block).max(axis=1, keepdims=True)
    return coded(storage, block, scale, signed)[1].reshape(x.shape).astype(np.float64)


def losses(storage: str, spread: float) -> list[float]:
    """What storing the moments of Adam loses where the logarithms of gradients' sizes differ by `spread`.

    Relative to the root mean square: of the first moment, normal times the size; of the root of the second, squared
    normal times squared size (one step) and mean of a thousand such; of the step, with either moment stored.
    """
    rng = np.random.default_rng(4)
    n = 2**18
    size = np.exp(rng.normal(0, spread, n))
    m = rng.normal(0, np.sqrt(0.1 / 1.9), n) * size
    once, mean = (size * rng.normal(size=n)) ** 2, size**2 * rng.gamma(500, 1 / 500, n)

    def loss(got: Array, want: Array) -> float:
        return float(np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2)))

    new = stored(storage, mean, False)
    roots = [loss(np.sqrt(stored(storage, v, False)), np.sqrt(v)) for v in (once, mean)]
    step = m / np.sqrt(mean)
    stored_m = stored(storage, m, True)
    return [loss(stored_m, m), *roots, loss(stored_m / np.sqrt(mean), step), loss(m / np.sqrt(new), step)]


def test_moments_keep_their_size() -> None:
    for storage in ("int8_dynamic", "int8_linear"):
        assert max(losses(storage, 1.0)) < 0.03
    assert max(losses("int4_dynamic", 0.5)) < 0.22 and losses("int4_dynamic", 1.0)[2] < 0.1


# ---------------------------------------------------------------- the tables of docs/math.md


def operations(code: Any, *args: Any) -> int:
    """How many operations a code takes, constants and reinterpretations of bits not counted."""
    counted = 0

    class Counter(NumpyBuilder):
        def __getattribute__(self, operation: str) -> Any:
            nonlocal counted
            counted += operation not in ("const32", "iconst32", "bits", "from_bits")
            return super().__getattribute__(operation)

    code(Counter(), *args)
    return counted


def cost_rows() -> list[str]:
    """Operations of decoding and encoding one element, without the product with the scale of its block."""
    half, code = np.array([0.5], np.float32), np.array([5], np.int32)
    nearest, stochastic = operations(bfloat16.encode_nearest, half), operations(bfloat16.encode_stochastic, half, code)
    rows = [f"| bfloat16 | {operations(bfloat16.decode, code)} | {nearest}, nearest even; {stochastic}, stochastic |"]
    decode, encode = operations(float16.decode, code), operations(float16.encode_stochastic, half, code)
    rows.append(f"| float16 | {decode} | {encode}, stochastic |")
    of_blocks = [(name, known) for name, storage, known in CODECS if storage.block]
    rows += [f"| {name} | {operations(x.decode, code)} | {operations(x.encode, half)} |" for name, x in of_blocks]
    return rows


def loss_rows() -> list[str]:
    """What moments lose, in percent."""
    return [
        f"| {storage} | {spread} | {' | '.join(f'{100 * x:.2f}' for x in losses(storage, spread))} |"
        for spread in (0.0, 0.5, 1.0, 2.0)
        for storage in IN_BLOCKS
    ]


def test_the_document_has_these_tables() -> None:
    document = (Path(__file__).resolve().parents[2] / "docs" / "math.md").read_text("utf-8").splitlines()
    assert not [row for row in cost_rows() + loss_rows() if row not in document]


if __name__ == "__main__":
    print("\n".join([*cost_rows(), "", *loss_rows()]))
