"""A line that cannot be read is reported, and what seems to be missing without it is not."""

from __future__ import annotations

import pytest

from optgen.diagnostics import Source, SpecErrors
from optgen.lang import parse

SPEC = """\
optimizer Broken "a spec with a line of each kind"
axes last two
lr_hint 0.1 "section 1"
param lr = 0.1
param beta = 0.9 in [0, 1) "decay"
param n: int = 2 in [2, 9]
flag kind = 'a' | 'b'
flag matrix = rank >= 2
state m = 0 "first moment"
state r: row = 0 if matrix
state past[n] = 0
input h "Hessian"
def twice(x) = 2*x
require matrix "matrices only"
update:
  m' = beta*m + (1 - beta)*g
  r' = mean(g, per row) if matrix
  past' = g
  d = twice(m') if kind == 'a'
  d = h + mean(h, per matrix) otherwise
  x = d
  repeat n as i:
    x' = x + i*past[-1]
  end
  w' = w - lr*x - lr*r'
eval:
  w' = w + m
"""
PHASES = """\
optimizer Phases "two gradients"
state old = 0
phase ascend:
  old' = w
  w' = w + lr*g
phase descend:
  old' = 0
  w' = old - lr*g
"""


def without_name(line: str) -> str:
    """The line without the name that it defines or declares."""
    words = line.split("=")[0].split() if " = " in line else line.split()
    return line.replace(words[min(1, len(words) - 1)].rstrip(":"), "", 1)


WAYS = {
    "an operator in front": lambda line: f"* {line}",
    "a bracket in front": lambda line: f") {line}",
    "a foreign character in front": lambda line: f"$ {line}",
    "an operator at the end": lambda line: f"{line} ^",
    "no equals sign": lambda line: line.replace(" = ", " ", 1),
    "no name": without_name,
    "no colon": lambda line: line.removesuffix(":"),
    "a word too many": lambda line: f"{line} more words here",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", [SPEC, PHASES], ids=["update", "phases"])
def test_errors_are_those_of_the_broken_line(text: str, way: str) -> None:
    lines = text.splitlines()
    parse(Source("whole.opt", text))
    for k, line in enumerate(lines):
        broken = [*lines[:k], WAYS[way](line), *lines[k + 1 :]]
        if not broken[k].strip():  # the line is missing, and not broken
            continue
        try:
            parse(Source("broken.opt", "\n".join(broken)))
        except SpecErrors as errors:
            assert {d.span.line for d in errors.diagnostics} == {k + 1}, str(errors)
