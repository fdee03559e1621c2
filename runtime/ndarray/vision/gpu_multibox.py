"""Training targets for anchors on a GPU, for a batch at once: `multibox._target` with the same results.

On the CPU, images are taken one by one, with the boxes that each has. Here all images have as many boxes, some of them
masked, and no value is read back that the CPU would have to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.core.backend import array_module, to_device_of
from runtime.ndarray.vision.boxes import encoded, overlaps, to_centers


def targets(
    anchors: np.ndarray,
    label: np.ndarray,
    scores: np.ndarray,
    threshold: float,
    ignored: float,
    ratio: float,
    mined_below: float,
    variances: Sequence[float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets and mask, (batch, n*4), and classes, (batch, n).

    `anchors` are (n, 4), `label` (batch, m, 5 or more), `scores` (batch, classes, n); see `multibox.MultiBoxTarget`.
    """
    dtype, batch = anchors.dtype, len(label)
    there = np.cumsum(label[:, :, 0] == -1, axis=1) == 0
    iou = np.where(there[:, None], overlaps(anchors, label[:, None, :, 1:5]), dtype.type(-1))
    of = _paired(iou)
    positive = of >= 0
    if threshold > 0:
        near = ~positive & (iou.max(axis=2) > threshold)
        of = np.where(near, iou.argmax(axis=2), of)
        positive |= near
    negative = ~positive & there.any(axis=1)[:, None]
    if ratio > 0:
        negative &= iou.max(axis=2) < mined_below
        negative &= _hardness(scores, negative) < np.floor(positive.sum(axis=1) * ratio)[:, None]
    truth = np.take_along_axis(label, np.maximum(of, 0)[:, :, None], 1)
    classes = np.where(positive, truth[:, :, 0] + 1, np.where(negative, dtype.type(0), dtype.type(ignored)))
    offsets = encoded(to_centers(truth[:, :, 1:5]), to_centers(anchors)) / to_device_of(
        anchors, np.array(variances, dtype)
    )
    mask = np.broadcast_to(positive[:, :, None], offsets.shape)
    return np.where(mask, offsets, 0).reshape(batch, -1), mask.astype(dtype).reshape(batch, -1), classes


def _paired(iou: np.ndarray) -> np.ndarray:
    """Which box each anchor is paired with, (batch, n), or -1, by overlaps, (batch, n, m): see `boxes.greedy`."""
    batch, n, m = iou.shape
    xp = array_module(iou)
    samples = xp.arange(batch)
    left = np.where(iou > 1e-6, iou, 0)
    of = xp.full((batch, n), -1)
    for _ in range(min(n, m)):
        best = left.reshape(batch, -1).argmax(axis=1)
        r, c = best // m, best % m
        of[samples, r] = np.where(left[samples, r, c] > 0, c, of[samples, r])
        left[samples, r] = 0
        left.swapaxes(1, 2)[samples, c] = 0
    return of


def _hardness(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The rank, (batch, n), of the anchors that are `among`, the least probable of class 0, the background, first."""
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    background = np.fmin(grown[:, 0] / grown.sum(axis=1), 2)  # NaN behind all numbers
    order = np.argsort(np.where(among, background, 3), axis=1, kind="stable")
    return np.argsort(order, axis=1)
