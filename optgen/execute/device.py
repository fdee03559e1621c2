"""Where a rule computes: how it finds tensors there, makes arrays, and gets its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from optgen import pipeline
from optgen.compiled import NativeKernel
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import Kernel
from optgen.execute.table import Table
from optgen.ir.nodes import Variant
from optgen.model import Optimizer

if TYPE_CHECKING:
    from optgen.execute.step import BoundStep


class Target(Protocol):
    """What a rule is compiled for. `name` is what `load` calls it."""

    name: str

    def kernel(self, optimizer: Optimizer, variant: Variant) -> Kernel:
        """One variant, compiled and loaded."""

    def step(self, *args: Any, **kwargs: Any) -> BoundStep:
        """A rule bound to tensors (`BoundStep`)."""

    def param(self, obj: Any, name: str) -> Tensor:
        """The memory of a parameter; TypeError or ValueError naming it if there is no such target."""

    def device(self, params: Sequence[Tensor]) -> Device:
        """Where these are; ValueError if that is not one place."""


class Device(Protocol):
    """One place where tensors are."""

    def table(self, *args: Any) -> Table:
        """The tables of a step on tensors that are here (`Table`)."""

    def tensor(self, obj: Any, name: str) -> Tensor:
        """The memory of a tensor that is here; TypeError or ValueError naming it if it is not."""

    def full(self, shape: tuple[int, ...], dtype: str, value: float) -> Any:
        """A new array."""

    def put(self, array: Array) -> Any:
        """An array with these elements; the array itself where it can be."""

    def get(self, tensor: Tensor) -> Array:
        """Its elements, to be read only."""

    def copy(self, tensor: Tensor, dtype: str) -> Any:
        """A new array with its elements."""

    def set_rows(self, array: Any, old: Array, index: Array, rows: Tensor) -> None:
        """Clear the rows `old` of an array, and copy `rows` to those of `index`."""


class Cpu:
    """This process's memory, which is one place."""

    name = "cpu"

    def __init__(self, compile: Callable[[Optimizer, Variant], NativeKernel] = pipeline.native) -> None:
        self._compile = compile

    def table(self, *args: Any) -> Table:
        return Table(*args)

    def step(self, *args: Any, **kwargs: Any) -> BoundStep:
        from optgen.execute.step import BoundStep

        return BoundStep(*args, **kwargs)

    def param(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def device(self, params: Sequence[Tensor]) -> Cpu:
        return self

    def tensor(self, obj: Any, name: str) -> Tensor:
        return buffers.tensor(obj, name)

    def full(self, shape: tuple[int, ...], dtype: str, value: float) -> Array:
        return buffers.aligned(shape, dtype, value)

    def put(self, array: Array) -> Array:
        return array

    def get(self, tensor: Tensor) -> Array:
        return tensor.view()

    def copy(self, tensor: Tensor, dtype: str) -> Array:
        copy = buffers.aligned(tensor.shape, dtype)
        if tensor.dtype == dtype:
            ctypes.memmove(copy.ctypes.data, tensor.address, tensor.nbytes)
        else:
            with np.errstate(all="ignore"):
                copy[...] = tensor.view()
        return copy

    def set_rows(self, array: Array, old: Array, index: Array, rows: Tensor) -> None:
        array[old] = 0
        array[index] = rows.view()

    def kernel(self, optimizer: Optimizer, variant: Variant) -> Kernel:
        return Kernel(variant, self._compile(optimizer, variant))
