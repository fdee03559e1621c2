"""The floating-point mode of the CPU, and arithmetic in it.

In the usual mode NumPy computes as IEEE 754 has it. In the flushing mode of x86 an operand that is subnormal is a zero
of its sign, and so is a result that is less than the least normal number once it has the precision of its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

Value = Any
FLUSHING, ZEROS = 1 << 15, 1 << 6  # of mxcsr: results, and operands
_FLAGS = 0x3F
_USUAL = 0x1F80  # every exception masked, to nearest

_LEAST = {np.dtype(x): np.finfo(x).tiny for x in (np.float32, np.float64)}


class Control:
    """The register, which instructions read and set. `flushes` says which mode it asks for."""

    def __init__(self) -> None:
        self.value, self.flushes = _USUAL, False

    def set(self, value: int, arm: bool = False) -> str:
        """Set mxcsr, or Arm's fpcr; what is wrong with it, if something is."""
        usual, flushing = (0, 0) if arm else (_USUAL, _USUAL | FLUSHING | ZEROS)
        if value & ~(0 if arm else _FLAGS) not in (usual, flushing):
            return f"the mode 0x{value:x} is not known: it rounds otherwise, traps, or flushes in part"
        self.value, self.flushes = value, not arm and bool(value & FLUSHING)
        return ""


def zeroed(x: Value) -> Value:
    """A zero of its sign where a number is subnormal."""
    tiny = abs(x) < _LEAST[x.dtype]
    return _chosen(tiny, x) if _anywhere(tiny) else x


def flushed(result: Value, exact: Callable[..., Fraction], *args: Value) -> Value:
    """A zero of its sign where the `exact` result of the operands is tiny."""
    least, size = _LEAST[result.dtype], abs(result)
    if not _anywhere(size <= least):
        return result
    tiny = np.atleast_1d(size < least)
    for k in np.flatnonzero(size == least):  # what may have been less before it was rounded
        operands = [np.atleast_1d(x)[k] for x in args]
        if all(map(math.isfinite, operands)):
            bits = np.finfo(result.dtype).nmant + 2
            rounded_up = Fraction(float(least)) * (1 - Fraction(1, 2**bits))
            tiny[k] = abs(exact(*(Fraction(float(x)) for x in operands))) < rounded_up
    return _chosen(tiny if np.ndim(result) else tiny[0], result)


def _anywhere(x: Any) -> bool:
    """`np.any`, which takes longer for a number."""
    return bool(x.any() if isinstance(x, np.ndarray) else x)


def _chosen(tiny: Any, x: Value) -> Value:
    found = np.where(tiny, np.copysign(x.dtype.type(0), x), x)
    return found if np.ndim(x) else found[()]
