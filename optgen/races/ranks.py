"""Which losses are clearly lower than others: Student's t interval of paired differences, and ranks made of it.

The same seed gives contenders the same initial weights and the same order of data, so the losses of one seed are a
pair. A contender is clearly better than another if the 95 % interval of the mean of the differences of their pairs lies
below zero. Nothing is corrected for the number of pairs of contenders that are compared.

"Not clearly different" is not transitive: A and B may be so, and B and C, while A is clearly better than C. Ranks are
therefore the least numbers from 1 that never fall with the mean loss, and with which a clearly better contender has a
lower rank. Two that are not clearly different share their rank, unless somebody else is clearly better than the one
with the greater mean, or than one between them, and not than the other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

CONFIDENCE = 0.95
"""How often an interval covers the mean, for normal differences."""


def shared(losses: Sequence[Mapping[int, float]]) -> list[int]:
    """The rank of each contender, of its finite losses by seed. One without losses is clearly worse than all that
    have some."""
    found: dict[int, int] = {}
    last = 1
    for i in sorted(range(len(losses)), key=lambda i: _mean(losses[i])):
        last = max([last, *(rank + 1 for j, rank in found.items() if is_clearly_lower(losses[j], losses[i]))])
        found[i] = last
    return [found[i] for i in range(len(losses))]


def is_clearly_lower(a: Mapping[int, float], b: Mapping[int, float]) -> bool:
    """Whether the interval of a - b lies below zero, over the seeds that both have."""
    if not a or not b:
        return bool(a)
    differences = [a[seed] - b[seed] for seed in a if seed in b]
    if len(differences) < 2:
        return False
    return math.fsum(differences) / len(differences) + half_width(differences) < 0


def half_width(values: Sequence[float]) -> float:
    """Half the length of the t interval of the mean of values; infinity for less than two."""
    n = len(values)
    if n < 2:
        return math.inf
    mean = math.fsum(values) / n
    return quantile(n - 1) * math.hypot(*(x - mean for x in values)) / math.sqrt(n * (n - 1))


@functools.cache
def quantile(freedom: int) -> float:
    """The t below whose amount Student's t with so many degrees of freedom stays with probability CONFIDENCE."""
    low, high = 0.0, 1.0
    while _within(high, freedom) < CONFIDENCE:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _within(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """The probability that Student's t is between -t and t: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, is_odd = math.cos(angle), freedom % 2
    total, term = 0.0, cosine if is_odd else 1.0
    for k in range(1, freedom // 2 + 1):
        total += term
        term *= cosine**2 * (2 * k / (2 * k + 1) if is_odd else (2 * k - 1) / (2 * k))
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if is_odd else total


def _mean(losses: Mapping[int, float]) -> float:
    return math.fsum(losses.values()) / len(losses) if losses else math.inf
