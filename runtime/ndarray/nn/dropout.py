"""`Dropout`: elements set to 0 at random in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.core.generator import WORDS_PER_COUNT, dropout_mask, take_words
from runtime.native import philox as native
from runtime.ndarray.elementwise import identity
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator
from runtime.ndarray.two_gradients import MIN_KERNEL_ELEMENTS, constants

__all__ = ["Dropout"]


def Dropout(
    data: NDArray, p: float = 0.5, mode: str = "training", axes: Sequence[int] = (), cudnn_off: bool = False
) -> NDArray:
    """In training (always, with `mode='always'`), each element is 0 with probability `p`, else divided by 1 - p.

    With `p` 1 they are NaN, as in MXNet: 0 divided by 0. Along `axes` all elements share one draw. `cudnn_off` is
    accepted for code that says so; there is nothing to switch off.
    """
    if not 0 <= p <= 1:
        raise MXNetError(f"Dropout: p is a probability, from 0 to 1, not {p}")
    if mode not in ("training", "always"):
        raise MXNetError(f"Dropout: mode is 'training' or 'always', not {mode!r}")
    if p == 0 or not (autograd.is_training() or mode == "always"):
        return identity(data)
    if p == 1:
        return data * math.nan
    shape = data.shape
    if axes:
        shared = _axes(data, axes)
        shape = tuple(1 if i in shared else n for i, n in enumerate(shape))
    return data * _dropout_factors(data.detach(), shape=shape, p=p, ctx=data._ctx)


@Operator
def _dropout_factors(x: np.ndarray, *, shape: tuple[int, ...], p: float, ctx: Context) -> np.ndarray:
    """What the elements of x are multiplied by, new draws in each call: 0 or 1/(1 - p)."""
    scale, n = scale_of(p), math.prod(shape)
    if not (ctx.on_cpu and draw_pays(n, x.dtype)):
        return dropout_mask(shape, p, ctx) * x.dtype.type(scale)
    y = np.empty(shape, x.dtype)
    draw = draw_of(n, p)
    native.draw(draw.tasks, draw.work, y, constants(x.dtype, scale), take_words(draw.words), *draw.numbers)
    return y


_dropout_factors.pure = False


class Draw(NamedTuple):
    """What the kernel takes: how many words are drawn, tasks, work, and its last arguments."""

    words: int
    tasks: int
    work: int
    numbers: tuple[int, int, int]


def draw_of(n: int, p: float) -> Draw:
    """For n elements, each 0 with probability p."""
    words = -(-n // 2)
    blocks = words // WORDS_PER_COUNT + 2
    return Draw(words, -(-blocks // native.BLOCKS_PER_TASK), native.WORK * n, (0, round(p * 2**32), n))


def draw_pays(n: int, dtype: np.dtype) -> bool:
    """Whether the kernel draws n elements, faster than NumPy, and to the same bits."""
    return n >= MIN_KERNEL_ELEMENTS and dtype.char in "fd"


def scale_of(p: float) -> float:
    """What is left is multiplied by this."""
    return 1 / (1 - p)


def _axes(data: NDArray, axes: Sequence[int]) -> set[int]:
    for a in axes:
        if not -data.ndim <= a < data.ndim:
            raise MXNetError(f"Dropout: axis {a} of an array of shape {data.shape}: there are {data.ndim} axes")
    return {a % data.ndim for a in axes}
