"""The arrays in which a CPU keeps row and column values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends.cpu import masked
from optgen.backends.layout import narrowed, widened
from optgen.backends.llvm import at, integer
from optgen.backends.llvm_types import F64, TYPES, vector
from optgen.ir import Value


@dataclass(frozen=True)
class LineArrays:
    """The arrays of one tensor's row values, or of its column values: room for `count` doubles for each of `slots`."""

    base: Any
    count: Any
    slots: dict[Value, int]

    def array(self, b: ll.IRBuilder, v: Value) -> Any:
        return at(b, self.base, b.mul(self.count, integer(self.slots[v])), F64)

    def load(self, b: ll.IRBuilder, k: Any, v: Value) -> Any:
        """The value of row, or column, k."""
        return load_line(b, self.array(b, v), k, v)

    def keep(self, b: ll.IRBuilder, k: Any, v: Value, x: Any) -> None:
        store_line(b, self.array(b, v), k, v, x)


def line_type(v: Value) -> ll.Type:
    """What a row or column value is kept as: float32 as it is, so that twice as many of them fit into the first
    cache; others `widened`."""
    return TYPES["f32"] if v.type.dtype == "f32" else F64


def load_line(b: ll.IRBuilder, array: Any, k: Any, v: Value, width: int = 1, mask: Any = None) -> Any:
    """The row or column values k, k+1, ... of an array; those of lanes that `mask` leaves out may be anything."""
    type = line_type(v)
    x = masked.load(b, at(b, array, k, type), vector(type, width), 4 if type is TYPES["f32"] else 8, mask)
    return x if type is TYPES["f32"] else narrowed(b, x, v, width)


def store_line(b: ll.IRBuilder, array: Any, k: Any, v: Value, x: Any) -> None:
    """Keep x as row or column value k."""
    type = line_type(v)
    b.store(x if type is TYPES["f32"] else widened(b, x, v), at(b, array, k, type))
