"""The calls of staged programs in a library of arrays with NumPy's functions: CuPy, PyTorch, NumPy itself.

They mean what those of `optgen.linalg` mean: the same signs, the same smallest eigenvalues, the same errors. How
products are computed, and how factorizations, is the library's affair: on GPUs cuBLAS and cuSOLVER.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from optgen.execute.stages import group_calls
from optgen.execute.stages.calls import Request, too_wide
from optgen.stages.plan import GROUPED, TALL, CallStage


class ArrayCalls:
    """Calls with the functions of `xp`, whose `linalg` has eigh, qr and solve."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp
        self._functions: Mapping[str, Callable[..., Any]] = {
            "inverse_root": self._inverse_root,
            "eigenvectors": lambda a: _times(vectors := xp.linalg.eigh(a)[1], self._signs(vectors)),
            "eigenvalues": lambda a: xp.linalg.eigh(a)[0],
            "orthonormal": self._orthonormal,
            "solve": self._solve,
            "singular_values": lambda a: xp.linalg.svd(a, full_matrices=False)[1],
            "left_singular_vectors": lambda a: self._singular_vectors(a)[0],
            "right_singular_vectors": lambda a: self._singular_vectors(a)[1],
        }

    def call(
        self, stage: CallStage, operands: Sequence[Any], numbers: Sequence[float], out: Any, how: str = "native"
    ) -> None:
        """Compute a call that cannot fail. Products are the library's, of factors that are rounded before if `how` is
        "bfloat16"."""
        given = [_turned(a, x.transposed) for a, x in zip(operands, stage.operands, strict=True)]
        match stage.function:
            case function if function in GROUPED:
                group_calls.compute(self._xp, function, given[0], numbers, out)
            case "product":
                a, b = map(_rounded, given) if how == "bfloat16" else given
                out[...] = _product(a, b, stage.vectors)
            case "transpose":
                out[...] = given[0].swapaxes(-1, -2)
            case "identity":
                out[...] = 0
                _diagonal(out)[...] = 1
            case "diag":
                out[...] = 0
                _diagonal(out)[...] = given[0]
            case "trace":
                out[...] = _diagonal(given[0]).sum(-1, dtype=self._xp.float64)
            case "diagonal":
                out[...] = _diagonal(given[0])

    def factorize(self, requests: Sequence[Request]) -> None:
        """Compute calls that may fail, one after the other; see `calls.factorize`."""
        from optgen.linalg import FactorizationError

        for k, (stage, operands, numbers, out) in enumerate(requests):
            given = [_turned(a, x.transposed) for a, x in zip(operands, stage.operands, strict=True)]
            shape = tuple(given[0].shape[-2:])
            if stage.function in TALL and shape[1] > shape[0]:
                raise FactorizationError(stage.function, shape, too_wide(stage.function), k, ())
            if not all(self._is_finite(a) for a in given):
                raise FactorizationError(stage.function, shape, "has a NaN or an infinity", k, ())
            try:
                found = self._functions[stage.function](*given, *numbers)
                failed = not self._is_finite(found)
            except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's LinAlgError is one
                failed = True
            if failed:
                raise FactorizationError(stage.function, shape, "has no factorization that was found", k, ())
            out[...] = _turned(found, stage.turned)

    def _is_finite(self, a: Any) -> bool:
        return bool(self._xp.isfinite(a).all())

    # ------------------------------------------------------------ factorizations

    def _inverse_root(self, a: Any, p: float) -> Any:
        """See `optgen.linalg.inverse_root`; matrices are scaled by a power of 2, as there."""
        xp, info = self._xp, np.finfo(str(a.dtype).removeprefix("torch."))
        if not a.size if isinstance(a.size, int) else not a.numel():
            return a
        largest = xp.amax(abs(a), (-2, -1))[..., None, None]
        exponent = xp.floor(xp.log2(xp.where(largest > 0, largest, 1.0)))
        values, vectors = xp.linalg.eigh(a * 2.0**-exponent)
        least = 8 * float(info.eps) * values[..., -1:]
        tiny = float(info.tiny) * 2.0 ** -exponent[..., 0]
        least = xp.where(least > tiny, least, tiny)
        raised = xp.where(values > least, values, least)
        half = vectors * (raised ** (-0.5 / p))[..., None, :]
        return (half @ half.swapaxes(-1, -2)) * 2.0 ** (-exponent / p)

    def _signs(self, vectors: Any) -> Any:
        """The factors that make the element with the largest absolute value of each column positive."""
        xp = self._xp
        if 0 in vectors.shape:
            return vectors.sum(-2)
        highest, lowest = xp.amax(vectors, -2), xp.amin(vectors, -2)
        return xp.where(highest >= -lowest, 1.0, -1.0)

    def _singular_vectors(self, a: Any) -> tuple[Any, Any]:
        u, _, rows = self._xp.linalg.svd(a, full_matrices=False)
        signs = self._signs(u)
        return _times(u, signs), _times(rows.swapaxes(-1, -2), signs)

    def _orthonormal(self, a: Any) -> Any:
        q, r = self._xp.linalg.qr(a)
        return _times(q, self._xp.where(_diagonal(r) < 0, -1.0, 1.0))

    def _solve(self, a: Any, b: Any) -> Any:
        if b.ndim < a.ndim:
            return self._xp.linalg.solve(a, b[..., None])[..., 0]
        return self._xp.linalg.solve(a, b)


def _times(vectors: Any, factors: Any) -> Any:
    """Columns times a number each."""
    return vectors * factors[..., None, :]


def _turned(a: Any, is_transposed: bool) -> Any:
    return a.swapaxes(-1, -2) if is_transposed else a


def _rounded(a: Any) -> Any:
    """Numbers rounded to bfloat16, in their own dtype."""
    return a.bfloat16().to(a.dtype) if hasattr(a, "bfloat16") else a.astype(ml_dtypes.bfloat16).astype(a.dtype)


def _product(a: Any, b: Any, vectors: Sequence[int]) -> Any:
    """A product. A vector is one row on the left, and one column on the right."""
    a = a[..., None, :] if 0 in vectors else a
    b = b[..., None] if 1 in vectors else b
    found = a @ b
    if 0 in vectors:
        return found[..., 0, :]
    return found[..., 0] if 1 in vectors else found


def _diagonal(a: Any) -> Any:
    """The diagonal of contiguous matrices, as a view."""
    rows, cols = a.shape[-2:]
    return a.reshape(*a.shape[:-2], rows * cols)[..., : min(rows, cols) * cols : cols + 1] if cols else a[..., 0]
