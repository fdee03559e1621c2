"""Calls of the operators for detection and for spatial transformers that are compared with MXNet's.

Read by the program that runs MXNet, too, so it imports nothing but NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One call. `wanted` are the places of the arrays that get a gradient."""

    function: str
    arrays: tuple[np.ndarray, ...]
    options: dict[str, Any] = field(default_factory=dict)
    wanted: tuple[int, ...] = ()


def boxes(random: Any, *shape: int) -> np.ndarray:
    """(*shape, 4): corners in the unit square."""
    return np.sort(random.rand(*shape, 2, 2), axis=-2).reshape(*shape, 4)


def rows(random: Any, *shape: int) -> np.ndarray:
    """(*shape, 7): class, score (of which some are equal), corners, and something else."""
    kinds, scores = random.randint(0, 3, (*shape, 1)), random.randint(-2, 9, (*shape, 1)) / 8
    return np.concatenate([kinds, scores, boxes(random, *shape), random.rand(*shape, 1)], -1)


def cases() -> Iterator[Case]:
    """All of them, the same at every call."""
    random = np.random.RandomState(3)
    yield from _of_boxes(random)
    yield from _of_anchors(random)
    yield from _of_regions(random)
    yield from _of_grids(random)
    x = random.randn(4, 3)
    for options in ({}, {"margin": 0.5, "regularization_coefficient": 0.25}, {"use_linear": True, "margin": 0.25}):
        yield Case("SVMOutput", (x, np.array([0, 2, 1, 2])), options, (0,))
    yield Case("SVMOutput", (random.randn(2, 3, 2), np.arange(6).reshape(2, 3)), {}, (0,))
    for options in ({}, {"normalization": "batch"}, {"normalization": "valid"}):
        yield Case("MakeLoss", (random.randn(3, 2, 2),), {"grad_scale": 3.0, "valid_thresh": 0.25, **options}, (0,))


def _of_boxes(random: Any) -> Iterator[Case]:
    for format in ("corner", "center"):
        yield Case("contrib.box_iou", (boxes(random, 2, 3), boxes(random, 4)), {"format": format})
    for options in (
        {},
        {"overlap_thresh": 0.1, "valid_thresh": 0.25, "id_index": 0},
        {"overlap_thresh": 0.1, "topk": 6},
        {"topk": 0},
        {"overlap_thresh": 0.2, "id_index": 0, "force_suppress": True, "background_id": 1},
        {"overlap_thresh": 0.2, "id_index": 0, "background_id": 0, "out_format": "center"},
        {"overlap_thresh": 0.3, "in_format": "center"},
        {"overlap_thresh": 0.3, "in_format": "center", "out_format": "center", "coord_start": 3, "score_index": 0},
        {"valid_thresh": 2.0},
    ):
        yield Case("contrib.box_nms", (rows(random, 2, 12),), options, (0,))
    yield Case("contrib.box_nms", (rows(random, 9),), {"overlap_thresh": 0.2}, (0,))
    for options in ({"threshold": 0.25}, {"threshold": 0.6, "is_ascend": True}, {"threshold": 0.1, "topk": 1}):
        yield Case("contrib.bipartite_matching", (random.randint(0, 9, (2, 4, 3)) / 8,), options)
    samples, matches = random.randint(-1, 2, (2, 5)), random.randint(0, 3, (2, 5))
    scales = (np.array([0, 0.25, 0, -0.5]), np.array([0.1, 0.1, 0.2, 0.2]))
    yield Case("contrib.box_encode", (samples, matches, boxes(random, 2, 5), boxes(random, 2, 3), *scales))
    for options in ({}, {"format": "corner", "std0": 0.1, "std3": 0.2}, {"clip": 0.5, "std1": 2.0}):
        yield Case("contrib.box_decode", (random.randn(2, 5, 4), boxes(random, 1, 5)), options, (0,))


