"""Dense sums: the same bits, whether NumPy adds or, from some size on, one kernel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from runtime import cpu
from runtime.ndarray import NDArray
from runtime.ndarray.updates import sums

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def arrays(count: int, shape: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    found = [(rng.normal(size=shape) * 100).astype(dtype) for _ in range(count)]
    if found[0].dtype.kind not in "iu":
        for array, special in zip(found, (np.inf, -np.inf, np.nan), strict=False):
            array.reshape(-1)[:1] = special
            array.reshape(-1)[1:2] = -0.0
    return found


def total(terms: list[np.ndarray], memory: np.ndarray | None = None) -> np.ndarray:
    return sums.total([NDArray(x, cpu()) for x in terms], cpu(), memory)._data


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", BFLOAT16, "int32"], ids=str)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_same_bits(count: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = []
    rule = sums._rule
    monkeypatch.setattr(sums, "_rule", lambda name: kernels.append(name) or rule(name))
    for shape in ((70, 1001), (4097,), ()):
        terms = arrays(count, shape, dtype)
        by_numpy = np.empty(shape, dtype)
        sums._add(terms, by_numpy)
        monkeypatch.setattr(sums, "MIN_KERNEL_ELEMENTS", 0)
        monkeypatch.setattr(sums, "MIN_KERNEL_ELEMENTS_16_BIT", 0)
        found = total(terms)
        if np.dtype(dtype).kind not in "iu":
            assert (np.isnan(found) == np.isnan(by_numpy)).all()
            found[np.isnan(found)] = by_numpy[np.isnan(by_numpy)] = 0
        assert found.tobytes() == by_numpy.tobytes()
        if len(shape) == 2:
            turned = total([x.T for x in terms]).T  # not contiguous: NumPy adds
            np.testing.assert_array_equal(turned.astype(np.float64), total(terms).astype(np.float64))
    used = dtype != "int32" and (count > 2 or np.dtype(dtype).itemsize == 2)
    assert bool(kernels) == used


@pytest.mark.parametrize("large", [0, 1 << 30])
def test_memory(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "MIN_KERNEL_ELEMENTS", large)
    terms = arrays(3, (3, 4), "float32")
    memory = np.empty((3, 4), np.float32)
    assert total(terms, memory) is memory
    assert total(terms[:1], memory) is terms[0]
    assert total(terms, memory[:2]).shape == (3, 4)
    terms[2] = memory.copy()
    np.testing.assert_array_equal(total([*terms[:2], memory], memory), total(terms))  # the last sum, pushed again
