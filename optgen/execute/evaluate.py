"""The weights to evaluate a model with, by a spec's `eval:` section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optgen.execute import state
from optgen.execute.buffers import Tensor
from optgen.execute.gradients import Rows, all_rows
from optgen.execute.kernel import Kernel
from optgen.execute.piece import Piece, is_left_out
from optgen.execute.state import State
from optgen.execute.table import Values
from optgen.model import FlagValue

if TYPE_CHECKING:
    from optgen.execute.rule import UpdateRule


def evaluate(
    rule: UpdateRule,
    params: Sequence[Tensor],
    flags: Sequence[Mapping[str, FlagValue]],
    kept: State,
    values: Values,
    pieces: Sequence[Piece | None],
) -> list[Any]:
    """New arrays, of the shapes and the dtype of `params`, which are left as they are."""
    if not rule.spec.evaluate:
        raise ValueError(f"{rule.spec.name} has no eval: section; its weights are evaluated as they are")
    shapes = [p.shape if piece is None else piece.shape for p, piece in zip(params, pieces, strict=True)]
    kernels = [rule.kernel(shape, f, evaluate=True) for shape, f in zip(shapes, flags, strict=True)]
    device = rule.target.device(params)
    columns = state.columns(kept, kernels, params, repr(rule), device)
    by_row = state.by_row(columns, kernels)
    new = [device.full(p.shape, rule.dtype, 0.0) for p in params]
    columns["out"] = [device.tensor(x, "out") for x in new]
    columns.setdefault("w", params)
    counts = state.counts(kept, len(params)).view()
    there = [i for i, kernel in enumerate(kernels) if not is_left_out(pieces[i], params[i], kernel)]
    for kernel, members in grouped(kernels, there).items():
        table = device.table(kernel, members, params, columns, [0] * len(params), pieces)
        table.counts[:] = counts[members]
        table.set({**values, "step": float(counts.max())})
        table.take([((), all_rows(params[i]) if by_row[i] else Rows()) for i in members])
        table.run()
    return new


def grouped(kernels: Sequence[Kernel], members: Sequence[int]) -> dict[Kernel, list[int]]:
    """Those of some parameters that each kernel updates."""
    groups: dict[Kernel, list[int]] = {}
    for i in members:
        groups.setdefault(kernels[i], []).append(i)
    return groups
