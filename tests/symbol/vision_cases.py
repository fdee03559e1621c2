"""Operators of detection; see `cases`."""

from __future__ import annotations

from typing import Any

from tests.symbol.cases import Case

SHAPE = (2, 8, 6, 7)
REGIONS = [[0, 0, 0, 4, 4], [1, 1.4, 1.6, 5, 3.2], [1, 3, 2, 3.2, 2.1]]
TURNED = [[0, 3, 3, 4, 2, 30], [1, 2.5, 4, 5.5, 0.3, -75], [1, -1, 1, 3, 4, 200]]
SIZES = [[96, 96, 1], [80, 90, 1.5]]


def _convolution(S: Any, x: Any, y: Any, **options: Any) -> Any:
    return S.contrib.DeformableConvolution(x, y * 3, kernel=(3, 2), name="c", **options)


def _modulated(S: Any, x: Any, y: Any, **options: Any) -> Any:
    mask = S.sigmoid(S.var("m"))
    return S.contrib.ModulatedDeformableConvolution(x, y * 3, mask, kernel=(3, 2), name="c", **options)


def _proposals(S: Any, x: Any, y: Any, operator: str = "MultiProposal", **options: Any) -> Any:
    scores = S.softmax(x * 4, axis=1)
    options = {"rpn_post_nms_top_n": 6, "rpn_min_size": 30} | options
    return getattr(S.contrib, operator)(scores, y, S.var("info"), name="p", **options)


def _pooling(S: Any, x: Any, y: Any, **options: Any) -> Any:
    options = {"output_dim": 2, "group_size": 2, "pooled_size": 3, "sample_per_part": 2, "trans_std": 0.3} | options
    inputs = [x, y] if options.get("no_trans") else [x, y, S.var("t")]
    return S.contrib.DeformablePSROIPooling(*inputs, spatial_scale=0.8, name="p", **options)


CASES = {
    "deformable": Case(lambda S, x, y: _convolution(S, x, y, num_filter=3), {"x": SHAPE, "y": (2, 12, 4, 6)}),
    "deformable groups": Case(
        lambda S, x, y: _convolution(
            S,
            x,
            y,
            num_filter=4,
            num_group=2,
            num_deformable_group=4,
            no_bias=True,
            stride=(2, 1),
            pad=(1, 2),
            dilate=(2, 1),
        ),
        {"x": SHAPE, "y": (2, 48, 2, 10)},
    ),
    "modulated": Case(
        lambda S, x, y: _modulated(S, x, y, num_filter=3),
        {"x": SHAPE, "y": (2, 12, 4, 6), "m": (2, 6, 4, 6)},
        train=False,
    ),
    "modulated groups": Case(
        lambda S, x, y: _modulated(S, x, y, num_filter=4, num_deformable_group=2, stride=(1, 2), pad=(1, 1)),
        {"x": SHAPE, "y": (2, 24, 6, 4), "m": (2, 12, 6, 4)},
        train=False,
    ),
    "proposal": Case(
        lambda S, x, y: _proposals(S, x, y, "Proposal", output_score=True),
        {"x": (1, 24, 6, 7)},
        train=False,
        values={"info": SIZES[:1]},
    ),
    "proposals": Case(lambda S, x, y: _proposals(S, x, y), {"x": (2, 24, 6, 7)}, train=False, values={"info": SIZES}),
    "proposals of corners": Case(
        lambda S, x, y: _proposals(S, x, y * 9, iou_loss=True, rpn_pre_nms_top_n=20, scales=(2.0, 3), threshold=0.4),
        {"x": (2, 12, 6, 7)},
        train=False,
        values={"info": SIZES},
    ),
    "psroi": Case(
        lambda S, x, y: S.contrib.PSROIPooling(x, y, spatial_scale=0.8, output_dim=2, pooled_size=3, group_size=2),
        {"x": SHAPE, "y": (3, 5)},
        values={"y": REGIONS},
    ),
    "deformable psroi": Case(
        lambda S, x, y: _pooling(S, x, y), {"x": SHAPE, "y": (3, 5), "t": (3, 4, 3, 3)}, values={"y": REGIONS}
    ),
    "deformable psroi parts": Case(
        lambda S, x, y: _pooling(S, x, y, part_size=2),
        {"x": SHAPE, "y": (3, 5), "t": (3, 2, 2, 2)},
        values={"y": REGIONS},
    ),
    "deformable psroi unmoved": Case(
        lambda S, x, y: _pooling(S, x, y, no_trans=True), {"x": SHAPE, "y": (3, 5)}, values={"y": REGIONS}
    ),
    "turned": Case(
        lambda S, x, y: S.contrib.RROIAlign(x, y, pooled_size=(2, 3), spatial_scale=0.8),
        {"x": SHAPE, "y": (3, 6)},
        train=False,
        values={"y": TURNED},
    ),
    "turned samples": Case(
        lambda S, x, y: S.contrib.RROIAlign(x, y, pooled_size=(2, 2), spatial_scale=1.0, sampling_ratio=3),
        {"x": SHAPE, "y": (3, 6)},
        train=False,
        values={"y": TURNED},
    ),
}
