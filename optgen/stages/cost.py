"""The cost of a plan: the floating-point operations of its calls, and the bytes that its kernels move."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from optgen import arguments
from optgen.ir import Kernel
from optgen.ir.cost import sweeps
from optgen.model import Optimizer
from optgen.stages.plan import GROUPED, ONE, PARAMETER, Axes, CallStage, KernelStage, LoopStage, Plan, Stage

_EIGENVECTORS = 9
"""n^3 times this are the operations of eigenvalues and eigenvectors of a symmetric matrix, and a third of 4 those of
eigenvalues alone (Golub and Van Loan, Matrix Computations, 8.3)."""

FACTORIZATIONS: Mapping[str, Callable[[float, float], float]] = {
    "inverse_root": lambda m, n: (_EIGENVECTORS + 1) * n**3,
    "eigenvectors": lambda m, n: _EIGENVECTORS * n**3,
    "eigenvalues": lambda m, n: 4 / 3 * n**3,
    "orthonormal": lambda m, n: 4 * (m * n**2 - n**3 / 3),
    "singular_values": lambda m, n: 4 * (m * n**2 - n**3 / 3),
    "left_singular_vectors": lambda m, n: 14 * m * n**2 + 8 * n**3,
    "right_singular_vectors": lambda m, n: 14 * m * n**2 + 8 * n**3,
}
"""The operations for a matrix of (m, n): the usual counts of the textbook's algorithms. A QR factorization and its Q
take twice 2(m n^2 - n^3/3); an inverse root adds half a product. Singular vectors of one side take as long as those of
both (8.6)."""


def caller_axes(optimizer: Optimizer) -> dict[str, Axes]:
    """The dimensions of the caller's arrays."""
    elements = dict.fromkeys(("w", *(x.name for x in optimizer.inputs)), PARAMETER)
    return {s.name: s.axes for s in optimizer.states} | elements


def flops(plan: Plan, axes: Mapping[str, Axes], values: Mapping[str, float | None]) -> float:
    """The operations of products and factorizations in one update of a parameter. `axes` are the dimensions of the
    caller's arrays; `values` has params and sizes."""
    known = {**axes, **{array.key: array.axes for array in plan.arrays}}
    places = {key: known[place] for key, place in plan.places.items()}

    def of(stage: KernelStage | CallStage) -> float:
        return _call(stage, {**known, **places}, values) if isinstance(stage, CallStage) else 0

    return (values.get("matrices") or 1) * _total(plan.stages, of, values)


def moved(plan: Plan, kernel_of: Callable[[KernelStage], Kernel], values: Mapping[str, float | None]) -> float:
    """The bytes that the sweeps of one update read and write; `kernel_of` has the planned kernels."""

    def of(stage: KernelStage | CallStage) -> float:
        if isinstance(stage, CallStage):
            return 0
        elements = math.prod(1 if x == ONE else (values[x] or 0) for x in stage.domain)
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
        own = [1 if x == ONE else (values[x] or 0) for x in axes[operand.key]]
        shapes.append(own[::-1] if operand.transposed else own)
    if call.function == "product":
        rows, inner = (1, *shapes[0]) if 0 in call.vectors else shapes[0]
        cols = 1 if 1 in call.vectors else shapes[1][1]
        return (1 if call.symmetric else 2) * rows * inner * cols
    if call.function == "solve":
        (n, _), (_, k) = shapes[0], (*shapes[1], 1)[:2]
        return 2 / 3 * n**3 + 2 * n**2 * k
    if call.function in FACTORIZATIONS:
        m, n = shapes[0]
        return FACTORIZATIONS[call.function](m, n)
    return 0  # a transpose, a diagonal: memory alone
