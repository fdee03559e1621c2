"""Learning-rate schedules of this library as JSON: their class and arguments, as they are formulas without memory."""

from __future__ import annotations

import inspect
from typing import Any

from runtime import lr_scheduler

_ATTRIBUTES = {"base_lr": "base_lr_orig", "pwr": "power"}
"""Where arguments are kept under another name."""


def to_json(schedule: Any) -> dict[str, Any] | None:
    """A schedule as values that JSON can hold; None for none, and for all that are not of `runtime.lr_scheduler`."""
    name = type(schedule).__name__
    if name not in lr_scheduler.__all__ or getattr(lr_scheduler, name) is not type(schedule):
        return None
    arguments = {x: getattr(schedule, _ATTRIBUTES.get(x, x)) for x in inspect.signature(type(schedule)).parameters}
    return {"class": name, **arguments, "base_lr_now": schedule.base_lr}


def of_json(content: Any) -> lr_scheduler.LRScheduler | None:
    """What `to_json` was given; TypeError, ValueError, KeyError or OverflowError for what it does not give."""
    if content is None:
        return None
    arguments = dict(content)
    name, now = arguments.pop("class"), arguments.pop("base_lr_now")
    cls = getattr(lr_scheduler, name) if name in lr_scheduler.__all__ else None
    if not isinstance(cls, type) or not issubclass(cls, lr_scheduler.LRScheduler):
        raise ValueError(f"{name!r} is no schedule of runtime.lr_scheduler")
    schedule = cls(**arguments)
    schedule.base_lr = lr_scheduler.LRScheduler(now).base_lr
    return schedule
