"""Single-shot detection: anchors over an image, training targets for them, and boxes from predictions.

Boxes are corners, from 0 to 1 in the image. No gradient flows through any of it, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import is_host, to_device_of, to_host
from runtime.core.kept import kept
from runtime.core.threaded import takes
from runtime.native import boxes as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.windows import floating
from runtime.ndarray.operator import Operator, ignore_fp_errors, in_float32
from runtime.ndarray.reduce.ordering import order_along
from runtime.ndarray.vision import gpu_multibox
from runtime.ndarray.vision.boxes import decoded, encoded, greedy, overlaps, survivors, to_centers

__all__: list[str] = []
CONTRIB = ("MultiBoxDetection", "MultiBoxPrior", "MultiBoxTarget")

Floats = Sequence[float]
VARIANCES = (0.1, 0.1, 0.2, 0.2)

# ---------------------------------------------------------------- anchors


@Operator
@in_float32
def _prior(x: np.ndarray, *, sizes: Floats, ratios: Floats, clip: bool, steps: Floats, offsets: Floats) -> np.ndarray:
    [boxes] = _anchors(*x.shape[2:], sizes, ratios, clip, steps, offsets)
    return to_device_of(x, boxes.astype(x.dtype))


@kept
def _anchors(
    height: int, width: int, sizes: Floats, ratios: Floats, clip: bool, steps: Floats, offsets: Floats
) -> tuple[np.ndarray]:
    """The anchors of all images of a size, (1, anchors, 4)."""
    shapes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    half = np.array([(s * np.sqrt(r) * height / width, s / np.sqrt(r)) for s, r in shapes]) / 2
    down, across = (
        (np.arange(n) + offset) * (step if step > 0 else 1 / n)
        for n, offset, step in zip((height, width), offsets, steps, strict=True)
    )
    centers = np.stack(np.broadcast_arrays(across, down[:, None]), -1)[:, :, None]
    boxes = np.concatenate([centers - half, centers + half], -1).reshape(1, -1, 4)
    return (np.clip(boxes, 0, 1) if clip else boxes,)


def MultiBoxPrior(
    data: NDArray,
    sizes: float | Floats = (1.0,),
    ratios: float | Floats = (1.0,),
    clip: bool = False,
    steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
) -> NDArray:
    """(1, height*width*n, 4): n anchors around each pixel of `data`, (batch, channels, height, width).

    Parameters
    ----------
    sizes, ratios: n = sizes + ratios - 1: all sizes with the first ratio, then the first size with the other ratios. A
        size is that of a square, where the image is 1 high; a ratio is that of width to height.
    clip: cut off what is outside of the image.
    steps: from pixel to pixel, down and across; by default the image is divided evenly.
    offsets: of the centres within pixels, down and across.
    """
    sizes, ratios = ((x,) if isinstance(x, (int, float)) else tuple(x) for x in (sizes, ratios))
    if data.ndim != 4 or not data.shape[2] * data.shape[3]:
        raise MXNetError(f"MultiBoxPrior: data is (batch, channels, height, width), not {data.shape}")
    if not sizes or not ratios or min(sizes) <= 0 or min(ratios) <= 0:
        raise MXNetError(f"MultiBoxPrior: sizes and ratios are numbers above 0, at least one, not {sizes} and {ratios}")
    if len(steps) != 2 or len(offsets) != 2 or (steps[0] > 0) != (steps[1] > 0):
        raise MXNetError(
            "MultiBoxPrior: steps and offsets are each a number for down and one for across, and steps both positive "
            f"or neither, not {steps} and {offsets}"
        )
    floating("MultiBoxPrior", data)
    return _prior(data, sizes=sizes, ratios=ratios, clip=clip, steps=tuple(steps), offsets=tuple(offsets))


# ---------------------------------------------------------------- targets


@Operator
@in_float32
@ignore_fp_errors
def _target(
    anchor: np.ndarray,
    label: np.ndarray,
    scores: np.ndarray,
    *,
    threshold: float,
    ignored: float,
    ratio: float,
    mined_below: float,
    variances: Floats,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    anchors = anchor[0]
    if not is_host(anchor):
        return gpu_multibox.targets(anchors, label, scores, threshold, ignored, ratio, mined_below, variances)
    batch, n = len(label), len(anchors)
    targets, mask = np.zeros((batch, n, 4), anchor.dtype), np.zeros((batch, n, 4), anchor.dtype)
    classes = np.full((batch, n), ignored, anchor.dtype)
    for i, rows in enumerate(label):
        truth = rows[: np.argmax(rows[:, 0] == -1)] if (rows[:, 0] == -1).any() else rows
        if not len(truth):
            continue
        iou = overlaps(anchors, truth[:, 1:5])
        most = np.ascontiguousarray(iou.T).max(0)  # in a tenth of the time of a maximum along a short axis
        positive, of = _matched(iou, most, threshold)
        negative = ~positive
        if ratio > 0:
            negative &= most < mined_below
            negative &= _hardest(scores[i], negative, int(positive.sum() * ratio))
        classes[i, positive] = truth[of[positive], 0] + 1
        classes[i, negative] = 0
        mask[i, positive] = 1
        boxes = to_centers(truth[of[positive], 1:5])
        targets[i, positive] = encoded(boxes, to_centers(anchors[positive])) / np.array(variances, anchor.dtype)
    return targets.reshape(batch, -1), mask.reshape(batch, -1), classes


def _matched(iou: np.ndarray, most: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Which anchors have a box, and the number of that box, (n,) each. `most` are the largest overlaps of the anchors.

    First each box takes the anchor that it overlaps most of those that no other box has taken. Then each other anchor
    has the box that it overlaps most, if by more than the threshold.
    """
    of, _ = greedy(iou, 1e-6)
    positive = of >= 0
    if threshold > 0:
        near = ~positive & (most > threshold)
        of[near] = iou[near].argmax(1)
        positive |= near
    return positive, of


