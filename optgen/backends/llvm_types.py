"""LLVM's types of the kernel IR's values, scalars and vectors, and constants of them."""

from __future__ import annotations

from llvmlite import ir as ll

from optgen import ir
from optgen.ir.storage import Storage

TYPES: dict[ir.DType, ll.Type] = {
    "f64": ll.DoubleType(),
    "f32": ll.FloatType(),
    "i64": ll.IntType(64),
    "i32": ll.IntType(32),
    "b1": ll.IntType(1),
}
I1, I8, I16, I32, I64 = (ll.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ll.FloatType(), ll.DoubleType()
PTR = ll.PointerType()
FLOATS: dict[int, ll.Type] = {64: F64, 32: F32, 16: ll.HalfType()}
CODES: dict[int, ll.Type] = {16: I16, 8: I8, 4: I8}


def raw_type(storage: Storage) -> ll.Type:
    """The LLVM type of a stored element: a float, an integer code, or a byte with two codes."""
    return (FLOATS if storage.codec is None else CODES)[storage.bits]


def vector(type: ll.Type, width: int) -> ll.Type:
    """A vector of `width` elements, or the scalar itself for 1."""
    return type if width == 1 else ll.VectorType(type, width)


def constant(type: ll.Type, x: float, width: int) -> ll.Constant:
    """A vector of which every element is the constant x."""
    return ll.Constant(type, x) if width == 1 else ll.Constant(vector(type, width), [x] * width)
