"""The first elements of rows in descending or ascending order.

x is (rows, n). With `sign` 1 the largest elements are first, with -1 the smallest; equal elements keep their order, and
NaN is the largest.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Words, function

BLOCK = 64
"""Elements that are compared with the last of the best ones at a time, so that they are vectors."""


@function
def precedes(a: float, b: float, sign: int) -> int:
    """1 if `sign a` belongs before `sign b`, else 0."""
    number = b if sign > 0 else a
    return 1 if not a <= b and number == number else 0


@function
def insert(best: Array, places: Words, filled: int, value: float, place: int, sign: int) -> None:
    """Put a value where it belongs among the sorted `filled` best ones; the last of them moves to the next element."""
    j = filled
    while j > 0 and precedes(value, best[j - 1], sign) == 1:
        best[j] = best[j - 1]
        places[j] = places[j - 1]
        j = j - 1
    best[j] = value
    places[j] = place


@function
def candidates(x: Array, bound: float, sign: float, n: int) -> int:
    """The number of elements that may belong before the bound."""
    count = 0
    for i in range(n):
        count += 0 if sign * x[i] <= bound else 1
    return count


@function
def examine(best: Array, places: Words, x: Array, start: int, stop: int, k: int, sign: int) -> None:
    for i in range(start, stop):
        if precedes(float(sign) * x[i], best[k - 1], sign) == 1:
            insert(best, places, k - 1, float(sign) * x[i], i, sign)


@kernel
def first(
    task: int, scratch: Array, x: Array, places: Words, sign: int, k: int, rows: int, n: int, rows_per_task: int
) -> None:
    """`places`, (rows, k): where in its row each of the first k elements is, 1 <= k <= n. Scratch memory has k."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        row = x + r * n
        to = places + r * k
        for i in range(k):
            insert(scratch, to, i, float(sign) * row[i], i, sign)
        whole = k + (n - k) // BLOCK * BLOCK
        for i in range(k, whole, BLOCK):
            if candidates(row + i, scratch[k - 1], float(sign), BLOCK) > 0:
                examine(scratch, to, row, i, i + BLOCK, k, sign)
        examine(scratch, to, row, whole, n, k, sign)
