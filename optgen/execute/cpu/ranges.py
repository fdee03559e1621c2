"""Whether tensors can be read where they are, while a step writes others (`ranges.c`)."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from optgen.execute.buffers import Array
from optgen.objectcode import c_functions


class _Ranges(ctypes.Structure):
    """`ranges` of ranges.c."""

    _fields_ = (
        ("n", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("addresses", "sizes", "items")),
        ("written_n", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("begins", "ends")),
    )


@functools.cache
def _check() -> Callable[[int], int]:
    address = c_functions.load(__file__, "optgen_ranges_check")["optgen_ranges_check"]
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)


class ReadableRanges:
    """The ranges of tensors that a step reads: `sizes` bytes from `addresses` on, in elements of `items` bytes.

    `begins` and `ends` are those of the ranges that it writes, in order, none within another. All arrays are uint64.
    """

    def __init__(self, addresses: Array, sizes: Array, items: Array, begins: Array, ends: Array) -> None:
        self._arrays = addresses, sizes, items, begins, ends  # keeps them alive
        starts = [x.ctypes.data for x in self._arrays]
        self._memory = _Ranges(len(addresses), *starts[:3], len(begins), *starts[3:])
        self._check, self._address = _check(), ctypes.addressof(self._memory)

    def are_readable(self) -> bool:
        """Whether the addresses, as they are now, are not 0, aligned, and apart from what is written."""
        return self._check(self._address) < 0
