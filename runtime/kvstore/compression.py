"""Gradients in few bits. What is lost is kept, and added to the next gradient of the same key and context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runtime.base import MXNetError, did_you_mean
from runtime.kvstore.base import Key


def _two_bits(values: np.ndarray, threshold: float) -> np.ndarray:
    """-threshold, 0 or threshold for each value, the one towards 0 from it."""
    return threshold * ((values >= threshold).astype(values.dtype) - (values <= -threshold).astype(values.dtype))


def _one_bit(values: np.ndarray, threshold: float) -> np.ndarray:
    """1 for values above the threshold, -1 for the others."""
    return 2 * (values > threshold).astype(values.dtype) - 1


_QUANTIZERS: Mapping[str, Callable[[np.ndarray, float], np.ndarray]] = {"2bit": _two_bits, "1bit": _one_bit}


class GradientCompression:
    """What a store's `set_gradient_compression` is given: `type`, '2bit' or '1bit', and `threshold`.

    With 2 bits an element is sent as -threshold, 0 or threshold, with 1 bit as -1 or 1.

    Raises MXNetError for any other parameters, or a threshold for 2 bits that is not above 0.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping) or "type" not in params:
            raise MXNetError(f"gradient compression takes a dict with a 'type', {list(_QUANTIZERS)}, not {params!r}")
        for name in params:
            if name not in ("type", "threshold"):
                raise MXNetError(f"gradient compression has no parameter '{name}'; known: type, threshold")
        self.type, threshold = str(params["type"]), params.get("threshold", 0.5)
        if self.type not in _QUANTIZERS:
            raise MXNetError(f"unknown gradient compression '{self.type}'{did_you_mean(self.type, _QUANTIZERS)}")
        try:
            self.threshold = float(threshold)
        except (TypeError, ValueError):
            raise MXNetError(f"the threshold of gradient compression is a number, not {threshold!r}") from None
        if not np.isfinite(self.threshold) or (self.type == "2bit" and self.threshold <= 0):
            raise MXNetError(f"the threshold of {self.type} gradient compression cannot be {self.threshold}")
        self._residuals: dict[tuple[Key, int], np.ndarray] = {}

    def __call__(self, key: Key, position: int, grad: np.ndarray) -> np.ndarray:
        """What arrives of `grad`, the gradient at this position of the list for `key`: an array of its shape and type.

        The residual is of float32, or of float64 for such a gradient.
        """
        residual = self._residuals.get((key, position))
        if residual is None or residual.shape != grad.shape:
            kept = np.float64 if grad.dtype == np.float64 else np.float32
            residual = self._residuals[key, position] = np.zeros(grad.shape, kept)
        residual += grad
        sent = _QUANTIZERS[self.type](residual, self.threshold).astype(grad.dtype)
        residual -= sent
        return sent
