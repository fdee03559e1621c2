"""The weights to evaluate with, which the `eval:` section of a spec computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from optgen.execute import state as states
from optgen.execute.buffers import Tensor
from optgen.execute.hyper import Numbers
from optgen.execute.kernel import LoadedKernel, Rows, group_by_kernel
from optgen.execute.piece import AnyPiece, is_left_out
from optgen.execute.protocols import Platform
from optgen.execute.state import State
from optgen.execute.table import StepTable
from optgen.execute.tensors.gradients import all_rows
from optgen.model import FlagValue, Optimizer


class EvaluatingRule(Protocol):
    """What evaluation asks of a rule."""

    spec: Optimizer
    dtype: str
    target: Platform

    def kernel(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue], *, evaluate: bool, piece: AnyPiece | None
    ) -> LoadedKernel:
        """The kernel for a parameter of this shape, or for a piece of it."""


def evaluate(
    rule: EvaluatingRule,
    params: Sequence[Tensor],
    state: State,
    flags: Sequence[Mapping[str, FlagValue]],
    pieces: Sequence[AnyPiece | None],
    values: Numbers,
) -> list[Any]:
    """New arrays with the weights to evaluate with; ValueError if the spec has no `eval:` section.

    `params` are checked. `flags` and `pieces` are those of each; `values` are hyper-parameters.
    """
    if not rule.spec.evaluate:
        raise ValueError(f"{rule.spec.name} has no eval: section; its weights are evaluated as they are")
    shapes = [p.shape if own is None else own.shape for p, own in zip(params, pieces, strict=True)]
    kernels = [
        rule.kernel(shape, own_flags, evaluate=True, piece=own_piece)
        for shape, own_flags, own_piece in zip(shapes, flags, pieces, strict=True)
    ]
    device = rule.target.device(params)
    state = states.on_host(state, kernels, device)
    tensors = states.tensors(state, kernels, params, repr(rule), device)
    by_row = states.by_row(tensors, kernels)
    new = [device.full(p.shape, rule.dtype, 0.0, p) for p in params]
    tensors["out"] = [device.tensor(x, "out") for x in new]
    tensors.setdefault("w", params)
    counts = states.counts(state, len(params), device).view()
    members = [i for i, kernel in enumerate(kernels) if not is_left_out(pieces[i], params[i], kernel)]
    for kernel, own_members in group_by_kernel(kernels, members).items():
        table = device.table(kernel, own_members, params, tensors, [0] * len(params), pieces)
        assert isinstance(table, StepTable)  # `eval:` is one kernel
        table.counts[:] = counts[own_members]
        table.set_hyper({**values, "step": float(counts.max())})
        table.bind_gradients([((), all_rows(params[i], kernel) if by_row[i] else Rows()) for i in own_members])
        table.run()
    return new
