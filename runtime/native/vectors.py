"""Runs of elements set and copied, for use in kernels."""

from __future__ import annotations

from optgen.loops.language import Array, function, short


@function
def clear(x: Array, n: int) -> None:
    for i in range(n):
        x[i] = 0.0


@function
def copy(to: Array, x: Array, n: int) -> None:
    for i in short(n):
        to[i] = x[i]
