"""States that start from an expression, which the first update computes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import optgen
from optgen import RowSparse, pipeline
from optgen.emit.header import names
from optgen.emit.manifest_json import Build, BuiltKernel, manifest
from optgen.ir import Variant, text
from optgen.symbolic.latex import latex
from optgen.symbolic.unicode import unicode

SPEC = optgen.parse("""\
optimizer Starts
param lr = 1
state m = 2*g
state D: shared = max(abs(w), over params)
update:
  m' = m + g
  D' = D + 1
  w' = w - lr*m'
eval:
  w' = m
""")


def test_the_first_update_starts_states() -> None:
    w, g = [np.full(3, 2.0, np.float32), np.zeros((), np.float32)], [np.ones(3, np.float32), np.ones((), np.float32)]
    rule = optgen.load(SPEC)
    state = rule.init(w)
    assert not state.arrays["m"][0].any() and not rule.evaluate(w, state)[0].any()
    step = rule.bind(w, g, state)
    step()
    assert state.arrays["m"][0].tolist() == [3, 3, 3] and state.arrays["D"][0] == 3 and w[0].tolist() == [-1, -1, -1]
    step()
    assert state.arrays["m"][0].tolist() == [4, 4, 4] and state.arrays["D"][1] == 4 and w[1] == -7


def test_a_start_of_rows_is_not_lazy() -> None:
    text = "optimizer Rows\nparam lr = 1\nstate m = {}\nupdate:\n  m' = m + g\n  w' = w - lr*m'\n"
    assert optgen.load(optgen.parse(text.format("0"))).lazy
    rule = optgen.load(optgen.parse(text.format("g + 1")))
    assert not rule.lazy
    w = np.zeros((2, 2), np.float32)
    step = rule.bind([w], [RowSparse(np.array([1]), np.ones((1, 2), np.float32))])
    step()
    assert w.tolist() == [[-1, -1], [-3, -3]]  # the row that is missing started at 1, with a gradient of 0


def test_a_start_is_shown() -> None:
    built = BuiltKernel("starts", Variant({}), pipeline.plan(pipeline.build(SPEC, Variant({}))))
    assert "buffer m elem float32 written late init=0.0" in text.to_text(built.kernel)
    assert text.from_text(text.to_text(built.kernel)) == built.kernel
    assert "starts as 0.0, and in the first update as its spec says" in names(SPEC, built)
    states = json.loads(manifest(SPEC, Build("0", "0", {}), []))["states"]
    assert [s["init"] for s in states] == ["2*g", "max(abs(w), over params)"]
    assert "mₜ₋₁" in unicode(SPEC) and "2·gₜ   if t = 1" in unicode(SPEC)
    assert r"m_{t-1} &= 2 \, g_t \quad \text{if } t = 1" in latex(SPEC)


@pytest.mark.parametrize("start", ["-0.5", "c", "w"])
def test_a_number_a_param_and_w_are_there_from_the_beginning(start: str) -> None:
    spec = optgen.parse(f"optimizer X\nparam c = -0.5\nstate m = {start}\nupdate:\n  m' = m + c\n  w' = w + m'\n")
    assert optgen.load(spec).init([np.full(2, -0.5, np.float32)]).arrays["m"][0].tolist() == [-0.5, -0.5]
