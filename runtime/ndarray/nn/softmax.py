"""Softmax, its logarithm, and the cross-entropy of class labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime.base import MXNetError, count
from runtime.core.backend import array_module, device_scope
from runtime.core.dtypes import element_type
from runtime.native import softmax as native
from runtime.native.normalization import SCRATCH
from runtime.ndarray.elementwise import cast, exp
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import ignore_fp_errors, in_float32, on_own_device, repeating
from runtime.ndarray.reduce.reductions import sum as sum_
from runtime.ndarray.shape.gather import take
from runtime.ndarray.shape.pick import places
from runtime.ndarray.two_gradients import TwoGradientOperator, constants, widen_half

__all__ = ["SoftmaxActivation", "log_softmax", "softmax", "softmax_cross_entropy", "softmin"]
METHODS = ("log_softmax", "softmax", "softmin")

# ---------------------------------------------------------------- softmax


TASK_ELEMENTS = 1 << 13
"""Elements of a task, about."""
EXP_WORK = 5
"""The work of exp per element, in additions."""


def _rows(x: np.ndarray, axis: int) -> tuple[int, int, int] | None:
    """The number of rows along the axis, their length, and the rows of one task of a kernel.

    None if no kernel is used: rows are empty or not contiguous, the type has no kernel, or x is on a GPU.
    """
    size, n = x.size, x.shape[axis]
    if not size or x.dtype.char not in "fd" or type(x) is not np.ndarray:
        return None
    if axis + 1 < x.ndim and math.prod(x.shape[axis + 1 :]) != 1:
        return None
    return size // n, n, max(1, TASK_ELEMENTS // n)


def _run(run: LoopKernel, x: np.ndarray, scale: float, rows: tuple[int, int, int], *others: np.ndarray) -> np.ndarray:
    """The result, of the shape of x, of a kernel of `native.softmax`; `others` are arrays that it reads, too."""
    y = np.empty_like(x)
    run(-(-rows[0] // rows[2]), EXP_WORK * x.size, x, *others, constants(x.dtype, scale), y, *rows, scratch=SCRATCH)
    return y


def _exponentials(x: np.ndarray, axis: int, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`exp(scale x - top)`; the tops, `max(scale x)`; and the sums."""
    if rows := _rows(x, axis):
        e = np.empty_like(x)
        tops, sums = np.empty((2, *x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
        arrays = x, constants(x.dtype, scale), e, tops, sums
        native.exponentials(-(-rows[0] // rows[2]), EXP_WORK * x.size, *arrays, *rows, scratch=SCRATCH)
        return e, tops, sums
    return _exponentials_in_numpy(x, axis, scale)


@ignore_fp_errors
def _exponentials_in_numpy(x: np.ndarray, axis: int, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if scale != 1:
        x = x * x.dtype.type(scale)
    tops = (x.max if x.size else x.sum)(axis=axis, keepdims=True)  # nothing has no maximum
    e = x - tops
    np.exp(e, out=e)
    return e, tops, e.sum(axis=axis, keepdims=True)


@repeating
@TwoGradientOperator
@in_float32
def _softmax(x: np.ndarray, *, axis: int, scale: float, masked: np.ndarray | None) -> np.ndarray:
    """Softmax of `scale x`; 0 where `masked`, of the shape of x."""
    if masked is not None:
        return _masked_softmax(x, axis, scale, masked)
    if rows := _rows(x, axis):
        return _run(native.softmax, x, scale, rows)
    return _softmax_in_numpy(x, axis, scale)


@ignore_fp_errors
def _softmax_in_numpy(x: np.ndarray, axis: int, scale: float) -> np.ndarray:
    e, _, sums = _exponentials_in_numpy(x, axis, scale)
    e /= sums
    return e


@ignore_fp_errors
def _masked_softmax(x: np.ndarray, axis: int, scale: float, masked: np.ndarray) -> np.ndarray:
    scores = np.where(masked, x.dtype.type(-np.inf), x * x.dtype.type(scale))
    y = _softmax.forward(scores, axis=axis, scale=1.0, masked=None)
    np.copyto(y, 0, where=masked)  # also where all of a row is
    return y


@_softmax.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, axis: int, scale: float, masked: Any) -> tuple[np.ndarray]:
    wide_g, wide_y = widen_half(g), widen_half(y)
    if rows := _rows(wide_y, axis):
        dx = _run(native.softmax_back, wide_y, scale, rows, wide_g)
    else:
        dx = wide_g * wide_y
        total = dx.sum(axis=axis, keepdims=True)
        np.subtract(wide_g, total, out=dx)
        dx *= wide_y
        if scale != 1:
            dx *= dx.dtype.type(scale)
    return (dx.astype(x.dtype, copy=False),)


@_softmax.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axis: int, scale: float, masked: Any) -> NDArray:
    dx = y * (g - sum_(g * y, axis=axis, keepdims=True))
    return dx if scale == 1 else dx * scale


@repeating
@TwoGradientOperator
@in_float32
def _log_softmax(x: np.ndarray, *, axis: int, scale: float) -> np.ndarray:
    if rows := _rows(x, axis):
        return _run(native.log_softmax, x, scale, rows)
    return _log_softmax_in_numpy(x, axis, scale)


@ignore_fp_errors
def _log_softmax_in_numpy(x: np.ndarray, axis: int, scale: float) -> np.ndarray:
    _, tops, sums = _exponentials_in_numpy(x, axis, scale)
    y = x - tops if scale == 1 else x * x.dtype.type(scale) - tops
    y -= np.log(sums)
    return y


@_log_softmax.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, axis: int, scale: float) -> tuple[np.ndarray]:
    wide_g, wide_y = widen_half(g), widen_half(y)
    if rows := _rows(wide_y, axis):
        dx = _run(native.log_softmax_back, wide_y, scale, rows, wide_g)
    else:
        dx = _log_softmax_back_in_numpy(wide_g, wide_y, axis, scale)
    return (dx.astype(x.dtype, copy=False),)


@ignore_fp_errors
def _log_softmax_back_in_numpy(g: np.ndarray, y: np.ndarray, axis: int, scale: float) -> np.ndarray:
    dx = np.exp(y)
    dx *= g.sum(axis=axis, keepdims=True)
    np.subtract(g, dx, out=dx)
    if scale != 1:
        dx *= dx.dtype.type(scale)
    return dx


@_log_softmax.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axis: int, scale: float) -> NDArray:
    dx = g - exp(y) * sum_(g, axis=axis, keepdims=True)
    return dx if scale == 1 else dx * scale


def softmax(
    data: NDArray,
    length: NDArray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
) -> NDArray:
    """`exp(x/temperature)/sum(exp(x/temperature))` along `axis`, without overflow, in the type `dtype` if given.

    With `use_length`, only the first `length` elements along `axis` count, the others become 0; `length` holds whole
    numbers in the shape of `data` without `axis`.
    """
    masked = None
    axis = _axis("softmax", data, axis)
    if use_length:
        masked = _beyond(data, length, axis)
    return _in_type("softmax", data, dtype, lambda x: _softmax(x, axis=axis, scale=_scale(temperature), masked=masked))


def softmin(data: NDArray, axis: int = -1, temperature: float | None = None, dtype: Any = None) -> NDArray:
    """The softmax of `-data`."""
    axis = _axis("softmin", data, axis)
    return _in_type("softmin", data, dtype, lambda x: _softmax(x, axis=axis, scale=-_scale(temperature), masked=None))


def log_softmax(data: NDArray, axis: int = -1, temperature: float | None = None, dtype: Any = None) -> NDArray:
    """The logarithm of `softmax`, exact where that would be 0."""
    axis = _axis("log_softmax", data, axis)
    return _in_type("log_softmax", data, dtype, lambda x: _log_softmax(x, axis=axis, scale=_scale(temperature)))


def SoftmaxActivation(data: NDArray, mode: str = "instance") -> NDArray:
    """Softmax along the last axis ('instance'), or along axis 1 ('channel')."""
    if mode not in ("instance", "channel"):
        raise MXNetError(f"SoftmaxActivation: mode is 'instance' or 'channel', not {mode!r}")
    return softmax(data, axis=1 if mode == "channel" else -1)


def _axis(name: str, data: NDArray, axis: int) -> int:
    ndim = data._data.ndim
    if type(axis) is int and -ndim <= axis < ndim:
        return axis % ndim
    if not -ndim <= count(f"{name}: axis", axis, None) < ndim:
        raise MXNetError(f"{name}: axis {axis} of an array of shape {data.shape}: there are {ndim} axes")
    return axis % ndim


def _scale(temperature: float | None) -> float:
    if temperature == 0:
        raise MXNetError("softmax: temperature must not be 0")
    return 1.0 if temperature is None else 1.0 / temperature


def _in_type(name: str, data: NDArray, dtype: Any, function: Any) -> NDArray:
    """`function(data)` in the type `dtype`, computed in the wider of the two types."""
    found = data._data.dtype
    if found.kind in "iub":
        raise MXNetError(f"{name}: elements must be floats, not {found}; convert with astype()")
    if dtype is None or (asked := element_type(dtype)) == found:
        return function(data)
    return function(cast(data, asked)) if asked.itemsize > found.itemsize else cast(function(data), asked)


@on_own_device
def _beyond(data: NDArray, length: NDArray | None, axis: int) -> np.ndarray:
    """Where an element lies at or behind the length of its row, in the shape of `data`."""
    expected = (*data.shape[:axis], *data.shape[axis + 1 :])
    if length is None or length.shape not in (expected, expected or (1,)):
        found = "none is given" if length is None else f"it has shape {length.shape}"
        raise MXNetError(f"softmax: use_length=True needs length, of shape {expected}, but {found}")
    places = array_module(data._data).arange(data.shape[axis]).reshape((-1,) + (1,) * (data.ndim - axis - 1))
    return np.broadcast_to(places >= np.expand_dims(length._data.reshape(expected), axis), data.shape)


# ---------------------------------------------------------------- cross entropy


@repeating
@TwoGradientOperator
def _cross_entropy(
    x: np.ndarray, label: np.ndarray, *, axis: int, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`-log softmax(x)[label]` along `axis`, of `shape`; and exp(x - max(x)) and its sum, for which it has length 1.

    `label` has class numbers, one for each loss.
    """
    x = widen_half(x)
    rows = _rows(x, axis)
    if rows is None:
        return _cross_entropy_by_numpy(x, label, axis, shape)
    loss, total, e = np.empty(shape, x.dtype), np.empty(_kept(x.shape, axis), x.dtype), np.empty(x.shape, x.dtype)
    tasks, label = -(-rows[0] // rows[2]), label.astype(x.dtype, copy=False)
    native.cross_entropy(tasks, EXP_WORK * x.size, x, label, e, total, loss, *rows, scratch=SCRATCH)
    return loss, e, total


@ignore_fp_errors
def _cross_entropy_by_numpy(
    x: np.ndarray, label: np.ndarray, axis: int, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    e, top, total = _exponentials(x, axis, 1.0)
    loss = np.log(total)
    loss += top
    loss -= x.reshape(-1)[_places_of(label, total.shape, axis, x.shape[axis])]
    return loss.reshape(shape), e, total


def _kept(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """`shape` with length 1 on `axis`."""
    return *shape[:axis], 1, *shape[axis + 1 :]


@_cross_entropy.backward
def _(
    g: tuple[np.ndarray, ...],
    y: tuple[np.ndarray, ...],
    x: np.ndarray,
    label: np.ndarray,
    *,
    axis: int,
    shape: tuple[int, ...],
) -> tuple[np.ndarray]:
    dloss, (_, e, total) = g[0], y
    rows = _rows(e, axis)
    if rows is None:
        dloss = dloss.reshape(total.shape)
        dx = e * (dloss / total)
        dx.reshape(-1)[_places_of(label, total.shape, axis, x.shape[axis])] -= dloss
    else:
        dx, label = np.empty(x.shape, e.dtype), label.astype(e.dtype, copy=False)
        native.cross_entropy_back(-(-rows[0] // rows[2]), x.size, dloss, label, e, total, dx, *rows)
    return (dx.astype(x.dtype, copy=False),)


@_cross_entropy.again
def _(x: NDArray, label: NDArray, *, axis: int, shape: tuple[int, ...]) -> NDArray:
    log_p = _log_softmax(x.astype("float32") if x._data.dtype.itemsize == 2 else x, axis=axis, scale=1.0)
    with device_scope(label._ctx):
        at = NDArray(_places_of(label._data, _kept(x.shape, axis), axis, x.shape[axis]).reshape(shape), label._ctx)
    return -take(log_p.reshape((-1,)), at)


@ignore_fp_errors
def _places_of(label: np.ndarray, kept: tuple[int, ...], axis: int, length: int) -> np.ndarray:
    """The places of the right classes in the flattened scores."""
    classes = label.astype(np.intp).reshape(kept)
    np.minimum(np.maximum(classes, 0, out=classes), length - 1, out=classes)
    return places(classes, axis, length)


def cross_entropy(data: NDArray, label: NDArray, axis: int = -1, keepdims: bool = True) -> NDArray:
    """`-pick(log_softmax(data), label)` along `axis`, which stays with length 1 if `keepdims`, in one operator.

    `label` holds class numbers of any type (clipped to the classes) in the shape of `data` without `axis`, or with
    length 1 there.
    """
    axis = _axis("cross_entropy", data, axis)
    given, found = data._data.shape, label._data.shape
    kept, dropped = _kept(given, axis), (*given[:axis], *given[axis + 1 :]) or (1,)
    if found != dropped and found != kept:
        hint = "; for a probability of each class, sparse_label=False" if found == given else ""
        raise MXNetError(
            f"softmax cross-entropy: for scores of shape {given} along axis {axis}, labels must have shape "
            f"{dropped} or {kept}, not {found}{hint}"
        )
    loss = _cross_entropy(data, label, axis=axis, shape=kept if keepdims else dropped)[0]
    return loss if loss._data.dtype == data._data.dtype else cast(loss, data.dtype)


def softmax_cross_entropy(data: NDArray, label: NDArray) -> NDArray:
    """The sum over all samples of `-log softmax(data)[label]`; `data` is (batch, classes), `label` (batch,)."""
    if data.ndim != 2 or label.shape != data.shape[:1]:
        raise MXNetError(
            "softmax_cross_entropy: data must be (batch, classes) and label (batch,), not "
            f"{data.shape} and {label.shape}"
        )
    return sum_(cross_entropy(data, label))
