"""Comparisons of arrays and of optimizers."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import random
from runtime.core.dtypes import element_type
from runtime.ndarray import NDArray
from runtime.test_utils.generate import rand_ndarray
from runtime.test_utils.settings import default_context

_RELATIVE = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
_ABSOLUTE = {"bfloat16": 1e-1, "float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

Tolerance = float | dict[np.dtype, float] | None

# ---------------------------------------------------------------- tolerances


def default_rtols() -> dict[np.dtype, float]:
    """The relative tolerance of each element type: 0 for integers."""
    return _table(_RELATIVE)


def default_atols() -> dict[np.dtype, float]:
    """The absolute tolerance of each element type: 0 for integers."""
    return _table(_ABSOLUTE)


def _table(floats: dict[str, float]) -> dict[np.dtype, float]:
    return {**{element_type(name): tol for name, tol in floats.items()}, **{np.dtype(name): 0.0 for name in _EXACT}}


def default_numeric_eps() -> dict[np.dtype, float]:
    """How far apart the points of a numeric gradient are: powers of two, so that inputs are not rounded."""
    return {np.dtype(np.float16): 2.0**-6, np.dtype(np.float32): 2.0**-9, np.dtype(np.float64): 2.0**-14}


def effective_dtype(dat: Any) -> np.dtype:
    """The element type that decides how exact `dat` is: its own."""
    return np.dtype(dat.dtype)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: dict[np.dtype, float]) -> float:
    """The tolerance for `dat`: `tol` if it is a number, else what it, or else `default_tol`, has for its type."""
    if isinstance(tol, numbers.Number):
        return tol
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol[dtype])


def get_tols(x: Any, y: Any, rtol: Tolerance = None, atol: Tolerance = None) -> tuple[float, float]:
    """The relative and the absolute tolerance for comparing x and y: those of the less exact one."""
    pair = [a if hasattr(a, "dtype") else np.asarray(a) for a in (x, y)]
    return (
        max(get_tolerance(a, rtol, default_rtols()) for a in pair),
        max(get_tolerance(a, atol, default_atols()) for a in pair),
    )


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """`rtol`, or the default of `dtype`."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """`atol`, or the default of `dtype`."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may be wrong: by default none."""
    return 0.0 if etol is None else etol


# ---------------------------------------------------------------- arrays


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have equal shapes and elements."""
    return np.array_equal(_numpy(a), _numpy(b))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share their memory, found out by writing to it."""
    for array in (array1, array2):
        array[:] += 1
        if not same(array1, array2):
            array[:] -= 1
            return False
    for array in (array1, array2):
        array[:] -= 1
    return same(array1, array2)


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether `|a - b| <= atol + rtol*|b|` everywhere; AssertionError for differing shapes without `use_broadcast`."""
    a, b = _numpy(a), _numpy(b)
    if not use_broadcast:
        _check_shapes(a, b)
    return bool(np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """AssertionError, which shows the worst places, unless `|a - b| <= atol + rtol*|b|` everywhere.

    Parameters
    ----------
    a, b: arrays or numbers, of shapes that broadcast together (equal, without `use_broadcast`).
    rtol, atol: numbers, or numbers by element type; by default those of the less exact element type.
    names: what the error calls a and b.
    equal_nan: whether NaN equals NaN.
    mismatches: how many places are shown; the second number has no meaning here.
    """
    assert_almost_equal_with_err(a, b, rtol, atol, 0, names, equal_nan, mismatches, use_broadcast)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
    use_broadcast: bool = True,
) -> None:
    """As `assert_almost_equal`, but a share of `etol` of the elements may differ."""
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _numpy(a), _numpy(b)
    if not use_broadcast:
        _check_shapes(a, b)
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if wrong.size and wrong.mean() > get_etol(etol):
        raise AssertionError(_report(a, b, wrong, rtol, atol, names, mismatches[0]))


def _report(
    a: np.ndarray, b: np.ndarray, wrong: np.ndarray, rtol: float, atol: float, names: Sequence[str], places: int
) -> str:
    """How far a and b are apart, in multiples of what is tolerated, where most, and both arrays in short."""
    shapes = "" if a.shape == b.shape else f"\nshapes: {names[0]} {a.shape}, {names[1]} {b.shape}"
    a, b = (np.broadcast_to(x, wrong.shape).astype(np.float64) for x in (a, b))
    with np.errstate(all="ignore"):
        error = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
    error = np.where(wrong, np.nan_to_num(error, nan=np.inf, posinf=np.inf), 0)
    worst = [np.unravel_index(i, wrong.shape) for i in np.argsort(-error, axis=None)[: min(places, wrong.sum())]]
    lines = [
        f"Error {error.max():f} exceeds tolerance rtol={rtol:e}, atol={atol:e} (mismatch {100 * wrong.mean():f}%).",
        *(
            f"Location of {'maximum ' if i == 0 else ''}error: {tuple(map(int, at))}, "
            f"{names[0]}={a[at]:.8f}, {names[1]}={b[at]:.8f}"
            for i, at in enumerate(worst)
        ),
    ]
    with np.printoptions(threshold=4, suppress=True):
        shown = f"\n {names[0]}: {a!r}\n {names[1]}: {b!r}"
    return "\n" + "\n".join(lines) + shapes + shown


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """`assert_almost_equal` with NumPy's tolerances."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Sequence[str] = ("a", "b")
) -> None:
    """`assert_almost_equal`, leaving out places where either array is NaN."""
    a, b = _numpy(a), _numpy(b)
    nan = np.isnan(a) | np.isnan(b)
    assert_almost_equal(np.where(nan, 0, a), np.where(nan, 0, b), rtol, atol, names)


