"""Gradient compression on GPUs, by operations on whole arrays: the loops of `native` run on CPUs only.

`bits` is 2 or 1. `levels` are the threshold, and the number that is sent for what is beyond it, in the type of the
residual (see `compression`, which says what a word is).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core import backend


def pack(bits: int, grad: Any, residual: Any, levels: np.ndarray) -> Any:
    """The words (uint32) of a gradient of the residual's type, on its device; the residual is written."""
    limit, number = levels
    residual += grad
    if bits == 2:
        above, below = residual >= limit, residual <= -limit
        codes = above.astype(np.uint32) * 3 + below.astype(np.uint32) * 2
    else:
        above = residual > limit
        below, codes = ~above, above.astype(np.uint32)
    residual -= (above.astype(residual.dtype) - below.astype(residual.dtype)) * number
    per_word = 32 // bits
    padded = np.zeros_like(codes, shape=-(-codes.size // per_word) * per_word)
    padded[: codes.size] = codes.reshape(-1)
    return (padded.reshape(-1, per_word) << _shifts(bits, codes)).sum(axis=1, dtype=np.uint32)


def unpack(bits: int, words: Any, out: Any, levels: np.ndarray) -> None:
    """Write the numbers that words stand for to an array on their device."""
    codes = (words[:, None] >> _shifts(bits, words)) & np.uint32(2**bits - 1)
    codes = codes.reshape(-1)[: out.size].reshape(out.shape)
    dtype = levels.dtype
    signs = (codes == 3).astype(dtype) - (codes == 2).astype(dtype) if bits == 2 else codes.astype(dtype) * 2 - 1
    out[...] = (signs * levels[1]).astype(out.dtype)


def _shifts(bits: int, like: Any) -> Any:
    """How far from the right the elements of a word stand."""
    return bits * (backend.array_module(like).arange(32 // bits, dtype=np.uint32) ^ np.uint32(8 // bits - 1))
