"""How a step takes its gradients, as scaled losses and clipped norms ask for it."""

from __future__ import annotations

from dataclasses import dataclass

from optgen.execute.buffers import Tensor


@dataclass(frozen=True)
class Scaler:
    """What gradients are multiplied by as they are read, and when a step changes nothing.

    They are multiplied by `factor` divided by `grad_scale`. If `found_inf` is not 0, nothing changes. These two are
    float32 numbers on the GPU, which a capturable step reads there, or None.
    """

    factor: float = 1.0
    grad_scale: Tensor | None = None
    found_inf: Tensor | None = None
