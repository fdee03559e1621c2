"""How operands are broadcast, in as few axes as say it."""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]
MAX_AXES = 3


def groups_of(shape: Shape, operands: Sequence[Shape]) -> tuple[list[int], list[tuple[bool, ...]]] | None:
    """The axes of `shape`, put together where all operands agree: their lengths, and for each operand along which of
    them it varies. None if there are more than MAX_AXES."""
    padded = [(1,) * (len(shape) - len(s)) + s for s in operands]
    lengths: list[int] = []
    patterns: list[tuple[bool, ...]] = []
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        pattern = tuple(s[axis] != 1 for s in padded)
        if patterns and patterns[-1] == pattern:
            lengths[-1] *= n
        else:
            lengths.append(n)
            patterns.append(pattern)
    if len(lengths) > MAX_AXES:
        return None
    return lengths, [tuple(p[i] for p in patterns) for i in range(len(operands))]
