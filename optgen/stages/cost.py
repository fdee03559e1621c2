"""The cost of a plan: the floating-point operations of its calls, and the bytes that its kernels move."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from optgen import arguments
from optgen.axes import Axes, length_of
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.ir import Kernel
from optgen.ir.cost import sweeps
from optgen.model import Optimizer
from optgen.stages.plan import GROUPED, PARAMETER, TALL, CallStage, KernelStage, LoopStage, Plan, Stage


def caller_axes(optimizer: Optimizer) -> dict[str, Axes]:
    """The dimensions of the caller's arrays."""
    elements = {"w": PARAMETER} | {x.name: x.axes for x in optimizer.inputs}
    return {s.name: s.axes for s in optimizer.states} | elements


def flops(plan: Plan, axes: Mapping[str, Axes], values: Mapping[str, float | None]) -> float:
    """The operations of products and factorizations in one update of a parameter. `axes` are the dimensions of the
    caller's arrays; `values` has params and sizes."""
    known = {**axes, **{array.key: array.axes for array in plan.arrays}}
    places = {key: known[place] for key, place in plan.places.items()}

    def of(stage: KernelStage | CallStage) -> float:
        return _call(stage, {**known, **places}, values) if isinstance(stage, CallStage) else 0

    return (values.get("matrices") or 1) * _total(plan.stages, of, values)


def tall_matrices(plan: Plan, axes: Mapping[str, Axes]) -> Iterator[tuple[str, Axes]]:
    """The functions of a plan that take matrices of no more columns than rows, and the dimensions of these. `axes` are
    those of the caller's arrays."""
    known = {**axes, **{array.key: array.axes for array in plan.arrays}}
    for stage in plan.walk():
        if isinstance(stage, CallStage) and stage.function in TALL:
            (operand,) = stage.operands
            own = known[plan.places.get(operand.key, operand.key)]
            yield stage.function, own[::-1] if operand.transposed else own


def moved(plan: Plan, kernel_of: Callable[[KernelStage], Kernel], values: Mapping[str, float | None]) -> float:
    """The bytes that the sweeps of one update read and write; `kernel_of` has the planned kernels."""

    def of(stage: KernelStage | CallStage) -> float:
        if isinstance(stage, CallStage):
            return 0
        elements = math.prod(length_of(x, values) for x in stage.domain)
        return elements * sum(x.bytes_read + x.bytes_written for x in sweeps(kernel_of(stage)))

    return (values.get("matrices") or 1) * _total(plan.stages, of, values)


def _total(
    stages: Sequence[Stage], of: Callable[[KernelStage | CallStage], float], values: Mapping[str, float | None]
) -> float:
    """The sum of a cost of stages, each turn of a loop counted."""
    total = 0.0
    for stage in stages:
        if isinstance(stage, LoopStage):
            total += arguments.number(stage.count, values) * _total(stage.body, of, values)
        else:
            total += of(stage)
    return total


def _call(call: CallStage, axes: Mapping[str, Axes], values: Mapping[str, float | None]) -> float:
    if call.function in GROUPED:
        return 0
    shapes = []
    for operand in call.operands:
        own = [length_of(x, values) for x in axes[operand.key]]
        shapes.append(own[::-1] if operand.transposed else own)
    if call.function == "product":
        rows, inner = (1, *shapes[0]) if 0 in call.vectors else shapes[0]
        cols = 1 if 1 in call.vectors else shapes[1][1]
        return (1 if call.symmetric else 2) * rows * inner * cols
    if call.function == "solve":
        (n, _), (_, k) = shapes[0], (*shapes[1], 1)[:2]
        return 2 / 3 * n**3 + 2 * n**2 * k
    what = MATRIX_FUNCTIONS.get(call.function)
    if what is not None and what.flops is not None:
        m, n = shapes[0]
        return what.flops(m, n)
    return 0  # a transpose, a diagonal: memory alone
