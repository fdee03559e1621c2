"""The memory that kernels see: ranges of this process's own memory, at their own addresses.

A load or store is one indexing of an array that covers the whole address space, after its addresses were checked.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable

import numpy as np

from tests.cuda.ptx.types import UNSIGNED

Fail = Callable[[str], Exception]

# User space of a 64-bit process, but its first page. Only what has been checked is touched.
_FIRST = 4096
_EVERYTHING = np.frombuffer((ctypes.c_uint8 * (2**47 - 2 * _FIRST)).from_address(_FIRST), np.uint8)
_ELEMENTS = {dtype: _EVERYTHING.view(dtype) for dtype in UNSIGNED.values()}
_SHIFT = {dtype: np.uint64(dtype.itemsize.bit_length() - 1) for dtype in UNSIGNED.values()}
_START = np.uint64(_FIRST)


def read(addresses: np.ndarray, dtype: np.dtype, count: int) -> np.ndarray:
    """[count, threads] of an unsigned type: `count` elements behind each of [threads] addresses, checked before."""
    index = _index(addresses, dtype)
    if count == 1:
        return _ELEMENTS[dtype][index][None]
    return _ELEMENTS[dtype][index + np.arange(count)[:, None]]


def write(addresses: np.ndarray, values: np.ndarray) -> None:
    """Store [count, threads] of an unsigned type behind [threads] addresses, checked before."""
    index = _index(addresses, values.dtype)
    _ELEMENTS[values.dtype][index + np.arange(len(values))[:, None]] = values


def _index(addresses: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return ((addresses - _START) >> _SHIFT[dtype]).view(np.int64)


def misaligned(addresses: np.ndarray, nbytes: int) -> bool:
    return bool(np.bitwise_or.reduce(addresses) & np.uint64(nbytes - 1))


def buffer(rows: int, nbytes: int) -> np.ndarray:
    """uint8 [rows, nbytes], each row at a multiple of 128 if nbytes is one, full of NaNs."""
    raw = np.full(rows * nbytes + 128, 0xFF, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + rows * nbytes].reshape(rows, nbytes)


class Memory:
    """Ranges of host memory that launches may read, and those that they may write.

    Ranges must not overlap. An array that is registered is kept alive; the caller keeps alive what is added by address.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, bool, object]] = {}
        self._starts: list[int] = []
        self._bounds: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def register(self, array: np.ndarray, writable: bool = True) -> int:
        """Add the bytes of a contiguous array, and return its address."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise ValueError("the array is not contiguous: register the array that it is a view of")
        if writable and not array.flags.writeable:
            raise ValueError("the array is read-only: register it with writable=False")
        self._add(array.ctypes.data, array.nbytes, writable, array)
        return array.ctypes.data

    def add(self, address: int, nbytes: int, writable: bool = True) -> None:
        """Add a range of addresses that belong to this process; nbytes may be 0."""
        self._add(address, nbytes, writable, None)

    def remove(self, address: int) -> None:
        """Forget the range that starts at the address; KeyError where none does."""
        del self._ranges[address]
        del self._starts[bisect.bisect_left(self._starts, address)]
        self._bounds = None

    def _add(self, address: int, nbytes: int, writable: bool, owner: object) -> None:
        if nbytes == 0:
            return
        at = bisect.bisect_left(self._starts, address)
        for start in self._starts[max(at - 1, 0) : at + 1]:
            end, _, _ = self._ranges[start]
            if start < address + nbytes and address < end:
                raise ValueError(f"0x{address:x} to 0x{address + nbytes:x} overlaps 0x{start:x} to 0x{end:x}")
        self._ranges[address] = (address + nbytes, writable, owner)
        bisect.insort(self._starts, address)  # not at `at`: the collector of garbage may have removed others meanwhile
        self._bounds = None

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First addresses, ends and whether writable, by address; a range of nothing comes first."""
        if self._bounds is None:
            kept = [self._ranges[start] for start in self._starts]
            self._bounds = (
                np.array([0, *self._starts], np.uint64),
                np.array([0, *(end for end, _, _ in kept)], np.uint64),
                np.array([False, *(writable for _, writable, _ in kept)]),
            )
        return self._bounds

    def inside(self, addresses: np.ndarray, nbytes: int) -> np.ndarray:
        """Which accesses lie wholly in one range; bool [threads]."""
        starts, ends, _ = self._arrays()
        at = np.searchsorted(starts, addresses, "right") - 1
        # Not address + nbytes, which wraps for the last addresses there are.
        return (addresses < ends[at]) & (ends[at] - addresses >= np.uint64(nbytes))

    def check(self, addresses: np.ndarray, nbytes: int, write: bool, threads: np.ndarray, fail: Fail) -> None:
        """Raise fail(message) unless every access is aligned, in a range, and allowed there."""
        if misaligned(addresses, nbytes):
            first = int(np.argmax(addresses & np.uint64(nbytes - 1) != 0))
            raise fail(f"thread {threads[first]}: address 0x{int(addresses[first]):x} is no multiple of {nbytes}")
        low, high = int(addresses.min()), int(addresses.max())
        at = bisect.bisect_right(self._starts, low) - 1
        if at >= 0:
            end, writable, _ = self._ranges[self._starts[at]]
            if high + nbytes <= end and (writable or not write):
                return
        inside = self.inside(addresses, nbytes)
        if not inside.all():
            first = int(np.argmin(inside))
            raise fail(self._outside(int(addresses[first]), nbytes, int(threads[first])))
        starts, _, allowed = self._arrays()
        refused = ~allowed[np.searchsorted(starts, addresses, "right") - 1]
        if write and refused.any():
            first = int(np.argmax(refused))
            raise fail(f"thread {threads[first]} writes 0x{int(addresses[first]):x}, which is registered read-only")

    def _outside(self, address: int, nbytes: int, thread: int) -> str:
        at = bisect.bisect_right(self._starts, address) - 1
        where = "no range lies before it"
        if at >= 0:
            start = self._starts[at]
            size = self._ranges[start][0] - start
            where = f"it is at byte {address - start} of a range of {size} bytes"
        return f"thread {thread}: {nbytes} bytes at 0x{address:x} are outside every registered range ({where})"
