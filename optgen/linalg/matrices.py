"""Arguments of products and factorizations: batches of matrices, checked."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np

from optgen.backends import machine

Matrices = np.ndarray[Any, np.dtype[Any]]
"""float32 or float64, C-contiguous, (..., rows, columns). The leading dimensions are a batch."""


FLOPS = machine.value("products.flops")
"""The multiplications and additions of a product that take as long as one addition of two arrays' elements."""

SUMMED = 256
"""The consecutive products that are added up before they are added to the result, where code of our own multiplies.
They are words of panels, so of pairs of bfloat16 there are twice as many."""


class Addend(NamedTuple):
    """What follows a product: beta*matrix + alpha*product. Each of these operations rounds as a sweep does."""

    alpha: float
    beta: float
    matrix: Matrices


class ProductShape(NamedTuple):
    """`batch` products of (m, k) and (k, n)."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def work(self) -> int:
        """The work in additions of two arrays' elements, as the threads count it."""
        return 2 * self.batch * self.m * self.n * self.k // FLOPS


def view(address: int, shape: tuple[int, ...], dtype: Any) -> Matrices:
    """The memory at an address as an array, without a copy. Who calls keeps the memory alive."""
    size = math.prod(shape)
    if size == 0:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address), dtype).reshape(
        shape
    )


def check(name: str, x: Matrices) -> Matrices:
    """`x` itself. TypeError for what is no array of float32 or float64, ValueError for a layout or a number of
    dimensions that is not as `Matrices` says."""
    if not isinstance(x, np.ndarray) or x.dtype.char not in "fd":
        kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
        raise TypeError(f"{name} must be an array of float32 or float64, not {kind}")
    if x.ndim < 2:
        raise ValueError(f"{name} must have two dimensions or more, not shape {x.shape}")
    if not x.flags.c_contiguous:
        raise ValueError(f"{name} of shape {x.shape} must be C-contiguous; np.ascontiguousarray makes such a copy")
    return x


def result(out: Matrices | None, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: Matrices) -> Matrices:
    """`out`, checked, or a new array. ValueError where it has another shape, or overlaps an input."""
    if out is None:
        return np.empty(shape, dtype)
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out must be {dtype} of shape {shape}, not {out.dtype} of shape {out.shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be C-contiguous and writeable")
    if any(np.may_share_memory(out, x) for x in inputs):
        raise ValueError("out overlaps an input; it needs memory of its own")
    return out
