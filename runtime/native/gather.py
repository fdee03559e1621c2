"""One element of each vector along an axis of x, or a part of each, or whole rows; and the way back.

For single elements x is (before, length, after). They are named by `index`, numbers of the type of x, or, where
`is_whole` is 1, by `whole`, integers: one for each vector. Numbers are cut to integers; outside of the axis they stand
for its nearest end, NaN for the first element.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function
from runtime.native.vectors import accumulate, clear, copy, fill


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

ELEMENTS_PER_TASK = 1 << 14
"""Elements of y that a task writes."""


@kernel
def copy_rows(
    task: int, x: Array, y: Array, x_first: int, x_step: int, y_first: int, y_step: int, rows: int, n: int
) -> None:
    """Rows of n elements of y get those of x. The first begins at `first`, and each `step` behind the one before."""
    at = task * ELEMENTS_PER_TASK
    end = min(at + ELEMENTS_PER_TASK, rows * n)
    r = at // n
    c = at % n
    while at < end:
        count = min(n - c, end - at)
        copy(y + (y_first + r * y_step + c), x + (x_first + r * x_step + c), count)
        at += count
        r += 1
        c = 0


@kernel
def put_rows(task: int, x: Array, y: Array, first: int, step: int, rows: int, n: int) -> None:
    """y, rows of `step` elements, gets in each from `first` on the n elements of a row of x, and 0 elsewhere."""
    at = task * ELEMENTS_PER_TASK
    end = min(at + ELEMENTS_PER_TASK, rows * step)
    r = at // step
    c = at % step
    while at < end:
        stop = min(step, c + end - at)
        begin = min(max(first, c), stop)
        behind = min(max(first + n, c), stop)
        clear(y + (r * step + c), begin - c)
        copy(y + (r * step + begin), x + (r * n + begin - first), behind - begin)
        clear(y + (r * step + behind), stop - behind)
        at += stop - c
        r += 1
        c = 0


# ---------------------------------------------------------------- rows by their numbers


@kernel
def one_hot(task: int, y: Array, values: Array, places: Ints, rows: int, n: int, rows_per_task: int) -> None:
    """Each row of y, (rows, n), has the first of the values at its place, and the second elsewhere. A place outside of
    the row is none."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        row = y + r * n
        fill(row, values[1], n)
        if places[r] >= 0 and places[r] < n:
            row[places[r]] = values[0]


@kernel
def mask_rows(task: int, x: Array, value: Array, y: Array, inside: Ints, rows: int, n: int, rows_per_task: int) -> None:
    """y, (rows, n): the rows of x that are inside, and rows of the value."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        if inside[r] == 1:
            copy(y + r * n, x + r * n, n)
        else:
            fill(y + r * n, value[0], n)


@function
def first_at_least(x: Ints, n: int, least: int) -> int:
    """The position of the first of n ascending integers that is at least so large; n if there is none."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if x[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@function
def add_in_pairs(y: Array, partial: Array, g: Array, order: Ints, count: int, n: int) -> None:
    """y: the sum of `count` rows of g, neighbours first, then their sums likewise. `partial` has room for a row for
    each power of 2 up to `count`, and one more."""
    open = 0
    for i in range(count):
        copy(partial + open * n, g + order[i] * n, n)
        open += 1
        pairs = i + 1
        while pairs % 2 == 0:
            open = open - 1
            accumulate(partial + (open - 1) * n, partial + open * n, n)
            pairs = pairs // 2
    while open > 1:
        open = open - 1
        accumulate(partial + (open - 1) * n, partial + open * n, n)
    copy(y, partial, n)


@kernel
def sum_rows_by_number(
    task: int, scratch: Array, g: Array, y: Array, numbers: Ints, order: Ints, count: int, rows: int, n: int,
    rows_per_task: int,
) -> None:  # fmt: skip
    """y, (rows, n): the sums of the rows of g, (count, n), that have the same number; 0 where none has it.

    `order` sorts the rows by their numbers, equal ones in theirs, and `numbers` are the sorted ones.
    """
    end = min(task * rows_per_task + rows_per_task, rows)
    at = first_at_least(numbers, count, task * rows_per_task)
    for r in range(task * rows_per_task, end):
        same = 0
        while at + same < count and numbers[min(at + same, count - 1)] == r:
            same += 1
        if same == 0:
            clear(y + r * n, n)
        if same == 1:
            copy(y + r * n, g + order[at] * n, n)
        if same > 1:
            add_in_pairs(y + r * n, scratch, g, order + at, same, n)
        at += same
