"""What an operator is: a function of arrays, and its gradient stated in operators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from runtime import autograd
from runtime.autograd import watching
from runtime.base import ArgumentError, MXNetError, did_you_mean
from runtime.context import Context, cpu
from runtime.core import backend, optgen_bridge
from runtime.ndarray.ndarray import NDArray

AnyOperator = TypeVar("AnyOperator", bound="Operator")

ignore_fp_errors = np.errstate(all="ignore")
"""Decorator for functions whose results may be infinite or NaN: NumPy does not warn of them."""


def ignore_bfloat16_nan(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Decorator for functions that compare: of bfloat16, NumPy would warn of each NaN."""
    silent = ignore_fp_errors(function)

    @functools.wraps(function)
    def call(x: Any, *others: Any) -> np.ndarray:
        return (silent if x.dtype.kind == "V" else function)(x, *others)

    return call


def in_float32(forward: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Decorator for functions that add up: 16-bit floats are converted to float32, and the result is rounded once."""

    @functools.wraps(forward)
    def call(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        return narrow(*arrays, **attrs) if arrays[0].dtype.itemsize == 2 else forward(*arrays, **attrs)

    @ignore_fp_errors
    def narrow(*arrays: np.ndarray | None, **attrs: Any) -> Any:
        dtype = arrays[0].dtype
        result = forward(*(x if x is None else x.astype(np.float32) for x in arrays), **attrs)
        return tuple(y.astype(dtype) for y in result) if type(result) is tuple else result.astype(dtype)

    return call


def on_own_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function runs in the `device_scope` of its first argument, an NDArray."""

    @functools.wraps(function)
    def call(data: NDArray, *args: Any, **kwargs: Any) -> Any:
        with backend.device_scope(data._ctx):
            return function(data, *args, **kwargs)

    return call


class Operator:
    """A function of arrays with its gradient, called with NDArrays.

    `forward(*arrays, **attrs)` computes one array or a tuple of them from NumPy arrays, or from CuPy arrays on the
    current device (see `runtime.core.backend`). Inputs may also be numbers; attributes are keywords.

    `gradients[i](g, y, *inputs, **attrs)` is the gradient of input i, where g is that of the output y. All are
    NDArrays, and the gradient is computed by operators, so it can be differentiated. An input without an entry, or with
    None, gets no gradient. Where `forward` returns a tuple, the call returns a list, and g and y are lists; g[i] is
    None for an output without a gradient.

        tanh = Operator(np.tanh, lambda g, y, x: g*(1 - y*y))
    """

    pure = True
    """Whether `forward` does nothing but compute its result, the same one for the same arguments."""

    repeats = False
    """Whether `forward`, where a kernel computes its result, does nothing but call kernels, and which calls these are,
    their integers included, follows from shapes, types and attributes alone. Plans then make the calls. Arrays that it
    gives to kernels besides its inputs and what kernels have written come from functions `of_sizes`."""

    is_loss = False
    """Whether the gradient is one of its own, whatever flows into the output."""

    def __init__(self, forward: Callable[..., Any], *gradients: Callable[..., NDArray] | None) -> None:
        self.name = forward.__name__.lstrip("_")  # the name in errors
        self.__doc__ = forward.__doc__
        self.forward = forward
        self.gradients = list(gradients)
        self.joint: Callable[..., Sequence[NDArray | None]] | None = None

    def gradient(self, function: Callable[..., NDArray]) -> Callable[..., NDArray]:
        """Decorator: the gradient of the next input."""
        self.gradients.append(function)
        return function

    def joint_gradient(self, function: Callable[..., Sequence[NDArray | None]]) -> Callable:
        """Decorator, instead of `gradient`: one function that returns the gradients of all inputs, in order."""
        self.joint = function
        return function

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Compute, and record if the thread records and an input is in the graph."""
        ctx = None
        in_graph = False
        given = []
        parents = []
        for x in inputs:
            if isinstance(x, NDArray):
                given.append(x._data)
                node = x._node
                if node is not None:
                    if node.released_at:
                        node = None
                    else:
                        in_graph = True
                parents.append(node)
                if ctx is None:
                    ctx = x._ctx
                elif x._ctx is not ctx and x._ctx != ctx:
                    ctx = self._meeting(ctx, x._ctx)
            else:
                given.append(x)
                parents.append(None)
        if watching:
            autograd.takes(given)
        if ctx is None or ctx.on_cpu:
            output = self.forward(*given, **attrs)
        else:
            with backend.device_scope(ctx):
                output = self.forward(*given, **attrs)
        node = None
        if in_graph and autograd.mode.noting:
            operator = self if autograd.mode.recording else autograd.NoGradient(self)
            node = autograd.Node(operator, parents, given, output, attrs, ctx)
        elif autograd.mode.trace is not None:
            autograd.mode.trace.note(self, given, output, attrs, ctx)
        return wrap(output, ctx, node)

    def _meeting(self, ctx: Context, other: Context) -> Context:
        """The context of the result of inputs in two: the CPU with the number of the first. ArgumentError unless both
        are memory of the CPU."""
        if not (ctx.on_cpu and other.on_cpu):
            raise ArgumentError(
                f"{self.name}: inputs live in {ctx} and in {other}; bring them together with as_in_context()"
            )
        return cpu(ctx.device_id)

    def pull(self, node: autograd.Node, g: Any) -> Iterator[tuple[Any, NDArray]]:
        """For a recorded call whose output has the gradient `g`: pairs of the node of an input and its gradient."""
        y = wrap(node.output, node.ctx, node)
        if isinstance(y, list):
            g = [g.get(i) for i in range(len(y))]
        inputs = [
            NDArray(x, node.ctx, parent) if type(x) is np.ndarray or backend.is_array(x) else x
            for x, parent in zip(node.inputs, node.parents, strict=True)
        ]
        if self.joint is not None:
            gradients = self.joint(g, y, *inputs, **node.attrs)
            yield from (
                (p, dx) for p, dx in zip(node.parents, gradients, strict=False) if not (p is None or dx is None)
            )
            return
        for parent, gradient in zip(node.parents, self.gradients, strict=False):
            if parent is not None and gradient is not None:
                yield parent, gradient(g, y, *inputs, **node.attrs)

    def __repr__(self) -> str:
        return f"<Operator {self.name}>"


def repeating(operator: AnyOperator) -> AnyOperator:
    """Decorator: the operator `repeats`."""
    operator.repeats = True
    return operator


def wrap(output: Any, ctx: Context, node: autograd.Node | None) -> Any:
    """The result of a call as NDArrays: one, or a list of those of a tuple."""
    if type(output) is not tuple:
        return NDArray(output, ctx, node)
    if node is None:
        return [NDArray(data, ctx) for data in output]
    return [NDArray(data, ctx, autograd.Part(node, i)) for i, data in enumerate(output)]


class _Move:
    """A copy in another context; its gradient is copied back. `node.ctx` is where the input lives."""

    def pull(self, node: autograd.Node, g: NDArray) -> Iterator[tuple[Any, NDArray]]:
        yield node.parents[0], g.as_in_context(node.ctx)


_move = _Move()


def move(x: NDArray, ctx: Context) -> NDArray:
    """A copy of x in `ctx`, recorded as an operator's call is."""
    with backend.device_scope(ctx):
        data = optgen_bridge.copied(x._data) if x._ctx.on_cpu == ctx.on_cpu else backend.to_context(x._data, ctx)
    node = None
    if autograd.mode.recording and x._in_graph():
        node = autograd.Node(_move, [x._node], [], None, {}, x._ctx)
    return NDArray(data, ctx, node)


def differentiate_again(
    function: Callable[..., list[NDArray]], g: Sequence[NDArray | None], inputs: Sequence[Any]
) -> list[NDArray | None]:
    """The gradients of `inputs`, recorded, given the gradients `g` of the outputs of `function(*inputs)`.

    For operators whose gradient is one loop, which cannot be differentiated: `function` computes the same outputs with
    operators, more slowly. They are recorded and walked through.
    """
    handles = [handle(x) if isinstance(x, NDArray) else x for x in inputs]
    outputs = function(*handles)
    flowing = [(y, dy) for y, dy in zip(outputs, g, strict=False) if dy is not None]
    return autograd.pull_back(*map(list, zip(*flowing, strict=True)), handles)


handle = Operator(lambda x: x, lambda g, y, x: g)


# ---------------------------------------------------------------- as users call them


def as_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """An Operator as a function of one array, `data`; any other function itself."""
    if not isinstance(function, Operator):
        return function

    def call(data: NDArray) -> Any:
        if not isinstance(data, NDArray):
            raise TypeError(f"{function.name}: data must be an NDArray, not {type(data).__name__}")
        return function(data)

    call.__name__ = call.__qualname__ = function.name
    call.__doc__ = function.__doc__
    return call


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as `nd` offers it: it takes `out=`, arrays that the result is written to, and `name=`, ignored.

    An argument that it does not have raises MXNetError.
    """
    function = as_function(function)
    parameters = inspect.signature(function).parameters
    if "out" in parameters:
        return function

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            _check_names(function.__name__, kwargs, parameters)
            _check_arrays(function.__name__, (*args, *kwargs.values()), error)
            raise
        except (OverflowError, ValueError) as error:
            if isinstance(error, MXNetError):
                raise
            raise ArgumentError(f"{function.__name__}: {error}") from error
        return result if out is None else write(function.__name__, result, out)

    return call


def _check_names(name: str, kwargs: Iterable[str], parameters: Mapping[str, inspect.Parameter]) -> None:
    """Refuse arguments that a function does not have."""
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for key in kwargs:
        if key not in parameters:
            raise MXNetError(f"{name} has no argument '{key}'{did_you_mean(key, parameters)}")


def _check_arrays(name: str, values: Iterable[Any], error: Exception) -> None:
    """Raise an error that says so if `error` comes from taking one of the values for an array."""
    given = getattr(error, "obj", None)  # what lacks the attribute
    if given is not None and not isinstance(given, NDArray) and any(given is x for x in values):
        hint = "; nd.array() makes one of it" if isinstance(given, np.ndarray) else ""
        raise ArgumentError(f"{name} takes NDArrays, and got one of type {type(given).__name__}{hint}") from None


def write(name: str, result: Any, out: Any) -> Any:
    """Write what `name` has computed to `out`."""
    if isinstance(out, (list, tuple)) and len(out) == 1 and not isinstance(result, list):
        out = out[0]
    targets, values = (x if isinstance(x, (list, tuple)) else [x] for x in (out, result))
    if len(targets) != len(values):
        raise MXNetError(f"{name}: {len(values)} results, but out has {len(targets)} arrays")
    for target, value in zip(targets, values, strict=True):
        if target.shape != value.shape:
            raise MXNetError(f"{name}: the result has shape {value.shape}, but out has shape {target.shape}")
        target[:] = value
    return out
