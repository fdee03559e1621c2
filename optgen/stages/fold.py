"""Takes a sweep that only adds to a product into the product: `Y' = a*Y + P`, where nothing else reads P.

`linalg.product` computes `alpha*product + beta*z` with the bits of a product and a sweep, and saves a pass over memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from optgen.diagnostics import Span
from optgen.expressions import Binary, Expr, Name, Number, Unary, walk
from optgen.stages.plan import CallStage, KernelStage, LoopStage, Operand, Stage, walk_stages

_ONE = Number(1.0, "1", Span(0, 0, 0))
Term = tuple[Expr, str]
"""A factor, and the key of the array that it multiplies."""


def folded(
    stages: Sequence[Stage],
    matrices: Collection[str],
    symmetric: Collection[str],
    is_number: Callable[[Expr], bool],
) -> tuple[Stage, ...]:
    """The stages with such sweeps in the place of their products. `matrices` are the keys of matrices that a call can
    read, and `symmetric` those of symmetric ones. `is_number` tells whether an expression is known before the step."""
    every = tuple(walk_stages(tuple(stages)))
    read = Counter(key for stage in every for key in _reads(stage))
    return _folded(stages, read, matrices, symmetric, is_number)


def _folded(
    stages: Sequence[Stage],
    read: Counter[str],
    matrices: Collection[str],
    symmetric: Collection[str],
    is_number: Callable[[Expr], bool],
) -> tuple[Stage, ...]:
    found: list[Stage] = []
    for stage in stages:
        if isinstance(stage, LoopStage):
            found.append(replace(stage, body=_folded(stage.body, read, matrices, symmetric, is_number)))
            continue
        made = _sum(stage, found, read, matrices, symmetric, is_number) if isinstance(stage, KernelStage) else None
        if made is None:
            found.append(stage)
        else:
            place, call = made
            found[place] = call
    return tuple(found)


def _sum(
    stage: KernelStage,
    before: Sequence[Stage],
    read: Counter[str],
    matrices: Collection[str],
    symmetric: Collection[str],
    is_number: Callable[[Expr], bool],
) -> tuple[int, CallStage] | None:
    """The product that a kernel only adds to, by its number among the stages before, and what takes its place."""
    if len(stage.equations) != 1 or len(stage.stores) != 1:
        return None
    (equation,), ((buffer, key),) = stage.equations, stage.stores
    terms = _terms(equation.value, is_number)
    if buffer != key or equation.target.key != key or terms is None:
        return None
    for k in reversed(range(len(before))):
        call = before[k]
        if isinstance(call, CallStage) and call.function == "product" and not call.vectors and len(call.operands) == 2:
            (alpha, _), (beta, z) = terms if terms[0][1] == call.target else terms[::-1]
            known = all(z not in _writes(later) for later in before[k:])
            fits = not call.symmetric or (key in symmetric and z in symmetric)
            if (
                call.target in (terms[0][1], terms[1][1])
                and z != call.target
                and z in matrices
                and read[call.target] == 1
                and known
                and fits
            ):
                return k, replace(call, operands=(*call.operands, Operand(z)), target=key, numbers=(alpha, beta))
    return None


def _terms(expr: Expr, is_number: Callable[[Expr], bool]) -> tuple[Term, Term] | None:
    """The two terms of `a*X + b*Y`."""
    if not isinstance(expr, Binary) or expr.op not in ("+", "-"):
        return None
    left, right = _term(expr.left, is_number), _term(expr.right, is_number)
    if left is None or right is None:
        return None
    return left, right if expr.op == "+" else (Unary("-", right[0], expr.span), right[1])


def _term(expr: Expr, is_number: Callable[[Expr], bool]) -> Term | None:
    match expr:
        case Name() if not is_number(expr):
            return _ONE, expr.key
        case Binary(op="*", left=factor, right=Name() as x) if is_number(factor) and not is_number(x):
            return factor, x.key
        case Binary(op="*", left=Name() as x, right=factor) if is_number(factor) and not is_number(x):
            return factor, x.key
    return None


def _reads(stage: Stage) -> set[str]:
    match stage:
        case KernelStage(equations=equations, stores=stores):
            return {e.key for q in equations for e in walk(q.value) if isinstance(e, Name)} | {key for _, key in stores}
        case CallStage(operands=operands):
            return {x.key for x in operands}
        case LoopStage(carried=carried):
            return {key for pair in carried for key in pair}


def _writes(stage: Stage) -> set[str]:
    match stage:
        case KernelStage(equations=equations, stores=stores):
            return {q.target.key for q in equations} | {name for name, _ in stores}
        case CallStage(target=target):
            return {target}
        case LoopStage(carried=carried):
            return {new for _, new in carried}
