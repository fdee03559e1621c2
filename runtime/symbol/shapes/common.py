"""What rules of shapes are made of.

A rule is `rule(values, inputs, outputs)`: the attributes of a node, and the shapes that are known. It returns all
shapes that follow. An unknown shape is None, an unknown length -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Shape = tuple[int, ...]
Shapes = list[Shape | None]
Values = Mapping[str, Any]
Rule = Callable[[Values, Shapes, Shapes], tuple[Shapes, Shapes]]


def merged(a: Shape | None, b: Shape | None) -> Shape | None:
    """What two pieces of knowledge tell together; ValueError if they contradict each other."""
    if a is None or b is None or a == b:
        return b if a is None else a
    if len(a) != len(b) or any(m != n and -1 not in (m, n) for m, n in zip(a, b, strict=True)):
        raise ValueError(f"the shape {text(a)} is not {text(b)}")
    return tuple(max(m, n) for m, n in zip(a, b, strict=True))


def place(axis: int, rank: int) -> int:
    """The axis counted from the first one; ValueError if there is none."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is none of {rank} axes")
    return axis % rank


def text(shape: Shape) -> str:
    return str(tuple("?" if n == -1 else n for n in shape)).replace("'", "")


def product(lengths: Sequence[int]) -> int:
    return -1 if -1 in lengths else math.prod(lengths)
