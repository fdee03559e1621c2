"""CuPy's functions: NumPy's, with CuPy's parameters, over arrays of devices."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _api
from ._array import checked, device, host, move_capsule, ndarray, refuse
from .cuda import current_device

_SCALARS = (bool, int, float, complex, np.bool_, np.number)
_IN_FLOAT32 = ("around", "round", "tril", "triu", "where")  # what has no loop for bfloat16, but one for float32
_SCATTERED = "fdeiILQFD"  # the types for which CuPy has atomic additions: not int64


class ufunc:
    """A function of elements. The results are C-contiguous, whatever the arrays were."""

    def __init__(self, name: str, types: list[str]) -> None:
        self.__name__ = name
        self.types = types
        self._function = getattr(np, name)

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **kwargs: Any):
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        for x in args:
            is_number = isinstance(x, _SCALARS) or getattr(type(x), "__module__", "") == "ml_dtypes"
            if not isinstance(x, ndarray) and not is_number:
                raise TypeError(f"Unsupported type {type(x)}")
        if not any("E" in types for types in self.types):  # what has no loop for bfloat16 is computed in float32
            args = tuple(x.astype(np.float32) if isinstance(x, ndarray) and x.dtype.char == "E" else x for x in args)
        named = {} if dtype is None else {"dtype": checked(dtype)}
        with np.errstate(all="ignore"):
            if out is None and len(args) <= getattr(self._function, "nin", len(args)):
                result = self._function(*host(args), **named)
                several = isinstance(result, tuple)
                made = tuple(np.asarray(y, order="C") for y in (result if several else (result,)))
                return device(made if several else made[0])
            outs = out if isinstance(out, tuple) else (out,)
            if out is not None and not all(isinstance(y, ndarray) for y in outs):
                raise TypeError("Output arguments must be cupy.ndarray")
            if out is not None:
                named["out"] = host(out)
            return device(self._function(*host(args), casting=casting, **named), (*args, *outs))

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        if self.__name__ not in ("add", "maximum", "minimum"):
            raise NotImplementedError(f"`{self.__name__}.at` is not supported yet")
        if a.dtype.char not in _SCATTERED:
            raise TypeError(f"cupy.{self.__name__}.at does not support {a.dtype}")
        with np.errstate(all="ignore"):
            self._function.at(host(a), a._key(indices), host(b))

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        name = {"add": "sum", "multiply": "prod"}.get(self.__name__)
        if name is None:
            raise NotImplementedError(f"`{self.__name__}.reduce` is not supported yet")
        return getattr(array, name)(axis, dtype, out, keepdims)

    def outer(self, a: ndarray, b: ndarray, **kwargs: Any) -> Any:
        return self(a.reshape(*a.shape, *[1] * b.ndim), b, **kwargs)


def function(kind: str, name: str, numpy_function: Callable) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        _api.check(kind, name, args, kwargs)
        for x in (*args, *kwargs.values()):
            _refuse_numpy(x)
        if args:
            refuse(name, args[0], kwargs.get("axis", args[1] if len(args) > 1 else None))
            args = _as_taken(name, args)
        out = kwargs.get("out")
        given = {key: host(value) for key, value in kwargs.items() if key != "blocking"}
        with np.errstate(all="ignore"):
            result = numpy_function(*host(args), **given)
            return device(_as_cupy(name, result) if out is None else result, (out, *args))

    call.__name__ = name
    return call


def _as_taken(name: str, args: tuple) -> tuple:
    """The arguments in the types that the function computes with, those that it does not take refused."""
    if name == "where" and len(args) == 3 and not isinstance(args[0], ndarray):
        raise AttributeError(f"{type(args[0]).__name__!r} object has no attribute 'astype'")
    if name in ("dot", "matmul") and not all(isinstance(x, ndarray) for x in args[:2]):
        raise TypeError("Argument 'b' has incorrect type (expected cupy._core.core._ndarray_base)")
    if name == "searchsorted" and len(args) > 1 and isinstance(args[1], np.generic):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    narrow = [x for x in args if isinstance(x, ndarray) and x.dtype.char == "E"]
    if narrow and name == "matmul" and max(x.ndim for x in args) > 2:
        raise TypeError("data type 'E' not understood")
    if narrow and name in _IN_FLOAT32:
        return tuple(x.astype(np.float32) if isinstance(x, ndarray) and x.dtype.char == "E" else x for x in args)
    return args


def _as_cupy(name: str, result: Any) -> Any:
    """The result in the order and the type that CuPy's function gives it."""
    if name in ("argsort", "cumsum", "cumprod") and result.ndim > 1:  # a view of what was computed along the last axis
        return result.swapaxes(0, -1).copy().swapaxes(0, -1)
    if name in ("einsum", "solve") and result.ndim > 1:  # a view of what cuBLAS or cuSOLVER wrote in columns
        return result.swapaxes(-2, -1).copy().swapaxes(-2, -1)
    return np.asarray(result) if isinstance(result, bool) and name in ("allclose", "array_equal") else result


