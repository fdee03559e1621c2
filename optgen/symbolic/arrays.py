"""Which values of an optimizer are arrays, where it multiplies matrices: their other products are elementwise."""

from __future__ import annotations

from optgen.expressions import DRAWS, REDUCTIONS, Call, Expr, Name, children
from optgen.model import Kind, Optimizer

_OF_ELEMENTS = (Kind.ELEM, Kind.ROW, Kind.COL, Kind.MATRIX)
_TO_NUMBERS = (None, "params", "matrix")
"""The scopes of reductions that leave one number of a matrix."""


def arrays(optimizer: Optimizer) -> frozenset[str]:
    """The names of arrays; none if there are no products of matrices, as no other product could be taken for one."""
    if not optimizer.has_products:
        return frozenset()
    known = {"w", "g", "grad", *(i.name for i in optimizer.inputs)}
    known |= {s.name for s in optimizer.states if s.kind in _OF_ELEMENTS}
    lines = (*optimizer.update, *optimizer.evaluate)
    while found := {e.target.id for e in lines if is_array(e.value, known)} - known:
        known |= found
    return frozenset(known)


def is_array(expr: Expr, known: frozenset[str] | set[str]) -> bool:
    """Whether the value of an expression is an array, if `known` are the names of arrays."""
    match expr:
        case Name(id=name):
            return name in known
        case Call(function=function) if function in DRAWS or function == "identity":
            return True
        case Call(function="trace" | "dot"):
            return False
        case Call(function=function, args=(_,), scope=scope) if function in REDUCTIONS and scope in _TO_NUMBERS:
            return False
    return any(is_array(x, known) for x in children(expr))
