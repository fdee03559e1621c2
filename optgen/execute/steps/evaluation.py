"""The weights to evaluate with, which the `eval:` section of a spec computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from optgen.execute import buffers
from optgen.execute import state as states
from optgen.execute.buffers import Tensor
from optgen.execute.hyper import Numbers
from optgen.execute.kernel import LoadedKernel, Rows, group_by_kernel
from optgen.execute.overlap import OverlapCheck
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

    def evaluates_pieces(self, shape: Sequence[int], flags: Mapping[str, FlagValue]) -> bool:
        """Whether the weights to evaluate with of a piece of such a parameter follow from that piece alone."""


def evaluate(
    rule: EvaluatingRule,
    params: Sequence[Tensor],
    state: State,
    flags: Sequence[Mapping[str, FlagValue]],
    pieces: Sequence[AnyPiece | None],
    values: Numbers,
    out: Sequence[Any] | None = None,
) -> list[Any]:
    """Arrays with the weights to evaluate with, new ones or `out`; ValueError if the spec has no `eval:` section.

    `params` are checked. `flags` and `pieces` are those of each; `values` are hyper-parameters.
    """
    if not rule.spec.evaluate:
        raise ValueError(f"{rule.spec.name} has no eval: section; its weights are evaluated as they are")
    shapes = [p.shape if own is None else own.shape for p, own in zip(params, pieces, strict=True)]
    kernels = []
    for param, shape, own_flags, own_piece in zip(params, shapes, flags, pieces, strict=True):
        if own_piece is not None and not rule.evaluates_pieces(shape, own_flags):
            raise ValueError(
                f"{param.name}: a piece of a tensor of shape {shape}, and the eval: section of {rule.spec.name} reads "
                "sums, rows or columns of the whole; keep it whole"
            )
        kernels.append(rule.kernel(shape, own_flags, evaluate=True, piece=own_piece))
    device = rule.target.device(params)
    state = states.on_host(state, kernels, device)
    tensors = states.tensors(state, kernels, params, repr(rule), device)
    by_row = states.by_row(tensors, kernels)
    new = [device.full(p.shape, rule.dtype, 0.0, p) for p in params] if out is None else list(out)
    written = [device.tensor(x, f"out[{i}]") for i, x in enumerate(new)]
    for own, param in zip(written, params, strict=True):
        buffers.check(own, rule.dtype, param.shape, "its parameter")
        buffers.check_writable(own)
    read = [t for column in (params, *tensors.values()) for t in column if t is not None]
    OverlapCheck(written, read).check_no_overlap([])
    tensors["out"] = written
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
