"""How values depend on the count of updates."""

from __future__ import annotations

from collections.abc import Mapping

from optgen.bounds import bounds_of
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, walk
from optgen.functions.interval import Bounds
from optgen.model import COUNTS

FORGOTTEN = 1e-6
"""What powers p^t are at most where they are of no account."""
Values = Mapping[str, float | None]


class CountDependence:
    """What the equations of an update make of the count. `names` has the bounds of all names."""

    def __init__(self, equations: Mapping[str, Expr], values: Values, names: Mapping[str, Bounds]) -> None:
        self._equations, self._values, self._names = equations, values, names

    def is_read(self) -> bool:
        """Whether an equation reads the count."""
        return any(isinstance(e, Name) and e.id in COUNTS for x in self._equations.values() for e in walk(x))

    def is_forgotten_after(self, count: int) -> bool:
        """Whether every value depends on the count by powers p^t alone, which are small from `count` on, without a
        jump: these are added, multiplied or a root is taken of them, and only 1 - p^t is divided by."""
        return all(self._is_smooth(x, count, below=False) for x in self._equations.values())

    def _depends(self, expr: Expr) -> bool:
        """Whether an expression, or a name that it reads, reads the count."""
        names = [e for e in walk(expr) if isinstance(e, Name)]
        return any(
            e.id in COUNTS or (e.key in self._equations and self._depends(self._equations[e.key])) for e in names
        )

    def _is_smooth(self, expr: Expr, count: int, *, below: bool) -> bool:
        if not self._depends(expr):
            return True
        match expr:
            case Name(key=key) if key in self._equations:
                return self._is_smooth(self._equations[key], count, below=below)
            case Binary(op="-", left=Number(value=1), right=x) if self._is_power(x, count):
                return True
            case Binary(op="*" | "/" as op, left=a, right=b):
                return self._is_smooth(a, count, below=below) and self._is_smooth(b, count, below=below or op == "/")
            case Call(function="sqrt", args=(x,)):
                return self._is_smooth(x, count, below=below)
            case Binary(op="+", left=a, right=b) if below:
                return all(bounds_of(x, self._names).low >= 0 and self._is_smooth(x, count, below=True) for x in (a, b))
        if below:
            return False
        match expr:
            case Unary(op="-", operand=x):
                return self._is_smooth(x, count, below=False)
            case Binary(op="+" | "-", left=a, right=b):
                return self._is_smooth(a, count, below=False) and self._is_smooth(b, count, below=False)
        return self._is_power(expr, count)

    def _is_power(self, expr: Expr, count: int) -> bool:
        """Whether an expression is p^t, with a number or a param p from 0 to below 1 that is small from `count` on."""
        match expr:
            case Name(key=key) if key in self._equations:
                return self._is_power(self._equations[key], count)
            case Binary(op="^", left=Number(value=p), right=Name(id="t" | "step")):
                return 0 <= p**count <= FORGOTTEN and p < 1
            case Binary(op="^", left=Name(id=name, primed=False), right=Name(id="t" | "step")):
                p = self._values.get(name) or 0.0
                return name in self._values and 0 <= p < 1 and p**count <= FORGOTTEN
        return False
