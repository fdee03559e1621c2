"""Codes of 4 bits as bytes hold them, two in each: the first one in the lower half (`ir/storage/packing.py`)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import at, integer, load
from optgen.backends.llvm_types import I8, I32, I64, constant, vector

BITS = 4
_MASK = (1 << BITS) - 1
_APART = 32 - BITS
"""How far the second code of a byte is from its place, where the byte is the lowest one of two int32."""


def unpacked(b: ll.IRBuilder, packed: Any, width: int) -> Any:
    """The int32 codes of width/2 bytes."""
    pairs = b.zext(packed, vector(I64, width // 2))
    spread = b.or_(pairs, b.shl(pairs, constant(I64, _APART, width // 2)))
    return b.and_(b.bitcast(spread, vector(I32, width)), constant(I32, _MASK, width))


def packed(b: ll.IRBuilder, codes: Any, width: int) -> Any:
    """The width/2 bytes of int32 codes."""
    pairs = b.bitcast(codes, vector(I64, width // 2))
    return b.trunc(b.or_(pairs, b.lshr(pairs, constant(I64, _APART, width // 2))), vector(I8, width // 2))


def load_one(b: ll.IRBuilder, start: Any, i: Any) -> Any:
    """The int32 code of element i of an array."""
    byte = b.zext(load(b, start, b.lshr(i, integer(1)), I8), I32)
    return b.and_(b.lshr(byte, _shift(b, i)), I32(_MASK))


def store_next(b: ll.IRBuilder, code: Any, start: Any, i: Any) -> None:
    """Store the int32 code of element i behind those before it; the upper half of its byte is zero if i is even."""
    place = at(b, start, b.lshr(i, integer(1)), I8)
    before = b.select(_is_second(b, i), b.zext(b.load(place, typ=I8), I32), I32(0))
    b.store(b.trunc(b.or_(before, b.shl(code, _shift(b, i))), I8), place)


def _shift(b: ll.IRBuilder, i: Any) -> Any:
    return b.select(_is_second(b, i), I32(BITS), I32(0))


def _is_second(b: ll.IRBuilder, i: Any) -> Any:
    return b.icmp_signed("!=", b.and_(i, integer(1)), integer(0))