def _refuse_numpy(x: Any) -> None:
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")


# ---------------------------------------------------------------- from the host


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """A copy on the current device, of an array of any device, a NumPy array, or numbers."""
    if isinstance(obj, ndarray):
        same = obj._device == current_device() and obj.ndim >= ndmin
        if same and not copy and (dtype is None or checked(dtype) == obj.dtype) and order in (None, "K", "A"):
            return obj
        return ndarray._over(np.array(obj._host, dtype, order=order or "K", ndmin=ndmin))
    if hasattr(obj, "__cuda_array_interface__"):
        return array(_shared(obj), dtype, copy, order, subok, ndmin)
    if isinstance(obj, (list, tuple)):
        obj = _of_list(obj)
    data = np.array(obj, dtype, order=order or "K", ndmin=ndmin)
    checked(data.dtype)
    return ndarray._over(data)


def _shared(obj: Any) -> ndarray:
    """Over the memory of an array of another library, on the device that the driver says it is of."""
    from optgen.execute.cuda import driver

    found = obj.__cuda_array_interface__
    dtype = checked(found["typestr"])
    if found["strides"] is not None:
        raise NotImplementedError("the stand-in shares arrays in C order only")
    address, _ = found["data"]
    if not address:
        return ndarray(found["shape"], dtype)
    memory = (ctypes.c_byte * (math.prod(found["shape"]) * dtype.itemsize)).from_address(address)
    memory.owner = obj
    return ndarray._over(np.frombuffer(memory, dtype).reshape(found["shape"]), driver.owner(address))


def _of_list(obj: Any) -> Any:
    """On the host: arrays of devices, or what NumPy makes arrays of, but not both."""
    if not isinstance(obj, (list, tuple)):
        return host(obj) if isinstance(obj, ndarray) else obj
    if len({isinstance(x, ndarray) for x in obj}) > 1:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")
    return [_of_list(x) for x in obj]


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: Any = None, blocking: bool = False
) -> ndarray:
    return array(a, dtype, bool(copy), order)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    x = asarray(a, dtype)
    return x if x.flags.c_contiguous else x.copy()


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    return ndarray._over(np.asfortranarray(asarray(a, dtype)._host))


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    return a.get(order=order, out=out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def from_dlpack(x: Any, *, device: Any = None, copy: Any = None) -> ndarray:
    """Over the memory of an array of a device, as capsules of the host's memory are refused."""
    kind, number = x.__dlpack_device__()
    if kind != 2:
        raise TypeError("CPU arrays cannot be directly imported to CuPy")

    class Hosted:
        def __dlpack__(self, **_: Any) -> Any:
            capsule = x.__dlpack__()
            move_capsule(capsule, 1, 0)
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    shared = np.from_dlpack(Hosted())
    memory = (ctypes.c_byte * shared.nbytes).from_address(shared.ctypes.data)  # NumPy's own array cannot be written
    memory.owner = shared
    return ndarray._over(np.frombuffer(memory, shared.dtype).reshape(shared.shape), number)


def shape(a: ndarray) -> tuple[int, ...]:
    return a.shape


def ndim(a: ndarray) -> int:
    return a.ndim


def get_array_module(*args: Any) -> Any:
    import cupy

    return cupy if any(isinstance(x, ndarray) for x in args) else np


def copyto(dst: ndarray, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    _refuse_numpy(src)
    with np.errstate(all="ignore"):
        np.copyto(host(dst), host(src), casting, where=True if where is None else host(where))


def zeros_like(a: ndarray, dtype: Any = None, order: str = "K", subok: None = None, shape: Any = None) -> ndarray:
    return ndarray._over(np.zeros_like(host(a), dtype, order, shape=shape))


def as_strided(x: ndarray, shape: Any = None, strides: Any = None) -> ndarray:
    return ndarray._over(np.lib.stride_tricks.as_strided(x._host, shape, strides), x._device)


def sliding_window_view(x: ndarray, window_shape: Any, axis: Any = None) -> ndarray:
    return ndarray._over(np.lib.stride_tricks.sliding_window_view(x._host, window_shape, axis), x._device)


def may_share_memory(a: ndarray, b: ndarray, max_work: Any = None) -> bool:
    return np.may_share_memory(a._host, b._host)


def shares_memory(a: ndarray, b: ndarray, max_work: Any = None) -> bool:
    return np.shares_memory(host(a), host(b))  # a kernel compares the addresses


def repeat(a: ndarray, repeats: Any, axis: int | None = None) -> ndarray:
    return a.repeat(repeats, axis)


def take(a: ndarray, indices: Any, axis: int | None = None, out: None = None) -> ndarray:
    """Indices out of bounds come in again at the other end."""
    x = a.ravel() if axis is None else a
    axis = 0 if axis is None else axis
    return x[(slice(None),) * (axis % x.ndim) + (array(indices),)]
