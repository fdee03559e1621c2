"""In which precision operators of `nd` compute under mixed precision. Those that are not here take what they are given.

The choice is MXNet's.
"""

from __future__ import annotations

LP16 = {
    "float16": ("Convolution", "Deconvolution", "FullyConnected", "RNN"),
    "bfloat16": ("Convolution", "FullyConnected"),
}
"""Those that compute in 16 bits, by the type of these."""

FP32 = (
    *("arccos", "arcsin", "arctanh", "cosh", "erfinv", "sinh", "tan"),
    *("exp", "expm1", "log", "log10", "log1p", "log2"),
    *("broadcast_hypot", "broadcast_power", "power", "rcbrt", "reciprocal", "rsqrt", "square"),
    *("khatri_rao", "mean", "moments", "nanprod", "nansum", "norm", "prod", "sum", "sum_axis"),
    *("argsort", "gamma", "gammaln", "topk"),
    *("linalg_det", "linalg_extractdiag", "linalg_extracttrian", "linalg_gelqf", "linalg_gemm", "linalg_gemm2"),
    *("linalg_inverse", "linalg_makediag", "linalg_maketrian", "linalg_potrf", "linalg_potri", "linalg_slogdet"),
    *("linalg_sumlogdiag", "linalg_syrk", "linalg_trmm", "linalg_trsm"),
    *("CTCLoss", "ctc_loss", "MakeLoss", "make_loss", "smooth_l1", "softmax_cross_entropy"),
    *("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "SVMOutput", "SoftmaxOutput"),
    *("SoftmaxActivation", "log_softmax", "softmax", "softmin"),
    *("GroupNorm", "InstanceNorm", "L2Normalization", "LRN", "LayerNorm"),
)
"""Those that compute in float32."""

FP32_OF_BFLOAT16 = ("Deconvolution", "RNN")
"""Those that compute in float32 where the 16 bits are bfloat16."""

CONDITIONAL_FP32 = (("Activation", "act_type", ("softrelu",)), ("LeakyReLU", "act_type", ("elu", "selu")))
"""Those that compute in float32 if an argument has one of these values."""

WIDEST = (
    *("ElementWiseSum", "add_n", "Concat", "concat", "stack", "where", "Correlation", "batch_dot", "dot"),
    *("add", "subtract", "multiply", "divide", "true_divide", "modulo", "maximum", "minimum"),
    *("broadcast_add", "broadcast_div", "broadcast_maximum", "broadcast_minimum", "broadcast_minus", "broadcast_mod"),
    *("broadcast_mul", "broadcast_plus", "broadcast_sub"),
    *("elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub"),
    *("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"),
    *("broadcast_equal", "broadcast_not_equal", "broadcast_greater", "broadcast_greater_equal"),
    *("broadcast_lesser", "broadcast_lesser_equal"),
    *("logical_and", "logical_or", "logical_xor"),
    *("broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor"),
)
"""Those whose arrays must have one type, which is float32 if one of them has it. Python's symbols are such, too."""

LOSS_OUTPUTS = ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "SoftmaxOutput")
"""Those whose gradient does not depend on that of their result: the scale of the loss becomes their `grad_scale`."""