def _of_anchors(random: Any) -> Iterator[Case]:
    for options in (
        {},
        {"sizes": (0.5, 0.25), "ratios": (1, 2, 0.5)},
        {"sizes": (0.5, 0.75), "ratios": (2, 3), "clip": True, "steps": (0.3, 0.4), "offsets": (0.1, 0.2)},
    ):
        yield Case("contrib.MultiBoxPrior", (np.zeros((1, 2, 2, 3)),), options)
    for options in (
        {},
        {"overlap_threshold": 0.2, "ignore_label": -5.0, "variances": (0.1, 0.2, 0.3, 0.4)},
        {"overlap_threshold": 0.0},
        {"negative_mining_ratio": 2.0},
        {"negative_mining_ratio": 1.0, "negative_mining_thresh": 0.25, "minimum_negative_samples": 3},
    ):
        label = np.concatenate([random.randint(0, 3, (3, 4, 1)), boxes(random, 3, 4), random.rand(3, 4, 1)], -1)
        label[0, 2:] = label[1] = -1
        yield Case("contrib.MultiBoxTarget", (boxes(random, 1, 20), label, random.randn(3, 4, 20)), options)
    for options in (
        {},
        {"threshold": 0.35, "clip": False},
        {"nms_threshold": 0.2, "force_suppress": True},
        {"nms_threshold": 0.2, "nms_topk": 5, "variances": (0.2, 0.1, 0.4, 0.3)},
        {"nms_threshold": 1.5},
        {"background_id": 1},
    ):
        prob = random.randint(1, 9, (2, 4, 12)) / 8
        prob /= prob.sum(1, keepdims=True)
        yield Case("contrib.MultiBoxDetection", (prob, random.randn(2, 48), boxes(random, 1, 12)), options)


def _of_regions(random: Any) -> Iterator[Case]:
    images = random.randn(2, 4, 5, 6)
    corners = boxes(random, 5) * [12, 10, 12, 10]
    # Inside; from the edge on; beyond it; large; turned, which counts as one pixel.
    corners[1:] = [-1, -2, 3, 4], [11, 9, 15, 13], [0, 0, 40, 30], [4, 4, 3, 3]
    rois = np.concatenate([[[0], [1], [1], [0], [1]], corners], -1)
    whole = np.concatenate([rois[:, :1], corners.round()], -1)
    shape = {"pooled_size": (2, 2), "spatial_scale": 0.5}
    for options in ({}, {"sample_ratio": 2}, {"pooled_size": (3, 1), "spatial_scale": 1.0}):
        yield Case("contrib.ROIAlign", (images, rois), shape | options, (0,))
    yield Case("contrib.ROIAlign", (images, rois), shape | {"position_sensitive": True}, (0,))
    yield Case("contrib.ROIAlign", (images, rois[:4]), shape | {"aligned": True, "sample_ratio": 3}, (0,))
    for options in ({}, {"pooled_size": (3, 4), "spatial_scale": 1.0}, {"spatial_scale": 0.3}):
        yield Case("ROIPooling", (images, whole), shape | options, (0,))


def _of_grids(random: Any) -> Iterator[Case]:
    image, maps = random.randn(2, 3, 4, 5), random.randn(2, 6)
    size = {"target_shape": (3, 4)}
    yield Case("GridGenerator", (maps,), {"transform_type": "affine", **size}, (0,))
    yield Case("GridGenerator", (random.randn(2, 2, 3, 4),), {"transform_type": "warp"}, (0,))
    yield Case("BilinearSampler", (image, random.randn(2, 2, 3, 6)), {}, (0, 1))
    yield Case("BilinearSampler", (image, 0.5 * random.randn(2, 2, 3, 6)), {}, (0, 1))
    transform = {"transform_type": "affine", "sampler_type": "bilinear", **size}
    yield Case("SpatialTransformer", (image, maps), transform, (0, 1))
    pair = (random.randn(2, 3, 5, 6), random.randn(2, 3, 5, 6))
    for options in (
        {"pad_size": 1},
        {"kernel_size": 3, "max_displacement": 2, "stride2": 2, "pad_size": 3},
        {"max_displacement": 1, "stride1": 2, "pad_size": 2, "is_multiply": False},
    ):
        yield Case("Correlation", pair, options, (0, 1))


def run(mx: Any, case: Case) -> np.ndarray:
    """The results of a call, and the gradients of their sum with weights, as one vector."""
    arrays = [mx.nd.array(x) for x in case.arrays]
    variables = [arrays[i] for i in case.wanted]
    for x in variables:
        x.attach_grad()
    with mx.autograd.record():
        y = functools.reduce(getattr, case.function.split("."), mx.nd)(*arrays, **case.options)
    results = y if isinstance(y, list) else [y]
    if variables:
        mx.autograd.backward(results, [mx.nd.array(np.cos(np.arange(y.size)).reshape(y.shape)) for y in results])
    return np.concatenate([x.asnumpy().ravel() for x in [*results, *(x.grad for x in variables)]])


def name(case: Case) -> str:
    """What a test of it is called."""
    return "-".join([case.function, *case.options])
