"""Concurrent blocks, Identity, SparseEmbedding, SyncBatchNorm, PixelShuffle."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, count
from runtime.gluon.block import Block, HybridBlock
from runtime.gluon.nn import BatchNorm, HybridSequential, Sequential
from runtime.gluon.nn.layouts import per_axis
from runtime.initializer import Initializer
from runtime.ndarray import NDArray


class Concurrent(Sequential):
    """Blocks side by side: each gets the input, and their outputs are joined along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> NDArray:
        return nd.concat(*(block(x) for block in self), dim=self.axis)


class HybridConcurrent(HybridSequential):
    """HybridBlocks side by side: each gets the input, and their outputs are joined along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> NDArray:
        return F.concat(*(block(x) for block in self), dim=self.axis)


class Identity(HybridBlock):
    """Returns its input, as a skip connection in a HybridConcurrent."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x


class SparseEmbedding(Block):
    """`nn.Embedding` whose weight and gradient are row-sparse: the trainer brings the rows that are used."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: str | Initializer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.weight = self.params.get(
            "weight",
            shape=(count("SparseEmbedding: input_dim", input_dim), count("SparseEmbedding: output_dim", output_dim)),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: NDArray) -> NDArray:
        weight = self.weight.row_sparse_data(x)
        return nd.Embedding(x, weight, *weight.shape, dtype=weight.dtype, sparse_grad=True, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' -> '.join(map(str, self.weight.shape))}, {np.dtype(self.weight.dtype)})"


class SyncBatchNorm(BatchNorm):
    """BatchNorm over the batches of all devices; arguments as there. There is one device here: `num_devices` is 1."""

    def __init__(self, in_channels: int = 0, num_devices: int | None = None, **kwargs: Any) -> None:
        if num_devices not in (None, 1):
            raise ArgumentError(
                f"SyncBatchNorm: num_devices={num_devices}, but there is one device to compute on: give it the whole "
                "batch, in one context"
            )
        super().__init__(in_channels=in_channels, **kwargs)


class _PixelShuffle(HybridBlock):
    """Channels become pixels: (batch, f1 ... fn channels, d1, ..., dn) as (batch, channels, f1 d1, ..., fn dn).

    `factor` is f for each axis, or one for all (Shi et al. 2016).
    """

    _AXES = 1

    def __init__(self, factor: int | tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._factors = per_axis(type(self).__name__, "factor", factor, self._AXES)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        n, factors = self._AXES, self._factors
        if x.ndim != n + 2 or x.shape[1] % np.prod(factors):
            raise ArgumentError(
                f"{type(self).__name__} '{self.name}': an input of shape {x.shape} is not (batch, channels, ...) with "
                f"{n} further axes and a multiple of {np.prod(factors)} channels"
            )
        batch, channels, *lengths = x.shape
        channels //= int(np.prod(factors))
        apart = F.reshape(x, (batch, channels, *factors, *lengths))
        pairs = [axis for i in range(n) for axis in (2 + n + i, 2 + i)]  # each length, then its factor
        larger = [length * factor for length, factor in zip(lengths, factors, strict=True)]
        return F.reshape(F.transpose(apart, (0, 1, *pairs)), (batch, channels, *larger))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors[0] if self._AXES == 1 else self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """(batch, f channels, width) as (batch, channels, f width)."""


class PixelShuffle2D(_PixelShuffle):
    """(batch, f1 f2 channels, height, width) as (batch, channels, f1 height, f2 width)."""

    _AXES = 2


class PixelShuffle3D(_PixelShuffle):
    """(batch, f1 f2 f3 channels, depth, height, width) as (batch, channels, f1 depth, f2 height, f3 width)."""

    _AXES = 3
