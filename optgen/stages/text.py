"""Plans as text: which elements each kernel reads and writes, and what each call computes and costs.

Vectors and numbers of kernels are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from optgen.axes import Axes, Axis, shown
from optgen.expressions import Expr
from optgen.ir import Kernel
from optgen.ir.cost import sweeps
from optgen.stages.plan import GROUPED, CallStage, KernelStage, LoopStage, Operand, Plan, Stage
from optgen.symbolic.written import expression

KernelOf = Callable[[KernelStage], Kernel]
"""The planned kernel of a stage."""


def lines(plan: Plan, axes: Mapping[str, Axes], kernel_of: KernelOf) -> list[str]:
    """A line for each sweep, call and loop. `axes` are the dimensions of the caller's arrays."""
    known = {**axes, **{array.key: array.axes for array in plan.arrays}}
    return list(_lines(plan.stages, plan, known, kernel_of))


def _lines(stages: Sequence[Stage], plan: Plan, axes: Mapping[str, Axes], kernel_of: KernelOf) -> Iterator[str]:
    for stage in stages:
        match stage:
            case KernelStage(domain=domain):
                for sweep in sweeps(kernel_of(stage)):
                    read = f"reads {' '.join(sweep.reads)}" if sweep.reads else "reads nothing"
                    written = f", writes {' '.join(sweep.writes)}" if sweep.writes else ""
                    yield f"sweep over {shown(domain)}: {read}{written}"
            case CallStage():
                yield _call(stage, plan, axes)
            case LoopStage(body=body):
                yield f"repeat {expression(stage.count)}:"
                yield from (f"  {line}" for line in _lines(body, plan, axes, kernel_of))


def _call(call: CallStage, plan: Plan, axes: Mapping[str, Axes]) -> str:
    if call.function in GROUPED:
        return f"{call.target} = {call.function}({_operand(call.operands[0])}, per {expression(call.numbers[0])})"
    if call.function != "product":
        words = [*map(_operand, call.operands), *map(expression, call.numbers)]
        return f"{call.target}{'^T' * call.turned} = {call.function}({', '.join(words)})"
    shapes = [_shape(x, plan, axes, k in call.vectors) for k, x in enumerate(call.operands[:2])]
    lengths = [*shapes[0], *shapes[1][1:]] if 0 not in call.vectors else shapes[1]
    half = "symmetric, half of " * call.symmetric
    count = "*".join(map(str, lengths)) or "1"
    product = "@".join(map(_operand, call.operands[:2]))
    if call.numbers:
        alpha, beta = map(_factor, call.numbers)
        product = f"{alpha}{product} + {beta}{_operand(call.operands[2])}"
    return f"{call.target} = {product}: {half}{count} multiply-adds"


def _factor(x: Expr) -> str:
    """`a*`; nothing for 1."""
    text = expression(x)
    return "" if text == "1" else f"({text})*" if text[0] == "-" else f"{text}*"


def _operand(x: Operand) -> str:
    return f"{x.key}^T" if x.transposed else x.key


def _shape(x: Operand, plan: Plan, axes: Mapping[str, Axes], is_vector: bool) -> list[Axis]:
    own = list(axes[plan.places.get(x.key, x.key)])
    if is_vector:
        return own
    return own[::-1] if x.transposed else own
