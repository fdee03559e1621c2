"""Sums over the GPUs of this process by NCCL, NVIDIA's library for that, where CuPy finds it."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

from runtime.core import backend
from runtime.kvstore.groups import Groups

_TYPES = {
    "int8": "NCCL_INT8", "uint8": "NCCL_UINT8", "int32": "NCCL_INT32", "int64": "NCCL_INT64",
    "float16": "NCCL_FLOAT16", "float32": "NCCL_FLOAT32", "float64": "NCCL_FLOAT64",
}  # fmt: skip


def all_reduce(values: Groups, out: Groups) -> bool:
    """Write the sum of each key's arrays to all of its arrays in `out`, if NCCL can.

    It can where the arrays of each key, and those they are written to, are dense, of one type, and one on each of the
    same several GPUs. Otherwise nothing is done, and False returned.
    """
    library = _library()
    if library is None or not all(_fits(values[key], out.get(key, [])) for key in values):
        return False
    makers = {key: _communicators(tuple(x.context.device_id for x in given)) for key, given in values.items()}
    library.groupStart()  # inside of a group no communicator can be made
    for key, given in values.items():
        for communicator, x, y in zip(makers[key], given, out[key], strict=True):
            stream = _stream(x.context)
            kind = getattr(library, _TYPES[x._data.dtype.name])
            communicator.allReduce(x._data.data.ptr, y._data.data.ptr, x.size, kind, library.NCCL_SUM, stream)
    library.groupEnd()
    return True


def _fits(values: list[Any], out: list[Any]) -> bool:
    contexts = [x.context for x in values]
    first = values[0].dtype
    return (
        len(set(contexts)) == len(contexts) > 1
        and [y.context for y in out] == contexts
        and all(x.stype == "default" and not x.context.on_cpu and x.dtype == first for x in (*values, *out))
        and values[0]._data.dtype.name in _TYPES
        and all(x._data.flags.c_contiguous for x in (*values, *out))
    )


def _stream(ctx: Any) -> int:
    with backend.device_scope(ctx):
        return backend.xp_for(ctx).cuda.get_current_stream().ptr


@functools.cache
def _library() -> ModuleType | None:
    try:
        library = importlib.import_module("cupy.cuda.nccl")
    except ImportError:
        return None
    return library if library.available else None


@functools.cache
def _communicators(gpus: tuple[int, ...]) -> list[Any]:
    """The communicator of each GPU. They are kept, as making them takes long."""
    return _library().NcclCommunicator.initAll(list(gpus))
