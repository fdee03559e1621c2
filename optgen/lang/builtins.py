"""The names every spec may use, and what other languages call things.

The functions of the language are in `optgen.functions`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from optgen.model import EPSILON, RESERVED_PARAMS

CONSTANTS: Mapping[str, float] = {"pi": math.pi}
"""Names that stand for a number, unless a spec defines them itself."""

TENSORS = ("w", "grad", "g")
"""The weight, the raw gradient, and the rescaled and clipped one."""
SPARSE = "sparse"
"""The reserved flag that holds in a row-sparse update."""
RESERVED: Mapping[str, str] = {
    "w": "the weight",
    "grad": "the gradient as it comes in",
    "g": "the gradient, rescaled and clipped",
    "t": "the update count of the parameter",
    "step": "the shared update count",
    "rank": "the number of dimensions",
    "size": "the number of elements",
    "rows": "the number of rows",
    "cols": "the number of columns",
    "matrices": "the number of matrices",
    "sparse": "row-sparse updates",
    EPSILON: "the machine epsilon of the dtype",
} | {name: f"the {p.doc}" for name, p in RESERVED_PARAMS.items()}
"""Every reserved name, and its meaning."""

COMMON_NAMES: Mapping[str, str] = {
    "learning_rate": "lr",
    "eta": "lr",
    "weight_decay": "wd",
    "weight": "w",
    "weights": "w",
    "theta": "w",
    "gradient": "grad",
    "grads": "grad",
    "num_update": "step",
    "iteration": "t",
    "ndim": "rank",
    "numel": "size",
    "zeros": "0",
    "ones": "1",
    "I": "identity(rows)",
}
"""Names that are common elsewhere -> the reserved name."""

_ABSENT = """
asin acos sinh asinh acosh atanh gamma prod cumsum sort argsort argmax argmin median quantile topk cholesky det
expm logm kron fft reshape concat
"""
_POLAR = "X@inverse_root(X^T@X, 2), or the loop of muon"
COMMON_FUNCTIONS: Mapping[str, str | None] = {
    "ln": "log(x)",
    "log2": "log(x)/log(2)",
    "log10": "log(x)/log(10)",
    "exp2": "2^x",
    "power": "pow(x, y), or x^y",
    "square": "x^2",
    "sqr": "x^2",
    "rsqrt": "1/sqrt(x)",
    "fabs": "abs(x)",
    "sgn": "sign(x)",
    "trunc": "sign(x)*floor(abs(x))",
    "relu": "max(x, 0)",
    "maximum": "max(a, b)",
    "minimum": "min(a, b)",
    "clamp": "clip(x, low, high)",
    "rint": "round(x)",
    "fmod": "sign(a)*mod(abs(a), abs(b))",
    "remainder": "mod(a, b)",
    "arctan": "atan(x)",
    "arctan2": "atan2(y, x)",
    "erfc": "1 - erf(x)",
    "average": "mean(x)",
    "var": "mean((x - mean(x))^2)",
    "norm1": "sum(abs(x))",
    "norm2": "norm(x)",
    "l2_norm": "norm(x)",
    "normalize": "x/max(norm(x), 1e-12)",
    "cosine_similarity": "dot(x, y)/max(norm(x)*norm(y), 1e-12)",
    "log_softmax": "x - logsumexp(x)",
    "logaddexp": "max(a, b) + softplus(-abs(a - b))",
    "logcosh": "abs(x) + softplus(-2*abs(x)) - log(2)",
    "silu": "x*sigmoid(x)",
    "gelu": "0.5*x*(1 + erf(x/sqrt(2)))",
    "softmax": "exp(x - logsumexp(x))",
    "lerp": "a + c*(b - a)",
    "isnan": "x != x",
    "nan_to_num": "where(x != x, 0, x)",
    "bernoulli": "z = uniform(), on a line of its own, then where(z < p, 1, 0)",
    "ema": "m' = beta*m + (1 - beta)*x, with 'state m = 0'",
    "matmul": "A@B",
    "mm": "A@B",
    "outer": "u*v, of a row and a col",
    "transpose": "A^T",
    "eye": "identity(rows)",
    "inv": "solve(A, identity(rows))",
    "pinv": "solve(A^T@A, A^T)",
    "sqrtm": "A@inverse_root(A, 2)",
    "eigh": "eigenvectors(A), eigenvalues(A)",
    "svd": "left_singular_vectors(A), singular_values(A), right_singular_vectors(A)",
    "qr": "orthonormal(A)",
    "msign": _POLAR,
    "polar": _POLAR,
    "newton_schulz": _POLAR,
    "orthogonalize": _POLAR,
    "randn": "normal()",
    "rand": "uniform()",
    "random": "uniform()",
} | dict.fromkeys(_ABSENT.split())
"""Functions of other languages -> what to write instead, None if there is nothing like it."""

API_NAMES = frozenset(
    (
        "learning_rate",
        "lr_scheduler",
        "begin_num_update",
        "multi_precision",
        "param_dict",
        "param_idx2name",
        "self",
        "spec",
        "dtype",
        "master",
        "weights",
        "storage",
        "target",
        "matmul",
        "lazy_update",
    )
)
"""Arguments that every optimizer has in Python. No param or flag can have their names."""


METHODS = frozenset((
    "add_param_group", "advance", "capturable", "clip_norm", "conversion", "defaults", "describe", "donate_grads",
    "due", "evaluate", "found_inf", "grad_norm", "grad_scale", "gradient_factor", "hooked", "in_backward", "launch",
    "load_state_dict", "numbers_of", "param_groups", "phases", "prepare", "profile", "rebind", "rule", "run",
    "seed", "source", "spelling", "state", "state_dict", "state_keys", "step", "updates_rows", "zero_grad",
))  # fmt: skip
"""Attributes that steps and optimizers have in Python. No phase, which is a method of both, can have their names."""
