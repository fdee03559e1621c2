"""Operators for detection and for spatial transformers: MXNet's numbers, gradients of gradients, 16 bits, errors."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from runtime.base import MXNetError
from runtime.ndarray.vision import gpu_multibox, multibox
from tests.ndarray.gradients import Case as Gradient
from tests.ndarray.gradients import check
from tests.ndarray.peers.detection_cases import Case, cases, name, run

DATA = np.load(Path(__file__).parent / "peers" / "data" / "detection.npz")
EXPECTED = np.split(DATA["values"], np.cumsum(DATA["lengths"])[:-1])
RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.normal(size=(2, 2, 4, 5))
ROIS = nd.array([[0, 0.3, 0.2, 3.4, 2.7], [1, 1.1, -1.6, 6.2, 3.3]], dtype="float64")


@pytest.mark.parametrize(
    ("case", "expected"), [pytest.param(*both, id=name(both[0])) for both in zip(cases(), EXPECTED, strict=True)]
)
def test_as_in_mxnet(case: Case, expected: np.ndarray) -> None:
    np.testing.assert_allclose(run(mx, case), expected, rtol=1e-4, atol=1e-5)


def test_targets_of_a_batch_at_once_are_those_of_image_after_image() -> None:
    random = np.random.default_rng(5)
    for trial in range(60):
        n, m = random.integers(1, [12, 6])
        anchors, boxes = (np.round(random.uniform(0, 4, size)) / 4 for size in ((1, n, 4), (3, m, 4)))  # many ties
        label = np.concatenate([random.integers(0, 3, (3, m, 1)), boxes], -1)
        for image in label:
            image[random.integers(0, m + 1) :] = -1
        scores = np.round(random.normal(size=(3, 4, n)))
        scores[0, 0, 0] = np.nan
        how = {"threshold": (0.5, -1)[trial % 2], "ratio": (-1, 0.7, 1.5)[trial % 3], "ignored": -1.0}
        how |= {"mined_below": 0.5, "variances": (0.1, 0.1, 0.2, 0.2)}
        one_by_one = multibox._target.forward(anchors, label, scores, **how)
        with np.errstate(all="ignore"):
            at_once = gpu_multibox.targets(anchors[0], label, scores, **how)
        for expected, found in zip(one_by_one, at_once, strict=True):
            np.testing.assert_array_equal(found, expected)


# ---------------------------------------------------------------- gradients

AFFINE = {"transform_type": "affine", "target_shape": (3, 2)}
NO_GRADIENT = {"MakeLoss", "SVMOutput"}  # theirs is that of a loss, above
GRADIENTS = {
    "BilinearSampler": Gradient(nd.BilinearSampler, (IMAGES, RANDOM.uniform(-1.2, 1.2, (2, 2, 2, 3)))),
    "Correlation": Gradient(
        lambda a, b: nd.Correlation(a, b, kernel_size=3, pad_size=2, stride1=2),
        tuple(RANDOM.normal(size=(2, 1, 2, 3, 4))),
    ),
    "GridGenerator affine": Gradient(lambda x: nd.GridGenerator(x, **AFFINE) ** 2, (RANDOM.normal(size=(2, 6)),)),
    "GridGenerator warp": Gradient(lambda x: nd.GridGenerator(x, "warp") ** 2, (RANDOM.normal(size=(1, 2, 2, 3)),)),
    "ROIPooling": Gradient(lambda x: nd.ROIPooling(x, ROIS, (2, 3), 1.0) ** 2, (IMAGES,)),
    "SpatialTransformer": Gradient(
        lambda x, maps: nd.SpatialTransformer(x, maps, sampler_type="bilinear", **AFFINE),
        (IMAGES, RANDOM.normal(size=(2, 6))),
    ),
}


def test_gradients_of_equal_images_that_are_subtracted() -> None:
    a, b = nd.ones((1, 1, 3, 3)), nd.ones((1, 1, 3, 3))
    for x in (a, b):
        x.attach_grad()
    with autograd.record():
        y = nd.Correlation(a, b, max_displacement=0, is_multiply=False)
    y.backward()
    assert (a.grad == 1).asnumpy().all() and (b.grad == -1).asnumpy().all()  # as in MXNet


def test_gradients_of_contrib() -> None:
    check(lambda x: nd.contrib.ROIAlign(x, ROIS, (2, 3), 0.8) ** 2, IMAGES, order=2, atol=1e-7)
    check(lambda x: nd.contrib.PSROIPooling(x, ROIS, 0.8, 2, 1) ** 2, IMAGES, order=2, atol=1e-7)
    turned = nd.array([[1, 2.2, 1.3, 3.1, 2.4, 30]])
    check(lambda x: nd.contrib.RROIAlign(x, turned, (2, 2), 1.0) ** 2, IMAGES, order=2, atol=1e-7)
    rows = np.array([[0, 0.9, 0, 0, 4, 4], [0, 0.2, 0, 0, 4, 3], [0, 0.5, 5, 5, 9, 9]])
    check(lambda x: nd.contrib.box_nms(x) ** 2, rows, order=2, atol=1e-6)


def test_boxes_of_the_background_go() -> None:
    rows = nd.array([[-1, 0.9, 0, 0, 1, 1], [0, 0.5, 0, 0, 1, 1], [1, 0.3, 5, 5, 6, 6]])
    for background_id, kept in ((-1, [0, 1, -1]), (0, [-1, 1, -1]), (2, [-1, 0, 1])):
        found = nd.contrib.box_nms(rows, id_index=0, background_id=background_id)
        assert found[:, 0].asnumpy().tolist() == kept  # as in MXNet


def test_gradients_of_deformable_networks() -> None:
    images, offset = IMAGES[:1, :, :3, :3], RANDOM.uniform(-1, 1, (1, 16, 2, 2))
    mask, weight = RANDOM.uniform(0, 1, (1, 8, 2, 2)), RANDOM.normal(size=(2, 1, 2, 2))
    options = {"kernel": (2, 2), "num_filter": 2, "num_group": 2, "num_deformable_group": 2, "no_bias": True}
    convolve = functools.partial(nd.contrib.DeformableConvolution, bias=None, **options)
    check(lambda x, d, w: convolve(x, d, w), images, offset, weight, order=2, atol=1e-7)
    modulated = functools.partial(nd.contrib.ModulatedDeformableConvolution, bias=None, **options)
    check(lambda x, d, m, w: modulated(x, d, m, w), images, offset, mask, weight, atol=1e-7)
    shifts = RANDOM.normal(size=(2, 4, 1, 1)) / 3
    pool = {"spatial_scale": 0.8, "output_dim": 2, "group_size": 1, "pooled_size": 2, "part_size": 1, "trans_std": 0.2}
    check(lambda x, t: nd.contrib.DeformablePSROIPooling(x, ROIS, t, **pool), IMAGES, shifts, order=2, atol=1e-7)


def test_errors_of_regions() -> None:
    contrib, images = nd.contrib, nd.ones((1, 8, 6, 7))
    scores, changes, size = nd.ones((1, 24, 6, 7)), nd.ones((1, 48, 6, 7)), nd.array([[96, 96, 1]])
    three = nd.ones((1, 3))
    for call, message in (
        (lambda: contrib.Proposal(nd.ones((2, 24, 6, 7)), changes, size), "one image is expected, not 2"),
        (lambda: contrib.Proposal(scores, changes, size, scales=(8,)), r"of 3 anchors cls_prob is \(batch, 6, ...\)"),
        (lambda: contrib.MultiProposal(scores, scores, size), r"bbox_pred is \(1, 48, 6, 7\) here"),
        (lambda: contrib.PSROIPooling(images, three, 1.0, 2, 2), r"rois \(regions, 5\), not .*\(1, 3\)"),
        (lambda: contrib.PSROIPooling(images, nd.zeros((1, 5)), 1.0, 3, 2), "data of 12 channels"),
        (lambda: contrib.RROIAlign(images, nd.full((1, 6), 1e6), (2, 2), 1.0), "names image 1e"),
        (lambda: contrib.RROIAlign(images, nd.array([[0, 1, 1, 1e5, 1e5, 0]]), (2, 2), 1.0), "too many to sample"),
        (
            lambda: contrib.DeformableConvolution(images, images, images, kernel=(3, 3), num_filter=2, no_bias=True),
            r"offset is \(1, 18, 4, 5\) here, not \(1, 8, 6, 7\)",
        ),
        (
            lambda: contrib.DeformableConvolution(images, images, images, kernel=(9, 9), num_filter=2, no_bias=True),
            r"window \(9, 9\) is larger than images",
        ),
        (
            lambda: contrib.DeformablePSROIPooling(
                images, nd.zeros((1, 5)), nd.ones((1, 2, 3, 3)), output_dim=2, group_size=2, pooled_size=2
            ),
            r"trans is \(1, 2, 2, 2\) here, not \(1, 2, 3, 3\)",
        ),
    ):
        with pytest.raises(MXNetError, match=message):
            call()


def test_what_is_chosen_has_gradient_zero() -> None:
    x = nd.array([[[0, 0.5, 0.1, 0.1]]])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.box_decode(x, nd.array([[[0, 0, 1, 1]]])).sum()
    y.backward()
    assert (x.grad.asnumpy() == 0).all()


# ---------------------------------------------------------------- what differs from MXNet


def test_a_region_without_an_image_is_zero() -> None:
    rois = nd.array([[-1, 0, 0, 3, 3], [1, 0, 0, 3, 3]])
    x = nd.array(IMAGES)
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.ROIAlign(x, rois, (2, 2), 1.0)
    y.backward()
    assert (y[0].asnumpy() == 0).all() and (y[1].asnumpy() != 0).any()
    assert (x.grad[0].asnumpy() == 0).all() and (x.grad[1].asnumpy() != 0).any()
    assert nd.contrib.ROIAlign(x, nd.empty((0, 5)), (2, 2), 1.0).shape == (0, 2, 2, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(dtype: str) -> None:
    arrays = nd.array(IMAGES), ROIS.astype("float32"), nd.array(RANDOM.uniform(-1, 1, (2, 2, 3, 3)))
    for function in (
        lambda x, rois, grid: nd.contrib.ROIAlign(x, rois, (2, 2), 1.0),
        lambda x, rois, grid: nd.ROIPooling(x, rois, (2, 2), 1.0),
        lambda x, rois, grid: nd.BilinearSampler(x, grid),
    ):
        found = function(*(a.astype(dtype) for a in arrays))
        assert found.dtype == nd.zeros(1, dtype=dtype).dtype
        np.testing.assert_allclose(found.astype("float32").asnumpy(), function(*arrays).asnumpy(), rtol=0.05, atol=0.05)


def test_errors() -> None:
    x, rois = nd.array(IMAGES), ROIS.astype("float32")
    scores, anchors = nd.ones((2, 3, 4)), nd.ones((1, 4, 4))
    for call, message in (
        (lambda: nd.contrib.ROIAlign(x, nd.array([[2, 0, 0, 1, 1]]), (1, 1), 1), "rois names image 2, but data has 2"),
        (lambda: nd.contrib.ROIAlign(x, nd.array([[0, 0, 0, 1e30, 1]]), (1, 1), 1), "too many to sample"),
        (lambda: nd.contrib.ROIAlign(x, nd.array([[0, 0, 0, np.inf, 1]]), (1, 1), 1), "not finite"),
        (lambda: nd.contrib.ROIAlign(x, rois, (2, 2), 1, position_sensitive=True), "2 channels .* 2 by 2 bins"),
        (lambda: nd.contrib.ROIAlign(x, nd.array([[0, 2, 2, 2, 3]]), (1, 1), 1, aligned=True), "wider and higher"),
        (lambda: nd.ROIPooling(x, rois[:, :4], (2, 2), 1), r"not \(2, 2, 4, 5\) and \(2, 4\)"),
        (lambda: nd.ROIPooling(x, rois, 2, 1), "pooled_size is a height and a width"),
        (lambda: nd.ROIPooling(x, nd.array([[-1, 0, 0, 1, 1]]), (2, 2), 1), "must not be negative"),
        (lambda: nd.GridGenerator(nd.ones((1, 6)), "affine"), "at least 2 by 2, not 0 by 0"),
        (lambda: nd.GridGenerator(nd.ones((1, 5)), "affine", (2, 2)), r"data is \(batch, 6\), not \(1, 5\)"),
        (lambda: nd.BilinearSampler(x, nd.ones((1, 2, 3, 3))), r"not \(2, 2, 4, 5\) and \(1, 2, 3, 3\)"),
        (lambda: nd.SpatialTransformer(x, nd.ones((2, 6)), (2, 2)), "must be given as 'affine'"),
        (lambda: nd.Correlation(x, x, kernel_size=2), "kernel_size is odd"),
        (lambda: nd.Correlation(x, x, max_displacement=3), "no room for patches"),
        (lambda: nd.SVMOutput(nd.ones((2, 3)), nd.ones(3)), r"label has shape \(3,\), not \(2,\)"),
        (lambda: nd.MakeLoss(x, normalization="all"), "'null', 'batch' or 'valid', not 'all'"),
        (lambda: nd.contrib.box_iou(nd.ones((2, 4)), nd.ones(4)), r"not \(2, 4\) and \(4,\)"),
        (lambda: nd.contrib.box_iou(nd.ones((2, 4)), nd.ones((1, 4)), format="edges"), "'corner' or 'center'"),
        (lambda: nd.contrib.box_nms(nd.ones((2, 4))), r"at least 5 or 6 numbers a row, not \(2, 4\)"),
        (lambda: nd.contrib.box_nms(nd.ones((2, 6)), score_index=3), "must name different numbers of a row of 6"),
        (lambda: nd.contrib.box_nms(nd.ones((2, 6), dtype="int32")), "only floats"),
        (lambda: nd.contrib.bipartite_matching(nd.ones((2, 2))), "threshold must be given"),
        (lambda: nd.contrib.box_decode(scores, anchors), r"anchors \(1, anchors, 4\), not"),
        (
            lambda: nd.contrib.box_encode(
                nd.ones((1, 1)), nd.array([[3]]), *[nd.ones((1, 1, 4))] * 2, *[nd.ones(4)] * 2
            ),
            "matches are numbers from 0 to 0",
        ),
        (lambda: nd.contrib.MultiBoxPrior(x, sizes=()), "at least one"),
        (lambda: nd.contrib.MultiBoxPrior(x, steps=(0.5, -1)), "both positive or neither"),
        (lambda: nd.contrib.MultiBoxTarget(anchors, nd.ones((2, 1, 4)), scores), "5 or more"),
        (lambda: nd.contrib.MultiBoxTarget(anchors, nd.array([[[-1, 0, 0, 1, 1]]] * 2), scores), "-1 throughout"),
        (lambda: nd.contrib.MultiBoxTarget(anchors, nd.ones((2, 1, 5)), scores[:1]), "for 2 images"),
        (lambda: nd.contrib.MultiBoxDetection(scores, nd.ones((2, 15)), anchors), r"loc_pred is \(2, 16\)"),
    ):
        with pytest.raises(MXNetError, match=message):
            call()


def test_targets_of_masks() -> None:
    masks = nd.array(np.arange(2 * 2 * 4 * 4).reshape(2, 2, 4, 4))
    rois, matches, classes = nd.array([[[0, 0, 4, 4]], [[0, 2, 2, 4]]]), nd.array([[1], [0]]), nd.array([[2], [0]])
    found, weights = nd.contrib.mrcnn_mask_target(rois, masks, matches, classes, 1, 3, (2, 2), 1, aligned=True)
    assert found.shape == weights.shape == (2, 1, 3, 2, 2)
    whole = nd.contrib.mrcnn_mask_target(
        rois, masks, matches.astype("int32"), classes.astype("int32"), 1, 3, (2, 2), 1, aligned=True
    )
    assert all((x == y).asnumpy().all() for x, y in zip(whole, (found, weights), strict=True))
    expected = [[18.5, 20.5], [26.5, 28.5]], [[40, 41], [44, 45]]
    np.testing.assert_allclose(found.asnumpy()[:, 0, 1], expected)
    assert weights.asnumpy()[:, 0, :, 1, 1].tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(mx.MXNetError, match=r"matches must have shape \(2, 1\)"):
        nd.contrib.mrcnn_mask_target(rois, masks, classes[0], classes, 1, 3)
