"""An update computes what its states and the weight depend on, and no more."""

from __future__ import annotations

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.ir import Variant
from optgen.model import Optimizer, Timing
from optgen.stages.plan import CallStage, LoopStage, Plan
from tests.compiler.harness import same_bits

NAMED = """\
optimizer Named
state U: rows x rows = 0
update:
  Q  = g@g^T
  U' = Q@Q        every 1000
  w' = w - lr*g - lr*norm(U')*w
"""
LOOP = """\
optimizer Loop
state U: rows x rows = 0
update:
  X = g@g^T
  repeat 3 as i:
    Y    = X@X
    a[i] = trace(Y)
    X'   = Y/(1 + norm(Y))
  end
  b  = a[2]
  U' = X'*b       every 5 from 1
  w' = w - lr*g - lr*norm(U')*w
"""


def stages(spec: Optimizer, due: tuple[Timing, ...]) -> Plan:
    return pipeline.stages(spec, Variant({}), due, first=False)


@pytest.mark.parametrize(("text", "calls", "loops"), [(NAMED, 2, 0), (LOOP, 3, 1)], ids=["named", "loop"])
def test_products_that_only_a_timed_equation_reads_wait_for_it(text: str, calls: int, loops: int) -> None:
    spec = optgen.parse(text)
    of_usual, of_due = stages(spec, ()), stages(spec, spec.timings)
    assert not any(isinstance(x, CallStage | LoopStage) for x in of_usual.walk())
    assert sum(isinstance(x, CallStage) for x in of_due.walk()) == calls
    assert sum(isinstance(x, LoopStage) for x in of_due.walk()) == loops


def test_a_named_product_has_the_bits_of_one_that_is_written_out() -> None:
    written = NAMED.replace("  Q  = g@g^T\n", "").replace("Q@Q        every 1000", "(g@g^T)@(g@g^T) every 2")
    results = []
    for text in (NAMED.replace("1000", "2"), written):
        rng = np.random.default_rng(3)
        w, g = (rng.normal(size=(4, 5)).astype(np.float32) for _ in range(2))
        step = optgen.load(optgen.parse(text), lr=0.01).bind([w], [g])
        for _ in range(5):
            g[...] = rng.normal(size=g.shape)
            step()
        results.append((w, np.array(step.state.arrays["U"][0])))
    assert all(same_bits(a, b) for a, b in zip(*results, strict=True))
