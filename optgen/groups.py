"""Groups of the rows or of the columns of a parameter, for each of which there is one value.

A group is a dimension of values, named as in a spec. `axis 1` has a value for each index of a tensor's second axis: the
columns with that index, as columns are along all axes but the first. `axis -1` counts from the last axis. `block n`,
of a number or an int param, has a value for each n rows that stand one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

WORDS = ("axis", "block")
"""The words that groups begin with."""


def is_group(dimension: str | None) -> bool:
    """Whether a dimension, or the scope of a reduction, is a group."""
    words = (dimension or "").split()
    return len(words) == 2 and words[0] in WORDS


def lines_of(group: str) -> str:
    """What is grouped: `rows` or `cols`."""
    return "rows" if group.startswith("block ") else "cols"


def param_of(dimension: str) -> str:
    """The param that a dimension names, if it names one: n of `n` and of `block n`."""
    return dimension.removeprefix("block ")


def described(dimension: str) -> str:
    """What a value of a dimension has one number for each of, in words."""
    word, _, of = dimension.partition(" ")
    if not is_group(dimension):
        return dimension
    return f"index of axis {of}" if word == "axis" else f"block of {of} rows"


def sized(dimension: str, sizes: Mapping[str, int]) -> str:
    """A dimension with a number in the place of a param."""
    name = param_of(dimension)
    return dimension.removesuffix(name) + str(sizes[name]) if name in sizes else dimension


def length(group: str) -> str:
    """The name of how many lines of a group stand one after the other; the group's own name is how many groups there
    are."""
    return f"{group} length"


def repeats(group: str) -> str:
    """The name of how often these lines of all groups stand one after the other."""
    return f"{group} repeats"


def sizes(groups: Iterable[str], shape: Sequence[int], values: Mapping[str, float | None]) -> dict[str, int]:
    """The numbers of groups, of their lines and of repeats, by name, for a parameter of this shape; `values` has the
    params. ValueError if it has no such groups."""
    found: dict[str, int] = {}
    for group in groups:
        count, own, times = _sizes(group, shape, values)
        found |= {group: count, length(group): own, repeats(group): times}
    return found


def _sizes(group: str, shape: Sequence[int], values: Mapping[str, float | None]) -> tuple[int, int, int]:
    word, of = group.split()
    if word == "axis":
        axis = int(of)
        if len(shape) <= abs(axis):
            more = f"more than {abs(axis)} dimension{'s' * (abs(axis) > 1)}"
            raise ValueError(f"'{group}' is of tensors of {more}; guard its equations by a flag, as in 'rank > 2'")
        axis %= len(shape)
        return shape[axis], math.prod(shape[axis + 1 :]), math.prod(shape[1:axis])
    rows, block = (shape[0] if shape else 1), int(of) if of.isdigit() else int(values[of] or 1)
    if rows % block:
        raise ValueError(f"'{group}' is of whole blocks, and {rows} rows are no blocks of {block}")
    return rows // block, block, 1
