"""Loops over histories, arrays that loops fill, and sums over all parameters in loops: on the CPU against the
interpreter, to the bit, and L-BFGS against the two-loop recursion as NumPy has it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.execute.buffers import numpy_dtype
from optgen.execute.stages import calls
from optgen.ir.interp import TensorUpdate
from optgen.shapes import sizes
from optgen.stages.interp import interpret_plan
from tests.compiler.harness import same_bits
from tests.sweeps import swept

Array = np.ndarray[Any, Any]

JOINT = optgen.parse("""\
optimizer Joint "histories of every kind in loops, with sums over all parameters"
param n: int = 3 in [2, inf)
state h[n]          = 0
state v[4]          = 0.5
state T[n]: tensor  = 1
state D[n]: shared  = 0.25
state R[3]: row     = 0
state C[n]: col     = 0.5
state m             = normal()
state b             = g
update:
  q = g + 0.125*m
  x = 0
  repeat n as i:
    a[i] = D[-1 - i]*sum(h[-1 - i]*q, over params)
    e[i] = T[i - n] + 0.1*i
    q'   = 0.5*q - a[i]*h[i - n]/(1 + e[i]^2) + 0.01*C[-1 - i]
    x'   = max(x, D[i - n])
  end
  r = q' + v[-4] - h[-1]*0.25
  repeat 4 as k:
    c[k] = rms(r)
    r'   = r + v[-1 - k]/(1 + c[k])
  end
  s = 0.125
  repeat n as j:
    s' = s + a[n - 1 - j]*e[j] + 0.01*c[0]*c[3]
  end
  h' = g - 0.5*q'
  v' = 0.5*r' + R[-3]
  T' = norm(r')/(1 + norm(q'))
  D' = x' + sum(r', over params)/(1 + sum(abs(r'), over params))
  R' = mean(q', per row) + 0.5*R[-1]
  C' = max(q', per col)
  m' = 0.5*r'
  b' = 0.5*b + m
  w' = w - lr*(r' + s' + b)/(1 + abs(s'))
""")
ALONE = optgen.parse("""\
optimizer Alone "windows over a history, numbers of turns that are computed, and a product beside them"
param n: int = 5 in [2, inf)
state h[n] = 0
require rank == 2 "matrices"
update:
  x = abs(g)
  repeat n as i:
    x' = max(x, h[-1 - i])
  end
  y = g
  repeat n - 1 as j:
    y' = y + h[-1 - j] - 0.5*h[j - n + 1]
  end
  z = y'
  repeat min(2*n - 4, 3):
    z' = 0.75*z - 0.1
  end
  h' = abs(g)
  w' = w - lr*(g@(g^T@h[-n]))/(1 + x') - 0.1*z'
""")
MODES: dict[str, dict[str, Any]] = {
    "float32": {},
    "float64": {"dtype": "float64"},
    "bfloat16-master": {"dtype": "bfloat16", "master": True, "storage": "bfloat16_stochastic"},
    "codes": {"storage": "int8_dynamic"},
}
SHAPES = ((7,), (6, 5), (), (65, 130), (3, 1))


@pytest.mark.parametrize(
    ("spec", "mode"),
    swept(
        itertools.product((JOINT, ALONE), MODES),
        [(JOINT, "float32"), (JOINT, "bfloat16-master"), (ALONE, "float64"), (ALONE, "codes")],
    ),
    ids=lambda x: getattr(x, "name", x),
)
def test_a_step_equals_the_interpreter(spec: optgen.Optimizer, mode: str) -> None:
    rng = np.random.default_rng(3)
    rule = optgen.load(spec, lr=0.1, n=4, **MODES[mode])
    dtype = numpy_dtype(rule.dtype)
    shapes = [s for s in SHAPES if len(s) == 2 or spec is JOINT]
    weights, grads = ([rng.normal(size=s).astype(dtype) for s in shapes] for _ in range(2))
    step = rule.bind(weights, grads)
    memo = {id(x): np.array(x) for arrays in step.state.arrays.values() for x in arrays if x is not None}
    copies: list[dict[str, Array]] = []
    for i, w in enumerate(weights):
        own = {name: memo[id(arrays[i])] for name, arrays in step.state.arrays.items()}
        copies.append(own | {"copy" if rule.master else "w": w.copy(), "grad": grads[i]})
    for count in range(1, 8):
        for g in grads:
            g[...] = rng.normal(size=g.shape)
        step()
        given = {name: math.nan if x is None else x for name, x in rule.values.items()} | {"step": float(count)}
        variant = rule.variant(shapes[0])
        updates = [
            TensorUpdate(own, given | sizes(s, False), count, i)
            for i, (s, own) in enumerate(zip(shapes, copies, strict=True))
        ]
        plan = pipeline.stages(spec, variant, (), first=count == 1)
        for some in [updates] if spec is JOINT else [[x] for x in updates]:
            interpret_plan(plan, some, calls.call)
        for i, own in enumerate(copies):
            for name, arrays in step.state.arrays.items():
                assert same_bits(arrays[i], own[name]), (name, shapes[i], count)
            assert same_bits(weights[i], own["copy" if rule.master else "w"]), (shapes[i], count)


def test_states_of_a_loop_over_all_parameters_start_together() -> None:
    weights = [np.ones((2, 2), np.float32), np.ones(3, np.float32)]
    step = optgen.load(JOINT, lr=0.1, n=4).bind(weights, [np.ones_like(w) for w in weights])
    step()
    before = [w.copy() for w in weights]
    step.state.t[:] = 1, 0
    with pytest.raises(ValueError, match=r"params\[0\] than for params\[1\]: they have been updated 1 and 0 times"):
        step()
    assert all(same_bits(w, x) for w, x in zip(weights, before, strict=True)) and step.state.t.tolist() == [1, 0]