def _numpy(x: Any) -> np.ndarray:
    return x.asnumpy() if isinstance(x, NDArray) else np.asarray(x)


def _check_shapes(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape:
        raise AssertionError(f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")


def assert_exception(f: Callable, exception_type: type[Exception], *args: Any, **kwargs: Any) -> None:
    """AssertionError unless `f(*args, **kwargs)` raises an exception of that type."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} did not raise {exception_type.__name__}")


# ---------------------------------------------------------------- optimizers


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """`assert_almost_equal` of nested tuples of arrays; None equals anything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, (tuple, list)):
        for s1, s2 in zip(t1, t2, strict=True):
            compare_ndarray_tuple(s1, s2, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """AssertionError unless one update of a random weight by either optimizer gives the same weight and states.

    `opt2` gets the weight stored as `w_stype`, the gradient as `g_stype`, `opt1` both dense. With a list of `shape`s,
    `opt2` updates all weights in one call.
    """
    if isinstance(shape, list):
        return _compare_in_one_call(opt1, opt2, shape, dtype, rtol, atol, compare_states)
    w1, w2 = _twice(shape, w_stype, dtype, density=1)
    g1, g2 = _twice(shape, g_stype, dtype)
    state1, state2 = opt1.create_state_multi_precision(0, w1), opt2.create_state_multi_precision(0, w2)
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, w1, g1, state1)
    opt2.update_multi_precision(0, w2, g2, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, rtol, atol)
    assert_almost_equal(w1, w2, rtol, atol)


def _twice(shape: Any, stype: str, dtype: Any, density: float | None = None) -> tuple[NDArray, NDArray]:
    """A random array, dense, and the same stored as `stype`."""
    if stype == "default":
        array = random.uniform(shape=shape, ctx=default_context(), dtype=dtype)
        return array.copy(), array
    array = rand_ndarray(shape, stype, density=density, dtype=dtype)
    return array.copyto(default_context()).tostype("default"), array


def _compare_in_one_call(
    opt1: Any, opt2: Any, shapes: list, dtype: Any, rtol: float, atol: float, compare_states: bool
) -> None:
    weights, gradients = ([_twice(shape, "default", dtype) for shape in shapes] for _ in range(2))
    indices, w2 = list(range(len(shapes))), [w for _, w in weights]
    states2 = [opt2.create_state_multi_precision(0, w) for w in w2]
    opt2.update_multi_precision(indices, w2, [g for _, g in gradients], states2)
    for i in indices:
        w1, g1 = weights[i][0], gradients[i][0]
        state1 = opt1.create_state_multi_precision(i, w1)
        opt1.update_multi_precision(i, w1, g1, state1)
        if compare_states:
            compare_ndarray_tuple(state1, states2[i], rtol, atol)
        compare_ndarray_tuple(w1, w2[i], rtol, atol)
