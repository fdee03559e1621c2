"""The work of compiling grows with the length of a spec, and not with its square: counted in calls, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from optgen import pipeline
from optgen.diagnostics import Source
from optgen.ir import Variant

HEAD = "optimizer Long\nparam beta = 0.5\nstate m = 0\nupdate:\n  x0 = g\n"


def statements(n: int) -> str:
    lines = [f"  x{i + 1} = beta*x{i} + 0.{i + 1}*m" for i in range(n)]
    return HEAD + "\n".join([*lines, f"  m' = x{n}", "  w' = w - lr*m'\n"])


def reductions(n: int) -> str:
    lines = [f"  x{i + 1} = x{i}/(1 + norm(x{i}*0.{i + 1}))" for i in range(n)]
    return HEAD + "\n".join([*lines, f"  m' = x{n}", "  w' = w - lr*m'\n"])


def loops(n: int) -> str:
    turn = "  x{1} = x{0}\n  repeat 3:\n    x{1}' = 0.5*x{1}/(1 + norm(x{1}))\n  end"
    lines = [turn.format(i, i + 1) for i in range(n)]
    return HEAD + "\n".join([*lines, f"  m' = x{n}", "  w' = w - lr*m'\n"])


def products(n: int) -> str:
    lines = [f"  x{i + 1} = x{i}@(m^T@x{i})" for i in range(n)]
    head = HEAD.replace("update:", 'require rank == 2 "a matrix"\nupdate:')
    return head + "\n".join([*lines, f"  m' = x{n}", "  w' = w - lr*m'\n"])


def compiled(text: str) -> Callable[[], Any]:
    def work() -> None:
        optimizer = pipeline.check(Source("long.opt", text))
        variant = Variant({})
        if not optimizer.is_staged(variant.flags):
            pipeline.plan(pipeline.build(optimizer, variant))
            return
        pipeline.stages(optimizer, variant, (), first=False)

    return work


def calls(work: Callable[[], Any]) -> int:
    """The Python calls that some work makes."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("make", [statements, reductions, loops, products], ids=lambda make: make.__name__)
def test_four_times_the_text_is_about_four_times_the_work(make: Callable[[int], str]) -> None:
    calls(compiled(make(2)))  # what is made once, and kept
    few, many = (calls(compiled(make(n))) for n in (8, 32))
    assert many < 5.5 * few, (few, many)
