"""`Dropout`: elements set to 0 at random in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.core.generator import dropout_mask
from runtime.ndarray.elementwise import identity
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator

__all__ = ["Dropout"]


def Dropout(
    data: NDArray, p: float = 0.5, mode: str = "training", axes: Sequence[int] = (), cudnn_off: bool = False
) -> NDArray:
    """In training (always, with `mode='always'`), each element is 0 with probability `p`, else divided by 1 - p.

    With `p` 1 they are NaN, as in MXNet: 0 divided by 0.

    Along `axes` all elements share one draw. `cudnn_off` is accepted for code that says so; there is nothing to
    switch off.
    """
    if not 0 <= p <= 1:
        raise MXNetError(f"Dropout: p is a probability, from 0 to 1, not {p}")
    if mode not in ("training", "always"):
        raise MXNetError(f"Dropout: mode is 'training' or 'always', not {mode!r}")
    if p == 0 or not (autograd.is_training() or mode == "always"):
        return identity(data)
    shape = data.shape
    if axes:
        shared = _axes(data, axes)
        shape = tuple(1 if i in shared else n for i, n in enumerate(shape))
    return data * _factors(data.detach(), shape=shape, p=p, ctx=data._ctx)


@Operator
def _factors(x: np.ndarray, *, shape: tuple[int, ...], p: float, ctx: Context) -> np.ndarray:
    """What the elements of x are multiplied by, new draws in each call: 0 or 1/(1 - p)."""
    return dropout_mask(shape, p, ctx) * x.dtype.type(1 / (1 - p) if p < 1 else np.nan)


_factors.pure = False


def _axes(data: NDArray, axes: Sequence[int]) -> set[int]:
    for a in axes:
        if not -data.ndim <= a < data.ndim:
            raise MXNetError(f"Dropout: axis {a} of an array of shape {data.shape}: there are {data.ndim} axes")
    return {a % data.ndim for a in axes}
