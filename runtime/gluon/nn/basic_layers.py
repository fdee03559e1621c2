"""Containers, and the layers every network has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.nn.activations import Activation
from runtime.initializer import Initializer
from runtime.ndarray import NDArray


class _Chain(Block):
    """Blocks one after the other: what both containers share."""

    def add(self, *blocks: Block) -> None:
        """Put blocks at the end."""
        for block in blocks:
            self.register_child(block)

    def forward(self, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())

    def __getitem__(self, key: int | slice) -> Block:
        """The block at `key`; for a slice, a container of the same kind that shares the blocks."""
        blocks = list(self._children.values())[key]
        if not isinstance(blocks, list):
            return blocks
        chain = type(self)(prefix=self._prefix)
        chain.add(*blocks)
        return chain


class Sequential(_Chain):
    """Blocks one after the other."""


class HybridSequential(_Chain, HybridBlock):
    """HybridBlocks one after the other."""

    def register_child(self, block: Block, name: str | None = None) -> None:
        if not isinstance(block, HybridBlock):
            raise ValueError(f"HybridSequential takes HybridBlocks, and {type(block).__name__} is none; use Sequential")
        super().register_child(block, name)


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
        self._units = units
        self._flatten = flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def infer_shape(self, x: NDArray) -> None:
        self.weight.shape = (self._units, int(np.prod(x.shape[1:])) if self._flatten else x.shape[-1])

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        y = F.FullyConnected(x, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten)
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        units, in_units = self.weight.shape
        return f"Dense({in_units or None} -> {units}, {'linear' if self.act is None else self.act})"


class Dropout(HybridBlock):
    """In training, each element is 0 with probability `rate`, else divided by 1 - rate.

    Along `axes` all elements share one draw.
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **kwargs: Any) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"Dropout: rate must be in [0, 1), not {rate}")
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Dropout(x, p=self._rate, axes=self._axes)

    def __repr__(self) -> str:
        return f"Dropout(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Vectors for whole numbers: (...) of numbers below `input_dim` becomes (..., output_dim).

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
        self._sparse_grad = sparse_grad
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                init=weight_initializer,
                dtype=dtype,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray) -> NDArray:
        return F.Embedding(x, weight, *weight.shape, sparse_grad=self._sparse_grad)

    def __repr__(self) -> str:
        return f"Embedding({' -> '.join(map(str, self.weight.shape))}, {np.dtype(self.weight.dtype)})"


class Flatten(HybridBlock):
    """(batch, ...) as (batch, n)."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return "Flatten"
