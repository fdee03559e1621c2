"""Where the parts of a sweep, or of a phase over rows or columns, begin and end within a tensor."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends import machine
from optgen.backends.layout import Extent
from optgen.backends.llvm import integer, maximum, minimum

SHARED_LINES = machine.value("sweeps.shared_lines")
"""A tensor with fewer rows, or columns, leaves them to one of the parts."""


def lines_of_part(b: ll.IRBuilder, i: Any, count: Any, part: Any, parts: Any, unit: Any = None) -> tuple[Any, Any]:
    """Which of the `count` rows, or columns, of tensor i are in a part, the first one and the one behind. Parts end at
    multiples of a `unit`."""

    def end(part: Any) -> Any:
        x = b.udiv(b.mul(count, part), parts)
        if unit is None:
            return x
        size = maximum(b, unit, integer(1))
        return minimum(b, count, b.mul(b.udiv(b.add(x, b.sub(size, integer(1))), size), size))

    is_shared = b.icmp_signed(">=", count, integer(SHARED_LINES))
    is_own = b.icmp_signed("==", b.urem(i, parts), part)
    first = b.select(is_shared, end(part), b.select(is_own, integer(0), count))
    return first, b.select(is_shared, end(b.add(part, integer(1))), count)


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
