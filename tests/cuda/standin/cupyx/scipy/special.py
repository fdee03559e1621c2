"""Special functions, of the mathematics library of CUDA."""

from __future__ import annotations

import math

import numpy as np
from cupy import ndarray
from cupy._array import host


def ndtr(x: ndarray) -> ndarray:
    """The distribution function of the normal distribution."""
    if not isinstance(x, ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    dtype = x.dtype if x.dtype.char in "fd" else np.float64
    values = np.array([0.5 * math.erfc(-v * math.sqrt(0.5)) for v in host(x).ravel().tolist()])
    return ndarray._over(values.reshape(x.shape).astype(dtype))
