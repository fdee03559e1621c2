"""The arguments of every optimizer, beside those of its spec."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from optgen.execute.step import SEED_LIMIT
from optgen.model import Optimizer

ARGUMENTS: Mapping[str, tuple[Any, str]] = {
    "storage": (None, "how elementwise states are kept, all of them or by name, as `optgen.load` has it"),
    "master": (False, "keep a float32 weight beside each parameter of 16 bits"),
    "seed": (0, "of draws and of random rounding"),
    "capturable": (False, "on a GPU: a captured CUDA graph of a step is a step whenever it is replayed"),
    "clip_norm": (None, "limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before"),
    "fused": (None, "have a GradScaler leave to the step to unscale gradients, and to skip itself"),
    "in_backward": (False, "update each parameter within `backward`, when its gradient is complete, and free that"),
    "donate_grads": (False, "on a CPU: let a step use the memory of gradients, after which `p.grad` is None"),
}
"""The arguments of every optimizer, beside those of its spec: their defaults, and what they are."""
MATMUL = "how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'"


def arguments_of(spec: Optimizer, matmul: str) -> Mapping[str, tuple[Any, str]]:
    """The arguments of an optimizer beside those of its spec; of one with products of matrices, how they are computed
    by default."""
    return {**ARGUMENTS, "matmul": (matmul, MATMUL)} if spec.has_products else ARGUMENTS


def checked_seed(seed: Any) -> int:
    """A seed as an int; ValueError if it is no whole number from 0 to 2^64 - 1."""
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:  # a float, text, None, NumPy's bool
        number = -1
    if not 0 <= number < SEED_LIMIT:
        raise ValueError(f"seed: a whole number from 0 to 2^64 - 1, not {seed!r}")
    return number
