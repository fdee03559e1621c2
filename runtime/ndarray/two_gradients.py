"""Operators with two gradients: a fast one, of NumPy arrays, and one made of operators, which can be differentiated."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime import autograd
from runtime.base import MXNetError
from runtime.core import backend
from runtime.core.kept import of_sizes
from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, differentiate_again

_NO_NODES = itertools.repeat(None)


class TwoGradientOperator(Operator):
    """An operator whose gradients share work, or take fewer passes over memory than operators would.

    `backward(g, y, *inputs, **attrs)` takes arrays as `forward` does, and returns the gradient of each input, or None.
    g and y are tuples where `forward` returns a tuple. A parameter `wanted`, if it has one, is a list that says for
    each input whether its gradient is needed. A parameter `places` is a list that has for some inputs the array that
    their gradient will be copied to: `backward` may write it there at once.

    While the walk is recorded (`create_graph=True`), the gradients made of operators are used instead: those given by
    `gradient`, or those of the function given by `again`, which computes the first output with operators. Without
    either, differentiating twice is an error.

    `repeats` says what it does of `backward`, too.
    """

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__(forward)
        self._backward: Callable[..., tuple] | None = None
        self._takes_wanted = self._takes_places = False
        self._postpone: Callable[..., dict[int, autograd.Postponed]] | None = None

    def backward(self, function: Callable[..., tuple]) -> Callable[..., tuple]:
        """Decorator: the gradients of all inputs."""
        self._backward = function
        parameters = inspect.signature(function).parameters
        self._takes_wanted, self._takes_places = "wanted" in parameters, "places" in parameters
        return function

    def postpone(self, function: Callable[..., dict[int, autograd.Postponed]]) -> None:
        """Decorator: the gradients of variables, by the positions of inputs, that are better computed once all of their
        addends are known. It takes the node and g; `backward` finds that they are not wanted."""
        self._postpone = function

    def again(self, function: Callable[..., NDArray]) -> Callable[..., NDArray]:
        """Decorator: the first output, in operators."""

        def joint(g: Any, y: Any, *inputs: Any, **attrs: Any) -> list[NDArray | None]:
            flows = g if isinstance(g, list) else [g]
            return differentiate_again(lambda *handles: [function(*handles, **attrs)], flows, inputs)

        self.joint_gradient(joint)
        return function

    def pull(self, node: autograd.Node, g: Any) -> Iterable[tuple[Any, NDArray]]:
        if not autograd.mode.recording:
            return self._pull_arrays(node, g)
        if not self.gradients and self.joint is None:
            raise MXNetError(f"{self.name}: the gradient cannot be differentiated again (create_graph=True)")
        return super().pull(node, g)

    def _pull_arrays(self, node: autograd.Node, g: Any) -> list[tuple[Any, Any]]:
        output, attrs, ctx = node.output, node.attrs, node.ctx
        flows = _in_order(g, len(output)) if type(output) is tuple else g._data
        traced = autograd.mode.trace is not None
        arrived: list[tuple[Any, Any]] = []
        parents = node.parents
        if self._postpone is not None and not traced:
            postponed = self._postpone(node, flows)
            arrived += [(parents[i], later) for i, later in postponed.items()]
            parents = [None if i in postponed else parent for i, parent in enumerate(parents)]
        if self._takes_wanted:
            attrs = {**attrs, "wanted": [parent is not None for parent in parents]}
        given: Iterable[Any] = _NO_NODES
        if self._takes_places:
            given = [None if traced or not ctx.on_cpu else lent(parent) for parent in parents]
            attrs = {**attrs, "places": [None if to is None else to._data for to in given]}
        if ctx.on_cpu:
            gradients = self._backward(flows, output, *node.inputs, **attrs)
        else:
            with backend.device_scope(ctx):
                gradients = self._backward(flows, output, *node.inputs, **attrs)
        parts = self._noted(node, g, flows, tuple(gradients), attrs) if traced else _NO_NODES
        for parent, dx, part, to in zip(parents, gradients, parts, given, strict=False):
            if parent is not None and dx is not None:
                arrived.append((parent, NDArray(dx, ctx, part) if to is None or dx is not to._data else to))
        return arrived

    def _noted(self, node: autograd.Node, g: Any, flows: Any, gradients: tuple, attrs: dict[str, Any]) -> list[Any]:
        """The nodes of the gradients, of a call that takes the flows, the outputs and the inputs."""
        several = type(node.output) is tuple
        outputs = node.output if several else (node.output,)
        given = [*(flows if several else (flows,)), *outputs, *node.inputs]
        parents = [(g[i]._node if i in g else None) for i in range(len(outputs))] if several else [g._node]
        parents += [autograd.Part(node, i) for i in range(len(outputs))] if several else [node]
        call = BackwardCall(self, len(outputs) if several else 0)
        noted = autograd.Node(autograd.NoGradient(call), parents + node.parents, given, gradients, attrs, node.ctx)
        return [autograd.Part(noted, i) for i in range(len(gradients))]


class DirectOperator(TwoGradientOperator):
    """An operator whose `backward` computes what its `gradient`s do, without the calls of operators that they make.

    They take as long as the work does on small arrays. A trace has the calls: plans have better ways for some.
    """

    def pull(self, node: autograd.Node, g: Any) -> Iterable[tuple[Any, NDArray]]:
        return Operator.pull(self, node, g) if autograd.mode.trace is not None else super().pull(node, g)


def lent(parent: Any) -> NDArray | None:
    """Where a variable keeps its gradient, if nobody has it: what somebody has may be read by this walk."""
    return parent.lend() if type(parent) is autograd.Variable and not parent.exposed else None


def _in_order(gradients: autograd.Gradients, outputs: int) -> tuple[Any, ...]:
    """The arrays of the gradients of all outputs; None for an output without one."""
    flows: list[Any] = [None] * outputs
    for i, g in gradients.items():
        flows[i] = g._data
    return tuple(flows)


@dataclass(frozen=True)
class BackwardCall:
    """The gradients of a `TwoGradientOperator` as an operator of its own: of flows, outputs and inputs, one list."""

    of: TwoGradientOperator
    outputs: int = 0
    """How many there are where they are a tuple, else 0."""

    pure: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"{self.of.name}_backward"

    @property
    def repeats(self) -> bool:
        return self.of.repeats

    def forward(self, *arrays: Any, **attrs: Any) -> tuple:
        n = self.outputs
        g, y, inputs = (arrays[:n], arrays[n : 2 * n], arrays[2 * n :]) if n else (arrays[0], arrays[1], arrays[2:])
        return tuple(self.of._backward(g, y, *inputs, **attrs))  # type: ignore[misc]


def widen_half(x: np.ndarray) -> np.ndarray:
    """x in the type that sums are computed in: float32 for 16-bit floats, else its own."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


@functools.lru_cache(maxsize=1024)
@of_sizes
def constants(dtype: np.dtype, *values: float) -> np.ndarray:
    """An array of numbers for kernels to read; not to be written to."""
    return np.array(values, dtype)


MIN_KERNEL_ELEMENTS = 1 << 14
"""From this many elements on, one pass of a kernel is faster than several of NumPy."""


def kernel_pays(x: np.ndarray) -> bool:
    """Whether a kernel takes the array, and is faster than NumPy."""
    return x.size >= MIN_KERNEL_ELEMENTS and x.dtype.char in "fd" and type(x) is np.ndarray


def run_elementwise_kernel(kernel: LoopKernel, *arrays: np.ndarray, work: int = 1) -> np.ndarray:
    """The result of a kernel of `native.activation` or `native.arithmetic`, in the shape of the first array.

    `work` is that of one element, in additions.
    """
    n = arrays[0].size
    result = np.empty_like(arrays[0])
    kernel(-(-n // ELEMENTS_PER_TASK), work * n, *arrays, result, n)
    return result
