"""Non-maximum suppression: boxes that overlap a better one are removed."""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function


@function
def overlap(a: Array, b: Array) -> float:
    """Intersection over union of two boxes, (left, top, right, bottom); 0 where they do not overlap."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0.0) * max(height, 0.0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / union if common > 0.0 else 0.0


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
