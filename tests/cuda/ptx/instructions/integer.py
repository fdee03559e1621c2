"""Integers: arithmetic modulo their width, bits, shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.types import TYPES, UNSIGNED, literal

if TYPE_CHECKING:
    from tests.cuda.ptx.frame import Group

Array = np.ndarray
BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul.lo": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


def function(i: Instruction, f: Callable[..., Array], to: str, *types: str) -> Step:
    """A step that applies f to the sources, of these types."""
    i.expect(1 + len(types))
    gets = [i.source(k, type) for k, type in enumerate(types, 1)]
    d = i.dest(to)
    if len(gets) == 2:
        a, b = gets

        def binary(registers: Registers, group: Group) -> None:
            registers[d] = f(a(registers), b(registers))

        return binary

    def step(registers: Registers, group: Group) -> None:
        registers[d] = f(*(get(registers) for get in gets))

    return step


def arithmetic(i: Instruction, op: str, type: str) -> Step:
    # Wrapping is the same for signed and unsigned, and NumPy's unsigned loops never warn.
    wraps = op in ("add", "sub", "mul.lo")
    return function(i, BINARY[op], type, *[type.replace("s", "u") if wraps else type] * 2)


def negate(i: Instruction, op: str, type: str) -> Step:
    f = {"neg": np.negative, "abs": np.abs, "not": np.invert}[op]
    return function(i, f, type, type)


def divide(i: Instruction, op: str, type: str) -> Step:
    """Towards zero. What PTX leaves undefined, a zero divisor, is an error."""
    dtype = TYPES[type]
    unsigned = UNSIGNED[dtype.itemsize]

    def f(a: Array, b: Array) -> Array:
        if not b.all():
            raise i.fail("the divisor is zero")
        # Magnitudes are unsigned, so that the least integer has one.
        x, y = (np.abs(v).view(unsigned) for v in np.broadcast_arrays(a, b))
        q = x // y if op == "div" else x % y
        negative = (a < 0) ^ (b < 0) if op == "div" else a < 0
        return np.where(negative, -q, q)

    return function(i, f, type, type, type)


def high(a: Array, b: Array) -> Array:
    """The upper 64 bits of the product of two uint64."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (other >> HALF)


def upper(type: str) -> Callable[[Array, Array], Array]:
    """The upper half of products of a type."""
    bits = int(type[1:])
    if bits < 64:
        wide = TYPES[f"{type[0]}{2 * bits}"]
        return lambda a, b: ((a.astype(wide) * b) >> wide.type(bits)).astype(TYPES[type])
    if type == "u64":
        return high

    def signed(a: Array, b: Array) -> Array:
        x, y = a.view(np.uint64), b.view(np.uint64)
        return high(x, y) - np.where(a < 0, y, 0) - np.where(b < 0, x, 0)

    return signed


def wide(type: str) -> Callable[[Array, Array], Array]:
    to = TYPES[f"{type[0]}{2 * int(type[1:])}"]
    return lambda a, b: a.astype(to) * b


def double(type: str) -> str:
    return f"{type[0]}{2 * int(type[1:])}"


def mul_wide(i: Instruction, type: str) -> Step:
    return function(i, wide(type), double(type), type, type)


def mul_high(i: Instruction, type: str) -> Step:
    return function(i, upper(type), type, type, type)


def mad(i: Instruction, how: str, type: str) -> Step:
    product = np.multiply if how == "lo" else upper(type) if how == "hi" else wide(type)
    to = double(type) if how == "wide" else type
    unsigned = UNSIGNED[TYPES[to].itemsize]
    return function(i, lambda a, b, c: product(a, b).view(unsigned) + c.view(unsigned), to, type, type, to)


def shift(i: Instruction, op: str, type: str) -> Step:
    """By 32 bits unsigned; beyond the width, zeros or signs are left. Mostly the amount is a literal."""
    dtype = TYPES[type]
    bits = 8 * dtype.itemsize
    if op == "shl":
        ufunc, dtype = np.left_shift, UNSIGNED[dtype.itemsize]
        type = f"u{bits}"
    else:
        ufunc = np.right_shift
    signed = type.startswith("s")

    def f(a: Array, by: Array) -> Array:
        far = by >= bits
        if not far.any():
            return ufunc(a, by.astype(dtype))
        near = ufunc(a, np.minimum(by, bits - 1).astype(dtype))
        return near if signed else np.where(far, dtype.type(0), near)

    by = literal(i.operands[2], UNSIGNED[4]) if len(i.operands) == 3 else None
    if by is None or by[0] >= bits:
        return function(i, f, type, type, "u32")
    amount = by.astype(dtype)
    i.operands = i.operands[:2]
    return function(i, lambda a: ufunc(a, amount), type, type)


def funnel(i: Instruction, side: str, mode: str) -> Step:
    """Bits of the pair (high b, low a), shifted: the upper half of it to the left, the lower half to the right."""

    def f(a: Array, b: Array, by: Array) -> Array:
        n = (by & 31 if mode == "wrap" else np.minimum(by, 32)).astype(np.uint64)
        both = (b.astype(np.uint64) << HALF) | a
        # By 32 at most, so that the upper half keeps what it needs.
        return ((both << n) >> HALF if side == "l" else both >> n).astype(np.uint32)

    return function(i, f, "b32", "b32", "b32", "u32")


