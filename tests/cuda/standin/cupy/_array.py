"""The array: NumPy's, hidden, behind the methods that CuPy's array has, which take no NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

import numpy as np

from . import _api
from .cuda import Device, current_device, pool

_NO_BFLOAT16 = {
    "argpartition", "argsort", "cumprod", "cumsum", "isin", "lexsort", "median", "partition", "percentile", "quantile",
    "searchsorted", "sort", "unique",
}  # fmt: skip
_REDUCTIONS = {
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "cumprod", "cumsum", "max", "min", "prod", "ptp",
    "sum",
}  # fmt: skip
_COMPARISONS = {"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}
_CHARS = "?bhilqBHILQefdFDE"  # E: bfloat16


def checked(dtype: Any) -> np.dtype:
    """The dtype; TypeError for one that CuPy's arrays cannot have."""
    dtype = np.dtype(dtype)
    if dtype.char not in _CHARS or not dtype.isnative:
        raise TypeError(f"Unsupported dtype {dtype}")
    return dtype


def host(x: Any) -> Any:
    """What an argument of a function is on the host, in lists and tuples too.

    ValueError for an array of a device that is not the current one: a kernel runs on that. TypeError for NumPy's
    arrays, which CuPy never copies to a device on its own.
    """
    if isinstance(x, ndarray):
        if x._device != current_device():
            raise ValueError(
                f"Array device must be same as the current device: array device = {x._device} while current = "
                f"{current_device()}"
            )
        return x._host
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, slice):
        return slice(host(x.start), host(x.stop), host(x.step))
    return type(x)(map(host, x)) if type(x) in (list, tuple) else x


def refuse(name: str, x: Any, axis: Any) -> None:
    """What NumPy's functions take of x, and CuPy's, or the methods of that name, do not."""
    if not isinstance(x, ndarray):
        return
    if name in _NO_BFLOAT16 and x.dtype.char == "E":
        raise NotImplementedError(f"{name} of arrays with dtype 'bfloat16' is not supported")
    if name in _REDUCTIONS and not x.ndim and isinstance(axis, int):
        raise np.exceptions.AxisError(axis, 0)


def device(x: Any, shared: Any = ()) -> Any:
    """What NumPy returned as arrays on the current device; of the `out` arrays in `shared`, these themselves."""
    for out in shared:
        if isinstance(out, ndarray) and out._host is x:
            return out
    if isinstance(x, (np.ndarray, np.generic)):
        return ndarray._over(np.asarray(x))
    return type(x)(*(device(y, shared) for y in x)) if hasattr(x, "_fields") else _of_sequence(x, shared)


def _of_sequence(x: Any, shared: Any) -> Any:
    return type(x)(device(y, shared) for y in x) if type(x) in (list, tuple) else x


def move_capsule(capsule: Any, kind: int, number: int) -> None:
    """Write into a DLPack capsule on which device its memory is."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    address = get(ctypes.py_object(capsule), ctypes.c_char_p(b"dltensor")) + ctypes.sizeof(ctypes.c_void_p)
    (ctypes.c_int32 * 2).from_address(address)[:] = (kind, number)


class _Flags:
    """The three flags that CuPy's arrays have."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())


class _Memory:
    """`x.data`: where the memory is."""

    def __init__(self, x: ndarray) -> None:
        self.ptr = x._host.__array_interface__["data"][0]
        self.device_id = x._device
        self.device = Device(x._device)


