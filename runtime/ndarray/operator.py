"""What an operator is: a NumPy function, and its gradient stated in operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray

quiet = np.errstate(all="ignore")
"""Decorator for functions in which infinities and NaN are values, not news."""


def in_float32(forward: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Decorator for functions that add up: 16-bit floats are computed with in float32, and the result rounded once."""

    @functools.wraps(forward)
    def call(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        return narrow(*arrays, **attrs) if arrays[0].dtype.itemsize == 2 else forward(*arrays, **attrs)

    @quiet
    def narrow(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        return forward(*(x.astype(np.float32) for x in arrays), **attrs).astype(arrays[0].dtype)

    return call


class Operator:
    """A function from arrays to one array, `forward(*arrays, **attrs)` over NumPy arrays, called with NDArrays.

    Inputs may also be plain numbers; attributes are keywords. `gradients[i]` gives the gradient that flows into input
    i: `gradient(g, y, *inputs, **attrs)`, where g flows into the output y; all are NDArrays and it is made of
    operators, so it can itself be differentiated. An input without an entry gets no gradient.

        tanh = Operator(np.tanh, lambda g, y, x: g*(1 - y*y))
    """

    def __init__(self, forward: Callable[..., np.ndarray], *gradients: Callable[..., NDArray]) -> None:
        self.name = forward.__name__
        self.forward = forward
        self.gradients = list(gradients)

    def gradient(self, function: Callable[..., NDArray]) -> Callable[..., NDArray]:
        """Decorator: the gradient of the next input."""
        self.gradients.append(function)
        return function

    def __call__(self, *inputs: Any, **attrs: Any) -> NDArray:
        """Compute, and record if the thread records and an input is in the graph."""
        ctx = None
        arrays = []
        for x in inputs:
            if isinstance(x, NDArray):
                arrays.append(x._data)
                if ctx is None:
                    ctx = x._ctx
                elif x._ctx is not ctx and x._ctx != ctx:
                    raise MXNetError(
                        f"{self.name}: inputs live in {ctx} and in {x._ctx}; bring them together with as_in_context()"
                    )
            else:
                arrays.append(x)
        data = self.forward(*arrays, **attrs)
        if autograd.mode.recording:
            parents = [x._node if isinstance(x, NDArray) and x._in_graph() else None for x in inputs]
            if any(parents):
                return NDArray(data, ctx, autograd.Node(self, parents, arrays, data, attrs, ctx))
        return NDArray(data, ctx)

    def pull(self, node: autograd.Node, g: NDArray) -> Iterator[tuple[Any, NDArray]]:
        """The gradients of a recorded call that received `g`: pairs of an input's node and what flows into it."""
        y = NDArray(node.output, node.ctx, node)
        inputs = [
            NDArray(x, node.ctx, parent) if isinstance(x, np.ndarray) else x
            for x, parent in zip(node.inputs, node.parents, strict=True)
        ]
        for parent, gradient in zip(node.parents, self.gradients, strict=False):
            if parent is not None:
                yield parent, gradient(g, y, *inputs, **node.attrs)

    def __repr__(self) -> str:
        return f"<Operator {self.name}>"
