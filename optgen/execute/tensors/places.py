"""Where tensors of PyTorch's kind are: their addresses, and whether their geometry is what it was."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from optgen.execute.buffers import Array
from optgen.execute.cpu import dlpack


class Reader(Protocol):
    """The geometry of tensors when this was made: shapes, dtypes, strides, devices, and the sizes of `storages`.

    `addresses` are those that were read last, uint64. None may stand in the place of a tensor; its address is 0.
    """

    addresses: Array

    def read(self, tensors: list[Any]) -> bool:
        """Read the addresses of as many tensors, or of the same ones anew; False if their geometry is another."""


def reader(tensors: list[Any], storages: list[Any]) -> Reader:
    """A native reader for tensors that DLPack's C functions export, as those of newer versions of PyTorch."""
    export = dlpack.find_export([x for x in tensors if x is not None])
    if export is not None:
        try:
            return dlpack.NativeReader(export, tensors, storages)
        except ValueError:  # not these
            pass
    return PythonReader(tensors, storages)


class PythonReader:
    """A reader that asks each tensor for its attributes."""

    def __init__(self, tensors: list[Any], storages: list[Any]) -> None:
        self.addresses = np.zeros(len(tensors), np.uint64)
        self._storages, self._sizes = storages, [s.nbytes() for s in storages]
        self._geometry = list(map(geometry, tensors))
        self.read(tensors)

    def read(self, tensors: list[Any]) -> bool:
        try:
            found = list(map(geometry, tensors))
            self.addresses[:] = [0 if x is None else x.data_ptr() for x in tensors]
        except (AttributeError, RuntimeError):  # not of PyTorch's kind, or without an address (sparse, a wrapper)
            return False
        return found == self._geometry and [s.nbytes() for s in self._storages] == self._sizes


def geometry(x: Any) -> tuple[Any, ...] | None:
    """Shape, dtype, strides and device of a tensor; None of None."""
    return None if x is None else (x.shape, x.dtype, x.stride(), x.device)
