"""Operators on several arrays at once, for clipping gradients and scaling losses. They have no gradients."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import device_scope, is_host, to_host
from runtime.ndarray.creation import zeros
from runtime.ndarray.ndarray import NDArray

__all__ = ["all_finite", "multi_all_finite", "multi_sum_sq", "reset_arrays"]


def reset_arrays(*data: NDArray, num_arrays: int | None = None) -> None:
    """Write zeros to all of `data`."""
    _check("reset_arrays", data, num_arrays)
    for x in data:
        x[:] = 0


def multi_sum_sq(*data: NDArray, num_arrays: int | None = None) -> NDArray:
    """For each of `data` the sum of its squares, as one float32 vector."""
    _check("multi_sum_sq", data, num_arrays)
    with device_scope(data[0]._ctx):
        sums = [np.square(x._data, dtype=np.result_type(x._data.dtype, np.float32)).sum() for x in data]
        return NDArray(_row(sums, data[0]).astype(np.float32, copy=False), data[0]._ctx)


def all_finite(data: NDArray, init_output: bool = True, out: NDArray | None = None) -> NDArray:
    """1 if no element of `data` is infinite or NaN, else 0: float32, of shape (1,), written to `out` if that is given.

    Without `init_output`, `out` must be 1 already for the result to be.
    """
    return multi_all_finite(data, init_output=init_output, out=out)


def multi_all_finite(
    *data: NDArray, num_arrays: int | None = None, init_output: bool = True, out: NDArray | None = None
) -> NDArray:
    """1 if no element of any of `data` is infinite or NaN, else 0; see `all_finite`."""
    _check("multi_all_finite", data, num_arrays)
    if out is None:
        out, init_output = zeros(1, data[0]._ctx), True
    with device_scope(data[0]._ctx):
        finite = to_host(_row([np.isfinite(x._data).all() for x in data], data[0])).all()  # one wait for a GPU
    out[:] = float(finite and (init_output or bool(out)))
    return out


def _row(numbers: list, x: NDArray) -> np.ndarray:
    """A vector of scalars that were computed on the device of x; on a GPU they are arrays without axes."""
    return np.array(numbers) if is_host(x._data) else np.stack(numbers)


def _check(name: str, data: tuple[NDArray, ...], num_arrays: int | None) -> None:
    if not data or num_arrays not in (None, len(data)):
        raise MXNetError(f"{name}: {len(data)} arrays are given, num_arrays is {num_arrays}; it must be their number")
