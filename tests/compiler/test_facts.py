"""Facts of a spec are computed once, and so no step walks through its equations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import expressions
from optgen.facts import fact


@dataclass(frozen=True)
class Square:
    side: int
    computed: list[int]

    @fact
    def area(self) -> int:
        """The side, squared."""
        self.computed.append(self.side)
        return self.side**2


def test_a_fact_is_computed_when_it_is_first_asked_for() -> None:
    square = Square(3, [])
    assert square.computed == [] and (square.area, square.area, square.computed) == (9, 9, [3])
    assert replace(square, side=4).area == 16 and square.computed == [3, 4]
    assert square == Square(3, [3, 4]) and Square.area.__doc__ == "The side, squared."


@pytest.mark.parametrize(
    ("name", "shapes", "param"),
    [
        ("adam", [(3, 5), (5,)], "wd"),
        ("sgd", [(3, 5), (5,)], "momentum"),  # which decides a flag
        ("lamb", [(3, 5), (5,)], "wd"),
        ("sm3", [(3, 5), (5,)], "wd"),  # with groups
        ("prodigy", [(3, 5), (5,)], "wd"),  # with values that parameters share
        ("muon", [(3, 5)], "wd"),
    ],
)
def test_no_step_walks_through_equations(name: str, shapes: list[tuple[int, ...]], param: str) -> None:
    params, grads = ([np.ones(shape, np.float32) for shape in shapes] for _ in range(2))
    step = optgen.load(name, **{param: 0.5}).bind(params, grads)
    step(**{"lr": 0.5, param: 0.25})
    assert functions_called(lambda: step(**{"lr": 0.25, param: 0.125}), expressions.__file__) == set()
    assert functions_called(step, expressions.__file__) == set()


def functions_called(call: Callable[[], Any], path: str) -> set[str]:
    """The names of the functions of a file that a call comes to."""
    names = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename == path:
            names.add(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names
