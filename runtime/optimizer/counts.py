"""Checks of counts, seeds and the numbers of parameters in random draws, wherever they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core import optgen_bridge

MAX_COUNT = 1 << 53
"""The largest count: kernels compute with counts in float64."""
SEED_LIMIT = 1 << 63
"""Seeds are below this."""


def count(value: Any, what: str) -> int:
    """A number of updates, batches and the like; MXNetError calling it `what` for anything else."""
    return _whole(value, MAX_COUNT, what, "a count, from 0 to 2^53")


def seed(value: Any, what: str) -> int:
    """A seed of random draws; MXNetError calling it `what` for anything else."""
    return _whole(value, SEED_LIMIT - 1, what, "a whole number in [0, 2^63)")


def number(value: Any, what: str) -> int:
    """The number of a parameter in random draws; MXNetError calling it `what` for anything else."""
    return _whole(
        value, optgen_bridge.largest_id(), what, f"the number of a parameter, from 0 to {optgen_bridge.largest_id()}"
    )


def _whole(value: Any, largest: int, what: str, kind: str) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value <= largest:
        raise MXNetError(f"{what} is {kind}, not {shown(value)}")
    return int(value)


def shown(value: Any) -> str:
    """A value that somebody wrote, as errors show it: not at any length."""
    huge = isinstance(value, int) and abs(value) >= 1 << 200  # Python refuses to write those of many digits
    text = "a number of many digits" if huge else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
