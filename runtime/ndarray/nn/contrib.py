"""Operators of `nd.contrib` that are operators of `nd` with an argument set."""

from __future__ import annotations

from typing import Any

from runtime.base import ArgumentError
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.batch_norm import BatchNorm
from runtime.ndarray.shape.gather import Embedding

__all__: list[str] = []
CONTRIB = ("SparseEmbedding", "SyncBatchNorm")


def SparseEmbedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = None,
    deterministic: bool = False,
) -> NDArray:
    """`Embedding` with a row-sparse gradient. `deterministic` is ignored: gradients are sums in a fixed order."""
    return Embedding(data, weight, input_dim, output_dim, dtype, sparse_grad=True)


def SyncBatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str = "",
) -> NDArray | list[NDArray]:
    """`BatchNorm` over the batches of `ndev` devices, which is 1: the whole batch is in one context. `key`, the name
    that the layer has on all devices, is ignored. The last output with `output_mean_var` is the variance."""
    if ndev != 1:
        raise ArgumentError(f"SyncBatchNorm: ndev={ndev}, but there is one device: give it the whole batch, and ndev=1")
    found = BatchNorm(
        data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var
    )
    if not output_mean_var:
        return found
    y, mean, inverse = found
    return [y, mean, 1 / (inverse * inverse) - eps]
