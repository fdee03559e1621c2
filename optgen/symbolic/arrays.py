"""Which values of an optimizer are arrays, where it multiplies matrices: their other products are elementwise."""

from __future__ import annotations

from optgen.expressions import Call, Expr, Name, children
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import FUNCTIONS, reduction_of
from optgen.model import Optimizer

_TO_NUMBERS = (None, "params", "matrix")
"""The scopes of reductions that leave one number of a matrix."""


def arrays(optimizer: Optimizer) -> frozenset[str]:
    """The names of arrays; none if there are no products of matrices, as no other product could be taken for one."""
    if not optimizer.has_products:
        return frozenset()
    known = {"w", "g", "grad", *(i.name for i in optimizer.inputs)}
    known |= {s.name for s in optimizer.states if s.axes}
    lines = (*optimizer.update, *optimizer.evaluate)
    while found := {e.target.id for e in lines if is_array(e.value, known)} - known:
        known |= found
    return frozenset(known)


def is_array(expr: Expr, known: frozenset[str] | set[str]) -> bool:
    """Whether the value of an expression is an array, if `known` are the names of arrays."""
    match expr:
        case Name(id=name):
            return name in known
        case Call(function=function) if FUNCTIONS[function].takes_dimensions:
            return True
        case Call(function=function, args=args) if function in MATRIX_FUNCTIONS:
            if not MATRIX_FUNCTIONS[function].axes(*(("rows", "cols") for _ in args)):
                return False
        case Call(scope=scope) if reduction_of(expr) is not None and scope in _TO_NUMBERS:
            return False
    return any(is_array(x, known) for x in children(expr))
