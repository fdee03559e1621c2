"""Which states are found never to be negative."""

from __future__ import annotations

import pytest

from optgen.diagnostics import Source
from optgen.ir.nonnegative_states import nonnegative_states
from optgen.lang import parse

SPEC = """optimizer Probe "a state and its equation"
cite "none"

param lr   = 0.1
param beta = 0.9 in [0, 1)
param free = 0.9
param most = none in [0, inf)

state s = {start}

update:
  d  = g + wd*w
  s' = {update}
  w' = w - lr*free*beta*s' - 0*clip(d, most)
"""


@pytest.mark.parametrize(
    ("update", "known"),
    [
        ("beta*s + (1 - beta)*d^2", True),
        ("beta*s + (1 - beta)*d*d", True),
        ("s + abs(d)", True),
        ("max(beta*s, abs(d))", True),
        ("max(s, d)", True),
        ("max(s - d, 0)", True),
        ("sqrt(beta^t*s + d^2)", True),
        ("(1 - t^-0.8)*s + t^-0.8*d^2", True),
        ("clip(beta*s + d^2, most)", True),
        ("where(d > 0, s, d^2)", True),
        ("beta*s + (1 - beta)*mean(d^2)", True),
        ("beta*s + (1 - beta)*d", False),
        ("free*s + (1 - free)*d^2", False),
        ("s + lr*d^2", False),
        ("min(s, d)", False),
        ("s - (1 - beta)*d^2", False),
        ("clip(s + d^2, free)", False),
        ("beta*s + d^3", False),
        ("max(0, d)", True),  # -0 too: codes have one zero, with a sign or without
        ("1/max(d, 0)", True),
        ("1/max(0, d)", False),  # of -0 it is -inf
        ("max(0, d)^-1", False),
        ("atan2(max(d, 0), max(d, 0))", True),
        ("atan2(max(0, d), max(0, d))", False),  # of -0 it is -pi
        ("sqrt(max(0, d))*1/sqrt(d)", False),
    ],
)
def test_sign_of_a_state(update: str, known: bool) -> None:
    for start in ("0", "w", "-1"):
        optimizer = parse(Source("probe.opt", SPEC.format(start=start, update=update)))
        assert nonnegative_states(optimizer, {}) == ({"s"} if known and start == "0" else set()), start
