"""Chosen pixels of images: their weighted sums, what these are the transposes of, and the largest pixel of a bin.

There are groups of points; a group reads one image, and its points' elements have a place in a plane of it. The taps of
point p of group r are those from `starts[r*points + p]` to before `starts[r*points + p + 1]`.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints

# What `g` holds: the places of
GROUPS, CHANNELS, POINTS = 0, 1, 2
IMAGE, STEP = 3, 4  # how far apart are images, and what the channels of a result begin at
ROWS, COLUMNS, WIDTH = 5, 6, 7  # of bins, and of a plane


@kernel
def mix(task: int, x: Array, weights: Array, y: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """The weighted sum of each point, for one channel of one group."""
    r = task // g[CHANNELS]
    plane = x + images[r] * g[IMAGE] + task % g[CHANNELS] * g[STEP]
    for p in range(g[POINTS]):
        mixed = 0.0
        for t in range(starts[r * g[POINTS] + p], starts[r * g[POINTS] + p + 1]):
            mixed += weights[t] * plane[places[t]]
        y[task * g[POINTS] + p] = mixed


@kernel
def spread(task: int, y: Array, weights: Array, x: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """Add to one channel of x, for each point, its weights times y where its taps are."""
    for r in range(g[GROUPS]):
        plane = x + images[r] * g[IMAGE] + task * g[STEP]
        row = y + (r * g[CHANNELS] + task) * g[POINTS]
        for p in range(g[POINTS]):
            for t in range(starts[r * g[POINTS] + p], starts[r * g[POINTS] + p + 1]):
                plane[places[t]] += weights[t] * row[p]


@kernel
def match(task: int, y: Array, x: Array, weights: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """Add to each weight of one group the products of y and x at its place, for all channels."""
    for c in range(g[CHANNELS]):
        plane = x + images[task] * g[IMAGE] + c * g[STEP]
        row = y + (task * g[CHANNELS] + c) * g[POINTS]
        for p in range(g[POINTS]):
            for t in range(starts[task * g[POINTS] + p], starts[task * g[POINTS] + p + 1]):
                weights[t] += row[p] * plane[places[t]]


@kernel
def largest(
    task: int, x: Array, found: Array, images: Ints, tops: Ints, bottoms: Ints, lefts: Ints, rights: Ints, g: Ints
) -> None:
    """Where in its plane the first largest element of each bin is, for one channel of one group; -1 if it is empty."""
    r = task // g[CHANNELS]
    plane = x + images[r] * g[IMAGE] + task % g[CHANNELS] * g[STEP]
    row = found + task * g[ROWS] * g[COLUMNS]
    for i in range(g[ROWS]):
        for j in range(g[COLUMNS]):
            best = 0.0
            place = -1
            for h in range(tops[r * g[ROWS] + i], bottoms[r * g[ROWS] + i]):
                for w in range(lefts[r * g[COLUMNS] + j], rights[r * g[COLUMNS] + j]):
                    if place < 0 or plane[h * g[WIDTH] + w] > best:
                        place = h * g[WIDTH] + w
                        best = plane[place]
            row[i * g[COLUMNS] + j] = place
