"""The base class of schedules, with warm-up and plots, and checks of arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Literal, get_args

from runtime.base import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Schedule = Callable[[int], float]
WarmupMode = Literal["linear", "constant"]


class LRScheduler:
    """The base class of schedules: `warmup_steps` updates of warm-up, then the rate of the subclass.

    During the warm-up (n < warmup_steps), 'linear' gives

        warmup_begin_lr + (base_lr - warmup_begin_lr) n/warmup_steps    (Goyal et al. 2017, arXiv:1706.02677, 2.2)

    and 'constant' gives warmup_begin_lr. A subclass defines `after_warmup(num_update)`, or, with a warm-up of its own
    or none, `__call__(num_update)`.

    An optimizer that is given a learning rate beside a scheduler puts it into `base_lr`. FactorScheduler and
    MultiFactorScheduler follow; the warm-up and all other schedules keep the `base_lr` they were made with.

    Parameters
    ----------
    base_lr: the rate that the warm-up leads to and the schedule departs from.
    warmup_steps: how many updates the warm-up takes; they count as updates of the schedule, too.
    warmup_begin_lr: where the warm-up begins, at most `base_lr`.
    warmup_mode: 'linear' or 'constant'.

    Raises TypeError for a count that is no whole number and a rate that is no number, ValueError for a value out of
    range.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: WarmupMode = "linear",
    ) -> None:
        self.base_lr = self.base_lr_orig = self.warmup_final_lr = nonnegative("base_lr", base_lr)
        self.warmup_steps = count("warmup_steps", warmup_steps, least=0)
        self.warmup_begin_lr = nonnegative("warmup_begin_lr", warmup_begin_lr)
        self.warmup_mode = choice("warmup_mode", warmup_mode, get_args(WarmupMode))
        if warmup_begin_lr > base_lr:
            raise ValueError(f"warmup_begin_lr must be at most base_lr, {base_lr}, not {warmup_begin_lr}")

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of an update of the warm-up; ValueError for a later one."""
        if num_update >= self.warmup_steps:
            raise ValueError(f"update {num_update} is not in the warm-up, which ends before {self.warmup_steps}")
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def after_warmup(self, num_update: int) -> float:
        """The rate of an update that is not in the warm-up."""
        raise NotImplementedError(f"{type(self).__name__} must define after_warmup(num_update) or __call__(num_update)")

    def __call__(self, num_update: int) -> float:
        """The rate of an update; 1 is the first."""
        return self.get_warmup_lr(num_update) if num_update < self.warmup_steps else self.after_warmup(num_update)

    def plot(self, steps: int, ax: Axes | None = None) -> Axes:
        """Draw the rates of updates 1 to `steps`: `plot(self, steps, ax)`."""
        return plot(self, steps, ax)


def plot(schedule: Schedule, steps: int, ax: Axes | None = None) -> Axes:
    """Draw the rates of updates 1 to `steps` with matplotlib, on `ax` or on a new figure's axes, which are returned.

    `schedule` is any function of the update count. Raises ImportError where matplotlib is missing.
    """
    updates = range(1, count("steps", steps) + 1)
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            from optgen import extras

            raise ImportError(f"plot needs matplotlib: {extras.install('plot')}") from error
        ax = plt.figure(layout="constrained").add_subplot(xlabel="update", ylabel="learning rate")
        ax.grid(alpha=0.3)
    ax.plot(updates, [schedule(n) for n in updates])
    return ax


# ---------------------------------------------------------------- checks: the value, as Python's own type, or an error


def nonnegative(name: str, value: float) -> float:
    if not 0 <= _real(name, value) < math.inf:
        raise ValueError(f"{name} must be a finite number, at least 0, not {value}")
    return float(value)


def share(name: str, value: float) -> float:
    if not 0 <= _real(name, value) <= 1:
        raise ValueError(f"{name} must be in [0, 1], so that the rate does not grow, not {value}")
    return float(value)


def choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return value


def _real(name: str, value: float) -> float:
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    return float(value)
