"""Overlaps of boxes, and non-maximum suppression: boxes that overlap a better one are removed."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Words, function


@function
def overlap(a: Array, b: Array) -> float:
    """Intersection over union of two boxes, (left, top, right, bottom); 0 where they do not overlap."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0.0) * max(height, 0.0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / union if common > 0.0 else 0.0


@function
def keep_better(best: Array, score: Array, x: Array, number: float, n: int) -> None:
    for k in range(n):
        best[k] = number if x[k] > score[k] else best[k]
        score[k] = x[k] if x[k] > score[k] else score[k]


@kernel
def best_class(task: int, x: Array, best: Array, score: Array, classes: int, n: int) -> None:
    """The first largest of the classes but the first, counted from 0, and its score, each (tasks, n); x is (tasks,
    classes, n)."""
    of = x + task * classes * n
    for k in range(n):
        best[task * n + k] = 0.0
        score[task * n + k] = of[n + k]
    for c in range(2, classes):
        keep_better(best + task * n, score + task * n, of + c * n, float(c - 1), n)


@kernel
def overlaps(task: int, a: Array, b: Array, y: Array, n: int, m: int, boxes_per_task: int) -> None:
    """y, (n, m): how much the boxes a, (n, 4), overlap the boxes b, (m, 4)."""
    for i in range(task * boxes_per_task, min(task * boxes_per_task + boxes_per_task, n)):
        for j in range(m):
            y[i * m + j] = overlap(a + 4 * i, b + 4 * j)


@kernel
def suppress(task: int, boxes: Array, classes: Array, left: Array, threshold: Array, inclusive: int, n: int) -> None:
    """Set `left` to 0 for each box that overlaps an earlier box by more than the threshold, or by just as much if
    `inclusive`. The earlier box counts if it is left itself and has the same class. One task for all.

    `boxes` is (n, 4), best first. `classes` and `left` are (n,); `left` is 1 for boxes that are left, else 0.
    `threshold` is an array of one element.
    """
    for i in range(n):
        if left[i] > 0.0:
            for j in range(i + 1, n):
                if left[j] > 0.0 and classes[i] == classes[j]:
                    share = overlap(boxes + 4 * i, boxes + 4 * j)
                    if share > threshold[0] or (inclusive == 1 and share == threshold[0]):
                        left[j] = 0.0


BLOCK = 64
"""Boxes that another one is compared with at a time, so that they are vectors."""


@function
def overlapping(kept: Array, box: Array, area: float, threshold: float, most: int, start: int, stop: int) -> int:
    """How many of the kept boxes share more than the threshold with a box. Corners are pixels of the box.

    `kept` has a row of `most` numbers for each corner, and one for the areas.
    """
    count = 0
    for j in range(start, stop):
        width = min(box[2], kept[2 * most + j]) - max(box[0], kept[j]) + 1.0
        height = min(box[3], kept[3 * most + j]) - max(box[1], kept[most + j]) + 1.0
        both = max(width, 0.0) * max(height, 0.0)
        count += 1 if both / (kept[4 * most + j] + area - both) > threshold else 0
    return count


@kernel
def separate(
    task: int, scratch: Array, boxes: Array, threshold: Array, places: Words, found: Words, most: int, n: int
) -> None:
    """The numbers of the first `most` boxes, of n, that share no more than the threshold with any that was taken
    before; `found` is how many. One task for all. Scratch memory has 5 most elements."""
    count = 0
    i = 0
    while i < n and count < most:
        box = boxes + 4 * i
        area = (box[2] - box[0] + 1.0) * (box[3] - box[1] + 1.0)
        hits = 0
        j = 0
        while j < count and hits == 0:
            hits = overlapping(scratch, box, area, threshold[0], most, j, min(j + BLOCK, count))
            j += BLOCK
        if hits == 0:
            for c in range(4):
                scratch[c * most + count] = box[c]
            scratch[4 * most + count] = area
            places[count] = i
            count += 1
        i += 1
    found[0] = count
