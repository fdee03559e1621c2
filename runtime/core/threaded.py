"""Large arrays, whose single passes over memory threads share: NumPy has one thread."""

from __future__ import annotations

import numpy as np

from optgen.backends import machine
from runtime.native import arithmetic

MIN_ELEMENTS = machine.value("arrays.min_threaded_elements")
"""From this many elements on, threads are faster than NumPy."""


def takes(x: np.ndarray) -> bool:
    """Whether kernels take the array."""
    return type(x) is np.ndarray and x.dtype.char in "fd" and x.flags.c_contiguous


def threads_pay(x: np.ndarray, y: np.ndarray | None = None) -> bool:
    """Whether a kernel of `native.arithmetic` takes the array, or two of one shape and type, and is faster."""
    if x.size < MIN_ELEMENTS or not takes(x):
        return False
    return y is None or (type(y) is np.ndarray and (x.dtype, x.shape) == (y.dtype, y.shape) and y.flags.c_contiguous)


def copy_into(to: np.ndarray, x: np.ndarray) -> None:
    """Copy x to `to`, an array of its shape and type, which may share its memory. ValueError if `to` is read-only."""
    if threads_pay(x, to) and to.flags.writeable and not np.may_share_memory(x, to):
        arithmetic.copy(-(-x.size // arithmetic.ELEMENTS_PER_TASK), x.size, x, to, x.size)
    else:
        np.copyto(to, x)
