"""What is timed: a call, and how long threads are left to fall asleep before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

TURN_SECONDS = 0.004
"""How long a case is called at a time, at least: much longer than the clock takes to tell the time."""


class Case(NamedTuple):
    """A call. With `pause_seconds`, so much time passes before each one, which is not counted."""

    call: Callable[[], Any]
    pause_seconds: float = 0.0


def calls_per_turn(case: Case) -> int:
    """How many calls take about TURN_SECONDS, once all is compiled and in memory."""
    for _ in range(3):
        case.call()
    return max(1, round(TURN_SECONDS / max(timed(case, 3), 1e-7)))


def timed(case: Case, count: int) -> float:
    """The seconds that a call takes: the mean of `count`."""
    total = 0.0
    if not case.pause_seconds:
        begin = time.perf_counter()
        for _ in range(count):
            case.call()
        return (time.perf_counter() - begin) / count
    for _ in range(count):
        time.sleep(case.pause_seconds)
        begin = time.perf_counter()
        case.call()
        total += time.perf_counter() - begin
    return total / count


def step(spec: str, shapes: Sequence[tuple[int, ...]], **how: Any) -> Callable[[], Any]:
    """A step of a spec over parameters of these shapes, with gradients."""
    import optgen

    rng = np.random.default_rng(0)
    weights, gradients = ([rng.normal(size=x).astype(np.float32) for x in shapes] for _ in range(2))
    return optgen.load(spec, **how).bind(weights, gradients)
