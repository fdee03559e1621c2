"""LLVM's types: what they are as NumPy's, their bytes, and where they may lie.

Alignments are the natural ones, as of x86-64 and 64-bit Arm, whose pointers have eight bytes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import ml_dtypes
import numpy as np

FLOATS = {
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(ml_dtypes.bfloat16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
INTEGERS = {1: np.dtype(np.bool_), **{8 * n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}}


@dataclass(frozen=True)
class Type:
    """A type of which nothing is known but its name: `void`, `label`, `metadata`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Int(Type):
    bits: int


@dataclass(frozen=True)
class Float(Type):
    @property
    def dtype(self) -> np.dtype:
        return FLOATS[self.name]


@dataclass(frozen=True)
class Vector(Type):
    count: int
    element: Type

    @property
    def dtype(self) -> np.dtype:
        """That of the lanes: unsigned integers, bools or floats; KeyError where NumPy has none."""
        return self.element.dtype if isinstance(self.element, Float) else INTEGERS[self.element.bits]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Array(Type):
    count: int
    element: Type


@dataclass(frozen=True)
class Struct(Type):
    fields: tuple[Type, ...]


VOID, POINTER = Type("void"), Type("ptr")
OTHERS = {name: Type(name) for name in ("void", "label", "metadata", "ptr")}


@functools.cache
def integer(bits: int) -> Int:
    return Int(f"i{bits}", bits)


def vector(count: int, element: Type) -> Vector:
    return Vector(f"<{count} x {element}>", count, element)


@functools.cache
def size(type: Type) -> int:
    """The bytes that a load or a store of the type moves."""
    match type:
        case Int(bits=bits):
            return -(-bits // 8)
        case Float():
            return int(type.dtype.itemsize)
        case Vector(count=count, element=element):
            return count * size(element)
        case Array(count=count, element=element):
            return count * stride(element)
        case Struct(fields=fields):
            return -(-(offsets(type)[-1] + size(fields[-1])) // alignment(type)) * alignment(type) if fields else 0
    if type == POINTER:
        return 8
    raise ValueError(f"{type} has no size")


@functools.cache
def alignment(type: Type) -> int:
    """The multiple of which the address of such a value is, where the text gives none."""
    match type:
        case Array(element=element):
            return alignment(element)
        case Struct(fields=fields):
            return max(map(alignment, fields), default=1)
        case Int():
            return min(_power(size(type)), 16)
    return _power(size(type))


def _power(nbytes: int) -> int:
    return 1 << (nbytes - 1).bit_length() if nbytes else 1


def stride(type: Type) -> int:
    """The bytes from one element of an array to the next."""
    return -(-size(type) // alignment(type)) * alignment(type)


@functools.cache
def offsets(type: Struct) -> tuple[int, ...]:
    """Where the fields of a structure begin."""
    found, end = [], 0
    for field in type.fields:
        found.append(-(-end // alignment(field)) * alignment(field))
        end = found[-1] + size(field)
    return tuple(found)
