"""Equations in which params that are 0, or taken for 0, are left out: `(1 - lr*wd)*w` is `w` where wd is 0."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, children, with_children


def folded(expr: Expr, values: Mapping[str, float | None], zeros: Collection[str] = ()) -> Expr:
    """An expression without what is 0. `zeros` are names of params, and texts of numbers, that are taken for 0; so are
    the params of which that is the value. A clip by a param that is none is what it clips."""
    if isinstance(expr, Name) and not expr.primed and (values.get(expr.id) == 0 or expr.id in zeros):
        return Number(0.0, "0", expr.span)
    if isinstance(expr, Number) and expr.text in zeros:
        return Number(0.0, "0", expr.span)
    expr = with_children(expr, [folded(x, values, zeros) for x in children(expr)])
    match expr:
        case Unary(op="-", operand=x) if _is(x, 0):
            return x
        case Binary(op="+", left=a, right=b) if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        case Binary(op="-", left=a, right=b) if _is(b, 0):
            return a
        case Binary(op="-", left=a, right=b) if _is(a, 0):
            return Unary("-", b, expr.span)
        case Binary(op="*", left=a, right=b) if _is(a, 0) or _is(b, 1):
            return a
        case Binary(op="*", left=a, right=b) if _is(b, 0) or _is(a, 1):
            return b
        case Binary(op="/", left=a, right=b) if _is(b, 1) or (_is(a, 0) and not _is(b, 0)):
            return a
        case Call(function="clip", args=(x, *bounds)) if bounds and all(_is_unset(b, values) for b in bounds):
            return x
    return expr


def _is(expr: Expr, value: float) -> bool:
    return isinstance(expr, Number) and expr.value == value


def _is_unset(bound: Expr, values: Mapping[str, float | None]) -> bool:
    return isinstance(bound, Name) and bound.id in values and values[bound.id] is None
