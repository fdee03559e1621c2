"""A temporary in the place of a gradient, on an emulated GPU: the bits of the CPU."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute import rule
from tests.compiler.harness import SHAPES, numbers, same_bits
from tests.compiler.test_donated import ROWS, TWICE
from tests.cuda.emulation import GpuArray, emulated
from tests.sweeps import swept


@pytest.mark.parametrize(
    ("spec", "dtype"),
    swept(
        itertools.product(["lamb", "cautious_adamw", TWICE, ROWS], ["float32", "float64"]),
        [("lamb", "float64"), ("cautious_adamw", "float32"), (TWICE, "float64"), (ROWS, "float32")],
    ),
    ids=str,
)
def test_the_same_bits(spec: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A step on a GPU gains nothing by it, and is refused.
    monkeypatch.setattr(rule, "check_donated", lambda *_: None)
    rng = np.random.default_rng(3)
    shapes = [s for s in SHAPES if spec is not ROWS or s != (8193,)]  # as rows of one element they take long
    w, g = ([numbers(rng, s, dtype, special=False) for s in shapes] for _ in range(2))
    with emulated() as (gpu,):
        there, grads = ([GpuArray(x, gpu) for x in xs] for xs in (w, g))
        optgen.load(spec, dtype, target="cuda").bind(there, grads, donate_grads=True)()
        optgen.load(spec, dtype).bind(w, g, donate_grads=True)()
        assert all(same_bits(x.get(), y) for x, y in zip([*there, *grads], [*w, *g], strict=True))
