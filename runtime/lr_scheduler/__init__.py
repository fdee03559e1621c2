"""Learning rates as functions of the number of updates: MXNet's schedules, and more from the literature.

An optimizer asks for the rate of update 1, 2, 3, ...; 0 stands for the moment before the first. Any callable of that
number will do; the classes here add a warm-up and `plot`. They are formulas, without memory: the same update has the
same rate however often and in whatever order one asks, so that a schedule can be drawn, shared by several optimizers,
and resumed. Their attributes are numbers, strings and lists of numbers, which JSON can hold. Falls at given updates are
logged, once each.

MXNet's classes store the current rate in `base_lr` as they go. Here `base_lr` stays what it was set to; the rates of
updates 1, 2, 3, ... are the same.
"""

from runtime.lr_scheduler.base import LRScheduler, Schedule, plot
from runtime.lr_scheduler.cyclical import OneCycleScheduler, TriangularScheduler
from runtime.lr_scheduler.decay import (
    CosineScheduler,
    FactorScheduler,
    InverseSquareRootScheduler,
    LinearScheduler,
    MultiFactorScheduler,
    PolyScheduler,
)

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "InverseSquareRootScheduler",
    "LRScheduler",
    "LinearScheduler",
    "MultiFactorScheduler",
    "OneCycleScheduler",
    "PolyScheduler",
    "Schedule",
    "TriangularScheduler",
    "plot",
]
