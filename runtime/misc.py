"""The learning rates of MXNet's first versions, for programs that still name them.

They are called with an iteration, count from 0, and take no warm-up; optimizers take them as `lr_scheduler`. New
programs use `lr_scheduler`.
"""

from __future__ import annotations

import logging

from runtime.base import count


class LearningRateScheduler:
    """A rate for each iteration. Subclasses override `__call__`; optimizers set `base_lr`, the first rate."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} has no __call__, the rate of an iteration")


class FactorScheduler(LearningRateScheduler):
    """`base_lr factor^floor(iteration / step)`, for `step` at least 1 and `factor` below 1. Changes are logged."""

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        self.step = count("step", step)
        if factor >= 1:
            raise ValueError(f"factor must be less than 1, for the rate to fall, not {factor!r}")
        self.factor = factor
        self._last: float | None = None

    def __call__(self, iteration: int) -> float:
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != (self.base_lr if self._last is None else self._last):
            logging.info("At Iteration [%d]: Switch to new learning rate %.5f", iteration, rate)
        self._last = rate
        return rate
