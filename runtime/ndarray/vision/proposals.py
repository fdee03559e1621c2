"""Region proposals: boxes where a network of two stages looks for objects. They have no gradient, as in MXNet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError, count
from runtime.core.backend import to_device_of, to_host
from runtime.native import boxes as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn.windows import floating
from runtime.ndarray.operator import ignore_fp_errors

__all__: list[str] = []
CONTRIB = ("MultiProposal", "Proposal")

Floats = Sequence[float]


def Proposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> NDArray | list[NDArray]:
    """(rpn_post_nms_top_n, 5): the number 0 and corners x, y, x, y, in pixels, of the best boxes of one image.

    With `output_score` also their scores, (rpn_post_nms_top_n, 1). Where fewer boxes remain, they are repeated.

    Parameters
    ----------
    cls_prob: (1, 2*anchors, height, width): for each point of a grid the probability that an anchor shows nothing, of
        all anchors, then that it shows an object. There are ratios times scales anchors.
    bbox_pred: (1, 4*anchors, height, width): how to change the anchors, as shifts of centres in widths and heights of
        the anchor and logarithms of factors; with `iou_loss`, as shifts of the corners.
    im_info: (1, 3): the height and the width of the image, and the factor by which it was made larger.
    rpn_pre_nms_top_n: as many boxes of the best scores are compared with each other; 0: all.
    threshold: of two boxes that overlap by more (intersection over union), the one of the better score remains.
    rpn_min_size: boxes are at least as large, in pixels of the image as it was; smaller ones have the score -1.
    scales, ratios: of anchors to squares of `feature_stride` pixels, which is the distance of points of the grid.
    """
    if len(cls_prob) != 1:
        raise MXNetError(f"Proposal: one image is expected, not {len(cls_prob)}; MultiProposal takes several")
    return MultiProposal(
        cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, scales, ratios,
        feature_stride, output_score, iou_loss,
    )  # fmt: skip


@ignore_fp_errors
def MultiProposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> NDArray | list[NDArray]:
    """`Proposal` of several images: (batch*rpn_post_nms_top_n, 5), with the number of the image before the corners."""
    anchors = _anchors(feature_stride, scales, ratios)
    _check(cls_prob, bbox_pred, im_info, len(anchors))
    most = count("Proposal: rpn_post_nms_top_n", rpn_post_nms_top_n)
    grid = _grid(anchors, feature_stride, *cls_prob.shape[2:])
    probabilities, changes, images = (to_host(x._data).astype(np.float32) for x in (cls_prob, bbox_pred, im_info))
    numbers, boxes, scores = [], [], []
    for i, image in enumerate(images):
        score = probabilities[i, len(anchors) :].transpose(1, 2, 0).copy()
        score[int(image[0] / feature_stride) :] = -1
        score[:, int(image[1] / feature_stride) :] = -1
        change = changes[i].reshape(len(anchors), 4, -1).transpose(2, 0, 1).reshape(-1, 4)
        found, score = _within(_changed(grid, change, iou_loss), score.ravel(), image, rpn_min_size)
        order = np.argsort(-score, kind="stable")[: rpn_pre_nms_top_n if rpn_pre_nms_top_n > 0 else None]
        kept = np.resize(order[_separate(found[order], threshold, most)], most)
        numbers.append(np.full((most, 1), i, np.float32))
        boxes.append(found[kept])
        scores.append(score[kept, None])
    results = [
        NDArray(to_device_of(cls_prob._data, x.astype(cls_prob.dtype)), cls_prob._ctx)
        for x in (np.concatenate([np.concatenate(numbers), np.concatenate(boxes)], 1), np.concatenate(scores))
    ]
    return results if output_score else results[0]


def _within(boxes: np.ndarray, scores: np.ndarray, image: np.ndarray, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """The boxes cut off at the image, (height, width, scale), and their scores: small ones grow, and have -1."""
    rows, columns, scale = image
    found = np.clip(boxes, 0, np.array([columns, rows, columns, rows], np.float32) - 1)
    least = np.float32(smallest) * scale
    small = (_sides(found) < least).any(axis=1)
    found[small] += np.array([-1, -1, 1, 1], np.float32) * (least / 2)
    return found, np.where(small, np.float32(-1), scores)


def _check(cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, anchors: int) -> None:
    floating("Proposal", cls_prob)
    if cls_prob.ndim != 4 or cls_prob.shape[1] != 2 * anchors:
        raise MXNetError(
            f"Proposal: of {anchors} anchors cls_prob is (batch, {2 * anchors}, ...), not {cls_prob.shape}"
        )
    batch, _, height, width = cls_prob.shape
    for what, x, shape in (
        ("bbox_pred", bbox_pred, (batch, 4 * anchors, height, width)),
        ("im_info", im_info, (batch, 3)),
    ):
        if x.shape != shape:
            raise MXNetError(f"Proposal: {what} is {shape} here, not {x.shape}")


def _anchors(stride: int, scales: Floats, ratios: Floats) -> np.ndarray:
    """(ratios*scales, 4): the corners of the anchors around the first point; sides are whole before they are scaled."""
    center = (stride - 1) / 2
    found = []
    for ratio in ratios:
        width = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
        height = np.floor(width * ratio + 0.5)
        for scale in scales:
            half = (np.array([width, height]) * scale - 1) / 2
            found.append([*(center - half), *(center + half)])
    return np.array(found, np.float32)


def _grid(anchors: np.ndarray, stride: int, height: int, width: int) -> np.ndarray:
    """(height*width*anchors, 4): the anchors around each point."""
    shift = np.arange(max(height, width), dtype=np.float32) * np.float32(stride)
    corner = np.stack(np.broadcast_arrays(shift[:width], shift[:height, None]), -1)
    return (np.concatenate([corner, corner], -1)[:, :, None] + anchors).reshape(-1, 4)


def _sides(boxes: np.ndarray) -> np.ndarray:
    """Width and height; the corners are pixels of the box."""
    return boxes[:, 2:] - boxes[:, :2] + 1


def _changed(boxes: np.ndarray, change: np.ndarray, corners: bool) -> np.ndarray:
    if corners:
        return boxes + change
    sides = _sides(boxes)
    center = change[:, :2] * sides + (boxes[:, :2] + np.float32(0.5) * (sides - 1))
    half = np.float32(0.5) * (np.exp(change[:, 2:]) * sides - 1)
    return np.concatenate([center - half, center + half], 1)


def _separate(boxes: np.ndarray, threshold: float, most: int) -> np.ndarray:
    """The numbers of the first `most` boxes that overlap none that is taken by more than the threshold."""
    most = min(most, len(boxes))
    places, found, limit = np.empty(most, np.uint32), np.zeros(1, np.uint32), np.array([threshold], boxes.dtype)
    native.separate(1, 0, np.ascontiguousarray(boxes), limit, places, found, most, len(boxes), scratch=5 * most)
    return places[: found[0]].astype(np.int64)
