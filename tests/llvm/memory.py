"""The memory that modules see: allocations apart from each other, at addresses.

Arrays of this process are at their own addresses, so that tables of addresses which others made can be read. What the
module allocates is far from them, aligned to what it asked for and to no more.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from tests.llvm.exclusive import Exclusive
from tests.llvm.types import POINTER, Array, Int, Struct, Type, size
from tests.llvm.values import NULL, Pointer, Poison, Value, decode, encode, leaves, parts, whole, zero

Fail = Callable[[str], Exception]

_FIRST = 1 << 48  # behind what a process can have
_GAP = 1 << 16


class Allocation:
    """Bytes in a row. `known` says which of them hold a value (None: all do), `gone` why they are there no more.

    `depth` is that of the call that made it, 0 for what was there before. `pointers` are those that the module stored.
    """

    __slots__ = ("address", "data", "depth", "end", "gone", "known", "name", "pointers", "size", "writable")

    def __init__(self, name: str, address: int, data: np.ndarray, *, writable: bool, known: bool, depth: int) -> None:
        self.name, self.address, self.size = name, address, len(data)
        self.end = address + self.size
        self.data, self.writable, self.depth, self.gone = memoryview(data), writable, depth, ""
        self.known = None if known else bytearray(self.size)
        self.pointers: dict[int, Pointer] = {}

    def forget(self, offset: int, nbytes: int) -> None:
        """Forget the pointers that these bytes were a part of."""
        if self.pointers:
            for at in range(offset - 7, offset + nbytes):
                self.pointers.pop(at, None)


class Memory:
    """Allocations by address. `exclusives` are those of the calls that are under way, the last one last."""

    def __init__(self) -> None:
        self._allocations: dict[int, Allocation] = {}
        self._starts: list[int] = []
        self._next = _FIRST
        self.exclusives: list[Exclusive] = []

    # ------------------------------------------------------------ allocations

    def add(self, name: str, address: int, nbytes: int, *, writable: bool, known: bool = True) -> Allocation | None:
        """Add bytes of this process, which the caller keeps; nothing where they are none."""
        if nbytes == 0:
            return None
        at = bisect.bisect_left(self._starts, address)
        for start in self._starts[max(at - 1, 0) : at + 1]:
            other = self._allocations[start]
            if other.address < address + nbytes and address < other.end:
                raise ValueError(f"{name} overlaps {other.name}")
        data = np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)
        return self._insert(Allocation(name, address, data, writable=writable, known=known, depth=0))

    def register(self, array: np.ndarray, *, writable: bool = True, known: bool = True) -> int:
        """Add the bytes of a contiguous array, and return its address."""
        if not array.flags.c_contiguous:
            raise ValueError("the array is not contiguous: register the array that it is a view of")
        self.add(f"an array of {array.nbytes} bytes", array.ctypes.data, array.nbytes, writable=writable, known=known)
        return int(array.ctypes.data)

    def allocate(self, name: str, nbytes: int, align: int, *, writable: bool = True, depth: int = 0) -> Pointer:
        """Memory without values, whose address is no multiple of more than `align`."""
        start = self._next // (2 * align) * 2 * align + align
        self._next = start + nbytes + _GAP
        data = np.zeros(nbytes, np.uint8)
        made = Allocation(name, start, data, writable=writable, known=False, depth=depth)
        return Pointer(start, self._insert(made))

    def _insert(self, made: Allocation) -> Allocation:
        self._allocations[made.address] = made
        bisect.insort(self._starts, made.address)
        return made

    def remove(self, allocation: Allocation, why: str) -> None:
        """End an allocation; what reaches it from now on is an error that says why."""
        allocation.gone = why
        del self._allocations[allocation.address]
        del self._starts[bisect.bisect_left(self._starts, allocation.address)]

    def clear(self) -> None:
        """End the allocations of this process's memory."""
        for allocation in [a for a in self._allocations.values() if a.address < _FIRST]:
            self.remove(allocation, "the call is over")

    def pointer(self, address: int) -> Pointer:
        """A pointer that is known by its address alone."""
        at = bisect.bisect_right(self._starts, address) - 1
        found = self._allocations[self._starts[at]] if at >= 0 else None
        return Pointer(address, found if found is not None and address < found.end else None) if address else NULL

    # ------------------------------------------------------------ accesses

    def check(self, pointer: Value, nbytes: int, align: int, write: bool, fail: Fail) -> tuple[Allocation, int]:
        """The allocation and the place in it that may be read or written; raises fail(message) where it may not."""
        if pointer.__class__ is Poison:
            raise fail(f"uses an undefined address: {pointer.why}")
        allocation, address = pointer.allocation, pointer.address
        if allocation is None:
            raise fail(f"{nbytes} bytes at 0x{address:x} are in no allocation" if address else "uses a null pointer")
        offset = address - allocation.address
        if allocation.gone or offset < 0 or address + nbytes > allocation.end:
            self._outside(allocation, offset, nbytes, fail)
        if address % align:
            raise fail(f"the address 0x{address:x}, byte {offset} of {allocation.name}, is no multiple of {align}")
        if write and not allocation.writable:
            raise fail(f"writes byte {offset} of {allocation.name}, which is read-only")
        if write and pointer.bases and (base := next((x for x in pointer.bases if x.readonly), None)):
            raise fail(f"writes to what the parameter %{base.name} leads to, which is readonly")
        for exclusive in self.exclusives:
            if allocation.depth < exclusive.depth:
                exclusive.note(pointer, nbytes, write, fail)
        return allocation, offset

    @staticmethod
    def _outside(allocation: Allocation, offset: int, nbytes: int, fail: Fail) -> NoReturn:
        where = f"{nbytes} bytes at byte {offset} of {allocation.name}"
        raise fail(f"{where}: {allocation.gone}" if allocation.gone else f"{where}, which has {allocation.size}")

    def load(self, pointer: Value, type: Type, align: int, fail: Fail) -> Value:
        """A value in memory, which must have been written."""
        if isinstance(type, Array | Struct):
            raise fail(f"loads of {type} are not known")
        nbytes = size(type)
        allocation, offset = self.check(pointer, nbytes, align, False, fail)
        if allocation.known is not None and 0 in allocation.known[offset : offset + nbytes]:
            missing = allocation.known.index(0, offset)
            raise fail(f"reads byte {missing} of {allocation.name}, where nothing was written")
        data = allocation.data[offset : offset + nbytes]
        if type == POINTER:
            address, stored = int.from_bytes(data, "little"), allocation.pointers.get(offset)
            return stored if stored is not None and stored.address == address else self.pointer(address)
        if isinstance(type, Int):
            found = int.from_bytes(data, "little")
            if found >> type.bits:
                raise fail(f"{found} is no {type}")
            return found
        return decode(type, bytes(data))

    def store(self, pointer: Value, type: Type, value: Value, align: int, fail: Fail) -> None:
        """Put a value into memory. Only what has no values before may get undefined ones."""
        if isinstance(type, Array | Struct):
            raise fail(f"stores of {type} are not known")
        allocation, offset = self.check(pointer, size(type), align, True, fail)
        self._put(allocation, offset, type, value, fail)

    def write(self, allocation: Allocation, offset: int, type: Type, value: Value, fail: Fail) -> None:
        """Put a value there, without checks of the place: what a global begins with, for one."""
        for at, leaf, part in leaves(type, value):
            self._put(allocation, offset + at, leaf, part, fail)

    @staticmethod
    def _put(allocation: Allocation, offset: int, type: Type, value: Value, fail: Fail) -> None:
        value, mask, why = parts(value)
        nbytes = size(type)
        if allocation.known is None:
            if mask is not False:
                raise fail(f"stores what is undefined in {allocation.name}: {why}")
        elif mask is False:
            allocation.known[offset : offset + nbytes] = b"\1" * nbytes
        else:
            allocation.known[offset : offset + nbytes] = bytes(~byte_mask(mask, nbytes))
        allocation.forget(offset, nbytes)
        if type == POINTER:
            allocation.pointers[offset] = value
            data = value.address.to_bytes(8, "little")
        else:
            data = encode(type, value)
        allocation.data[offset : offset + nbytes] = data

    def copy(self, to: Value, source: Value, nbytes: int, overlapping: bool, fail: Fail) -> None:
        """`memcpy`, or `memmove` if they may overlap. What is undefined stays so."""
        if nbytes == 0:
            return
        a, i = self.check(source, nbytes, 1, False, fail)
        b, j = self.check(to, nbytes, 1, True, fail)
        if a is b and i != j and abs(i - j) < nbytes and not overlapping:
            raise fail("the memory that is copied overlaps that which it is copied to")
        if a.known is not None and b.known is None and 0 in a.known[i : i + nbytes]:
            raise fail(f"copies bytes of {a.name} where nothing was written")
        pointers = {k - i + j: p for k, p in a.pointers.items() if i <= k <= i + nbytes - 8}
        data, known = bytes(a.data[i : i + nbytes]), None if a.known is None else a.known[i : i + nbytes]
        b.forget(j, nbytes)
        b.data[j : j + nbytes] = data
        if b.known is not None:
            b.known[j : j + nbytes] = known or b"\1" * nbytes
        b.pointers |= pointers


def byte_mask(mask: bool | np.ndarray, nbytes: int) -> np.ndarray:
    """Which bytes of a value are undefined; bool [nbytes]."""
    lanes = np.atleast_1d(np.asarray(mask, bool))
    if len(lanes) > nbytes:  # bits
        return np.repeat(lanes.any(), nbytes)
    return np.repeat(lanes, nbytes // len(lanes))


def of_bytes(type: Type, data: bytes, mask: np.ndarray | bool, why: str) -> Value:
    """A value of its bytes, of which those in the mask are undefined."""
    value = decode(type, data)
    if mask is False or not np.any(mask):
        return value
    if isinstance(value, np.ndarray) and len(data) % len(value) == 0:
        return whole(value, np.asarray(mask).reshape(len(value), -1).any(axis=1), why)
    return Poison(zero(type), True, why)
