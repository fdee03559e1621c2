"""Small specs for which a rule of the analysis could prove what is false: none of it is proved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import optgen
from optgen.analysis import Statement, Verdict
from optgen.analysis.bound import bound
from optgen.analysis.constant import constant_gradient
from optgen.analysis.rotation import rotation
from optgen.analysis.scale import gradient_scale
from optgen.analysis.sign import gradient_sign
from optgen.analysis.stability import stability
from optgen.analysis.subject import Subject, subject_of
from optgen.symbolic.algebra import NoClosedForm
from optgen.symbolic.recurrence import largest_curvature
from optgen.symbolic.steady import steady_step

Question = Callable[[Subject], list[Statement]]


def _subject(text: str, **values: Any) -> Subject:
    """A spec of these lines, of which those before `update:` declare."""
    declared, _, update = text.rpartition("update:\n")
    return subject_of(optgen.parse(f'optimizer Foo "x"\nparam lr = 0.01\n{declared}update:\n{update}'), values)


def asked(question: Question, text: str, **values: Any) -> list[Statement]:
    return question(_subject(text, **values))


S = "state s = 0\nupdate:\n  s' = s\n"
V = "state v = 0\nupdate:\n  v' = 0.9*v + 0.1*g^2\n"
UNSOUND: dict[str, tuple[Question, str, str]] = {
    # of the size of steps
    "a denominator that another summand may make 0": (bound, "bounded", V + "  w' = w - lr*g/(sqrt(v') + g)"),
    "an epsilon that may be negative": (
        bound, "bounded", "param a = -1\n" + V + "  w' = w - lr*g/(sqrt(v') + a)",
    ),
    "an average of squares that are taken away": (
        bound, "bounded", "state v = 0\nupdate:\n  v' = v - g^2\n  w' = w - lr*g/sqrt(v')",
    ),
    "a step that is large once": (bound, "bounded", "w' = w - lr*where(t == 30000, 50, 1)*sign(g)"),
    "a power that crosses a number": (bound, "bounded", "w' = w - lr*sign(g)/(0.999^t - 1e-12)"),
    "a wave of the count": (bound, "bounded", "w' = w - lr*sign(g)*sin(t/20000)"),
    "a value rounded up": (bound, "bounded 1.003", "w' = w - lr*bfloat16(1.003*sign(g))"),
    "steps that are 0": (bound, "unbounded", "w' = w - lr*(g*2 - 2*g)"),
    # of scale and sign
    "0 to the power 0": (gradient_scale, "linear", f"{S}  w' = w - lr*(g + s^0)"),
    "0 to a power that is 0": (gradient_scale, "linear", f"param p = 0\n{S}  w' = w - lr*(g + s^p)"),
    "0 to a power of 0": (gradient_scale, "linear", f"{S}  w' = w - lr*(g + s^(2*s))"),
    "a division by 0 that ends": (gradient_scale, "linear", f"{S}  w' = w - lr*(g + tanh(1/s))"),
    "a param that decides": (
        gradient_scale, "invariant", "param p = 0\nupdate:\n  w' = w - lr*where(p == 0, g, sign(g))",
    ),
    "a count that decides": (gradient_scale, "invariant", "w' = w - lr*where(mod(t, 2) == 0, g, sign(g))"),
    "a counter that decides": (
        gradient_scale, "invariant",
        "state c : tensor = 0\nupdate:\n  c' = c + 1\n  w' = w - lr*where(mod(c, 2) == 0, g, sign(g))",
    ),
    "a value that is 0 always": (
        gradient_scale, "invariant", "w' = w - lr*where(floor(sign(g)^2/2) == 0, g, sign(g))",
    ),
    "a clip by what is below 0": (
        gradient_sign, "odd", "param p = -0.5\nupdate:\n  w' = w - lr*clip(g, p)",
    ),
    "a sign that a loop carries": (gradient_scale, "linear", """update:
  x = 0*g
  y = 0*g
  repeat 2:
    y' = x
    x' = sign(g)
  end
  w' = w - lr*(g + y')"""),
    # of curvatures and limits
    "a number that a count comes to": (
        stability, "closed-form", "state c : tensor = 0\nupdate:\n  c' = c + 2\n  w' = w - lr*where(t < c', 9*g, g)",
    ),
    "a limit after a number of updates": (constant_gradient, "limit", "w' = w - lr*where(t > 9999, 2, 1)*g"),
    # of rotation
    "a value that a loop carries": (rotation, "any", """update:
  x = 0*g
  y = 0*g
  repeat 2:
    y' = x
    x' = where(t > 30, abs(g), 0*g)
  end
  w' = w - lr*(g + y')"""),
    "a diagonal that is not square": (rotation, "any", """update:
  c = where(t > 30, 1, 0)
  w' = w - lr*(g + c*(g*identity(rows, cols)))"""),
    "a division by 0": (rotation, "any", f"{S}  w' = w - lr*(g + g/s)"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_false_is_not_proved(name: str) -> None:
    question, claim, text = UNSOUND[name]
    proved = [x for x in asked(question, text) if x.verdict is Verdict.PROVED]
    assert not [x for x in proved if x.claim.startswith(claim)]


def test_bounds() -> None:
    (clipped,) = asked(bound, "w' = w - lr*clip(sign(g), 2, 3)")
    assert (clipped.claim, clipped.verdict) == ("bounded 3", Verdict.PROVED)
    (inverse,) = asked(bound, "w' = w - lr/g")
    assert inverse.text == "Steps have no bound: they grow as the gradients shrink."


LONG = {
    "a polynomial": """
param a = 0.9 in [0, 1)
param b = 0.8 in [0, 1)
param c = 0.7 in [0, 1)
param d = 0.1
state m = 0
state n = 0
state v = 0
update:
  m' = a*m + (1 - a)*g
  n' = b*n + (1 - b)*m' + d*v
  v' = c*v + (1 - c)*n' - lr*w + a*b*m
  w' = w - lr*(m' + n'*d + v'*a^3)
""",
    "roots": """
param a = 0.9 in [0, 1)
param b = 0.8 in [0, 1)
param c = 0.7 in [0, 1)
param d = 0.1 in [0, 1)
state m = 0
state n = 0
state v = 0
state u = 0
update:
  m' = a*m + (1 - a)*g
  n' = b*n + (1 - b)*m'^3
  v' = c*v + (1 - c)*n'^2
  u' = d*u + (1 - d)*sqrt(v' + m'^2)
  w' = w - lr*(m' + n')/(sqrt(u') + cbrt(v' + 1) + exp(-m'^2))
""",
    "a power": "update:\n  w' = w - lr*(w + g + lr + 1)^60",
}


@pytest.mark.parametrize("name", LONG)
def test_algebra_ends_with_long_equations(name: str) -> None:
    """Without limits, SymPy would compute for minutes."""
    one = _subject(LONG[name])
    start = time.process_time()
    with pytest.raises(NoClosedForm):
        largest_curvature(one.spec, one.phases, (), one.values)
    with pytest.raises(NoClosedForm):
        steady_step(one.spec, one.phases, one.values)
    assert time.process_time() - start < 10
