"""Weighted sums of chosen pixels (taps) of images, their adjoints, and the largest pixel of a bin.

There are groups of as many points each; a group reads one image. The taps of point p of group r are those from
`starts[r*points + p]` to before `starts[r*points + p + 1]`. A tap is a weight and a place, an index into a plane of the
image. y is (groups, channels, points).
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function

# Indices into `g`:
GROUPS, CHANNELS, POINTS = 0, 1, 2
IMAGE, STEP = 3, 4  # the distance of images in x, and of the elements at which the channels of a result begin
ROWS, COLUMNS, WIDTH = 5, 6, 7  # numbers of rows and columns of bins; the width of a plane


@function
def mix_four(x: Array, n: int, weights: Array, places: Ints, y: Array, step: int, start: int, stop: int) -> None:
    """The same sum in four planes, n apart: they do not wait for each other."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    for t in range(start, stop):
        weight = weights[t]
        at = places[t]
        a += weight * x[at]
        b += weight * x[at + n]
        c += weight * x[at + 2 * n]
        d += weight * x[at + 3 * n]
    y[0] = a
    y[step] = b
    y[2 * step] = c
    y[3 * step] = d


@function
def mix_one(x: Array, weights: Array, places: Ints, start: int, stop: int) -> float:
    mixed = 0.0
    for t in range(start, stop):
        mixed += weights[t] * x[places[t]]
    return mixed


@kernel
def mix(task: int, x: Array, weights: Array, y: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """The weighted sum of the taps of each point. One task for each four channels, the last fewer, of each group."""
    tasks = (g[CHANNELS] + 3) // 4
    r = task // tasks
    first = task % tasks * 4
    last = min(first + 4, g[CHANNELS])
    points = g[POINTS]
    plane = x + images[r] * g[IMAGE] + first * g[STEP]
    row = y + (r * g[CHANNELS] + first) * points
    for p in range(points):
        start = starts[r * points + p]
        stop = starts[r * points + p + 1]
        if last - first == 4:
            mix_four(plane, g[STEP], weights, places, row + p, points, start, stop)
        else:
            for c in range(last - first):
                row[c * points + p] = mix_one(plane + c * g[STEP], weights, places, start, stop)


@kernel
def spread(task: int, y: Array, weights: Array, x: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """Add to x, at the taps of each point, their weights times y: the transpose of `mix`. One task for each channel."""
    for r in range(g[GROUPS]):
        plane = x + images[r] * g[IMAGE] + task * g[STEP]
        row = y + (r * g[CHANNELS] + task) * g[POINTS]
        for p in range(g[POINTS]):
            for t in range(starts[r * g[POINTS] + p], starts[r * g[POINTS] + p + 1]):
                plane[places[t]] += weights[t] * row[p]


@kernel
def match(task: int, y: Array, x: Array, weights: Array, images: Ints, starts: Ints, places: Ints, g: Ints) -> None:
    """Add to the weight of each tap the products of y and x, over all channels: the gradient of `mix` with respect to
    its weights. One task for each group."""
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
    """The index in its plane of the first largest element of each bin, -1 for an empty bin.

    One task for each channel of each group. `tops` and `bottoms` are the ranges of rows of the bins, (groups, ROWS),
    `lefts` and `rights` those of columns, (groups, COLUMNS).
    """
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
