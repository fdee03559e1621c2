"""Operators on batches of sequences of different lengths, padded to the longest: time is axis 0, the batch axis 1."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import array_module, device_scope, to_host
from runtime.core.threaded import takes
from runtime.native import gather as native
from runtime.native.gather import ELEMENTS_PER_TASK
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors
from runtime.ndarray.shape.reshape import flip
from runtime.ndarray.shape.subscript import gather, part
from runtime.ndarray.two_gradients import constants

__all__ = ["SequenceLast", "SequenceMask", "SequenceReverse"]


@Operator
def _mask(x: np.ndarray, *, inside: np.ndarray, value: float) -> np.ndarray:
    """`inside` has a truth value for each row of the first two axes of x."""
    if takes(x) and x.size:
        y, rows, n = np.empty_like(x), inside.size, x.size // inside.size
        share = max(1, ELEMENTS_PER_TASK // n)
        sizes = rows, n, share
        native.mask_rows(-(-rows // share), x.size, x, constants(x.dtype, value), y, inside.astype(np.int64), *sizes)
        return y
    return np.where(inside, x, x.dtype.type(value)).astype(x.dtype, copy=False)  # CuPy's has no bfloat16


@_mask.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, inside: np.ndarray, value: float) -> NDArray:
    return _mask(g, inside=inside, value=0.0)


def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> NDArray:
    """A copy of `data`, (time, batch, ...), with `value` behind the end of each sequence.

    `sequence_length`, (batch,), has the lengths; without `use_sequence_length` all are whole. With `axis` 1, `data` is
    (batch, time, ...).
    """
    lengths = _lengths("SequenceMask", data, sequence_length, use_sequence_length, axis, least=None)
    if lengths is None:
        return part(data, key=...)
    with device_scope(data._ctx):
        steps = array_module(lengths).arange(data.shape[axis])
        inside = steps < lengths[:, None] if axis else steps[:, None] < lengths
        inside = inside.reshape(*inside.shape, *[1] * (data.ndim - 2))
    return _mask(data, inside=inside, value=value)


def SequenceLast(
    data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0
) -> NDArray:
    """The last step of each sequence in `data`, (time, batch, ...); arguments as for `SequenceMask`."""
    lengths = _lengths("SequenceLast", data, sequence_length, use_sequence_length, axis, least=1)
    if lengths is None:
        return part(data, key=(slice(None), -1) if axis else (-1,))
    with device_scope(data._ctx):
        last, row = lengths - 1, array_module(lengths).arange(len(lengths))
    return gather(data, key=(row, last) if axis else (last, row))


def SequenceReverse(
    data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int = 0
) -> NDArray:
    """A copy of `data`, (time, batch, ...), with each sequence backwards and what is behind its end as it was.

    Arguments as for `SequenceMask`, but for `axis`, which must be 0.
    """
    if axis != 0:
        raise MXNetError(f"SequenceReverse: time must be axis 0, not {axis}; see swapaxes")
    lengths = _lengths("SequenceReverse", data, sequence_length, use_sequence_length, axis, least=0)
    if lengths is None:
        return flip(data, 0)
    xp = array_module(lengths)
    with device_scope(data._ctx):
        steps = xp.arange(len(data))[:, None]
        key = np.where(steps < lengths, lengths - 1 - steps, steps), xp.arange(len(lengths))
    return gather(data, key=key)


@ignore_fp_errors
def _lengths(
    name: str, data: NDArray, lengths: NDArray | None, used: bool, axis: int, least: int | None
) -> np.ndarray | None:
    """The lengths as integers, (batch,); None if they are not used. They are checked unless `least` is None."""
    if axis not in (0, 1) or data.ndim < 2:
        raise MXNetError(
            f"{name}: data of shape {data.shape} with time along axis {axis}; it must be axis 0 or 1 of at least 2"
        )
    if (lengths is not None) != bool(used):
        raise MXNetError(f"{name}: sequence_length goes with use_sequence_length=True; one is given without the other")
    if lengths is None:
        return None
    steps, batch = data.shape[axis], data.shape[1 - axis]
    if lengths.shape != (batch,):
        raise MXNetError(
            f"{name}: sequence_length has shape {lengths.shape}, not {(batch,)}: data has shape {data.shape}"
        )
    with device_scope(lengths._ctx):
        found = lengths._data.astype(np.int64)
    if least is not None and batch:
        given = to_host(found)
        if not least <= given.min() <= given.max() <= steps:
            raise MXNetError(f"{name}: lengths from {given.min()} to {given.max()}; possible are {least} to {steps}")
    return found
