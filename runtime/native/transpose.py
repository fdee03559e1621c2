"""The exchange of two axes of an array, in tiles that the cache holds, whatever the lengths of the axes; and of rows
that lie interleaved with others."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, short
from runtime.native.vectors import copy

TILE = 32
"""Rows and columns of a tile."""
APART = TILE + 1
"""The distance of rows in a tile, in elements: columns of one a power of 2 apart would share few lines of the cache."""


@function
def exchange_tile(y: Array, x: Array, tile: Array, rows: int, columns: int, a: int, b: int) -> None:
    """Write the columns of a tile of x, whose rows are b elements long, as rows of y, a elements long. Rows are read
    and written whole: lines of the cache are used at once, and may then be lost."""
    for i in range(rows):
        copy(tile + i * APART, x + i * b, columns)
    for j in range(columns):
        for i in short(rows):
            y[j * a + i] = tile[i * APART + j]


@kernel
def exchange_axes(task: int, scratch: Array, x: Array, y: Array, a: int, b: int, n: int) -> None:
    """y (..., b, a, n) = x (..., a, b, n), with the axes of a and b exchanged. One task for each TILE of b."""
    blocks = (b + TILE - 1) // TILE
    first = task % blocks * TILE
    columns = min(TILE, b - first)
    of = x + (task // blocks * a * b + first) * n
    to = y + (task // blocks * b + first) * a * n
    if n == 1:
        for i in range(0, a, TILE):
            exchange_tile(to + i, of + i * b, scratch, min(TILE, a - i), columns, a, b)
    else:
        for j in range(columns):
            for i in range(a):
                copy(to + (j * a + i) * n, of + (i * b + j) * n, n)


@kernel
def take_kind(task: int, x: Array, y: Array, kind: int, kinds: int, length: int, rows: int, n: int) -> None:
    """y, (rows, length, n): those of one kind of x, (length, rows, kinds, n). One task for each row."""
    for t in range(length):
        copy(y + (task * length + t) * n, x + ((t * rows + task) * kinds + kind) * n, n)


@kernel
def put_kind(task: int, y: Array, x: Array, kind: int, kinds: int, length: int, rows: int, n: int) -> None:
    """The way back: x gets what y has."""
    for t in range(length):
        copy(x + ((t * rows + task) * kinds + kind) * n, y + (task * length + t) * n, n)
