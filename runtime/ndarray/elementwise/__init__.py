"""Operators on each element: of one array (`unary`), or of two that are broadcast against each other (`binary`).

`casting` changes element types, `special` has functions that NumPy lacks, `straight_through` has operators whose
gradient is not their derivative.
"""

from __future__ import annotations

from runtime.ndarray.elementwise import binary, casting, unary
from runtime.ndarray.elementwise.binary import *  # noqa: F403
from runtime.ndarray.elementwise.binary import NUMBER  # noqa: F401
from runtime.ndarray.elementwise.casting import *  # noqa: F403
from runtime.ndarray.elementwise.casting import astype  # noqa: F401 (a method)
from runtime.ndarray.elementwise.unary import *  # noqa: F403
from runtime.ndarray.elementwise.unary import isfinite, isinf, isnan  # noqa: F401 (in nd.contrib)

__all__ = [*unary.__all__, *binary.__all__, *casting.__all__]
METHODS = (*unary.METHODS, *casting.METHODS)
CONTRIB = unary.CONTRIB
