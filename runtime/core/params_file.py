"""MXNet's binary list of arrays, which its `nd.save` and `save_parameters` write: it is read here, and never written.
The encoding of a single array is also the state of a pickled NDArray, which is read and written.

The file is a header, the arrays, and their names (none for a list). Numbers are little-endian:

    uint64 0x112, uint64 0, uint64 count, count arrays, uint64 number of names, {uint64 length, bytes} each

An array begins with a magic number, which gives its version. V1 holds dense arrays, and so does V0, which has no magic
number and 32-bit sizes. V2 adds the kind of storage, and V3 arrays without axes, which have one element:

    V2, V3:  magic, int32 kind, [the shape of the data if sparse,] shape, place, type, [type, shape of each index,]
             data, [indices]
    V1:      magic, shape, place, type, data
    V0:      uint32 number of axes, uint32 sizes, place, type, data

A shape is an int32 number of axes and int64 sizes. A place (two int32, the device) is skipped. A type is an int32. No
array is made before the file is known to have its bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from runtime.base import MXNetError
from runtime.core.dtypes import element_type

HEADER = struct.pack("<QQ", 0x112, 0)
"""The first bytes of such a file."""

_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DTYPES = {
    **dict(enumerate(("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"))),
    12: "bfloat16",
}
_KINDS = {0: ("default", 0), 1: ("row_sparse", 1), 2: ("csr", 2)}
"""The kinds of storage, and the number of index arrays of each."""
_MOST_AXES = 32


@dataclass
class Stored:
    """An array as a file has it. `data` and `indices` are read-only views of the file's content.

    Dense: `data` is the array. row_sparse: `data` has the rows, `indices` their numbers. csr: `data` has the values,
    `indices` the column numbers and the start of each row (indptr).
    """

    stype: str
    shape: tuple[int, ...]
    data: np.ndarray
    indices: tuple[np.ndarray, ...] = ()


def parse(content: bytes, name: str) -> tuple[list[Stored], list[str]]:
    """The arrays and their names (none for a list); MXNetError with `name`, the offset and what is wrong there."""
    reader = _Reader(content, name, "list of arrays")
    reader.take(len(HEADER), "header")
    arrays = [_array(reader) for _ in range(reader.count("arrays", 16))]
    names = [_name(reader) for _ in range(reader.count("names", 8))]
    if len(names) not in (0, len(arrays)):
        reader.fail(f"{len(arrays)} arrays, but {len(names)} names")
    if len(set(names)) < len(names):
        reader.fail("the same name twice")
    if reader.left:
        reader.fail(f"{reader.left} bytes after the end")
    return arrays, names


def parse_one(content: bytes, name: str) -> Stored:
    """The array that the content consists of; MXNetError as from `parse`."""
    reader = _Reader(content, name, "array")
    stored = _array(reader)
    if reader.left:
        reader.fail(f"{reader.left} bytes after the end")
    return stored


def to_bytes(arrays: Sequence[Stored], names: Collection[str] = ()) -> bytes:
    """A file of arrays, which have all names, or none."""
    parts = [HEADER, struct.pack("<Q", len(arrays)), *map(encoded, arrays), struct.pack("<Q", len(names))]
    for name in map(str.encode, names):
        parts += [struct.pack("<Q", len(name)), name]
    return b"".join(parts)


def encoded(stored: Stored) -> bytes:
    """The array in version V2 (V3 if it has no axes), with the place cpu(0)."""
    kind = next(number for number, (stype, _) in _KINDS.items() if stype == stored.stype)
    indices = stored.indices[::-1]  # csr: the starts of rows, then column numbers
    parts = [struct.pack("<Ii", _V2 if stored.shape else _V3, kind)]
    parts += [_shape(stored.data.shape)] if indices else []
    parts += [_shape(stored.shape), struct.pack("<ii", 1, 0), _type(stored.data)]
    parts += [_type(x) + _shape(x.shape) for x in indices]
    return b"".join(parts + [x.tobytes() for x in (stored.data, *indices)])


def _shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _type(x: np.ndarray) -> bytes:
    return struct.pack("<i", next(flag for flag, name in _DTYPES.items() if name == x.dtype.name))


class _Reader:
    """Reads the content in order. Errors give the offset of the part that was read last."""

    def __init__(self, content: bytes, name: str, what: str) -> None:
        self._content, self._name, self._what = memoryview(content), name, what
        self._at = self._before = 0

    @property
    def left(self) -> int:
        return len(self._content) - self._at

    def fail(self, message: str) -> NoReturn:
        raise MXNetError(f"{self._name} is not a readable {self._what}, at byte {self._before}: {message}")

    def take(self, size: int, what: str) -> memoryview:
        self._before = self._at
        if size > self.left:
            self.fail(f"{what} of {size} bytes, but {self.left} are left")
        self._at += size
        return self._content[self._before : self._at]

    def number(self, form: str, what: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form), what))[0]

    def count(self, what: str, size: int) -> int:
        """The number of items that follow, each of `size` bytes or more."""
        count = self.number("Q", f"number of {what}")
        if count * size > self.left:
            self.fail(f"{count} {what}, but {self.left} bytes are left")
        return count

    def dtype(self, what: str) -> np.dtype:
        flag = self.number("i", what)
        if flag not in _DTYPES:
            self.fail(f"{what} {flag} is unknown")
        return element_type(_DTYPES[flag])

    def shape(self, what: str, least: int = 1, axes: int | None = None, size: str = "q") -> tuple[int, ...]:
        """The sizes, each in format `size`; their number comes first, unless `axes` gives it."""
        axes = self.number("i", f"axes of the {what}") if axes is None else axes
        if not least <= axes <= _MOST_AXES:
            unknown = ", as of an array that MXNet never gave a value" if axes in (0, -1) else ""
            self.fail(f"a {what} of {axes} axes{unknown}")
        shape = tuple(self.number(size, what) for _ in range(axes))
        if min(shape, default=0) < 0 or math.prod(n or 1 for n in shape) >= 2**60:
            self.fail(f"a {what} of {shape}")
        return shape

    def values(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        content = self.take(math.prod(shape) * dtype.itemsize, f"{dtype} values of shape {shape}")
        if dtype.kind == "b" and (np.frombuffer(content, np.uint8) > 1).any():
            self.fail("a bool that is neither 0 nor 1")
        return np.frombuffer(content, dtype.newbyteorder("<") if dtype.name != "bfloat16" else dtype).reshape(shape)


def _array(reader: _Reader) -> Stored:
    magic = reader.number("I", "version of an array")
    if magic in (_V2, _V3):
        return _any_array(reader, 1 if magic == _V2 else 0)
    if magic != _V1 and magic > _MOST_AXES:
        reader.fail(f"version {magic:#x} of an array is unknown")
    shape = reader.shape("shape") if magic == _V1 else reader.shape("shape", 1, magic, "I")
    reader.take(8, "place")
    return Stored("default", shape, reader.values(shape, reader.dtype("type")))


def _any_array(reader: _Reader, least_axes: int) -> Stored:
    kind = reader.number("i", "kind of storage")
    if kind not in _KINDS:
        reader.fail(f"kind of storage {kind} is unknown")
    stype, parts = _KINDS[kind]
    stored = reader.shape("shape of the data") if parts else None
    shape = reader.shape("shape", least_axes)
    reader.take(8, "place")
    dtype = reader.dtype("type")
    indices = [(reader.dtype("type of indices"), reader.shape("shape of indices")) for _ in range(parts)]
    data = reader.values(shape if stored is None else stored, dtype)
    found = tuple(reader.values(shape, dtype) for dtype, shape in indices)
    return Stored(stype, shape, data, found[::-1])  # csr: the starts of rows, then column numbers


def _name(reader: _Reader) -> str:
    name: Any = reader.take(reader.number("Q", "length of a name"), "name")
    try:
        return str(name, "utf-8")
    except UnicodeDecodeError:
        reader.fail("a name that is no UTF-8 text")
