"""Values: what registers hold, and their bytes.

An integer is a Python int from 0 on, a float a NumPy scalar of its width, a pointer a `Pointer`, a vector an array of
unsigned integers, bools or floats, a structure a list. What is undefined in whole or in part is a `Poison`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.llvm.parse import Cursor
from tests.llvm.types import POINTER, Array, Float, Int, Struct, Type, Vector, integer, offsets, size, stride

Value = Any


class Poison:
    """An undefined value: `mask` is True, or says which lanes of a vector are undefined, and `why` what made it so.

    `value` is of the type, and means nothing where it is undefined.
    """

    __slots__ = ("mask", "value", "why")

    def __init__(self, value: Value, mask: Any, why: str) -> None:
        self.value, self.mask, self.why = value, mask, why


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address, the allocation that it may reach (None: none), and the `noalias` parameters that it comes from."""

    address: int
    allocation: Any = None
    bases: tuple[Any, ...] = ()


NULL = Pointer(0)


def whole(value: Value, mask: Any, why: str) -> Value:
    """The value, a Poison where the mask says so anywhere."""
    if mask is True or (mask is not False and mask.any()):
        return Poison(value, mask, why)
    return value


def parts(value: Value) -> tuple[Value, Any, str]:
    """A value, where it is undefined, and why."""
    return (value.value, value.mask, value.why) if value.__class__ is Poison else (value, False, "")


def zero(type: Type) -> Value:
    match type:
        case Int():
            return 0
        case Float():
            return type.dtype.type(0)
        case Vector(count=count):
            return np.zeros(count, type.dtype)
        case Array(count=count, element=element):
            return [zero(element)] * count
        case Struct(fields=fields):
            return [zero(field) for field in fields]
    return NULL


def undefined(type: Type, why: str) -> Poison:
    return Poison(zero(type), np.ones(type.count, bool) if isinstance(type, Vector) else True, why)


def encode(type: Type, value: Value) -> bytes:
    """The bytes of a number or of a vector of numbers."""
    if isinstance(type, Int):
        return int(value).to_bytes(size(type), "little")
    if isinstance(type, Vector) and type.element == integer(1):
        return np.packbits(value, bitorder="little").tobytes()
    found: bytes = value.tobytes()
    return found


def decode(type: Type, data: bytes) -> Value:
    """A number or a vector of numbers of its bytes."""
    if isinstance(type, Int):
        return int.from_bytes(data, "little")
    if isinstance(type, Vector) and type.element == integer(1):
        return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[: type.count].astype(bool)
    found = np.frombuffer(data, type.dtype)  # type: ignore[attr-defined]
    return found[0] if isinstance(type, Float) else found


def signed(x: Value, bits: int) -> Value:
    """An integer, or a vector of them, as numbers with a sign."""
    if isinstance(x, np.ndarray):
        return x.view(f"i{x.itemsize}") if bits > 1 else -x.astype(np.int8)
    return x - (1 << bits) if x >> (bits - 1) else x


# ---------------------------------------------------------------- constants


def constant(c: Cursor, type: Type, symbols: dict[str, Pointer]) -> Value:
    """The constant that comes next; `symbols` are the addresses of functions and globals."""
    token = c.next()
    if token == "zeroinitializer":
        return zero(type)
    if token in ("undef", "poison"):
        return undefined(type, f"line {c.line}: the constant {token}")
    match type:
        case Int(bits=bits):
            if token in ("true", "false"):
                return int(token == "true")
            if re.fullmatch(r"-?\d+", token) and -(1 << bits - 1) <= int(token) < 1 << bits:
                return int(token) % (1 << bits)
        case Float():
            if (number := _float(type, token)) is not None:
                return number
        case Vector(count=count, element=element) if token == "<":
            found = _elements(c, element, count, ">", symbols)
            mask = np.array([x.__class__ is Poison for x in found])
            lanes = np.array([parts(x)[0] for x in found], type.dtype)
            return whole(lanes, mask, f"line {c.line}: an undefined lane of a constant")
        case Array(count=count, element=element) if token == "[":
            return _elements(c, element, count, "]", symbols)
        case Array(count=count) if token.startswith('c"'):
            text = re.sub(r"\\([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), token[2:-1]).encode("latin-1")
            if len(text) == count:
                return list(text)
        case Struct(fields=fields) if token == "{":
            found = []
            for k, field in enumerate(fields):
                if k:
                    c.expect(",")
                found.append(_typed(c, field, symbols))
            c.expect("}")
            return found
    if type == POINTER and token == "null":
        return NULL
    if type == POINTER and token[0] == "@" and token[1:].strip('"') in symbols:
        return symbols[token[1:].strip('"')]
    raise c.fail(f"{token!r} is no constant of {type} that is known")


def _typed(c: Cursor, type: Type, symbols: dict[str, Pointer]) -> Value:
    if c.type() != type:
        raise c.fail(f"a constant where one of {type} is expected")
    return constant(c, type, symbols)


def _elements(c: Cursor, element: Type, count: int, end: str, symbols: dict[str, Pointer]) -> list[Value]:
    found: list[Value] = list(c.separated(end, lambda: _typed(c, element, symbols)))
    if len(found) != count:
        raise c.fail(f"{len(found)} elements where {count} are expected")
    return found


def _float(type: Float, token: str) -> Value | None:
    """Of decimals, of the bits of a double, or of the bits of 16-bit types behind 0xH and 0xR."""
    if match := re.fullmatch(r"0x([0-9a-fA-F]{1,16})", token):
        double = np.array([int(match[1], 16)], np.uint64).view(np.float64)[0]
        with np.errstate(all="ignore"):
            return double.astype(type.dtype)
    if match := re.fullmatch(r"0x([HR])([0-9a-fA-F]{4})", token):
        known = {"H": "half", "R": "bfloat"}[match[1]] == type.name
        return np.array([int(match[2], 16)], np.uint16).view(type.dtype)[0] if known else None
    return type.dtype.type(float(token)) if re.fullmatch(r"-?\d+\.\d*(?:[eE][+-]?\d+)?", token) else None


def leaves(type: Type, value: Value, at: int = 0) -> list[tuple[int, Type, Value]]:
    """The parts of a value that are no arrays and no structures, with the byte at which each lies."""
    if isinstance(type, Array):
        return [x for k, v in enumerate(value) for x in leaves(type.element, v, at + k * stride(type.element))]
    if isinstance(type, Struct):
        places = zip(type.fields, value, offsets(type), strict=True)
        return [x for field, v, offset in places for x in leaves(field, v, at + offset)]
    return [(at, type, value)]
