"""Copies, arithmetic and choices of large arrays, one pass each, which threads share. n is the number of elements.

`y` is an array of the size of x, `number` an array of one element, and `ends` one of two. Small arrays are left to
NumPy, whose bits these are.
"""

from __future__ import annotations

from optgen.backends import machine
from optgen.loops.kernel import kernel
from optgen.loops.language import Array
from runtime.native.formulas import clip_value

ELEMENTS_PER_TASK = machine.value("arrays.elements_per_task")


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


@kernel
def clip(task: int, x: Array, ends: Array, to: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = clip_value(x[i], ends[0], ends[1])


@kernel
def clip_back(task: int, x: Array, ends: Array, g: Array, to: Array, n: int) -> None:
    """The slope is 0 outside of the ends, else 1."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = g[i] * (0.0 if x[i] < ends[0] or x[i] > ends[1] else 1.0)


@kernel
def clipped_back(task: int, y: Array, ends: Array, g: Array, to: Array, n: int) -> None:
    """The slope is 1 where the result y is between the ends, else 0."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = g[i] * (1.0 if y[i] > ends[0] and y[i] < ends[1] else 0.0)


@kernel
def choose(task: int, condition: Array, x: Array, y: Array, to: Array, n: int) -> None:
    """x where the condition is not 0, else y."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = y[i] if condition[i] == 0.0 else x[i]


@kernel
def keep(task: int, condition: Array, x: Array, to: Array, n: int) -> None:
    """x where the condition is not 0, else 0."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = 0.0 if condition[i] == 0.0 else x[i]


@kernel
def drop(task: int, condition: Array, x: Array, to: Array, n: int) -> None:
    """x where the condition is 0, else 0."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        to[i] = x[i] if condition[i] == 0.0 else 0.0
