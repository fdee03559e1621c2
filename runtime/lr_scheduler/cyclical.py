"""Schedules that rise and fall: cyclical rates, and the single cycle of super-convergence."""

from __future__ import annotations

from typing import Literal, get_args

from runtime.base import count
from runtime.lr_scheduler.base import LRScheduler, WarmupMode, choice, nonnegative, share

CycleMode = Literal["triangular", "triangular2", "exp_range"]


class TriangularScheduler(LRScheduler):
    """Cyclical rates: up from `base_lr` to `max_lr` in `step_size` updates, down in as many, and again:

        base_lr + (max_lr - base_lr) h max(0, 1 - abs(i/step_size - 2 c + 1)), i = n - warmup_steps,
        c = floor(1 + i/(2 step_size)) the cycle, 1 at first

    `mode` gives the height h: 1 in every cycle ('triangular'), halved from cycle to cycle, 2^(1 - c) ('triangular2'),
    or falling all the time, gamma^i ('exp_range'; `base_lr` does not fall). Smith 2017, arXiv:1506.01186, section 3.

    Parameters: `step_size`, half a cycle, at least 1; `max_lr`, at least `base_lr`; `mode`; `gamma` in [0, 1], for
    'exp_range' only; the others as in LRScheduler.
    """

    def __init__(
        self,
        step_size: int,
        max_lr: float,
        mode: CycleMode = "triangular",
        gamma: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step_size = count("step_size", step_size)
        self.max_lr = _peak(max_lr, base_lr)
        self.mode = choice("mode", mode, get_args(CycleMode))
        self.gamma = share("gamma", gamma)
        if gamma != 1 and mode != "exp_range":
            raise ValueError(f"gamma belongs to mode 'exp_range'; mode is '{mode}'")

    def after_warmup(self, num_update: int) -> float:
        i = num_update - self.warmup_steps
        cycle = i // (2 * self.step_size)
        heights = {"triangular": 1.0, "triangular2": 0.5**cycle, "exp_range": self.gamma**i}
        height = heights[self.mode] * _triangle(i - cycle * 2 * self.step_size, self.step_size)
        return self.base_lr_orig + (self.max_lr - self.base_lr_orig) * height


class OneCycleScheduler(LRScheduler):
    """One triangle, from `base_lr` up to `max_lr` in `step_size` updates and down in as many, then, until `max_update`,
    a straight line from `base_lr` to `final_lr`, where the rate stays.

    Smith & Topin 2018 (super-convergence), arXiv:1708.07120, section 3, who let the last part fall several orders of
    magnitude below `base_lr`.

    Parameters: `step_size`, half the cycle, at least 1; `max_lr`, at least `base_lr`; `max_update`, above
    `warmup_steps + 2*step_size`; `final_lr`; the others as in LRScheduler.
    """

    def __init__(
        self,
        step_size: int,
        max_lr: float,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step_size = count("step_size", step_size)
        self.max_lr = _peak(max_lr, base_lr)
        self.max_update = count("max_update", max_update)
        self.final_lr = nonnegative("final_lr", final_lr)
        end = self.warmup_steps + 2 * self.step_size
        if self.max_update <= end:
            raise ValueError(f"max_update must be above warmup_steps + 2*step_size, {end}, not {self.max_update}")

    def after_warmup(self, num_update: int) -> float:
        i, length = num_update - self.warmup_steps, 2 * self.step_size
        if i <= length:
            return self.base_lr_orig + (self.max_lr - self.base_lr_orig) * _triangle(i, self.step_size)
        left = max(0, self.max_update - num_update) / (self.max_update - self.warmup_steps - length)
        return self.final_lr + (self.base_lr_orig - self.final_lr) * left


def _triangle(i: int, half: int) -> float:
    """0 at 0, 1 at `half`, 0 at 2*half, straight between."""
    return 1 - abs(i / half - 1)


def _peak(max_lr: float, base_lr: float) -> float:
    if nonnegative("max_lr", max_lr) < base_lr:
        raise ValueError(f"max_lr must be at least base_lr, {base_lr}, not {max_lr}")
    return float(max_lr)
