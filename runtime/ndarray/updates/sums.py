"""The sum of several arrays of one kind, such as the gradients of all contexts, in the given order."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.context import Context
from runtime.core import backend, optgen_bridge
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import ignore_fp_errors
from runtime.ndarray.sparse import RowSparseNDArray, sum_rows

_SUM = """optimizer Sum "The sum of several gradients, which the kernel adds up as it reads them"

update:
    w' = g
"""
MIN_KERNEL_ELEMENTS, MIN_KERNEL_ELEMENTS_16_BIT = 1 << 22, 1 << 16
"""The fewest elements for which one kernel that reads each array once is faster than the passes of NumPy.

To bind the kernel takes 0.1 ms, to compile it more, once. It pays for three arrays or more, as NumPy adds two in one
pass; of 16-bit floats, which NumPy converts one by one, also for two.
"""


def total(arrays: Sequence[NDArray], context: Context, memory: np.ndarray | None = None) -> NDArray:
    """The sum of arrays of one shape, type and storage, in `context`; of one array it shares the memory.

    Floats of 16 bits are added in float32, and rounded once. A dense sum is written to `memory` where that is of the
    same shape and type, and no part of what is summed.
    """
    first = arrays[0]
    if first.stype == "row_sparse":
        return _row_sparse(arrays, context)
    if len(arrays) == 1:
        return NDArray(backend.to_context(first._data, context), context)
    on_cpu = context.on_cpu
    terms = [a._data if on_cpu and a._ctx.on_cpu else backend.to_context(a._data, context) for a in arrays]
    fits = type(memory) is type(terms[0]) and memory.shape == first.shape and memory.dtype == first.dtype
    with backend.device_scope(context):
        if not fits or any(np.may_share_memory(memory, term) for term in terms):
            memory = np.empty_like(terms[0], shape=first.shape)
        if _is_large(terms) and all(term.flags.c_contiguous for term in terms):
            _rule(memory.dtype.name).bind([memory], [terms])()
        else:
            _add(terms, memory)
    return NDArray(memory, context)


def _is_large(terms: Sequence[np.ndarray]) -> bool:
    dtype, size = terms[0].dtype, terms[0].size
    if not backend.is_host(terms[0]):
        return False
    if _is_half(dtype):
        return size >= MIN_KERNEL_ELEMENTS_16_BIT
    return size >= MIN_KERNEL_ELEMENTS and len(terms) > 2 and dtype.kind == "f"


def _is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtype.kind not in "iu"


@functools.cache
def _rule(dtype: str) -> Any:
    return optgen_bridge.load(optgen_bridge.read(_SUM), dtype, False, None, {})


@ignore_fp_errors
def _add(terms: Sequence[np.ndarray], out: np.ndarray) -> None:
    sums = np.empty_like(out, np.float32) if _is_half(out.dtype) else out
    np.add(terms[0], terms[1], out=sums, dtype=sums.dtype)
    for term in terms[2:]:
        np.add(sums, term, out=sums)
    if sums is not out:
        out[...] = sums


def _row_sparse(arrays: Sequence[RowSparseNDArray], context: Context) -> RowSparseNDArray:
    shape = arrays[0].shape
    indices, rows = (
        [backend.to_context(x, context) for x in parts] for parts in zip(*map(_parts, arrays), strict=True)
    )
    if len(arrays) == 1:
        return RowSparseNDArray(rows[0], indices[0], shape, context)
    with backend.device_scope(context):
        return RowSparseNDArray(*sum_rows(np.concatenate(indices), np.concatenate(rows))[::-1], shape, context)


def _parts(array: RowSparseNDArray) -> tuple[np.ndarray, np.ndarray]:
    return array._indices, array._rows
