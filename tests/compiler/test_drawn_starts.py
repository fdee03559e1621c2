"""States that start from draws: kernels beside the interpreter, and what the numbers depend on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.ir.interp import TensorUpdate, interpret

Array = Any
SHAPE = (5000,)
DRAWN = optgen.parse("""\
optimizer Drawn
state a = normal()
state b = rademacher() if both
state c = 0
flag both = true
update:
  z  = uniform()
  a' = 0.5*a + g
  b' = b*z          if both
  c' = c + z
  w' = w - lr*(a' + b' + c')   if both
  w' = w - lr*(a' + c')        otherwise
""")
SKETCH = optgen.parse("""\
optimizer Sketch
param r: int = 2 in [1, inf)
require rank == 2 "matrices"
state V: cols x r = normal()
state m = uniform()
update:
  U  = orthonormal(g@V)
  V' = g^T@U
  m' = m
  w' = w - lr*(U@V'^T) - 0*m
""")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("both", [False, True])
def test_kernels_are_those_of_the_interpreter(both: bool, dtype: str) -> None:
    rule = optgen.load(DRAWN, dtype, lr=0.1, both=both)
    w = np.ones(SHAPE, optgen.execute.buffers.numpy_dtype(dtype))
    g = np.linspace(-1, 1, SHAPE[0]).astype(w.dtype)
    step = rule.bind([w], [g])
    step.seed = 7
    own = {"w": w.copy(), **{k: x[0].copy() for k, x in step.state.arrays.items()}}
    numbers = {k: math.nan if x is None else x for k, x in rule.values.items()}
    numbers |= {"rank": 1, "size": 5000, "rows": 5000, "cols": 1, "matrices": 1}
    kernel = pipeline.build(rule.spec, rule.variant(SHAPE))
    for t in (1, 2, 3):
        interpret(kernel, [TensorUpdate(own | {"grad": g}, numbers | {"step": t}, t)], seed=7)
        step()
        np.testing.assert_array_equal(w, own["w"])
        for k, x in step.state.arrays.items():
            np.testing.assert_array_equal(x[0], own[k])


def starts(seed: int, ids: list[int], spec: Any = SKETCH) -> list[Array]:
    w, g = [np.zeros((6, 5)) for _ in ids], [np.eye(6, 5) for _ in ids]
    step = optgen.load(spec, "float64", lr=1).bind(w, g, ids=ids)
    step.seed = seed
    step()
    return [*step.state.arrays["m"], *step.state.arrays["V"]]


def test_matrices_start_from_numbers_of_their_own() -> None:
    first, again = starts(1, [0, 1]), starts(1, [0, 1])
    assert all(map(np.array_equal, first, again))
    m0, m1, v0, v1 = first
    assert not np.array_equal(m0, m1) and not np.array_equal(v0, v1) and v0.shape == (5, 2)
    swapped = starts(1, [1, 0])
    np.testing.assert_array_equal(swapped[0], m1)
    np.testing.assert_array_equal(swapped[3], v0)
    assert not np.array_equal(starts(2, [0, 1])[0], m0)


def test_a_low_rank_gradient_is_found_at_once() -> None:
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30)), np.zeros((40, 30))
    step = optgen.load(SKETCH, "float64", lr=1).bind([w], [g])
    for t in (1, 2):
        step()
        np.testing.assert_allclose(w, -t * g, atol=1e-12)


def test_draws_have_the_distribution() -> None:
    w, g = np.zeros(200_000, np.float32), np.zeros(200_000, np.float32)
    step = optgen.load(DRAWN, lr=1).bind([w], [g])
    step()
    a = 2 * step.state.arrays["a"][0]
    assert abs(a.mean()) < 0.01 and abs(a.std() - 1) < 0.01
    assert abs(np.sign(step.state.arrays["b"][0]).mean()) < 0.01
