"""Schedules that fall: at steps, along a curve, or with the root of the update count."""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Sequence

from runtime.base import count
from runtime.lr_scheduler.base import LRScheduler, WarmupMode, nonnegative, share


class _LoggedDecay(LRScheduler):
    """A rate that falls at some updates, which are logged when they are first asked for."""

    _logged = 0
    """The number of falls up to the last one that was logged."""

    def _log(self, num_update: int, falls: int, rate: float, least: float = 0) -> None:
        if falls <= self._logged:
            return
        self._logged = falls
        if rate > least:
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, rate)
        else:
            logging.info("Update[%d]: the learning rate is %0.5e now, and stays there", num_update, rate)


class FactorScheduler(_LoggedDecay):
    """The rate is multiplied by `factor` after every `step` updates, but not to less than `stop_factor_lr`:

        base_lr factor^k, k = floor((n - 1)/step)

    Parameters: `step` at least 1, `factor` in [0, 1], `stop_factor_lr` the least rate it falls to; the others as in
    LRScheduler.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step = count("step", step)
        self.factor = share("factor", factor)
        self.stop_factor_lr = nonnegative("stop_factor_lr", stop_factor_lr)
        # base_lr, number of falls, and the rate after them: the next call continues from here
        self._found = (self.base_lr, 0, self.base_lr)

    def after_warmup(self, num_update: int) -> float:
        falls = max(0, (num_update - 1) // self.step)
        base_lr, done, rate = self._found
        if base_lr != self.base_lr or done > falls:
            done, rate = 0, self.base_lr
        for _ in range(falls - done):  # a rounding at each fall: then the rates are those of MXNet to the last bit
            rate = max(rate * self.factor, self.stop_factor_lr)
        self._found = self.base_lr, falls, rate
        self._log(num_update, falls, rate, self.stop_factor_lr)
        return rate


class MultiFactorScheduler(_LoggedDecay):
    """The rate is multiplied by `factor` after each of the updates listed in `step`:

        base_lr factor^k, k = how many of `step` are below n

    Parameters: `step`, a list of increasing update counts, the first at least 1; `factor` in [0, 1]; the others as in
    LRScheduler.
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (list, tuple)) or not step:
            raise TypeError(f"step must be a list of at least one update count, not {step!r}")
        self.step = [count("step", s) for s in step]
        if self.step != sorted(set(self.step)):
            raise ValueError(f"step must be increasing, not {self.step}")
        self.factor = share("factor", factor)

    def after_warmup(self, num_update: int) -> float:
        falls, rate = bisect_left(self.step, num_update), self.base_lr
        for _ in range(falls):
            rate *= self.factor
        self._log(num_update, falls, rate)
        return rate


class Decay(LRScheduler):
    """From `base_lr` at the end of the warm-up to `final_lr` at `max_update` and ever after, as `remaining` says."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.max_update = count("max_update", max_update)
        self.final_lr = nonnegative("final_lr", final_lr)
        if self.max_update <= self.warmup_steps:
            raise ValueError(f"max_update must be above warmup_steps, {self.warmup_steps}, not {self.max_update}")

    def remaining(self, done: float) -> float:
        """How much of base_lr - final_lr is left when the share `done` of the decay is over."""
        raise NotImplementedError

    def after_warmup(self, num_update: int) -> float:
        done = (num_update - self.warmup_steps) / (self.max_update - self.warmup_steps)
        return self.final_lr + (self.base_lr_orig - self.final_lr) * self.remaining(min(done, 1.0))


class PolyScheduler(Decay):
    """The rate falls from `base_lr` to `final_lr` as a power, and stays there:

        final_lr + (base_lr - final_lr) (1 - x)^pwr, x = (n - warmup_steps)/(max_update - warmup_steps), at most 1

    Parameters: `max_update`, the update that has `final_lr`, above `warmup_steps`; `pwr` at least 0;
    the others as in LRScheduler.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = nonnegative("pwr", pwr)

    def remaining(self, done: float) -> float:
        return math.pow(1 - done, self.power)


class CosineScheduler(Decay):
    """The rate falls from `base_lr` to `final_lr` along half a cosine, and stays there:

        final_lr + (base_lr - final_lr) (1 + cos(pi x))/2, x = (n - warmup_steps)/(max_update - warmup_steps), at most 1

    One cycle of Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5.

    Parameters: `max_update`, the update that has `final_lr`, above `warmup_steps`; the others as in
    LRScheduler.
    """

    def remaining(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


class LinearScheduler(Decay):
    """The rate falls from `base_lr` to `final_lr` in a straight line, and stays there:

        final_lr + (base_lr - final_lr) (1 - x), x = (n - warmup_steps)/(max_update - warmup_steps), at most 1

    With a linear warm-up, the schedule of Devlin et al. 2018 (BERT), arXiv:1810.04805, A.2.

    Parameters: `max_update`, the update that has `final_lr`, above `warmup_steps`; the others as in
    LRScheduler.
    """

    def remaining(self, done: float) -> float:
        return 1 - done


class InverseSquareRootScheduler(LRScheduler):
    """The rate falls with the root of the update count:

        base_lr sqrt(max(warmup_steps, 1)/n)

    Vaswani et al. 2017, arXiv:1706.03762, equation 3, is base_lr = (d_model warmup_steps)^-0.5, warmup_steps = 4000.

    Parameters: as in LRScheduler.
    """

    def after_warmup(self, num_update: int) -> float:
        return self.base_lr_orig * math.sqrt(max(self.warmup_steps, 1) / max(num_update, 1))
