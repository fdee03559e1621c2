"""Gradients of functions made of operators, against central differences in float64.

A test file of a family of operators holds a table `GRADIENTS`: name -> `Case`. `test_gradients` runs every case of
every table, and finds the operators that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from runtime import autograd, nd

Function = Callable[..., Any]
"""From NDArrays to an NDArray, or to several in a list or tuple."""


class Case(NamedTuple):
    """What `check` takes."""

    function: Function
    arrays: Sequence[np.ndarray]
    order: int = 2
    rtol: float = 1e-6
    atol: float = 1e-8
    eps: float = 1e-6


def each(names: str, *arrays: np.ndarray) -> dict[str, Case]:
    """For each operator in `names`, separated by spaces, the case of its call with `arrays`."""
    return {name: Case(getattr(nd, name), arrays) for name in names.split()}


def check(
    function: Function, *arrays: Any, order: int = 1, rtol: float = 1e-6, atol: float = 1e-8, eps: float = 1e-6
) -> None:
    """Compare the gradients of `function` at `arrays`, with respect to each of them, with differences.

    The arrays are differentiated one element at a time in float64, in steps of `eps` to both sides: none may lie that
    near to a kink. Arrays of integers, and other inputs that want no gradient, go into a closure. With `order=2` the
    gradients are then functions to be checked in the same way, as `create_graph=True` makes them; and so on.
    """
    values = [np.array(x, np.float64) for x in arrays]
    for n in range(1, order + 1):
        inputs = [_variable(x) for x in values]
        with autograd.record():
            outputs = _as_list(function(*inputs))
        _backward(outputs)
        for i, x in enumerate(inputs):
            np.testing.assert_allclose(
                x.grad.asnumpy(),
                _differences(function, values, i, eps),
                rtol,
                atol,
                err_msg=f"order {n}, with respect to input {i}",
            )
        function = _gradient_of(function)


def _backward(outputs: list[nd.NDArray]) -> None:
    """Into the inputs' `grad`: the gradient of the weighted sum of `outputs`."""
    heads, head_grads = _live(outputs)
    if heads:
        autograd.backward(heads, head_grads)


def _gradient_of(function: Function) -> Function:
    """The function that gives the gradients of the weighted sum of the outputs of `function`, a list, recorded."""

    def gradients(*inputs: nd.NDArray) -> list[nd.NDArray]:
        with autograd.record():
            heads, head_grads = _live(_as_list(function(*inputs)))
            if not heads:
                return [x.zeros_like() for x in inputs]
            return autograd.grad(heads, list(inputs), head_grads, create_graph=True)

    return gradients


def _live(outputs: list[nd.NDArray]) -> tuple[list[nd.NDArray], list[nd.NDArray]]:
    """The outputs that depend on the inputs, and their weights; the others are constants."""
    pairs = zip(outputs, _weights(outputs), strict=True)
    live = [(y, nd.array(w, dtype=y.dtype)) for y, w in pairs if y._in_graph()]
    return [y for y, _ in live], [w for _, w in live]


def _differences(function: Function, values: list[np.ndarray], i: int, eps: float) -> np.ndarray:
    """The gradient of the weighted sum of the outputs with respect to the i-th input, by central differences."""
    gradient = np.zeros_like(values[i])
    for at in np.ndindex(gradient.shape):
        ends = []
        for step in (eps, -eps):
            moved = [x.copy() for x in values]
            moved[i][at] += step
            with autograd.train_mode():
                outputs = _as_list(function(*map(_variable, moved)))
            ends.append([y.asnumpy() for y in outputs])
        gradient[at] = sum((w * (high - low)).sum() for w, high, low in zip(_weights(ends[0]), *ends, strict=True)) / (
            2 * eps
        )
    return gradient


def _weights(outputs: Sequence[Any]) -> list[np.ndarray]:
    """Weights for a sum over all outputs, so that no two elements count the same."""
    return [np.cos(i + np.arange(y.size, dtype=np.float64)).reshape(y.shape) for i, y in enumerate(outputs)]


def _variable(x: np.ndarray) -> nd.NDArray:
    variable = nd.array(x, dtype="float64")
    variable.attach_grad()
    return variable


def _as_list(outputs: Any) -> list[nd.NDArray]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
