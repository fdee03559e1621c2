"""Copies and arithmetic of large arrays, one pass each, which threads share. n is the number of elements.

`y` is an array of the size of x, and `number` an array of one element. Small arrays are left to NumPy, whose bits these
are.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array

ELEMENTS_PER_TASK = 1 << 13


@kernel
def copy(task: int, x: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i]


@kernel
def negate(task: int, x: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = -x[i]


@kernel
def square(task: int, x: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] * x[i]


@kernel
def add(task: int, x: Array, y: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] + y[i]


@kernel
def subtract(task: int, x: Array, y: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] - y[i]


@kernel
def multiply(task: int, x: Array, y: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] * y[i]


@kernel
def divide(task: int, x: Array, y: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] / y[i]


@kernel
def add_number(task: int, x: Array, number: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] + number[0]


@kernel
def subtract_number(task: int, x: Array, number: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] - number[0]


@kernel
def subtract_from(task: int, x: Array, number: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = number[0] - x[i]


@kernel
def scale(task: int, x: Array, number: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] * number[0]


@kernel
def divide_by(task: int, x: Array, number: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] / number[0]
