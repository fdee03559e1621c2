"""The scale of losses, which keeps small gradients from vanishing in 16 bits."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from runtime.gluon.parameter import Parameter
from runtime.gluon.trainer_params import has_nonfinite


class LossScaler:
    """A factor that is halved when a gradient overflows, and doubled after each 2000 steps without, up to 2**24."""

    max_scale = 2.0**24
    window = 2000
    """Steps without an overflow after which the scale is doubled."""

    def __init__(self) -> None:
        self.loss_scale = 2.0**16
        self._unskipped = 0

    def has_overflow(self, params: Sequence[Parameter]) -> bool:
        """Whether a gradient has an infinite element, or a NaN. The scale is changed accordingly."""
        if not has_nonfinite(params):
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
