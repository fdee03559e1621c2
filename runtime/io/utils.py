"""Arrays with their names, as iterators hold them. Scripts import these helpers by their names in MXNet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import CSRNDArray

Source = Any
"""An array, a sequence of arrays, or arrays by name."""

Named = list[tuple[str, NDArray]]


def _init_data(data: Source, allow_empty: bool, default_name: str) -> Named:
    """Arrays with their names, in the order of the names.

    A single one is called `default_name`, several `_0_default_name`, `_1_default_name`, ... ArgumentError where there
    is none, unless `allow_empty`; TypeError for what is no array.
    """
    if isinstance(data, Mapping):
        named = dict(data)
    else:
        arrays = [] if data is None else list(data) if isinstance(data, (list, tuple)) else [data]
        single = len(arrays) == 1
        named = {default_name if single else f"_{i}_{default_name}": x for i, x in enumerate(arrays)}
    if not named and not allow_empty:
        raise ArgumentError(f"NDArrayIter: there is no array of '{default_name}'")
    return [(name, x if isinstance(x, NDArray) else _array(name, x)) for name, x in sorted(named.items())]


def _array(name: str, x: Any) -> NDArray:
    try:
        return nd.array(x)
    except TypeError as error:
        raise TypeError(f"NDArrayIter: '{name}': {error}") from None


def _has_instance(data: Named, dtype: type) -> bool:
    """Whether one of the arrays is a `dtype`, a class of arrays."""
    return any(isinstance(x, dtype) for _, x in data)


def _getdata_by_idx(data: Named, idx: Any) -> Named:
    """The samples numbered `idx` along the first axis of every array."""
    return [(name, taken(x, np.asarray(idx, np.int64))) for name, x in data]


def taken(x: NDArray, rows: np.ndarray) -> NDArray:
    """The samples numbered `rows` along the first axis."""
    return _csr_rows(x, rows) if isinstance(x, CSRNDArray) else x.take(nd.array(rows, dtype=np.int64))


def _csr_rows(x: CSRNDArray, rows: np.ndarray) -> CSRNDArray:
    starts = x.indptr.asnumpy().astype(np.int64)
    places = [np.arange(starts[row], starts[row + 1]) for row in rows]
    indptr = np.cumsum([0, *map(len, places)])
    at = np.concatenate(places)
    triple = (x.data.asnumpy()[at], x.indices.asnumpy()[at], indptr)
    return nd.sparse.csr_matrix(triple, shape=(len(rows), x.shape[1]), ctx=x.context, dtype=x.dtype)