class ndarray:
    """An array on a device."""

    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape: Any, dtype: Any = float, memptr: None = None, strides: None = None, order: str = "C"):
        if memptr is not None or strides is not None:
            raise NotImplementedError("the stand-in makes arrays in memory of its own only")
        self._host = np.empty(shape, checked(dtype), order)
        self._device = current_device()
        pool.add(self._host, self._device)

    @classmethod
    def _over(cls, data: np.ndarray, number: int | None = None) -> ndarray:
        checked(data.dtype)
        self = object.__new__(cls)
        self._host = data
        self._device = current_device() if number is None else number
        pool.add(data, self._device)
        return self

    # ------------------------------------------------------------ what it is

    shape = property(lambda self: self._host.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._host.shape = shape

    dtype = property(lambda self: self._host.dtype)
    size = property(lambda self: self._host.size)
    ndim = property(lambda self: self._host.ndim)
    strides = property(lambda self: self._host.strides)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    flags = property(lambda self: _Flags(self._host.flags))
    data = property(lambda self: _Memory(self))
    device = property(lambda self: Device(self._device))
    base = property(lambda self: None if self._host.base is None else ndarray._over(self._host.base, self._device))
    T = property(lambda self: ndarray._over(self._host.T, self._device))
    mT = property(lambda self: ndarray._over(self._host.mT, self._device))
    real = property(lambda self: ndarray._over(self._host.real, self._device))
    imag = property(lambda self: ndarray._over(self._host.imag, self._device))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        x = self._host
        return {
            "shape": x.shape,
            "typestr": x.dtype.str,
            "descr": x.dtype.descr,
            "version": 3,
            "stream": 1,
            "strides": None if x.flags.c_contiguous else x.strides,
            "data": (x.__array_interface__["data"][0] if x.size else 0, False),
        }

    def __len__(self) -> int:
        return len(self._host)

    # ------------------------------------------------------------ to the host

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        if out is None:
            return self._host.copy(order)
        if out.dtype != self.dtype or out.shape != self.shape:
            raise TypeError(f"{out.dtype} {out.shape} array cannot be obtained from {self.dtype} {self.shape}")
        out[...] = self._host
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self._host[...] = arr

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._host.item()

    def tolist(self) -> Any:
        return self._host.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self._host.tobytes(order)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __complex__(self) -> complex:
        return complex(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, text: str) -> str:
        return format(self._host, text)

    def __reduce__(self) -> tuple:
        from . import array

        return array, (self.get(),)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        with self.device:
            return self.copy()

    # ------------------------------------------------------------ on the device

    def copy(self, order: str = "C") -> ndarray:
        """On the current device, wherever this array is."""
        return ndarray._over(self._host.copy(order))

    def astype(self, dtype: Any, order: str = "K", casting: None = None, subok: None = None, copy: bool = True) -> Any:
        if casting is not None or subok is not None:
            raise TypeError("casting and subok are not supported yet")
        if not copy and checked(dtype) == self.dtype:
            return self
        with np.errstate(all="ignore"):
            return ndarray._over(host(self).astype(checked(dtype), order=order))

    def fill(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.shape:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        host(self).fill(value._host if isinstance(value, ndarray) else value)

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        if type is not None:
            raise NotImplementedError("the stand-in has one class of arrays")
        return ndarray._over(self._host.view() if dtype is None else self._host.view(checked(dtype)), self._device)

    def repeat(self, repeats: Any, axis: int | None = None) -> ndarray:
        if isinstance(repeats, (ndarray, np.ndarray)):
            raise ValueError("repeats must be an int or a sequence of them")
        return device(host(self).repeat(repeats, axis))

    def toDlpack(self) -> Any:
        return self.__dlpack__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, **_: Any) -> Any:
        capsule = self._host.__dlpack__()
        move_capsule(capsule, *self.__dlpack_device__())
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device  # kDLCUDA

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        taken = self._host[self._key(key)]
        if not isinstance(taken, np.ndarray):  # a scalar: CuPy's is a view
            taken = self._host[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        elif any(isinstance(part, (ndarray, list)) for part in (key if isinstance(key, tuple) else (key,))):
            taken = np.asarray(taken, order="C")  # NumPy's is in the order of the key
        return ndarray._over(taken, self._device)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray):
            if type(key) is not slice or key != slice(None):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
            if value.dtype != self.dtype or value.shape != self.shape:
                raise ValueError("copying a numpy.ndarray to a cupy.ndarray needs arrays of one shape and dtype")
        elif isinstance(value, (list, tuple)):
            raise TypeError(f"Unsupported type {type(value)}")
        else:
            value = host(value)
        with np.errstate(all="ignore"):
            host(self)[self._key(key)] = value

    def _key(self, key: Any) -> Any:
        """The key for NumPy. What is out of bounds in an array of integers comes in again at the other end."""
        parts = key if isinstance(key, tuple) else (key,)
        arrays = [np.asarray(host(p) if isinstance(p, ndarray) else p) for p in parts if not isinstance(p, slice)]
        masks = sum(a.dtype == bool for a in arrays)
        indices = sum(a.dtype.kind in "iu" and a.ndim > 0 for a in arrays)
        if masks > 1 or (masks and indices):
            raise ValueError("currently, CuPy only supports slices that consist of one boolean array.")
        if not indices:
            return tuple(p._host if isinstance(p, ndarray) else p for p in parts)
        known = len(parts) - sum(p is None or p is Ellipsis for p in parts)
        done, axis = [], 0
        for p in parts:
            if p is Ellipsis:
                axis += self.ndim - known
            elif p is not None:
                if isinstance(p, (ndarray, np.ndarray, list)):
                    p = np.asarray(p._host if isinstance(p, ndarray) else p)
                    p = (p if p.size else p.astype(np.int64)) % max(self.shape[axis], 1)
                axis += 1
            done.append(p)
        return tuple(done)

    # ------------------------------------------------------------ for NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple = (), **kwargs: Any) -> Any:
        import cupy

        if method != "__call__" or not hasattr(cupy, ufunc.__name__):
            return NotImplemented
        if out:
            kwargs["out"] = out[0]
        if ufunc.__name__ in _COMPARISONS:  # NumPy's scalars come as arrays here
            inputs = tuple(x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs)
        return getattr(cupy, ufunc.__name__)(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        import cupy

        found: Any = cupy
        for name in (*function.__module__.split(".")[1:], function.__name__):
            found = getattr(found, name, None)
        if found is None or found is function or not all(t in (ndarray, np.ndarray) for t in types):
            return NotImplemented
        return found(*args, **kwargs)


_VIEWS = {"ravel", "reshape", "squeeze", "swapaxes", "transpose"}


def _method(name: str) -> Any:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        _api.check("method", name, args, kwargs)
        refuse(name, self, kwargs.get("axis", args[0] if args else None))
        if name == "sort" and not self._host.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        if name in _VIEWS and self._host.flags.c_contiguous:  # nothing runs: any device may be the current one
            return ndarray._over(getattr(self._host, name)(*args, **kwargs), self._device)
        out = kwargs.get("out")
        with np.errstate(all="ignore"):
            result = getattr(host(self), name)(*host(args), **{key: host(value) for key, value in kwargs.items()})
        return device(result, (out,))

    call.__name__ = name
    return call


_ABSENT = {"mdspan", "reduced_view", "scatter_add", "scatter_max", "scatter_min", "dump", "dumps", "tofile"}

for _name in _api.SIGNATURES["method"]:
    if _name not in vars(ndarray) and _name not in _ABSENT:
        setattr(ndarray, _name, _method(_name))
