"""Functions with a gradient of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.autograd.graph import Gradients, Node, Part, check_arrays
from runtime.autograd.modes import mode, pause
from runtime.base import MXNetError, _as_list
from runtime.core.protocols import NDArray


class Function:
    """A function whose gradient the user writes: subclasses define `forward` and `backward` over NDArrays.

    `forward(*inputs)` returns one array or a tuple. `backward(*gradients)` takes the gradient of each output and
    returns that of each input. Neither is recorded. An object is called once.

        class Sigmoid(autograd.Function):
            def forward(self, x):
                y = 1/(1 + nd.exp(-x))
                self.save_for_backward(y)
                return y

            def backward(self, dy):
                (y,) = self.saved_tensors
                return dy*y*(1 - y)
    """

    def __init__(self) -> None:
        self._saved: tuple = ()
        self._used = False

    def save_for_backward(self, *args: Any) -> None:
        """Keep arrays for `backward`, which finds them in `saved_tensors`."""
        self._saved = args

    @property
    def saved_tensors(self) -> tuple:
        return self._saved

    def forward(self, *inputs: NDArray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, *output_grads: NDArray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise MXNetError(f"{type(self).__name__}: each object can be called only once; make another one")
        self._used = True
        recording = mode.recording
        with pause(mode.training):
            outputs = self.forward(*inputs)
        if not recording:
            return outputs
        check_arrays(f"{type(self).__name__}: recorded inputs and outputs", (*inputs, *_as_list(outputs)))
        parents = [x._node if x._in_graph() else None for x in inputs]
        if not any(parents):
            return outputs
        results = [y.detach() for y in _as_list(outputs)]
        # The node keeps arrays that have no node: with theirs, node and arrays would be a cycle.
        node = Node(_Call(self), parents, [x.detach() for x in inputs], [y.detach() for y in results], {}, None)
        for i, y in enumerate(results):
            y._node = Part(node, i)
        return results if isinstance(outputs, (list, tuple)) else results[0]


class _Call:
    """A Function as the operator of a node."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = type(function).__name__

    def pull(self, node: Node, g: Gradients) -> Iterator[tuple[Any, NDArray]]:
        with pause(mode.training):
            flows = (g.get(i) for i in range(len(node.output)))
            given = [y._full_like(0) if dy is None else dy for dy, y in zip(flows, node.output, strict=True)]
            back = _as_list(self.function.backward(*given))
        name = self.name
        if len(back) != len(node.parents):
            raise MXNetError(f"{name}.backward returned {len(back)} gradients for {len(node.parents)} inputs")
        check_arrays(f"{name}.backward: gradients", (dx for dx in back if dx is not None))
        for parent, x, dx in zip(node.parents, node.inputs, back, strict=True):
            if parent is None or dx is None:
                continue
            if dx.shape != x.shape:
                raise MXNetError(f"{name}.backward returned a gradient of shape {dx.shape} for an input of {x.shape}")
            yield parent, dx.astype(x.dtype, copy=False)
