"""What steps of a Trainer do with each of its parameters, as a table: computed of the rules that steps use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from runtime.core import optgen_bridge
from runtime.gluon.parameter import Parameter
from runtime.optimizer import Optimizer
from runtime.optimizer.spec import SpecOptimizer

if TYPE_CHECKING:
    from optgen.execute.planned import PlannedParam, UpdatePlan


def plan(params: Sequence[Parameter], optimizer: Optimizer) -> UpdatePlan:
    """The rows of parameters that an optimizer numbers in this order; TypeError if it is not made of a spec."""
    if not isinstance(optimizer, SpecOptimizer):
        raise TypeError(
            f"{type(optimizer).__name__} is written by hand; plans are of optimizers that are made of specs"
        )
    rows = [_row(optimizer, i, param) for i, param in enumerate(params)]
    return optgen_bridge.plan(optimizer.spec, rows)


def _row(optimizer: SpecOptimizer, i: int, param: Parameter) -> PlannedParam:
    ctx, shape = param.list_ctx()[0], param.shape
    is_known = shape is not None and all(n > 0 for n in shape)
    row = optgen_bridge.planned_param(param.name, shape if is_known else (0,), np.dtype(param.dtype).name, str(ctx))
    if param.grad_req == "null":
        return row._replace(update="none", because="its grad_req is 'null'")
    if not is_known:
        return row._replace(update="unknown", because="it has no shape yet")
    return optimizer.planned(i, row, ctx)
