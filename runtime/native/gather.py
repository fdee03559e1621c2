"""One element of each vector along an axis of x, or a part of each; and the way back.

For single elements x is (before, length, after). They are named by `index`, numbers of the type of x, or, where
`is_whole` is 1, by `whole`, integers: one for each vector. Numbers are cut to integers; outside of the axis they stand
for its nearest end, NaN for the first element.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function
from runtime.native.vectors import clear, copy


@function
def place(index: Array, whole: Ints, is_whole: int, vector: int, length: int, after: int) -> int:
    """The position in x of the element of a vector."""
    at = 0
    if is_whole == 1:
        at = whole[vector]
    if is_whole == 0:
        at = int(min(max(0.0, index[vector]), float(length - 1)))  # of 0 and NaN, max takes the first
    at = min(max(at, 0), length - 1)
    return (vector // after * length + at) * after + vector % after


@kernel
def pick(
    task: int, x: Array, index: Array, whole: Ints, y: Array, is_whole: int, vectors: int, length: int, after: int,
    vectors_per_task: int,
) -> None:  # fmt: skip
    for v in range(task * vectors_per_task, min(task * vectors_per_task + vectors_per_task, vectors)):
        y[v] = x[place(index, whole, is_whole, v, length, after)]


@kernel
def put(
    task: int, g: Array, index: Array, whole: Ints, x: Array, is_whole: int, vectors: int, length: int, after: int,
    vectors_per_task: int,
) -> None:  # fmt: skip
    """x, which is 0 elsewhere, gets an element of g in each vector."""
    for v in range(task * vectors_per_task, min(task * vectors_per_task + vectors_per_task, vectors)):
        x[place(index, whole, is_whole, v, length, after)] = g[v]


# ---------------------------------------------------------------- parts along an axis


@kernel
def take_part(
    task: int, x: Array, y: Array, rows: int, first: int, count: int, length: int, n: int, rows_per_task: int
) -> None:
    """y, (rows/count, count, n), gets `count` positions of x, (rows/count, length, n), from `first` on."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        copy(y + r * n, x + (r // count * length + first + r % count) * n, n)


@kernel
def put_part(
    task: int, g: Array, x: Array, rows: int, first: int, count: int, length: int, n: int, rows_per_task: int
) -> None:
    """x, (rows/length, length, n), which is 0 elsewhere, gets g, (rows/length, count, n), from `first` on."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        at = r % length - first
        if at >= 0 and at < count:
            copy(x + r * n, g + (r // length * count + at) * n, n)
        else:
            clear(x + r * n, n)
