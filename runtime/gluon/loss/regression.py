"""Losses of regression."""

from __future__ import annotations

import math
from typing import Any

from runtime.gluon.loss.base import Loss, like
from runtime.ndarray import NDArray


class L2Loss(Loss):
    """`weight/2 (label - pred)^2`, the mean over each sample's elements. `label` has as many elements as `pred`."""

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = F.square(like("L2Loss", label, pred) - pred) * 0.5
        return self._per_sample(F, loss, sample_weight)


class L1Loss(Loss):
    """`|label - pred|`, the mean over each sample's elements. `label` has as many elements as `pred`."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        return self._per_sample(F, F.abs(like("L1Loss", label, pred) - pred), sample_weight)


class HuberLoss(Loss):
    """`d^2/(2 rho)` where `d = |label - pred|` is at most `rho`, and `d - rho/2` beyond; the mean over each sample."""

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        d = F.abs(like("HuberLoss", label, pred) - pred)
        loss = F.where(d > self._rho, d - 0.5 * self._rho, F.square(d) * (0.5 / self._rho))
        return self._per_sample(F, loss, sample_weight)


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of counts whose expected value is `pred`; the mean over *all* elements, (1,).

    Parameters
    ----------
    from_logits: `pred` is the logarithm of the expected count: `exp(pred) - target pred`. Otherwise it is the count:
        `pred - target log(pred + epsilon)`.
    compute_full: add, where `target > 1`, Stirling's `target log(target) - target + log(2 pi target)/2`.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: NDArray, target: NDArray, sample_weight: NDArray | None = None, epsilon: float = 1e-8
    ) -> NDArray:
        target = like("PoissonNLLLoss", target, pred, "target")
        expected, log = (F.exp(pred), pred) if self._from_logits else (pred, F.log(pred + epsilon))
        loss = expected - target * log
        if self._compute_full:
            counts = F.maximum(
                target, 1.0
            )  # the term is not used where target <= 1, and its logarithm may not exist there
            stirling = counts * F.log(counts) - counts + 0.5 * F.log(2 * math.pi * counts)
            loss = loss + stirling * (target > 1)
        return F.mean(self._weighted(F, loss, sample_weight))
