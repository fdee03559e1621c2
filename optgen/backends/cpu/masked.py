"""Vectors of which only some lanes are used, for the elements that do not fill one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir as ll

from optgen.backends.control_flow import loop, variable, while_below
from optgen.backends.llvm import first_lanes, integer, masked_load, masked_store, minimum


def load(b: ll.IRBuilder, address: Any, type: ll.Type, align: int, mask: Any) -> Any:
    """The elements at an address; 0 in lanes that `mask` leaves out, which are not read. None has all lanes."""
    return b.load(address, typ=type, align=align) if mask is None else masked_load(b, address, mask, type)


def store(b: ll.IRBuilder, x: Any, address: Any, align: int, mask: Any) -> None:
    """The inverse of `load`: other lanes are not written."""
    if mask is None:
        b.store(x, address, align=align)
    else:
        masked_store(b, x, address, mask)


def vectors(
    b: ll.IRBuilder, first: Any, last: Any, step: int, width: int, start: Any, *, masks: bool
) -> Iterator[tuple[Any, int, Any]]:
    """Loops over elements [first, last): yields the first element of a turn, how many there are, and their mask.

    Most turns have `step` elements; these begin a multiple of `step` behind element `start`, which may be any. The
    others have some lanes of `width`, or, without `masks`, one element.
    """
    if not masks:
        begin = minimum(b, last, b.add(first, b.and_(b.sub(start, first), integer(step - 1))))
        end = b.add(begin, b.and_(b.sub(last, begin), integer(-step)))
        with loop(b, first, begin, lanes=1) as i:
            yield i, 1, None
        with loop(b, begin, end, step) as i:
            yield i, step, None
        with loop(b, end, last, lanes=1) as i:
            yield i, 1, None
        return
    place = variable(b, first)
    with while_below(b, place, last) as here:
        ahead = b.sub(start, here)
        begins = b.icmp_signed("==", b.and_(ahead, integer(step - 1)), integer(0))
        end = b.add(here, b.select(begins, b.and_(b.sub(last, here), integer(-step)), integer(0)))
        with loop(b, here, end, step) as i:
            yield i, step, None
        most = b.and_(b.sub(ahead, integer(1)), integer(width - 1))
        count = minimum(b, b.add(most, integer(1)), b.sub(last, end))
        with b.if_then(b.icmp_signed(">", count, integer(0))):
            yield end, width, first_lanes(b, count, width)
        b.store(b.add(end, count), place)
