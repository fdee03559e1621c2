"""Question `cut`: whether a parameter that is cut in two is updated as if it were whole.

Claims: `exact` (cut anywhere), `between-rows`, `between-columns`, `no`.
"""

from __future__ import annotations

from collections.abc import Iterator

from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.trial import SAID, RandomRun, agree, changes, holds, rounding
from optgen.axes import Kind
from optgen.expressions import Call, Expr, Name, is_grouped, walk
from optgen.functions.matrices import is_of_matrices
from optgen.functions.table import is_draw, is_reduction
from optgen.model import DIMENSIONS

QUESTION = "cut"
SIZES = frozenset(DIMENSIONS) - {"rank"}


def cut(subject: Subject) -> list[Statement]:
    """Where a parameter can be cut, and nothing changes."""
    if is_elementwise(subject):
        text = "Cutting a parameter anywhere changes no step: no value depends on several elements."
        return [Statement(QUESTION, "exact", text, Verdict.PROVED)]
    depends = set(_dependences(subject))
    for scope, claim in (("row", "between-rows"), ("col", "between-columns")):
        if depends == {scope}:
            text = (
                f"Cutting a matrix {claim.replace('-', ' ')} changes no step: values depend on single {scope}s alone."
            )
            return [Statement(QUESTION, claim, text.replace("cols", "columns"), Verdict.PROVED)]
    if len(subject.shape) == 2:
        for axis, claim in ((0, "between-rows"), (1, "between-columns")):
            if _is_same(subject, axis):
                text = f"Cutting a matrix {claim.replace('-', ' ')} changes no step: found {SAID}."
                return [Statement(QUESTION, claim, text, Verdict.RUN)]
    elif _is_same(subject, 0):
        text = f"Cutting a tensor along its first axis changes no step: found {SAID}."
        return [Statement(QUESTION, "between-rows", text, Verdict.RUN)]
    what = "draws of the parts are others" if "draw" in depends else "values depend on all of its elements"
    text = f"Cutting a parameter in two changes the steps, as a random run shows: {what}."
    return [Statement(QUESTION, "no", text, Verdict.RUN)]


def is_elementwise(subject: Subject) -> bool:
    """Whether no value depends on several elements, on the sizes of the parameter, or on draws."""
    return not set(_dependences(subject))


def _dependences(subject: Subject) -> Iterator[str]:
    """What values depend on beside an element: `row`, `col`, `draw`, or `all`."""
    if subject.spec.reads_sizes:
        yield "all"
    for program in subject.programs:
        for state in program.states:
            yield from {Kind.ROW: ["row"], Kind.COL: ["col"], Kind.MATRIX: ["all"]}.get(state.kind, [])
        starts = [subject.spec.start(s) for s in program.states]
        values: list[Expr] = [*(e.value for e in program.equations), *(x for x in starts if x is not None)]
        yield from (found for value in values for x in walk(value) if (found := _dependence(x)) is not None)


def _dependence(expr: Expr) -> str | None:
    if is_draw(expr):
        return "draw"
    if is_of_matrices(expr) or is_grouped(expr) or (isinstance(expr, Name) and expr.id in SIZES):
        return "all"
    if isinstance(expr, Call) and is_reduction(expr):
        return expr.scope if expr.scope in ("row", "col") else "all"
    return None


def _is_same(subject: Subject, axis: int) -> bool:
    """Whether random runs of a parameter and of its two parts, bound together, agree."""
    at = max(subject.shape[axis] // 2, 1)

    def agrees(one: RandomRun, updates: int) -> bool:
        whole = one.follow(updates)
        return agree(changes(whole), changes(one.follow(updates, cut=(axis, at))), floor=rounding(whole))

    try:
        return holds(subject, agrees)
    except ValueError:  # the parts may be too small for the spec
        return False
