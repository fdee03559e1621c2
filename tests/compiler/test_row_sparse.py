"""Gradients of which some rows are there: only these are updated, or the others have a gradient of zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse, State
from tests.compiler.arrays import copies, random, same


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_only_rows_that_are_present_are_updated(dtype: str) -> None:
    """Two steps with unsorted, repeated rows, against the same rows as small dense parameters."""
    rule = optgen.load("adam", dtype, wd=0.01)
    w, v = random((9, 5), (6,), dtype=dtype)
    before, state = copies([w, v]), None
    dense = random((6,), dtype=dtype, seed=3)[0]
    for k, rows in enumerate(([7, 2, 7, 0, 7], [8, 2])):
        values = random((len(rows), 5), dtype=dtype, seed=k + 1)[0]
        gradient = RowSparse(np.array(rows, np.int32), values)
        if state is None:
            state = rule.init([w, v], row_sparse=[True, False])
            step = rule.bind([w, v], [gradient, dense], state)
        else:
            step.rebind([gradient, dense])
        present = sorted(set(rows))
        wide = np.float64 if dtype == "float64" else np.float32
        sums = np.zeros((9, 5), wide)
        for row, value in zip(rows, values, strict=True):
            sums[row] = sums[row] + value.astype(wide)
        part = np.ascontiguousarray(w[present])
        arrays = {name: [np.ascontiguousarray(x[0][present])] for name, x in state.arrays.items()}
        reference = rule.bind([part], [sums[present].astype(w.dtype)], State(arrays, np.full(1, k)))
        others = np.delete(w, present, axis=0)
        step()
        reference()
        assert same(
            [w[present], *(state.arrays[n][0][present] for n in arrays)], [part, *(a[0] for a in arrays.values())]
        )
        assert same([others], [np.delete(w, present, axis=0)])
    assert state.t.tolist() == [2, 2] and not np.array_equal(v, before[1])


@pytest.mark.parametrize("spec, lazy", [("adam", False), ("lamb", True), ("lamb", False)])
def test_absent_rows_are_zero_where_not_lazy(spec: str, lazy: bool) -> None:
    rule = optgen.load(spec, wd=0.01)
    assert rule.lazy == (spec == "adam")
    (w,) = random((8, 3))
    v = w.copy()
    sparse = rule.bind([w], [RowSparse(np.zeros(0, int), np.zeros((0, 3), np.float32))], lazy=lazy)
    grad = np.zeros_like(v)
    dense = rule.bind([v], [grad])
    for k, rows in enumerate(([1, 5], [2], [], [5, 1, 5])):
        values = random((len(rows), 3), seed=k)[0]
        sparse.rebind([RowSparse(np.array(rows, np.int64), values)])
        grad[...] = 0
        for row, value in zip(rows, values, strict=True):
            grad[row] += value
        sparse()
        dense()
        assert same([w], [v])


def test_a_dense_gradient_for_a_parameter_that_takes_sparse_ones() -> None:
    rule = optgen.load("adam")
    results = []
    for row_sparse in ([True], [False]):
        w, g = random((4, 3), (4, 3))
        step = rule.bind([w], [g], rule.init([w], row_sparse))
        step()
        step.rebind([RowSparse(np.arange(4), g)])
        step()
        results.append(w)
    assert same(results[:1], results[1:])


BAD_ROWS: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "floats": (np.ones(2), np.ones((2, 3), np.float32), TypeError, r"indices: expected integers in one dimension"),
    "matrix": (np.ones((2, 1), int), np.ones((2, 3), np.float32), TypeError, r"indices: expected integers in one dim"),
    "negative": (
        np.array([1, -1]),
        np.ones((2, 3), np.float32),
        ValueError,
        r"indices: -1 at position 1, but .* 4 rows",
    ),
    "too large": (
        np.array([4, 1]),
        np.ones((2, 3), np.float32),
        ValueError,
        r"indices: 4 at position 0, but .* 4 rows",
    ),
    "too many": (np.array([1, 2]), np.ones((3, 3), np.float32), ValueError, r"values: shape \(3, 3\), but one row"),
    "too wide": (np.array([1, 2]), np.ones((2, 4), np.float32), ValueError, r"values: shape \(2, 4\), but one row"),
    "doubles": (np.array([1, 2]), np.ones((2, 3)), TypeError, r"values: dtype float64, but the kernel takes float32"),
    "a list": ([1, 2], np.ones((2, 3), np.float32), TypeError, r"indices: expected a tensor"),
}


@pytest.mark.parametrize("indices, values, error, text", BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows(indices: Any, values: Any, error: type[Exception], text: str) -> None:
    w, g = random((5,), (4, 3)), random((5,), (4, 3), seed=1)
    rule = optgen.load("adam")
    with pytest.raises(error, match=rf"grads\[1\]\.{text}"):
        rule.bind(w, [g[0], RowSparse(indices, values)])
    with pytest.raises(ValueError, match=r"grads\[0\]: row-sparse, but its parameter is a single number"):
        rule.bind(random(()), [RowSparse(np.array([0]), np.ones(1, np.float32))])


@pytest.mark.parametrize("name", ["int8_dynamic", "int8_linear"])
def test_8_bit_rows(name: str) -> None:
    """Blocks that restart at each row: what is updated by rows has the bits of what is updated whole, row by row."""
    rule = optgen.load("sgd", momentum=0.9, storage=name)
    (w,), (g,) = random((20, 300)), random((20, 300), seed=1)
    rows = np.array([3, 4, 17])
    a, b = w.copy(), w.copy()
    sparse, all_rows = rule.init([a], [True]), rule.init([b], [True])
    step, whole = rule.bind([a], [RowSparse(rows, g[rows])], sparse), rule.bind([b], [g], all_rows)
    for _ in range(2):
        step()
        whole()
    for x, y in zip(
        (a, *(x[0] for x in sparse.arrays.values())), (b, *(x[0] for x in all_rows.arrays.values())), strict=True
    ):
        assert x is not None and y is not None and same([x[rows]], [y[rows]])
    assert same([np.delete(a, rows, axis=0)], [np.delete(w, rows, axis=0)])
    with pytest.raises(ValueError, match=r"grads\[0\]: row-sparse, but the blocks of codes .* row_sparse="):
        rule.bind([a], [RowSparse(rows, g[rows])], rule.init([a]))
    with pytest.raises(ValueError, match=r"state\['mom\.scale'\]\[0\]: shape \(3,\)"):
        state = rule.init([a])
        rule.bind([a], [g], State({**state.arrays, "mom.scale": [np.zeros(3, np.float32)]}, state.t))
