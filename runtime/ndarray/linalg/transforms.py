"""Linear maps of vectors: Fourier transforms and count sketches, which bilinear pooling is made of."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError, count
from runtime.core.backend import add_at, array_module, to_host
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32

__all__: list[str] = []
CONTRIB = ("count_sketch", "fft", "ifft")


@Operator
@in_float32
def _fft(x: np.ndarray) -> np.ndarray:
    found = np.fft.fft(x)
    return np.stack([found.real, found.imag], -1).reshape(*x.shape[:-1], -1).astype(x.dtype)


@Operator
@in_float32
def _ifft(x: np.ndarray) -> np.ndarray:
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    found = np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1])
    return (found.real * found.shape[-1]).astype(x.dtype)


@_fft.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return _ifft(g)


@_ifft.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return _fft(g)


def _floating(name: str, data: NDArray) -> NDArray:
    if data._data.dtype.kind in "iub":
        raise MXNetError(f"{name}: data is {data._data.dtype}; only floats can be computed with")
    return data


def fft(data: NDArray, compute_size: int = 128) -> NDArray:
    """The Fourier transform along the last axis: (..., 2n) of (..., n), real parts and imaginary ones in turn.

    `compute_size` does nothing.
    """
    return _fft(_floating("fft", data))


def ifft(data: NDArray, compute_size: int = 128) -> NDArray:
    """The real part of the inverse of `fft`, times n: (..., n) of (..., 2n). `compute_size` does nothing."""
    if data.shape[-1] % 2:
        raise MXNetError(f"ifft: real and imaginary parts in turn are an even number, not {data.shape[-1]}")
    return _ifft(_floating("ifft", data))


@Operator
@in_float32
def _sketch(x: np.ndarray, *, places: np.ndarray, signs: np.ndarray, size: int) -> np.ndarray:
    y = np.zeros_like(x, shape=(size, len(x)))
    add_at(y, array_module(x).asarray(places), (x * array_module(x).asarray(signs, x.dtype)).T)
    return array_module(x).ascontiguousarray(y.T)


@Operator
def _unsketched(x: np.ndarray, *, places: np.ndarray, signs: np.ndarray, size: int) -> np.ndarray:
    """The transpose of `_sketch`."""
    xp = array_module(x)
    return xp.ascontiguousarray(x[:, xp.asarray(places)] * xp.asarray(signs, x.dtype))


@_sketch.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, places: np.ndarray, signs: np.ndarray, size: int) -> NDArray:
    return _unsketched(g, places=places, signs=signs, size=x.shape[1])


@_unsketched.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, places: np.ndarray, signs: np.ndarray, size: int) -> NDArray:
    return _sketch(g, places=places, signs=signs, size=x.shape[1])


def count_sketch(data: NDArray, h: NDArray, s: NDArray, out_dim: int, processing_batch_size: int = 32) -> NDArray:
    """(batch, out_dim): for each place the sum of the elements of a sample that `h` sends there, times signs.

    `data` is (batch, n), `h`, n places, and `s`, n signs, which get no gradients. `processing_batch_size` does nothing.
    """
    _floating("count_sketch", data)
    n, size = data.shape[-1], count("count_sketch: out_dim", out_dim)
    if data.ndim != 2 or h.size != n or s.size != n:
        raise MXNetError(
            f"count_sketch: data is (batch, n), h and s have n elements, not {data.shape}, {h.shape}, {s.shape}"
        )
    places = to_host(h._data).ravel().astype(np.int64)
    if ((places < 0) | (places >= size)).any():
        raise MXNetError(
            f"count_sketch: h has places that are not below out_dim, {size}: {places.min()} to {places.max()}"
        )
    return _sketch(data, places=places, signs=to_host(s._data).ravel(), size=size)
