"""Dense, Dropout, Embedding, Flatten, Lambda. Containers and normalization can be imported from here too, as in
MXNet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, count, did_you_mean
from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.nn.activations import Activation
from runtime.gluon.nn.containers import HybridSequential, Sequential  # noqa: F401 (see above)
from runtime.gluon.nn.normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm  # noqa: F401
from runtime.initializer import Initializer
from runtime.ndarray import NDArray
from runtime.ndarray.nn.fully_connected import linear


class Dense(HybridBlock):
    """`activation(x weight^T + bias)`.

    Parameters
    ----------
    units: length of the output.
    activation: name of an activation; None for none.
    use_bias: whether there is a bias.
    flatten: take (batch, ...) as (batch, in_units), giving (batch, units); otherwise the last axis is the input:
        (..., units).
    dtype: of the parameters.
    weight_initializer, bias_initializer: for the weight, of shape (units, in_units), and the bias, of shape (units,).
    in_units: length of the input; 0: taken from the first batch.
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._units = count("Dense: units", units, 0)
        self._in_units = count("Dense: in_units", in_units, -1)
        shape = (self._units, self._in_units)
        self._flatten = flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=shape, init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def infer_shape(self, x: NDArray) -> None:
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        if F is nd and bias is not None and type(x) is type(weight) is NDArray and _is_plain_relu(self.act):
            return linear(x, weight, bias, self._units, self._flatten, relu=True)
        y = F.FullyConnected(
            x, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten, name="fwd"
        )
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        units, in_units = self.weight.shape
        return f"{type(self).__name__}({in_units or None} -> {units}, {'linear' if self.act is None else self.act})"


def _is_plain_relu(block: Block | None) -> bool:
    """Whether this block is a ReLU without hooks, which a fused operator may compute without calling it."""
    if type(block) is not Activation or block._act_type != "relu":
        return False
    return not (block._forward_hooks or block._forward_pre_hooks)


class Dropout(HybridBlock):
    """In training, each element is 0 with probability `rate`, else divided by 1 - rate.

    Along `axes` all elements share one draw.
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **kwargs: Any) -> None:
        if not 0 <= rate <= 1:
            raise ArgumentError(f"Dropout: rate is a probability, from 0 to 1, not {rate}")
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of the weight by index: indices of shape (...), below `input_dim`, give (..., output_dim).

    Parameters
    ----------
    input_dim, output_dim: how many vectors there are, and their length: the shape of the weight.
    dtype: of the weight.
    weight_initializer: for the weight.
    sparse_grad: let the weight's gradient be a `nd.sparse.RowSparseNDArray` with the rows of the numbers that occur.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: str | Initializer | None = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        rows, columns = count("Embedding: input_dim", input_dim), count("Embedding: output_dim", output_dim)
        self._kwargs = {"input_dim": rows, "output_dim": columns, "dtype": dtype, "sparse_grad": sparse_grad}
        self.weight = self.params.get(
            "weight",
            shape=(rows, columns),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray) -> NDArray:
        (n, units), dtype = self.weight.shape, self.weight.dtype
        return F.Embedding(x, weight, n, units, dtype=dtype, sparse_grad=self._kwargs["sparse_grad"], name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' -> '.join(map(str, self.weight.shape))}, {np.dtype(self.weight.dtype)})"


class Flatten(HybridBlock):
    """(batch, ...) as (batch, n)."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function as a block. `function` takes what the block is called with, or is the name of one in `nd`."""

    def __init__(self, function: str | Callable, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._function = _operator(function) if isinstance(function, str) else _callable(function)

    def forward(self, *args: Any) -> Any:
        return self._function(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._function.__name__})"


class HybridLambda(HybridBlock):
    """A function as a hybrid block. `function` takes `F` and what the block is called with, or is the name of an
    operator."""

    def __init__(self, function: str | Callable, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _operator(function)
            self._function, self._function_name = lambda F, *args: getattr(F, function)(*args), function
        else:
            self._function, self._function_name = _callable(function), function.__name__

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._function(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._function_name})"


def _operator(name: str) -> Callable:
    if not callable(getattr(nd, name, None)):
        known = [n for n in dir(nd) if callable(getattr(nd, n)) and not n.startswith("_")]
        raise ArgumentError(f"Lambda: there is no function '{name}' in nd{did_you_mean(name, known)}")
    return getattr(nd, name)


def _callable(function: Any) -> Callable:
    if not callable(function):
        raise ArgumentError(
            f"Lambda: takes a function, or the name of one in nd, not {function!r} of type {type(function).__name__}"
        )
    return function
