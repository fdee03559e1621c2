"""The functions of the language and the names every spec may use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from optgen.expressions import DRAWS, MATRIX_FUNCTIONS, TRIANGLES, Call
from optgen.model import EPSILON, RESERVED_PARAMS


@dataclass(frozen=True)
class Builtin:
    """A built-in function. With the argument counts in `reduces` it is a reduction, with others elementwise, unless it
    is one `of_matrices`, which takes or makes them as a whole.

    `takes_more`: any number of arguments above the largest count.
    """

    name: str
    counts: tuple[int, ...]
    usage: str
    reduces: tuple[int, ...] = ()
    takes_more: bool = False

    def takes(self, count: int) -> bool:
        """Whether it may have so many arguments."""
        return count in self.counts or (self.takes_more and count > max(self.counts))

    @property
    def of_matrices(self) -> bool:
        return self.name in MATRIX_FUNCTIONS


_ELEMENTWISE = """
sqrt cbrt exp log log1p expm1 tanh sigmoid erf sin cos tan atan abs sign floor ceil round float32 bfloat16
stored
"""

FUNCTIONS: Mapping[str, Builtin] = {
    f.name: f
    for f in (
        *(Builtin(name, (1,), f"{name}(x)") for name in _ELEMENTWISE.split()),
        *(Builtin(name, (1,), f"{name}(A)") for name in TRIANGLES),
        Builtin("pow", (2,), "pow(x, y)"),
        Builtin("atan2", (2,), "atan2(y, x)"),
        Builtin("mod", (2,), "mod(a, b)"),
        Builtin("min", (1, 2), "min(a, b), or min(x) over the elements of x", reduces=(1,), takes_more=True),
        Builtin("max", (1, 2), "max(a, b), or max(x) over the elements of x", reduces=(1,), takes_more=True),
        Builtin("clip", (2, 3), "clip(x, bound) or clip(x, low, high)"),
        Builtin("where", (3,), "where(condition, a, b)"),
        Builtin("sum", (1,), "sum(x)", reduces=(1,)),
        Builtin("mean", (1,), "mean(x)", reduces=(1,)),
        Builtin("norm", (1,), "norm(x)", reduces=(1,)),
        Builtin("rms", (1,), "rms(x)", reduces=(1,)),
        Builtin("dot", (2,), "dot(x, y)", reduces=(2,)),
        Builtin("trace", (1,), "trace(A)"),
        Builtin("diag", (1,), "diag(A) or diag(v)"),
        Builtin("identity", (1, 2), "identity(rows) or identity(rows x r)"),
        Builtin("inverse_root", (2,), "inverse_root(A, p)"),
        Builtin("orthonormal", (1,), "orthonormal(A)"),
        Builtin("eigenvectors", (1,), "eigenvectors(A)"),
        Builtin("eigenvalues", (1,), "eigenvalues(A)"),
        Builtin("solve", (2,), "solve(A, B)"),
        Builtin("singular_values", (1,), "singular_values(A)"),
        Builtin("left_singular_vectors", (1,), "left_singular_vectors(A)"),
        Builtin("right_singular_vectors", (1,), "right_singular_vectors(A)"),
        Builtin("std", (1,), "std(x)", reduces=(1,)),
        *(Builtin(name, (0,), f"{name}(), {name}(per row) or {name}(rows x r)") for name in DRAWS),
    )
}
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
asin acos sinh cosh asinh acosh atanh gamma prod cumsum sort argsort argmax argmin median quantile topk cholesky det
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
    "softmax": "exp(x - max(x))/sum(exp(x - max(x)))",
    "softplus": "log1p(exp(x))",
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


def is_reduction(call: Call) -> bool:
    """Whether a call of a known function reduces."""
    function = FUNCTIONS.get(call.function)
    return function is not None and len(call.args) in function.reduces
