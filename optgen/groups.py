"""Groups of the rows or of the columns of a parameter, for each of which there is one value.

A group is a dimension of values, as `rows` is. `axis 1` has a value for each index of a tensor's second axis: the
columns with that index, as columns are along all axes but the first. `axis -1` counts from the last axis. `block n`,
of a number or an int param, has a value for each n rows that stand one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

WORDS = ("axis", "block")
"""The words that groups begin with."""


@dataclass(frozen=True)
class LineGroup:
    """`axis 1`, `block 4` or `block n`: the word, and the number of the axis, or how many rows a block has."""

    word: Literal["axis", "block"]
    of: int | str

    def __str__(self) -> str:
        """As a spec has it. It is also the name of the hyper-parameter that says how many groups there are."""
        return f"{self.word} {self.of}"

    @property
    def length(self) -> str:
        """The name of how many lines of a group stand one after the other."""
        return f"{self} length"

    @property
    def repeats(self) -> str:
        """The name of how often these lines of all groups stand one after the other."""
        return f"{self} repeats"

    @property
    def lines(self) -> str:
        """What is grouped: `rows` or `cols`."""
        return "rows" if self.word == "block" else "cols"

    @property
    def described(self) -> str:
        """What there is one number for each of, in words."""
        return f"index of axis {self.of}" if self.word == "axis" else f"block of {self.of} rows"

    def sizes(self, shape: Sequence[int], values: Mapping[str, float | None]) -> tuple[int, int, int]:
        """The number of groups, of their lines that stand together, and of repeats, for a parameter of this shape."""
        if self.word == "axis":
            axis = int(self.of)
            if len(shape) <= abs(axis):
                more = f"more than {abs(axis)} dimension{'s' * (abs(axis) > 1)}"
                raise ValueError(f"'{self}' is of tensors of {more}; guard its equations by a flag, as in 'rank > 2'")
            axis %= len(shape)
            return shape[axis], math.prod(shape[axis + 1 :]), math.prod(shape[1:axis])
        rows, block = (shape[0] if shape else 1), self.of if isinstance(self.of, int) else int(values[self.of] or 1)
        if rows % block:
            raise ValueError(f"'{self}' is of whole blocks, and {rows} rows are no blocks of {block}")
        return rows // block, block, 1


def sizes(groups: Iterable[LineGroup], shape: Sequence[int], values: Mapping[str, float | None]) -> dict[str, int]:
    """The numbers of groups, of their lines and of repeats, by name, for a parameter of this shape; `values` has the
    params. ValueError if it has no such groups."""
    found: dict[str, int] = {}
    for group in groups:
        found |= dict(zip((str(group), group.length, group.repeats), group.sizes(shape, values), strict=True))
    return found
