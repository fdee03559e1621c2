"""Functions of single elements, and their gradients, each stated once: kernels and plans are made of them.

What is arithmetic alone is also NumPy's form of them, and that of gradients made of operators: `python` takes arrays.
x is an input, y the output, and g the gradient with respect to y.
"""

from __future__ import annotations

from optgen.loops.language import function


@function
def relu_value(x: float) -> float:
    """Of NaN NaN."""
    return max(x, 0.0)


@function
def relu_gradient(g: float, y: float) -> float:
    """Where y is not positive, it is 0 or NaN, and so is the slope."""
    return g * (1.0 if y > 0.0 else abs(y))


@function
def tanh_gradient(g: float, y: float) -> float:
    return g * (1 - y * y)


@function
def sigmoid_gradient(g: float, y: float) -> float:
    return (1 - y) * y * g


@function
def leaky_value(x: float, slope: float) -> float:
    return x * (1.0 if x > 0.0 else slope)


@function
def leaky_gradient(g: float, x: float, slope: float) -> float:
    return g * (1.0 if x > 0.0 else slope)


@function
def clip_value(x: float, low: float, high: float) -> float:
    """Of NaN NaN."""
    return min(max(x, low), high)


# ---------------------------------------------------------------- recurrent cells; the gates have their values


@function
def lstm_memory(f: float, before: float, i: float, g: float) -> float:
    """The new content of a cell, of the gates forget and input, and of what is put in."""
    return f * before + i * g


@function
def gru_state(new: float, z: float, before: float) -> float:
    """The new state: the update gate keeps that part of the last one."""
    return new + z * (before - new)