def _hardest(scores: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """Which `count` of the anchors that are `among` have the smallest probability of class 0, the background."""
    candidates = np.flatnonzero(among)
    x = scores[:, candidates]
    grown = np.exp(x - x.max(0, initial=-np.inf))
    chosen = np.zeros(len(among), bool)
    chosen[candidates[np.argsort(grown[0] / grown.sum(0), kind="stable")[:count]]] = True
    return chosen


def MultiBoxTarget(
    anchor: NDArray,
    label: NDArray,
    cls_pred: NDArray,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Floats = VARIANCES,
) -> list[NDArray]:
    """What a network is to say about each anchor: (batch, anchors*4) offsets of its box, (batch, anchors*4) a mask that
    is 1 where there is one, and (batch, anchors) the class of the box plus 1, or 0 for none.

    Parameters
    ----------
    anchor: (1, anchors, 4).
    label: (batch, boxes, 5 or more): class and corners of the boxes in each image; a row of -1 ends them. An image
        without a box has only ignored anchors.
    cls_pred: (batch, classes + 1, anchors): what the network says, before the softmax.
    overlap_threshold: overlaps that make an anchor have a box. The best one of each box has it in any case.
    ignore_label: the class of anchors that do not count.
    negative_mining_ratio: if positive, how many anchors without a box count for each with one: those that the network
        takes for background least. All do otherwise.
    negative_mining_thresh: only anchors that overlap boxes by less count as such.
    minimum_negative_samples: nothing, as in MXNet on the CPU.
    variances: (4,): what the offsets are divided by.
    """
    if anchor.ndim != 3 or (anchor.shape[0], anchor.shape[2]) != (1, 4) or not anchor.size:
        raise MXNetError(f"MultiBoxTarget: anchor is (1, anchors, 4), not {anchor.shape}")
    if label.ndim != 3 or label.shape[1] < 1 or label.shape[2] < 5:
        raise MXNetError(f"MultiBoxTarget: label is (batch, boxes, 5 or more), not {label.shape}")
    if cls_pred.ndim != 3 or cls_pred.shape[::2] != (len(label), anchor.shape[1]) or not cls_pred.shape[1]:
        raise MXNetError(
            f"MultiBoxTarget: cls_pred is (batch, classes, anchors), not {cls_pred.shape}, for {len(label)} images of "
            f"label and {anchor.shape[1]} anchors"
        )
    _check_variances("MultiBoxTarget", variances)
    boxes = to_host(label._data)
    if (boxes[boxes[..., 0] == -1][:, 1:5] != -1).any():
        raise MXNetError("MultiBoxTarget: a row of label whose class is -1 must be -1 throughout: it ends the boxes")
    if negative_mining_ratio > 0 and negative_mining_thresh <= 0:
        raise MXNetError(f"MultiBoxTarget: negative_mining_thresh must be above 0, not {negative_mining_thresh}")
    return _target(
        floating("MultiBoxTarget", anchor),
        label,
        cls_pred,
        threshold=overlap_threshold,
        ignored=ignore_label,
        ratio=negative_mining_ratio,
        mined_below=negative_mining_thresh,
        variances=variances,
    )


# ---------------------------------------------------------------- detections


def _best(prob: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class of each anchor that is most probable but for the background, counted from 0, and its probability."""
    if not takes(prob):
        return prob[:, 1:].argmax(1), prob[:, 1:].max(1)
    batch, classes, n = prob.shape
    best, score = np.empty((2, batch, n), prob.dtype)
    native.best_class(batch, prob.size, prob, best, score, classes, n)
    return best, score


@Operator
@in_float32
@ignore_fp_errors
def _detection(
    prob: np.ndarray,
    offsets: np.ndarray,
    anchor: np.ndarray,
    *,
    clip: bool,
    threshold: float,
    overlap: float,
    by_class: bool,
    variances: Floats,
    topk: int,
) -> np.ndarray:
    batch, _, n = prob.shape
    offsets = offsets.reshape(batch, n, 4) * to_device_of(prob, np.array(variances, prob.dtype))
    boxes = decoded(offsets, to_centers(anchor))
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    best, score = _best(prob)
    found = to_host(np.concatenate([best[..., None], score[..., None], boxes], -1).astype(prob.dtype))
    y = np.full((batch, n, 6), -1, prob.dtype)
    for i in range(batch):
        rows = found[i, found[i, :, 1] >= threshold]
        if 0 < overlap <= 1:
            order = order_along(rows[:, 1].copy(), 0, False)[: topk if topk > 0 else None]
            kept = len(order)
            rows[:kept] = rows[order]
            left = survivors(rows[:kept, 2:], rows[:kept, 0] if by_class else None, overlap, inclusive=True)
            rows[:kept][~left, 0] = -1
            rows[kept:, 0] = -1
        y[i, : len(rows)] = rows
    return to_device_of(prob, y)


def MultiBoxDetection(
    cls_prob: NDArray,
    loc_pred: NDArray,
    anchor: NDArray,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Floats = VARIANCES,
    nms_topk: int = -1,
) -> NDArray:
    """(batch, anchors, 6): class, probability and corners of the boxes found, best first; other rows have class -1.

    Parameters
    ----------
    cls_prob: (batch, classes + 1, anchors): probabilities; class 0 is the background, and the others count from 0.
    loc_pred: (batch, anchors*4): offsets of the boxes from the anchors, divided by `variances`.
    anchor: (1, anchors, 4).
    clip: cut off what is outside of the image.
    threshold: smaller probabilities find nothing.
    background_id: nothing, as in MXNet on the CPU.
    nms_threshold: overlap from which on the less probable of two boxes goes; outside of (0, 1] all stay, in order.
    force_suppress: boxes of different classes take each other away, too.
    nms_topk: how many, the most probable, are looked at; the others go. All by default.
    """
    if cls_prob.ndim != 3 or cls_prob.shape[1] < 2:
        raise MXNetError(f"MultiBoxDetection: cls_prob is (batch, classes + 1, anchors), not {cls_prob.shape}")
    batch, _, n = cls_prob.shape
    if loc_pred.shape != (batch, 4 * n) or anchor.shape != (1, n, 4):
        raise MXNetError(
            f"MultiBoxDetection: for cls_prob {cls_prob.shape}, loc_pred is {(batch, 4 * n)} and anchor {(1, n, 4)}, "
            f"not {loc_pred.shape} and {anchor.shape}"
        )
    _check_variances("MultiBoxDetection", variances)
    return _detection(
        floating("MultiBoxDetection", cls_prob),
        loc_pred,
        anchor,
        clip=clip,
        threshold=threshold,
        overlap=nms_threshold,
        by_class=not force_suppress,
        variances=variances,
        topk=nms_topk,
    )


def _check_variances(name: str, variances: Floats) -> None:
    if len(variances) != 4 or min(variances) <= 0:
        raise MXNetError(f"{name}: variances are four numbers above 0, not {variances}")
