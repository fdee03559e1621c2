"""Where the parts of a sweep begin and end within a tensor."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.layout import Extent
from optgen.backends.llvm import integer, minimum


def boundary(b: ll.IRBuilder, x: Any, extent: Extent, unit: Any, shift: Any) -> Any:
    """x clamped to a tensor and rounded up to a unit: where one part ends and the next one begins."""
    return _rounded_up(b, _clamped(b, x, extent.elements), unit, extent.elements, shift)


def boundary_in_matrix(b: ll.IRBuilder, x: Any, extent: Extent, unit: Any, shift: Any) -> Any:
    """`boundary`, where each matrix has units of its own, the last of which ends with it."""
    inside = _clamped(b, x, extent.elements)
    matrix = b.mul(extent.height, extent.cols)
    divisor = b.select(b.icmp_signed(">", matrix, integer(1)), matrix, integer(1))
    start = b.mul(b.udiv(inside, divisor), matrix)
    return b.add(start, _rounded_up(b, b.sub(inside, start), unit, matrix, shift))


def _clamped(b: ll.IRBuilder, x: Any, size: Any) -> Any:
    return b.select(b.icmp_signed("<", x, integer(0)), integer(0), minimum(b, x, size))


def _rounded_up(b: ll.IRBuilder, x: Any, unit: Any, most: Any, shift: Any) -> Any:
    """x rounded up to a unit. Of a box, the first unit begins `shift` elements before the box does."""
    start = x if shift is None else b.add(x, shift)
    up = b.mul(b.udiv(b.add(start, b.sub(unit, integer(1))), unit), unit)
    if shift is not None:
        up = b.select(b.icmp_signed("==", x, integer(0)), integer(0), b.sub(up, shift))
    return minimum(b, up, most)
