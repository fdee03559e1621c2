"""Whether things are the same objects as before, on the path of every step."""

from __future__ import annotations

from collections.abc import Collection
from operator import is_
from typing import Any


def same_objects(now: Collection[Any], before: Collection[Any]) -> bool:
    """Whether two collections hold the same objects, in the same order."""
    return len(now) == len(before) and all(map(is_, now, before))
