"""Lines of equal value of a function of two variables, by marching triangles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Pixel = tuple[int, int]
TRIANGLES = (((0, 0), (0, 1), (1, 1)), ((0, 0), (1, 0), (1, 1)))
"""The two halves of a cell: row and column of each corner."""


def lines(values: Array, level: float, width: int, height: int) -> list[list[Pixel]]:
    """The lines on which `values` are `level`, in pixels of a picture of this size.

    `values` are those at the points of a grid, whose rows go up; pixels go down.
    """
    across, up = width / (values.shape[1] - 1), height / (len(values) - 1)
    ends = [p for corners in TRIANGLES for p in _segments(values, corners, level)]
    pixels = [[(round(x * across), round(height - y * up)) for x, y in segment] for segment in ends]
    return list(_chained([(a, b) for a, b in pixels if a != b]))


def _segments(values: Array, corners: tuple[Pixel, ...], level: float) -> Iterator[Array]:
    """The part of the lines in one half of each cell: two ends, each of column and row in units of the grid."""
    rows, columns = np.indices((len(values) - 1, values.shape[1] - 1))
    places = [np.stack([columns + c, rows + r], axis=-1).astype(float) for r, c in corners]
    heights = [values[r : len(values) - 1 + r, c : values.shape[1] - 1 + c] for r, c in corners]
    for single in range(3):  # the corner that the line cuts off
        other, third = (single + 1) % 3, (single + 2) % 3
        alone = (heights[single] > level) != (heights[other] > level)
        alone &= (heights[other] > level) == (heights[third] > level)
        ends = []
        for end in (other, third):
            share = (level - heights[single][alone]) / (heights[end][alone] - heights[single][alone])
            ends.append(places[single][alone] + share[:, None] * (places[end][alone] - places[single][alone]))
        yield from np.stack(ends, axis=1)


def _chained(segments: list[tuple[Pixel, Pixel]]) -> Iterator[list[Pixel]]:
    """Segments that share ends, as lines."""
    near: dict[Pixel, list[int]] = {}
    for i, segment in enumerate(segments):
        for end in segment:
            near.setdefault(end, []).append(i)
    left = dict.fromkeys(range(len(segments)))
    while left:
        first = next(iter(left))
        del left[first]
        line = list(segments[first])
        for _ in range(2):  # on from one end, then from the other
            while (following := next((i for i in near[line[-1]] if i in left), None)) is not None:
                del left[following]
                a, b = segments[following]
                line.append(b if a == line[-1] else a)
            line.reverse()
        yield line
