"""Runs of elements that are set, copied and added, for use in kernels."""

from __future__ import annotations

from optgen.loops.language import Array, function, short
from runtime.native.formulas import relu_value


@function
def clear(x: Array, n: int) -> None:
    for i in range(n):
        x[i] = 0.0


@function
def fill(x: Array, value: float, n: int) -> None:
    for i in range(n):
        x[i] = value


@function
def copy(to: Array, x: Array, n: int) -> None:
    for i in short(n):
        to[i] = x[i]


@function
def accumulate(to: Array, x: Array, n: int) -> None:
    """Add x to the elements."""
    for i in range(n):
        to[i] += x[i]


@function
def rectify(x: Array, n: int) -> None:
    """relu of the elements, in their place."""
    for i in range(n):
        x[i] = relu_value(x[i])
