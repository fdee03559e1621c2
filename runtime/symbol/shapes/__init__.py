"""What each operator tells of the shapes of its inputs and outputs.

`RULES` has the rule of each operator; `common` says what a rule is. Operators that nothing here names are run once, on
zeros, when the shapes of all their inputs are known.
"""

from __future__ import annotations

from runtime.symbol.graph import Node
from runtime.symbol.shapes import custom, detection, elementwise, layers, quantized, views
from runtime.symbol.shapes.common import Rule, Shapes
from runtime.symbol.shapes.trial import output_shapes
from runtime.symbol.table import BATCH_NORMS

_SAME_NAMES = """
abs Activation add_n amp_cast arccos arccosh arcsin arcsinh arctan arctanh BlockGrad Cast cast_storage cbrt ceil clip
_copy cos cosh degrees elemwise_add elemwise_div elemwise_mul elemwise_sub _equal erf erfinv exp expm1 fix floor gamma
gammaln _grad_add _greater _greater_equal hard_sigmoid _hypot _lesser _lesser_equal log log10 log1p log2 log_softmax
_logical_and logical_not _logical_or _logical_xor make_loss MakeLoss _maximum _minimum _mod negative _not_equal
ones_like _contrib_quadratic _np_cumsum _contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_round_ste
_contrib_sign_ste _power radians rcbrt reciprocal relu reverse rint round rsqrt _scatter_elemwise_div sigmoid sign sin
sinh smooth_l1 SoftmaxActivation softmin softsign sqrt square tan tanh trunc zeros_like _shuffle _linalg_potrf
_linalg_potri _linalg_inverse _copyto adam_update ftml_update ftrl_update lamb_update_phase1 mp_lamb_update_phase1
mp_nag_mom_update mp_sgd_mom_update mp_sgd_update multi_lars nag_mom_update rmsprop_update rmspropalex_update
sgd_mom_update sgd_update signsgd_update signum_update _sparse_adagrad_update
"""
_SAMPLED = "uniform normal gamma exponential poisson negative_binomial generalized_negative_binomial"

_SAME = frozenset([*_SAME_NAMES.split(), *(f"_random_{name}_like" for name in _SAMPLED.split())])
"""Operators whose inputs and outputs are of one shape, besides those of an array and a number."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Dropout", "L2Normalization", "LRN", "softmax", "SequenceMask", "SequenceReverse", "_sparse_retain"),
        elementwise.first,
    ),
    "_identity_with_attr_like_rhs": views.like,
    "FullyConnected": layers.fully_connected,
    **dict.fromkeys(("Convolution", "Convolution_v1"), layers.convolution),
    "Deconvolution": layers.deconvolution,
    **dict.fromkeys(("Pooling", "Pooling_v1"), layers.pooling),
    "IdentityAttachKLSparseReg": layers.with_sparseness,
    **dict.fromkeys((*BATCH_NORMS, "InstanceNorm"), layers.normalization),
    "GroupNorm": layers.group_norm,
    "LayerNorm": layers.layer_norm,
    "LeakyReLU": layers.leaky,
    **dict.fromkeys(("Embedding", "_contrib_SparseEmbedding"), layers.embedding),
    "RNN": layers.recurrent,
    "SoftmaxOutput": layers.label,
    "SVMOutput": layers.label,
    **dict.fromkeys(
        ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"),
        layers.regression,
    ),
    **dict.fromkeys(("Concat", "_rnn_param_concat"), views.concat),
    "SliceChannel": views.slice_channel,
    "Flatten": views.flatten,
    "Reshape": views.reshape,
    "transpose": views.transpose,
    "SwapAxis": views.swap,
    "expand_dims": views.expand,
    **dict.fromkeys(("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "argmax", "argmin"), views.reduction),
    "tile": views.tile,
    "repeat": views.repeat,
    "broadcast_to": views.broadcast_to,
    "Pad": views.pad,
    "dot": views.dot,
    "batch_dot": views.batch_dot,
    "pick": views.pick,
    "take": views.take,
    "one_hot": views.one_hot,
    **{f"_sample_{name}": views.samples for name in _SAMPLED.split()},
    "_sample_multinomial": views.chosen,
    "where": views.where,
    "SequenceLast": views.sequence_last,
    "stack": views.stack,
    **dict.fromkeys(("_zeros", "_ones", "_full", "_zeros_without_dtype"), views.stated),
    **{f"_random_{name}": views.stated for name in ("randint", *_SAMPLED.split())},
    "_arange": views.arange,
    "sort": views.sort,
    "slice": views.cut,
    "slice_axis": views.cut_axis,
    "_linalg_trsm": views.second,
    "UpSampling": layers.upsampling,
    **dict.fromkeys(
        ("_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"), detection.deformable
    ),
    **dict.fromkeys(("_contrib_MultiProposal", "_contrib_Proposal"), detection.proposal),
    **quantized.RULES,
}
"""The rule of each operator that is none of those in the sets above."""


def shape_rule(node: Node, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    """The shapes that follow for the inputs and outputs of a node."""
    assert node.operator is not None
    name = node.operator.name
    if node.operator.open:
        return custom.shapes(node.values, inputs, outputs)
    rule = RULES.get(name)
    if rule is not None:
        return rule(node.values, list(inputs), list(outputs))
    if name in _SAME or name.endswith("_scalar"):
        return elementwise.same(node.values, inputs, outputs)
    if name.startswith("broadcast_") and len(node.operator.attributes) == 0:
        return elementwise.broadcast(node.values, inputs, outputs)
    if all(x is not None and -1 not in x for x in inputs) and any(y is None or -1 in y for y in outputs):
        return inputs, list(output_shapes(node, inputs))
    return inputs, outputs
