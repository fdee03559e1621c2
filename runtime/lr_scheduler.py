"""Learning rates as functions of the number of updates done."""

from __future__ import annotations


class LRScheduler:
    """A function of the update count, 1 at the first update. Subclasses define `__call__`, from `base_lr`."""

    def __init__(self, base_lr: float = 0.01) -> None:
        self.base_lr = base_lr

    def __call__(self, num_update: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after every `step` updates, but never goes below `stop_factor_lr`."""

    def __init__(self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01) -> None:
        super().__init__(base_lr)
        if step < 1:
            raise ValueError(f"step must be at least 1, not {step}")
        if factor > 1:
            raise ValueError(f"factor must be at most 1, so that the rate does not grow, not {factor}")
        self.step, self.factor, self.stop_factor_lr = step, factor, stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        # base_lr itself is what falls: setting it anew, as an optimizer does, starts from there.
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr
