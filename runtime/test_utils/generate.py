"""Random shapes and arrays, by NumPy's global generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import random as rnd

from runtime.context import Context
from runtime.ndarray import NDArray, arange, array, broadcast_to, sparse
from runtime.test_utils.settings import default_context

Shape = Sequence[int]


def default_dtype() -> type:
    """The element type of arrays that ask for none."""
    return np.float32


# ---------------------------------------------------------------- shapes


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Two lengths, at most `dim0` and `dim1`, at least 1 (0 if `allow_zero_size`)."""
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, int, int]:
    """Three lengths, at most `dim0`, `dim1` and `dim2`, at least 1 (0 if `allow_zero_size`)."""
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """`num_dim` lengths, at most `dim`, at least 1 (0 if `allow_zero_size`)."""
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(longest: Shape, allow_zero_size: bool) -> tuple:
    return tuple(int(rnd.randint(0 if allow_zero_size else 1, n + 1)) for n in longest)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A row in [x_low, x_high) and a column in [y_low, y_high)."""
    return rnd.randint(x_low, x_high, dtype=np.int64), rnd.randint(y_low, y_high, dtype=np.int64)


# ---------------------------------------------------------------- NumPy arrays


def random_arrays(*shapes: Shape) -> Any:
    """A float32 NumPy array of normally distributed numbers for each shape: a list, or the only one."""
    arrays = [np.array(rnd.standard_normal(shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32) -> list:
    """A NumPy array of numbers in [low, high) for each shape."""
    return [np.array(rnd.uniform(low, high, shape), dtype) for shape in shapes]


def random_sample(population: Sequence, k: int) -> Sequence:
    """`k` different elements of a sequence, in random order."""
    if not 0 <= k <= len(population):
        raise ValueError(f"cannot choose {k} of {len(population)} elements")
    shuffled = population[:]
    rnd.shuffle(shuffled)
    return shuffled[:k]


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """A NumPy array of what `function` makes of each element (None: the elements)."""
    return np.array(the_input) if function is None else _each(function, the_input)


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """A NumPy array of what `function` makes of each two elements (None: the first ones)."""
    return np.array(input1) if function is None else _each(function, input1, input2)


def _each(function: Callable, *inputs: np.ndarray) -> np.ndarray:
    results = [function(*elements) for elements in zip(*(x.ravel() for x in inputs), strict=True)]
    return np.array(results, np.float64).reshape(inputs[0].shape)


def np_reduce(
    dat: np.ndarray, axis: int | Sequence[int] | None, keepdims: bool, numpy_reduce_func: Callable
) -> np.ndarray:
    """A NumPy reduction of one axis at a time, such as `np.sum`, over several axes (None: all)."""
    axes = range(dat.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted(int(a) % dat.ndim for a in axes)
    result = dat
    for a in reversed(axes):
        result = numpy_reduce_func(result, axis=a)
    return np.reshape(result, [1 if a in axes else n for a, n in enumerate(dat.shape)]) if keepdims else result


def collapse_sum_like(a: np.ndarray, shape: Shape) -> np.ndarray:
    """`a` summed to `shape`, from which it could have been broadcast."""
    if np.prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, a.dtype)
    lead = a.ndim - len(shape)
    stretched = [lead + i for i, n in enumerate(shape) if n != a.shape[lead + i]]
    return a.sum(axis=(*range(lead), *stretched)).reshape(shape)


# ---------------------------------------------------------------- NDArrays


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """(rows, columns), with the row's number everywhere."""
    return broadcast_to(arange(0, rows, dtype=dtype).reshape(rows, 1), shape=(rows, columns))


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, ..., size - 1."""
    return arange(0, size, dtype=dtype)


def rand_ndarray(
    shape: Shape,
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """A random array stored as `stype`: normally distributed if dense, else as `rand_sparse_ndarray` makes them."""
    if stype == "default":
        return array(random_arrays(shape), dtype=dtype, ctx=ctx or default_context())
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        modifier_func=modifier_func,
        dtype=dtype,
        shuffle_csr_indices=shuffle_csr_indices,
        distribution=distribution,
        ctx=ctx,
    )[0]


def rand_sparse_ndarray(
    shape: Shape,
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[NDArray, tuple]:
    """A random sparse array, and what it is made of: (values, rows) or (indptr, indices, data).

    Parameters
    ----------
    shape: the array's shape; two axes for csr.
    stype: 'row_sparse' or 'csr'.
    density: the share of rows (row_sparse) or elements (csr) that is stored; by default at random.
    distribution: of stored elements over the rows of csr: 'uniform', or 'powerlaw', twice as many in each next row.
    data_init: what all stored elements are, instead of random numbers in [0, 1).
    rsp_indices: the rows that are stored, instead of random ones.
    modifier_func: applied to each value of row_sparse.
    shuffle_csr_indices: whether columns within a row of csr are out of order.
    """
    ctx = ctx or default_context()
    density = rnd.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    distribution = distribution or "uniform"
    if stype == "row_sparse":
        if distribution != "uniform":
            raise AssertionError(f"Distribution {distribution} not supported for row_sparse")
        return _row_sparse(shape, density, dtype, data_init, rsp_indices, modifier_func, ctx)
    if stype != "csr":
        raise AssertionError(f"unknown storage type: {stype}")
    makers = {"uniform": _uniform_mask, "powerlaw": _powerlaw_mask}
    if distribution not in makers:
        raise AssertionError(f"Distribution not supported: {distribution}")
    rows, columns = shape
    if not 0 <= density <= 1 or rows <= 0 or columns <= 0:
        raise ValueError(f"no csr matrix has {rows} rows, {columns} columns and a density of {density}")
    stored = makers[distribution](rows, columns, int(rows * columns * density))
    csr = _csr(stored, dtype, data_init, shuffle_csr_indices, ctx)
    return csr, (csr.indptr, csr.indices, csr.data)


def _row_sparse(
    shape: Shape, density: float, dtype: Any, data_init: Any, rows: Any, modifier: Callable | None, ctx: Context
) -> tuple[NDArray, tuple]:
    indices = np.flatnonzero(rnd.rand(shape[0]) < density) if rows is None else np.asarray(rows, np.int64)
    values = rnd.rand(len(indices), *shape[1:]).astype(dtype)
    if data_init is not None:
        values.fill(data_init)
    if modifier is not None:
        values = assign_each(values, modifier).astype(dtype)
    if len(indices) == 0:
        return sparse.zeros("row_sparse", tuple(shape), ctx, dtype), (values, indices)
    return sparse.row_sparse_array((values, indices), shape=tuple(shape), ctx=ctx, dtype=dtype), (values, indices)


def _uniform_mask(rows: int, columns: int, nnz: int) -> np.ndarray:
    stored = np.zeros(rows * columns, bool)
    stored[rnd.permutation(rows * columns)[:nnz]] = True
    return stored.reshape(rows, columns)


def _powerlaw_mask(rows: int, columns: int, nnz: int) -> np.ndarray:
    """One element in each row, then 2, 4, 8, ... in the next rows, until `nnz` are given out; rows are filled from the
    left."""
    if nnz < 2 * rows:
        raise ValueError(f"{nnz} elements are too few for a power law over {rows} rows: at least {2 * rows}")
    counts = np.ones(rows, np.int64)
    left = nnz - rows
    for row in range(rows):
        more = min(left, min(columns, 2 ** min(row + 1, 62)) - 1)
        counts[row] += more
        left -= more
    if left:
        raise ValueError(f"a power law over {rows} rows of {columns} leaves {left} of {nnz} elements over")
    return np.arange(columns) < counts[:, None]


def _csr(stored: np.ndarray, dtype: Any, data_init: float | None, shuffle: bool, ctx: Context) -> NDArray:
    indices = np.nonzero(stored)[1].astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]).astype(np.int64)
    data = (1 - rnd.rand(len(indices))).astype(dtype)  # in (0, 1]: none of the stored elements is 0
    if data_init is not None:
        data.fill(data_init)
    if shuffle:
        for begin, end in pairwise(indptr):
            rnd.shuffle(indices[begin:end])
    return sparse.csr_matrix((data, indices, indptr), shape=stored.shape, ctx=ctx, dtype=dtype)


def shuffle_csr_column_indices(csr: Any) -> None:
    """Put the columns within each row of a SciPy csr matrix out of order, in place."""
    for begin, end in pairwise(csr.indptr):
        columns = np.array(csr.indices[begin:end])
        rnd.shuffle(columns)
        csr.indices[begin:end] = columns


def create_sparse_array(
    shape: Shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """The array of `rand_sparse_ndarray`, with `rsp_indices` in order."""
    rows = None if rsp_indices is None else np.sort(np.asarray(rsp_indices))
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        dtype=dtype,
        data_init=data_init,
        rsp_indices=rows,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(shape: Shape, stype: str, density: float, **arguments: Any) -> NDArray:
    """`create_sparse_array`, in which no rows but `rsp_indices` are stored."""
    return create_sparse_array(shape, stype, density=0.0 if stype == "row_sparse" else density, **arguments)
