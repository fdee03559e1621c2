"""Sums over some axes of an array: the rows of a matrix, or all planes of a channel; and running sums."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from optgen.loops.kernel import LoopKernel, kernel
from optgen.loops.language import Array, function, total
from runtime.native.normalization import BLOCK, add_compensated
from runtime.native.vectors import accumulate, clear, copy

COLUMNS_PER_TASK = 256
SUMS = 2
"""Elements of scratch memory of `sum_planes`: a compensated sum."""


@kernel
def sum_rows(task: int, x: Array, y: Array, rows: int, columns: int) -> None:
    """y, (columns,): the sum of the rows of x, added up in order. One task for each COLUMNS_PER_TASK columns."""
    first = task * COLUMNS_PER_TASK
    n = min(COLUMNS_PER_TASK, columns - first)
    to = y + first
    clear(to, n)
    for r in range(rows):
        accumulate(to, x + (r * columns + first), n)


@kernel
def sum_planes(task: int, scratch: Array, x: Array, y: Array, images: int, channels: int, size: int) -> None:
    """y, (channels,): the sums of the planes of x, (images, channels, size). One task for each channel."""
    clear(scratch, 2)
    for p in range(images):
        for i in range(0, size, BLOCK):
            at = (p * channels + task) * size + i
            add_compensated(scratch, total(x + at, min(BLOCK, size - i)))
    y[task] = scratch[0] + scratch[1]


class Summing(NamedTuple):
    """How kernels sum an array (before, channels, behind) over its first and last axes."""

    kernel: LoopKernel
    tasks: int
    numbers: tuple[int, ...]
    scratch: int


@functools.lru_cache(maxsize=1024)
def summing(before: int, channels: int, behind: int) -> Summing:
    if behind == 1 < channels:
        return Summing(sum_rows, -(-channels // COLUMNS_PER_TASK), (before, channels), 0)
    if channels == 1:
        before, behind = 1, before * behind
    return Summing(sum_planes, channels, (before, channels, behind), SUMS)


def summed(x: np.ndarray, before: int, channels: int, behind: int) -> np.ndarray:
    """The sums, (channels,), of an array (before, channels, behind)."""
    y, (run, tasks, numbers, scratch) = np.empty(channels, x.dtype), summing(before, channels, behind)
    run(tasks, x.size, x, y, *numbers, scratch=scratch)
    return y


@function
def add_rows(to: Array, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        to[i] = x[i] + y[i]


@kernel
def running_sums(task: int, x: Array, y: Array, length: int, n: int, backwards: int) -> None:
    """y, (tasks, length, n): the sums of x up to each position; from each to the last if `backwards`. One task for each
    of the first axis."""
    step = -n if backwards == 1 else n
    at = (task + backwards) * length * n - backwards * n
    copy(y + at, x + at, n)
    if n == 1:
        sum = x[at]
        for k in range(1, length):
            sum += x[at + k * step]
            y[at + k * step] = sum
    else:
        for k in range(1, length):
            add_rows(y + (at + k * step), x + (at + k * step), y + (at + (k - 1) * step), n)
