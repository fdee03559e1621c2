"""Boxes: overlaps, non-maximum suppression, matching, and offsets from anchors.

A box is its corners (x, y, x, y), 'corner', or its centre and size (x, y, width, height), 'center'. As in MXNet, only
`box_nms` has a gradient. `survivors` and `greedy` run on the CPU wherever the arrays are: each choice depends on the
one before, so a GPU could not choose in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import device_scope, is_host, to_device_of, to_host
from runtime.native import boxes as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.convolution import floating
from runtime.ndarray.operator import Operator, ignore_fp_errors, in_float32

__all__: list[str] = []
ELEMENTS_PER_TASK = 1 << 12
"""Overlaps that a task computes, about."""
CONTRIB = (
    "bipartite_matching",
    "box_decode",
    "box_encode",
    "box_iou",
    "box_nms",
    "box_non_maximum_suppression",
)


def check_format(name: str, given: str) -> None:
    if given not in ("corner", "center"):
        raise MXNetError(f"{name}: boxes are 'corner' or 'center', not {given!r}")


def to_corners(boxes: np.ndarray) -> np.ndarray:
    """Boxes given as 'center', as 'corner'."""
    half = boxes[..., 2:] / 2
    return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def to_centers(boxes: np.ndarray) -> np.ndarray:
    """Boxes given as 'corner', as 'center'."""
    return np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], -1)


# ---------------------------------------------------------------- overlaps


@ignore_fp_errors
def overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, m): intersection over union of the boxes (n, 4) and (m, 4), given as corners; 0 where they do not meet.

    With several groups of boxes b, (groups, 1, m, 4), it is (groups, n, m).
    """
    if is_host(a) and b.ndim == 2 and a.dtype == b.dtype and a.dtype.char in "fd":
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        y, share = np.empty((len(a), len(b)), a.dtype), max(1, ELEMENTS_PER_TASK // max(1, len(b)))
        native.overlaps(-(-len(a) // share), 8 * y.size, a, b, y, *y.shape, share)
        return y
    a = a[:, None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.where((sides > 0).all(-1), sides[..., 0] * sides[..., 1], 0)
    areas = ((x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (a, b))
    return np.where(common > 0, common / (sum(areas) - common), 0).astype(common.dtype)


@Operator
@in_float32
def _box_iou(lhs: np.ndarray, rhs: np.ndarray, *, format: str) -> np.ndarray:
    flat = (x.reshape(-1, 4) if format == "corner" else to_corners(x.reshape(-1, 4)) for x in (lhs, rhs))
    return overlaps(*flat).reshape(*lhs.shape[:-1], *rhs.shape[:-1])


def box_iou(lhs: NDArray, rhs: NDArray, format: str = "corner") -> NDArray:
    """(a, ..., b, ...): intersection over union of each box of `lhs`, (a, ..., 4), with each of `rhs`, (b, ..., 4)."""
    check_format("box_iou", format)
    for x in (lhs, rhs):
        if x.ndim < 2 or x.shape[-1] != 4:
            raise MXNetError(f"box_iou: boxes are (..., 4), with two axes or more, not {lhs.shape} and {rhs.shape}")
        floating("box_iou", x)
    return _box_iou(lhs, rhs, format=format)


# ---------------------------------------------------------------- the best of those that overlap


def survivors(boxes: np.ndarray, classes: np.ndarray | None, threshold: float, inclusive: bool = False) -> np.ndarray:
    """Which of the boxes, (n, 4), corners, best first, are left when each takes those away that overlap it by more than
    `threshold`, or by as much if `inclusive`: all that follow, or those of its class. On the host.
    """
    left = np.ones(len(boxes), boxes.dtype)
    classes = np.zeros_like(left) if classes is None else np.ascontiguousarray(classes)
    limit = np.array([threshold], boxes.dtype)
    native.suppress(1, len(boxes) ** 2, np.ascontiguousarray(boxes), classes, left, limit, int(inclusive), len(boxes))
    return left > 0


@Operator
def _arranged(x: np.ndarray, *, rows: np.ndarray, fill: float, start: int, change: Callable | None) -> np.ndarray:
    """(batch, n, width): the rows of each sample that `rows`, (batch, n), names, `fill` where it is -1; the four
    elements from `start` on are passed through `change`.
    """
    y = np.take_along_axis(x, np.maximum(rows, 0)[:, :, None], 1)
    y[rows < 0] = fill
    if change is not None:
        box = y[..., start : start + 4]
        y[..., start : start + 4] = np.where(box[..., :1] < 0, box, change(box))
    return y


@Operator
def _returned(g: np.ndarray, *, rows: np.ndarray) -> np.ndarray:
    """The transpose of `_arranged`: zeros with the rows of `g` at the places `rows`."""
    x = np.zeros_like(g)
    sample, place = np.nonzero(rows >= 0)
    x[sample, rows[sample, place]] = g[sample, place]
    return x


@_arranged.gradient
def _(
    g: NDArray, y: NDArray, x: NDArray, *, rows: np.ndarray, fill: float, start: int, change: Callable | None
) -> NDArray:
    return _returned(g, rows=rows)


@_returned.gradient
def _(g: NDArray, x: NDArray, y: NDArray, *, rows: np.ndarray) -> NDArray:
    return _arranged(g, rows=rows, fill=0, start=0, change=None)


def box_nms(
    data: NDArray,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = "corner",
    out_format: str = "corner",
) -> NDArray:
    """The boxes of each sample, best first, without those that overlap a better one; -1 fills the rest.

    The gradient goes back to where a box comes from, as it is: a change of format does not count for it.

    Parameters
    ----------
    data: (..., boxes, width): a row for each box, with a score, four coordinates and, perhaps, a class.
    overlap_thresh: intersection over union above which the box with the smaller score goes.
    valid_thresh: boxes whose score is not larger go.
    topk: how many boxes of a sample, the best ones, are looked at, the others go; all if it is negative. With 0, the
        result is `data`.
    coord_start, score_index, id_index: where in a row these are; `id_index` -1: there are no classes.
    background_id: boxes of this class go: with -1, those that fill the result of an earlier call.
    force_suppress: boxes of different classes take each other away, too.
    in_format, out_format: 'corner' or 'center'. If they differ, boxes whose first number is negative stay as they are.
    """
    _check_rows(data, coord_start, score_index, id_index)
    for given in (in_format, out_format):
        check_format("box_nms", given)
    if topk == 0:
        return data.copy()
    flat = data.reshape((-1, *data.shape[-2:]))
    values = to_host(flat._data)
    values = values.astype(np.float32) if values.dtype.itemsize == 2 else values
    valid = values[..., score_index] > valid_thresh
    if id_index >= 0:
        valid &= values[..., id_index] != background_id
    rows = np.full(valid.shape, -1)
    for sample, usable, kept in zip(values, valid, rows, strict=True):
        order = np.flatnonzero(usable)
        order = order[np.argsort(-sample[order, score_index], kind="stable")]
        order = order[:topk] if topk > 0 else order
        boxes = sample[order, coord_start : coord_start + 4]
        boxes = boxes if in_format == "corner" else to_corners(boxes)
        classes = None if force_suppress or id_index < 0 else np.trunc(sample[order, id_index])
        left = order[survivors(boxes, classes, overlap_thresh)]
        kept[: len(left)] = left
    change = {("corner", "center"): to_centers, ("center", "corner"): to_corners}.get((in_format, out_format))
    rows = to_device_of(flat._data, rows)
    return _arranged(flat, rows=rows, fill=-1, start=coord_start, change=change).reshape(data.shape)


box_non_maximum_suppression = box_nms


def _check_rows(data: NDArray, coord_start: int, score_index: int, id_index: int) -> None:
    floating("box_nms", data)
    width = data.shape[-1]
    if data.ndim < 2 or width < 5 + (id_index > 0):
        raise MXNetError(f"box_nms: data is (..., boxes, width), with at least 5 or 6 numbers a row, not {data.shape}")
    used = [*range(coord_start, coord_start + 4), score_index, *([id_index] if id_index >= 0 else [])]
    if min(used) < 0 or max(used) >= width or len(set(used)) != len(used):
        raise MXNetError(
            f"box_nms: coord_start {coord_start} (four numbers), score_index {score_index} and id_index {id_index} "
            f"must name different numbers of a row of {width}"
        )


# ---------------------------------------------------------------- pairs


def greedy(scores: np.ndarray, threshold: float, limit: float = math.inf) -> tuple[np.ndarray, np.ndarray]:
    """For each row, (n,), and each column, (m,), of `scores`, (n, m), which one it is paired with, or -1.

    Pairs are made from the largest score down to those above `threshold`, `limit` of them at most; of equal scores the
    first comes first. On the host.
    """
    rows, columns = (np.full(n, -1) for n in scores.shape)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    for _ in range(min(*scores.shape, limit)):
        r, c = np.unravel_index(scores.argmax(), scores.shape)
        if not scores[r, c] > threshold:
            break
        rows[r], columns[c] = c, r
        scores[r] = scores[:, c] = -np.inf
    return rows, columns


@Operator
def _bipartite_matching(x: np.ndarray, *, sign: int, threshold: float, limit: float) -> tuple[np.ndarray, np.ndarray]:
    pairs = [greedy(sign * scores, sign * threshold, limit) for scores in to_host(x).reshape(-1, *x.shape[-2:])]
    rows, columns = (to_device_of(x, np.stack(side).astype(x.dtype)) for side in zip(*pairs, strict=True))
    return rows.reshape(x.shape[:-1]), columns.reshape(*x.shape[:-2], x.shape[-1])


def bipartite_matching(
    data: NDArray, is_ascend: bool = False, threshold: float | None = None, topk: int = -1
) -> list[NDArray]:
    """Pairs of rows and columns of the scores `data`, (..., n, m), from the best on, none used twice.

    Returns the column of each row, (..., n), and the row of each column, (..., m); -1 where there is none. The largest
    scores are the best, down to `threshold`; with `is_ascend` the smallest, up to it. A positive `topk` limits the
    pairs to `topk + 1`: one more than it says, as in MXNet.
    """
    if threshold is None:
        raise MXNetError("bipartite_matching: threshold must be given")
    if data.ndim < 2 or not data.size:
        raise MXNetError(f"bipartite_matching: data is (..., rows, columns), not empty, and not {data.shape}")
    floating("bipartite_matching", data)
    limit = topk + 1 if topk > 0 else math.inf
    return _bipartite_matching(data, sign=-1 if is_ascend else 1, threshold=threshold, limit=limit)


# ---------------------------------------------------------------- offsets from anchors


def encoded(boxes: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Offsets of boxes from anchors, both 'center': the shift over the anchor's size, and the log ratio of sizes."""
    shift = (boxes[..., :2] - anchors[..., :2]) / anchors[..., 2:]
    return np.concatenate([shift, np.log(boxes[..., 2:] / anchors[..., 2:])], -1)


def decoded(offsets: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """The corners of the boxes at `offsets`, as of `encoded`, from anchors, which are 'center'."""
    centers = offsets[..., :2] * anchors[..., 2:] + anchors[..., :2]
    return to_corners(np.concatenate([centers, np.exp(offsets[..., 2:]) * anchors[..., 2:]], -1))


@Operator
@in_float32
@ignore_fp_errors
def _box_encode(
    samples: np.ndarray, matches: np.ndarray, anchors: np.ndarray, refs: np.ndarray, means: np.ndarray, stds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.take_along_axis(refs, matches.astype(np.int64)[:, :, None], 1)
    valid = np.repeat(samples[:, :, None] > 0.5, 4, 2)
    targets = (encoded(to_centers(chosen), to_centers(anchors)) - means) / stds
    return np.where(valid, targets, 0).astype(anchors.dtype), valid.astype(anchors.dtype)


def box_encode(
    samples: NDArray, matches: NDArray, anchors: NDArray, refs: NDArray, means: NDArray, stds: NDArray
) -> list[NDArray]:
    """What a network is to say about each anchor: how far it is from the box that it is matched with.

    Parameters
    ----------
    samples: (batch, anchors): larger than 0.5 where the anchor has a box.
    matches: (batch, anchors): the number of the box.
    anchors, refs: (batch, anchors, 4) and (batch, boxes, 4), corners.
    means, stds: (4,): subtracted from the targets, and then divided by.

    Returns the targets, (batch, anchors, 4), and the mask that says which are there, 1 or 0, in the same shape.
    """
    if (
        samples.ndim != 2
        or matches.shape != samples.shape
        or anchors.shape != (*samples.shape, 4)
        or refs.ndim != 3
        or (refs.shape[0], refs.shape[2]) != (len(samples), 4)
        or not means.shape == stds.shape == (4,)
    ):
        raise MXNetError(
            "box_encode: samples and matches are (batch, anchors), anchors (batch, anchors, 4), refs (batch, boxes, 4) "
            f"and means and stds (4,), not {samples.shape}, {matches.shape}, {anchors.shape}, {refs.shape}, "
            f"{means.shape} and {stds.shape}"
        )
    with device_scope(matches._ctx):
        number = matches._data
        fits = not number.size or bool(number.min() >= 0 and number.max() < refs.shape[1])
    if not fits:
        raise MXNetError(f"box_encode: matches are numbers from 0 to {refs.shape[1] - 1}, the boxes of refs")
    return _box_encode(samples, matches, floating("box_encode", anchors), refs, means, stds)


@Operator
@in_float32
@ignore_fp_errors
def _box_decode(x: np.ndarray, anchors: np.ndarray, *, stds: tuple, clip: float, format: str) -> np.ndarray:
    offsets = x * to_device_of(x, np.array(stds, x.dtype))
    if clip > 0:
        offsets[..., 2:] = np.minimum(offsets[..., 2:], clip)
    return decoded(offsets, anchors if format == "center" else to_centers(anchors))


def box_decode(
    data: NDArray,
    anchors: NDArray,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: str = "center",
) -> NDArray:
    """The corners of the boxes that a network tells, (batch, anchors, 4).

    Parameters
    ----------
    data: (batch, anchors, 4): what it says about each anchor, in units of `std0` to `std3`.
    anchors: (1, anchors, 4), in the given format.
    clip: if positive, no logarithm of how much larger a box is than the anchor counts for more.
    """
    check_format("box_decode", format)
    if data.ndim != 3 or anchors.shape != (1, data.shape[1], 4) or data.shape[2] != 4:
        raise MXNetError(
            f"box_decode: data is (batch, anchors, 4) and anchors (1, anchors, 4), not {data.shape} and {anchors.shape}"
        )
    floating("box_decode", data)
    return _box_decode(data, anchors, stds=(std0, std1, std2, std3), clip=clip, format=format)
