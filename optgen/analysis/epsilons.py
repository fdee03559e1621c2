"""The small numbers of a spec that keep it from dividing by 0, which statements take to the limit 0."""

from __future__ import annotations

from collections.abc import Iterator

from optgen.analysis.subject import Subject
from optgen.expressions import Binary, Call, Expr, Name, Number, children

LARGEST = 1e-3
"""The largest value that is taken for small."""


def epsilons(subject: Subject) -> tuple[str, ...]:
    """The params, and the texts of numbers in equations, that are small and do nothing but to be added to a value, or
    to be the least that a value can be: by `+`, `max`, and squares in these. Only where they do, the equations with 0
    in their places are the limit."""
    found = {use for p in subject.programs for e in p.equations for use in _uses(e.value, is_floor=False)}
    elsewhere = {key for key, is_floor in found if not is_floor}
    return tuple(sorted(key for key in {key for key, _ in found} - elsewhere if _is_small(key, subject)))


def _uses(expr: Expr, *, is_floor: bool) -> Iterator[tuple[str, bool]]:
    """The names and numbers in an expression, and whether each is a floor there."""
    match expr:
        case Name(id=name, primed=False):
            yield name, is_floor
        case Number(text=text):
            yield text, is_floor
        case Binary(op="+", left=a, right=b) | Call(function="max", args=(a, b)):
            yield from _uses(a, is_floor=True)
            yield from _uses(b, is_floor=True)
        case Binary(op="^", left=a, right=Number(value=2)):
            yield from _uses(a, is_floor=is_floor)
        case Binary(op="-", left=a, right=b):
            yield from _uses(a, is_floor=True)
            yield from _uses(b, is_floor=False)
        case _:
            for child in children(expr):
                yield from _uses(child, is_floor=False)


def _is_small(key: str, subject: Subject) -> bool:
    value = subject.values.get(key) if key in subject.values else _number(key)
    return value is not None and 0 < value <= LARGEST


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