def permute(i: Instruction) -> Step:
    """Bytes of the pair (b, a) chosen by four nibbles; with the eighth bit of a nibble, the byte's sign eight times."""

    def f(a: Array, b: Array, selector: Array) -> Array:
        both = (b.astype(np.uint64) << HALF) | a
        result: Array = np.zeros(1, np.uint32)
        for k in range(4):
            nibble = (selector >> np.uint32(4 * k)) & 15
            byte = ((both >> ((nibble & 7).astype(np.uint64) * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
            byte = np.where(nibble & 8, np.where(byte & 128, np.uint32(255), np.uint32(0)), byte)
            result = result | (byte << np.uint32(8 * k))
        return result

    selector = literal(i.operands[3], UNSIGNED[4]) if len(i.operands) == 4 else None
    if selector is not None and not int(selector[0]) & 0x8888:
        chosen = [int(selector[0]) >> 4 * k & 7 for k in range(4)]
        return function(i, lambda a, b, _: _bytes(a, b, chosen), "b32", "b32", "b32", "b32")
    return function(i, f, "b32", "b32", "b32", "b32")


def _bytes(a: Array, b: Array, chosen: list[int]) -> Array:
    """Four bytes of the pair (b, a) as one number, the lowest first."""
    pair = np.stack(np.broadcast_arrays(a, b), axis=1).view(np.uint8)
    return pair.take(chosen, axis=1).view(np.uint32)[:, 0]


def extract(i: Instruction, type: str) -> Step:
    """`length` bits from `start` on, each of 8 bits; signed ones with the highest bit that exists."""
    dtype = TYPES[type]
    bits = 8 * dtype.itemsize
    unsigned = UNSIGNED[dtype.itemsize]

    def f(a: Array, start: Array, length: Array) -> Array:
        start, length = start & 255, length & 255
        x = np.where(start < bits, a.view(unsigned) >> np.minimum(start, bits - 1).astype(unsigned), unsigned.type(0))
        kept = _ones(length, unsigned)
        if type.startswith("u"):
            return x & kept
        top = np.minimum(start + np.maximum(length, 1) - 1, bits - 1).astype(unsigned)
        negative = ((a.view(unsigned) >> top) & unsigned.type(1) != 0) & (length != 0)
        # Bits beyond the source are signs too.
        exist = _ones(np.minimum(length.astype(np.int64), np.maximum(bits - start.astype(np.int64), 0)), unsigned)
        return np.where(negative, (x & exist) | ~exist, x & exist)

    return function(i, f, type, type, "u32", "u32")


def insert(i: Instruction, type: str) -> Step:
    """The low `length` bits of a, put into b from `start` on."""
    unsigned = TYPES[type]
    bits = 8 * unsigned.itemsize

    def f(a: Array, b: Array, start: Array, length: Array) -> Array:
        start, length = start & 255, length & 255
        by = np.minimum(start, bits - 1).astype(unsigned)
        mask = np.where(start < bits, _ones(length, unsigned) << by, unsigned.type(0))
        return (b & ~mask) | ((a << by) & mask)

    return function(i, f, type, type, type, "u32", "u32")


def _ones(count: Array, dtype: np.dtype) -> Array:
    """Integers whose low `count` bits are set."""
    bits = 8 * dtype.itemsize
    below = np.left_shift(dtype.type(1), np.minimum(count, bits - 1).astype(dtype)) - dtype.type(1)
    return np.where(count >= bits, dtype.type(2**bits - 1), below)


def count_bits(i: Instruction, op: str, type: str) -> Step:
    bits = int(type[1:])

    def popc(a: Array) -> Array:
        return np.bitwise_count(a).astype(np.uint32)

    def clz(a: Array) -> Array:
        for by in (1, 2, 4, 8, 16, 32):
            if by < bits:
                a = a | (a >> a.dtype.type(by))
        return np.uint32(bits) - popc(a)

    return function(i, popc if op == "popc" else clz, "u32", type)


def reverse(i: Instruction, type: str) -> Step:
    dtype = TYPES[type]

    def f(a: Array) -> Array:
        octets = np.unpackbits(a[:, None].view(np.uint8), axis=1, bitorder="little")
        return np.packbits(octets[:, ::-1], axis=1, bitorder="little").view(dtype)[:, 0].copy()

    return function(i, f, type, type)


RULES = [
    (r"(add|sub|mul\.lo|min|max)\.([su](?:16|32|64))", arithmetic),
    (r"(and|or|xor)\.(b16|b32|b64|pred)", arithmetic),
    (r"(neg|abs)\.(s16|s32|s64)", negate),
    (r"(not)\.(b16|b32|b64|pred)", negate),
    (r"(div|rem)\.([su](?:16|32|64))", divide),
    (r"mul\.wide\.([su](?:16|32))", mul_wide),
    (r"mul\.hi\.([su](?:16|32|64))", mul_high),
    (r"mad\.(lo|hi)\.([su](?:16|32|64))", mad),
    (r"mad\.(wide)\.([su](?:16|32))", mad),
    (r"(shl)\.(b16|b32|b64)", shift),
    (r"(shr)\.([sub](?:16|32|64))", shift),
    (r"shf\.(l|r)\.(wrap|clamp)\.b32", funnel),
    (r"prmt\.b32", permute),
    (r"bfe\.([su](?:32|64))", extract),
    (r"bfi\.(b32|b64)", insert),
    (r"(popc|clz)\.(b32|b64)", count_bits),
    (r"brev\.(b32|b64)", reverse),
]
