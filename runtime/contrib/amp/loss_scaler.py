"""The scale of losses, which keeps small gradients from vanishing in 16 bits."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from runtime import ndarray as nd
from runtime.gluon.parameter import Parameter


class LossScaler:
    """A factor that is halved when a gradient overflows, and doubled after each 2000 steps without, up to 2**24."""

    max_scale = 2.0**24
    window = 2000
    """Steps without an overflow after which the scale is doubled."""

    def __init__(self) -> None:
        self.loss_scale = 2.0**16
        self._unskipped = 0

    def has_overflow(self, params: Iterable[Parameter]) -> bool:
        """Whether a gradient has an infinite element, or a NaN. The scale is changed accordingly."""
        grads = [grad for param in params if param.grad_req != "null" for grad in param.list_grad()]
        dense = [grad if grad.stype == "default" else grad.data for grad in grads]
        if all(nd.all_finite(grad).asscalar() for grad in dense):
            self._unskipped += 1
            if self._unskipped == self.window:
                self._change(min(self.max_scale, 2 * self.loss_scale))
            return False
        self._change(self.loss_scale / 2)
        return True

    def _change(self, scale: float) -> None:
        self._unskipped = 0
        self.loss_scale = scale
        logging.info("AMP: the loss is scaled by %g", scale)
