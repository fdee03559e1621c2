"""The norm of all gradients of an optimizer, and the factor that limits it, as `clip_grad_norm_` has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

EPSILON = 1e-6
"""What PyTorch adds to a norm before it divides by it."""


def check(limit: float | None) -> float | None:
    """A limit of norms; ValueError if it is not a positive number or None."""
    try:
        is_limit = limit is None or (limit is not True and bool(limit > 0))
    except (TypeError, ValueError, RuntimeError):  # text, an array, a tensor of several elements
        is_limit = False
    if not is_limit:
        raise ValueError(f"clip_norm: a positive number or None, not {limit!r}")
    return limit


def gradients(groups: Iterable[dict[str, Any]]) -> list[torch.Tensor]:
    """The gradients that are there, in the order of the parameters."""
    return [p.grad for group in groups for p in group["params"] if p.grad is not None]


@torch.no_grad()
def total_norm(grads: Sequence[torch.Tensor], *, are_scaled: bool = False) -> torch.Tensor:
    """The 2-norm of gradients as if they were one vector, of shape (), on the first one's device.

    Each process with shards gets the norm of the whole. Duplicate entries of sparse gradients are summed first. Norms
    of 16-bit gradients are rounded to 16 bits, as PyTorch's are. Where gradients `are_scaled` they are float32, since
    the norm of scaled float16 numbers may be infinite there.
    """
    terms: dict[Any, list[torch.Tensor]] = {}
    for grad in grads:
        term = grad.coalesce().values() if grad.layout == torch.sparse_coo else grad
        if are_scaled and term.dtype in (torch.float16, torch.bfloat16):
            # The norm of a norm is that norm, so it can stand for its gradient.
            term = torch.linalg.vector_norm(term, dtype=torch.float32)
        terms.setdefault(getattr(term, "device_mesh", None), []).append(term)
    norms = [_whole(torch.nn.utils.get_total_norm(some)) for some in terms.values()] or [
        torch.tensor(0.0, device="cpu")
    ]
    return norms[0] if len(norms) == 1 else torch.nn.utils.get_total_norm(norms)


def _whole(x: torch.Tensor) -> torch.Tensor:
    """The value of a tensor that may be a DTensor, of which each process has a part."""
    full_tensor = getattr(x, "full_tensor", None)
    return x if full_tensor is None else full_tensor()


def coefficient(norm: torch.Tensor, limit: float) -> torch.Tensor:
    """What gradients of this norm are multiplied by: min(1, limit/(norm + 1e-6)), of the norm's dtype.

    It is 0 for an infinite norm, and NaN for one that is NaN.
    """
    return torch.clamp(limit / (norm + EPSILON), max=1.0)
