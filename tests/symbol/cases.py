"""Calls of operators as symbols. The same code runs in MXNet and here: S is `mx.sym`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

IMAGES = (2, 3, 6, 6)


class Case(NamedTuple):
    """A graph of `x` and `y`, whose shapes are given; `whole` names arguments that are whole numbers.

    Without `train` there are no gradients: MXNet has none, or they depend on draws. Without `inferred` MXNet does not
    find the shapes of outputs. `values` are those of arguments that are not drawn.
    """

    make: Callable[..., Any]
    shapes: dict[str, tuple[int, ...]]
    train: bool = True
    whole: tuple[str, ...] = ()
    inferred: bool = True
    values: Mapping[str, list] = MappingProxyType({})


CASES: dict[str, Case] = {}


def case(name: str, make: Callable[..., Any], shapes: dict, train: bool = True, whole: tuple[str, ...] = ()) -> None:
    CASES[name] = Case(make, shapes, train, whole)


case("fc", lambda S, x, y: S.FullyConnected(x, num_hidden=4, name="fc"), {"x": (2, 3, 4)})
case(
    "fc_nf", lambda S, x, y: S.FullyConnected(x, num_hidden=4, no_bias=True, flatten=False, name="fc"), {"x": (2, 3, 4)}
)
case(
    "conv",
    lambda S, x, y: S.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), stride=(2, 2), num_group=1, name="c"),
    {"x": IMAGES},
)
case("conv1", lambda S, x, y: S.Convolution(x, kernel=(3,), num_filter=4, name="c"), {"x": (2, 3, 7)})
case(
    "dw",
    lambda S, x, y: S.Convolution(x, kernel=(3, 3), num_filter=3, num_group=3, no_bias=True, name="c"),
    {"x": IMAGES},
)
case(
    "deconv",
    lambda S, x, y: S.Deconvolution(x, kernel=(3, 3), num_filter=4, stride=(2, 2), pad=(1, 1), adj=(1, 1), name="c"),
    {"x": IMAGES},
)
case("bn", lambda S, x, y: S.BatchNorm(x, fix_gamma=False, name="bn"), {"x": IMAGES})
case("bn3", lambda S, x, y: S.BatchNorm(x, output_mean_var=True, name="bn"), {"x": IMAGES})
case("ln", lambda S, x, y: S.LayerNorm(x, name="ln"), {"x": (2, 3, 4)})
case("gn", lambda S, x, y: S.GroupNorm(x, num_groups=3, name="gn"), {"x": IMAGES})
case("in", lambda S, x, y: S.InstanceNorm(x, name="in"), {"x": IMAGES})
case("l2", lambda S, x, y: S.L2Normalization(x), {"x": (2, 3)})
case("lrn", lambda S, x, y: S.LRN(x, nsize=3), {"x": IMAGES})
for p in ("max", "avg", "sum"):
    case("pool" + p, lambda S, x, y, p=p: S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type=p), {"x": IMAGES})
case(
    "poolfull",
    lambda S, x, y: S.Pooling(x, kernel=(3, 3), stride=(2, 2), pooling_convention="full", pool_type="max"),
    {"x": (1, 2, 6, 6)},
)
case("gpool", lambda S, x, y: S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg"), {"x": IMAGES})
for a in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
    case("act" + a, lambda S, x, y, a=a: S.Activation(x, act_type=a), {"x": (2, 3)})
for a in ("elu", "gelu", "leaky", "prelu", "selu"):
    case("leaky" + a, lambda S, x, y, a=a: S.LeakyReLU(x, act_type=a, name="l"), {"x": (2, 3)})
case(
    "emb", lambda S, x, y: S.Embedding(x, input_dim=5, output_dim=3, name="e"), {"x": (2, 3)}, train=False, whole=("x",)
)
case("dropout", lambda S, x, y: S.Dropout(x, p=0.5), {"x": (2, 3)}, train=False)
case("softmaxout", lambda S, x, y: S.SoftmaxOutput(x, name="softmax"), {"x": (4, 3)}, whole=("softmax_label",))
case(
    "softmaxmulti",
    lambda S, x, y: S.SoftmaxOutput(x, multi_output=True, name="softmax"),
    {"x": (4, 3, 2)},
    whole=("softmax_label",),
)
case("linreg", lambda S, x, y: S.LinearRegressionOutput(x, name="lr"), {"x": (4, 3)})
case("logreg", lambda S, x, y: S.LogisticRegressionOutput(x, name="lr"), {"x": (4, 3)})
case("mae", lambda S, x, y: S.MAERegressionOutput(x, name="lr"), {"x": (4, 3)})
case("svm", lambda S, x, y: S.SVMOutput(x, name="svm"), {"x": (4, 3)}, whole=("svm_label",))
case("makeloss", lambda S, x, y: S.MakeLoss(x * 2), {"x": (4, 3)})
case("make_loss", lambda S, x, y: S.make_loss(x * 2, name="ml"), {"x": (4, 3)})
case("concat", lambda S, x, y: S.concat(x, y, dim=1), {"x": (2, 3), "y": (2, 4)})
case("split", lambda S, x, y: S.split(x, num_outputs=3, axis=1), {"x": (2, 6)})
case("splitsq", lambda S, x, y: S.split(x, num_outputs=2, axis=0, squeeze_axis=True)[1], {"x": (2, 6)})
case("splitv2", lambda S, x, y: S.split_v2(x, (1, 3), axis=1), {"x": (2, 6)})
case("reshape", lambda S, x, y: S.reshape(x, shape=(0, -1)), {"x": (2, 3, 4)})
case("reshape2", lambda S, x, y: x.reshape((-1, 2)), {"x": (2, 3, 4)})
case("reshape3", lambda S, x, y: x.reshape(shape=(-3, 0)), {"x": (2, 3, 4)})
case("flatten", lambda S, x, y: S.flatten(x), {"x": (2, 3, 4)})
case("transpose", lambda S, x, y: S.transpose(x, axes=(1, 0, 2)), {"x": (2, 3, 4)})
case("T", lambda S, x, y: S.transpose(x), {"x": (2, 3)})
case("swap", lambda S, x, y: S.SwapAxis(x, dim1=0, dim2=2), {"x": (2, 3, 4)})
case("expand", lambda S, x, y: S.expand_dims(x, axis=1), {"x": (2, 3)})
case("squeeze", lambda S, x, y: S.squeeze(x, axis=1), {"x": (2, 1, 3)})
case("slice", lambda S, x, y: S.slice(x, begin=(0, 1), end=(None, 3)), {"x": (2, 6)})
case("slice_axis", lambda S, x, y: S.slice_axis(x, axis=1, begin=1, end=None), {"x": (2, 6)})
case("slice_like", lambda S, x, y: S.slice_like(x, y), {"x": (4, 6), "y": (2, 3)})
case("stack", lambda S, x, y: S.stack(x, y, axis=1), {"x": (2, 3), "y": (2, 3)})
case("tile", lambda S, x, y: S.tile(x, reps=(2, 1)), {"x": (2, 3)})
case("repeat", lambda S, x, y: S.repeat(x, repeats=2, axis=1), {"x": (2, 3)})
case("flip", lambda S, x, y: S.flip(x, axis=1), {"x": (2, 3)})
case("pad", lambda S, x, y: S.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)), {"x": IMAGES})
case("dot", lambda S, x, y: S.dot(x, y), {"x": (2, 3), "y": (3, 4)})
case("dott", lambda S, x, y: S.dot(x, y, transpose_b=True), {"x": (2, 3), "y": (4, 3)})
case("batch_dot", lambda S, x, y: S.batch_dot(x, y), {"x": (2, 3, 4), "y": (2, 4, 5)})
case("gemm2", lambda S, x, y: S.linalg.gemm2(x, y), {"x": (2, 3), "y": (3, 4)})
case("where", lambda S, x, y: S.where(x > 0, x, y), {"x": (2, 3), "y": (2, 3)})
case("take", lambda S, x, y: S.take(x, y), {"x": (5, 3), "y": (2,)}, whole=("y",))
case("pick", lambda S, x, y: S.pick(x, y, axis=1), {"x": (4, 3), "y": (4,)}, whole=("y",))
case("one_hot", lambda S, x, y: S.one_hot(x, depth=4), {"x": (3,)}, train=False, whole=("x",))
case("gather", lambda S, x, y: S.gather_nd(x, y), {"x": (5, 3), "y": (1, 2)}, whole=("y",))
case("topk", lambda S, x, y: S.topk(x, k=2, ret_typ="both"), {"x": (2, 5)}, train=False)
case("topki", lambda S, x, y: S.topk(x, k=2), {"x": (2, 5)}, train=False)
case("sort", lambda S, x, y: S.sort(x), {"x": (2, 5)}, train=False)
case("argsort", lambda S, x, y: S.argsort(x), {"x": (2, 5)}, train=False)
case("argmax", lambda S, x, y: S.argmax(x, axis=1), {"x": (2, 5)}, train=False)
for r in ("sum", "mean", "prod", "max", "min", "nansum"):
    case(r, lambda S, x, y, r=r: getattr(S, r)(x, axis=1), {"x": (2, 5, 3)})
    case(r + "k", lambda S, x, y, r=r: getattr(S, r)(x, axis=(0, 2), keepdims=True), {"x": (2, 5, 3)})
    case(r + "a", lambda S, x, y, r=r: getattr(S, r)(x), {"x": (2, 5, 3)})
case("sumex", lambda S, x, y: S.sum(x, axis=1, exclude=True), {"x": (2, 5, 3)})
case("norm", lambda S, x, y: S.norm(x, axis=1), {"x": (2, 5)})
for u in (
    "abs",
    "sin",
    "cos",
    "tanh",
    "exp",
    "log1p",
    "sqrt",
    "square",
    "sign",
    "floor",
    "ceil",
    "round",
    "rint",
    "trunc",
    "fix",
    "relu",
    "sigmoid",
    "erf",
    "cbrt",
    "reciprocal",
    "negative",
    "expm1",
    "arctan",
    "softsign",
    "degrees",
    "gamma",
):
    case(u, lambda S, x, y, u=u: getattr(S, u)(S.abs(x) + 1.5), {"x": (2, 3)})
case("clip", lambda S, x, y: S.clip(x, a_min=-0.5, a_max=0.5), {"x": (2, 3)})
for b in ("add", "sub", "mul", "div", "maximum", "minimum", "power", "hypot", "greater", "equal"):
    case(
        "b" + b,
        lambda S, x, y, b=b: getattr(S, "broadcast_" + b)(S.abs(x) + 1, S.abs(y) + 1),
        {"x": (2, 3), "y": (1, 3)},
    )
case(
    "arith",
    lambda S, x, y: (
        (x + y) * (x - y) / (S.abs(y) + 1)
        + 2
        - x * 3
        + 1 / (S.abs(x) + 1)
        - (x % 2)
        + 2**x
        + (S.abs(x) + 1) ** 2
        + (S.abs(x) + 1) ** y
    ),
    {"x": (2, 3), "y": (2, 3)},
)
case(
    "cmp",
    lambda S, x, y: (
        (x > y)
        + (x < y)
        + (x >= y)
        + (x <= y)
        + (x == y)
        + (x != y)
        + (x > 0)
        + (x < 0)
        + (x >= 0)
        + (x <= 0)
        + (x == 0)
        + (x != 0)
        + (x < 0)
        + (x > 0)
    ),
    {"x": (2, 3), "y": (2, 3)},
    train=False,
)
case(
    "maxs",
    lambda S, x, y: S.maximum(x, 0.1) + S.minimum(0.2, x) + S.maximum(x, y) + S.hypot(x, 2) + S.pow(2, x),
    {"x": (2, 3), "y": (2, 3)},
)
case("neg", lambda S, x, y: -x + abs(x), {"x": (2, 3)})
case("add_n", lambda S, x, y: S.add_n(x, y, x), {"x": (2, 3), "y": (2, 3)})
case(
    "zeros",
    lambda S, x, y: S.broadcast_add(x, S.zeros((2, 3))) + S.ones((2, 3)) + S.ones_like(x) + S.zeros_like(x),
    {"x": (2, 3)},
)
case("arange", lambda S, x, y: S.broadcast_add(x, S.arange(3)), {"x": (2, 3)})
case("full", lambda S, x, y: S.full((2, 3), 2.5) + x, {"x": (2, 3)})
case("eye", lambda S, x, y: S.eye(3), {})
case("linspace", lambda S, x, y: S.linspace(0, 1, 5), {})
case("softmax", lambda S, x, y: S.softmax(x, axis=1), {"x": (2, 3)})
case("log_softmax", lambda S, x, y: S.log_softmax(x, axis=1), {"x": (2, 3)})
case("sce", lambda S, x, y: S.softmax_cross_entropy(x, y), {"x": (4, 3), "y": (4,)}, train=False, whole=("y",))
case("smooth", lambda S, x, y: S.smooth_l1(x, scalar=1.0), {"x": (2, 3)})
case("block", lambda S, x, y: S.BlockGrad(x) + x, {"x": (2, 3)})
case("cast", lambda S, x, y: S.cast(x, dtype="float16"), {"x": (2, 3)}, train=False)
case("astype", lambda S, x, y: x.astype("int32"), {"x": (2, 3)}, train=False)
case(
    "seqmask", lambda S, x, y: S.SequenceMask(x, y, use_sequence_length=True), {"x": (4, 2, 3), "y": (2,)}, whole=("y",)
)
case("seqlast", lambda S, x, y: S.SequenceLast(x), {"x": (4, 2, 3)})
case("seqrev", lambda S, x, y: S.SequenceReverse(x), {"x": (4, 2, 3)})
for m in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    case(
        "rnn" + m,
        lambda S, x, y, m=m: S.RNN(
            x, state_size=3, num_layers=2, bidirectional=True, mode=m, state_outputs=True, name="r"
        ),
        {"x": (4, 2, 5)},
    )
case("upn", lambda S, x, y: S.UpSampling(x, scale=2, sample_type="nearest"), {"x": IMAGES})
case("upb", lambda S, x, y: S.UpSampling(x, scale=2, sample_type="bilinear", num_filter=3, name="u"), {"x": IMAGES})
case(
    "roi",
    lambda S, x, y: S.ROIPooling(x, y, pooled_size=(2, 2), spatial_scale=1.0),
    {"x": IMAGES, "y": (1, 5)},
    train=False,
    whole=("y",),
)
case("bsample", lambda S, x, y: S.BilinearSampler(x, y), {"x": IMAGES, "y": (2, 2, 4, 4)})
case("grid", lambda S, x, y: S.GridGenerator(x, transform_type="affine", target_shape=(3, 4)), {"x": (2, 6)})
case(
    "st",
    lambda S, x, y: S.SpatialTransformer(x, y, target_shape=(4, 4), transform_type="affine", sampler_type="bilinear"),
    {"x": IMAGES, "y": (2, 6)},
)
case("crop", lambda S, x, y: S.Crop(x, h_w=(3, 3), center_crop=True, num_args=1), {"x": IMAGES})
case("ctc", lambda S, x, y: S.CTCLoss(x, y), {"x": (5, 2, 4), "y": (2, 2)}, whole=("y",))
case("depth", lambda S, x, y: S.depth_to_space(x, block_size=2), {"x": (1, 4, 2, 2)})
case("diag", lambda S, x, y: S.diag(x), {"x": (3, 3)})
case("blike", lambda S, x, y: S.broadcast_like(x, y), {"x": (1, 3), "y": (2, 3)})
case("bto", lambda S, x, y: S.broadcast_to(x, shape=(2, 3)), {"x": (1, 3)})
case("baxis", lambda S, x, y: S.broadcast_axis(x, axis=0, size=2), {"x": (1, 3)})
case("rlike", lambda S, x, y: S.reshape_like(x, y), {"x": (2, 3), "y": (3, 2)})
case("shape", lambda S, x, y: S.shape_array(x), {"x": (2, 3)}, train=False)
case("boxiou", lambda S, x, y: S.contrib.box_iou(x, y), {"x": (2, 4), "y": (3, 4)}, train=False)
case("prior", lambda S, x, y: S.contrib.MultiBoxPrior(x, sizes=(0.5, 0.25), ratios=(1, 2)), {"x": IMAGES}, train=False)
case(
    "roialign",
    lambda S, x, y: S.contrib.ROIAlign(x, y, pooled_size=(2, 2), spatial_scale=1.0),
    {"x": IMAGES, "y": (1, 5)},
    whole=("y",),
)
case("adaptive", lambda S, x, y: S.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2)), {"x": IMAGES})
case("bres", lambda S, x, y: S.contrib.BilinearResize2D(x, height=4, width=4), {"x": IMAGES})
case("moments", lambda S, x, y: S.moments(x, axes=(0,)), {"x": (4, 3)})
case("khatri", lambda S, x, y: S.khatri_rao(x, y), {"x": (2, 3), "y": (4, 3)}, train=False)
case("potrf", lambda S, x, y: S.linalg.sumlogdiag(S.abs(x) + 1), {"x": (3, 3)})
case("hist", lambda S, x, y: S.histogram(x, bins=4, range=(-1, 1)), {"x": (5,)}, train=False)
case("logical", lambda S, x, y: S.broadcast_logical_and(x > 0, y > 0), {"x": (2, 3), "y": (2, 3)}, train=False)
case("seqm0", lambda S, x, y: S.SequenceMask(x), {"x": (4, 2, 3)})
case("scatter", lambda S, x, y: S.scatter_nd(x, y, shape=(5,)), {"x": (2,), "y": (1, 2)}, whole=("y",))
case("likearange", lambda S, x, y: S.contrib.arange_like(x, axis=0), {"x": (4, 2)}, train=False)
case("divsqrt", lambda S, x, y: S.contrib.div_sqrt_dim(x), {"x": (4, 2)})
case("quad", lambda S, x, y: S.contrib.quadratic(x, a=1, b=2, c=3), {"x": (4, 2)})
case("selfatt", lambda S, x, y: S.contrib.interleaved_matmul_selfatt_qk(x, heads=2), {"x": (4, 2, 12)})
case("im2col", lambda S, x, y: S.im2col(x, kernel=(3, 3)), {"x": IMAGES})
case("cumsum", lambda S, x, y: S.cumsum(x, axis=1), {"x": (2, 3)})
case("hs", lambda S, x, y: S.hard_sigmoid(x), {"x": (2, 3)})
case("index", lambda S, x, y: S.contrib.index_array(x), {"x": (2, 3)}, train=False)
case("unravel", lambda S, x, y: S.unravel_index(x, shape=(2, 3)), {"x": (2,)}, train=False, whole=("x",))
case("sync", lambda S, x, y: S.Group([x + 1, x * 2]), {"x": (2,)})
case("gngroups", lambda S, x, y: S.GroupNorm(x, num_groups=2, name="gn"), {"x": (2, 6, 3, 3)})
case("prelu2", lambda S, x, y: S.LeakyReLU(x, y, act_type="prelu"), {"x": (3, 4, 2), "y": (3, 4)})
case("reshapeold", lambda S, x, y: S.Reshape(x, target_shape=(2, 0)), {"x": (2, 3, 4)})
case("reshapekeep", lambda S, x, y: S.Reshape(x, target_shape=(2, 0), keep_highest=True), {"x": (4, 3)})
case(
    "arangeinfer",
    lambda S, x, y: S.elemwise_add(S.arange(start=2, step=3, infer_range=True), x),
    {"x": (5,)},
)
case("sortall", lambda S, x, y: S.sort(x, axis=None), {"x": (2, 5)})
case("seqlast1", lambda S, x, y: S.SequenceLast(x, axis=1), {"x": (4, 2, 3)})
case("inverse", lambda S, x, y: S.linalg.inverse(x), {"x": (2, 3, 3)})
case("cholesky", lambda S, x, y: S.linalg.potrf(S.linalg.syrk(x) + S.eye(2)), {"x": (2, 3)})
case(
    "cholesky_upper",
    lambda S, x, y: S.linalg.potri(S.linalg.potrf(S.linalg.syrk(x) + S.eye(2), lower=False), lower=False),
    {"x": (2, 3)},
)
case("trsm", lambda S, x, y: S.linalg.trsm(S.broadcast_add(S.eye(2), x), y), {"x": (2, 2), "y": (2, 3)})
case("finite", lambda S, x, y: S.multi_all_finite(x, y, num_arrays=2), {"x": (2, 3), "y": (4,)}, train=False)
case("sumsq", lambda S, x, y: S.multi_sum_sq(x, y, num_arrays=2), {"x": (2, 3), "y": (4,)}, train=False)
