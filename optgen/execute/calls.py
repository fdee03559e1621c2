"""The calls of staged programs: products and functions of matrices, with `optgen.linalg`.

That is imported when it is needed: it takes longer than all else here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from optgen.execute.buffers import Array
from optgen.stages.plan import CallStage

if TYPE_CHECKING:
    from optgen.linalg import How


def call(
    stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array, how: How = "native"
) -> None:
    """Compute a call; `operands` are as they are stored, and `out` is written."""
    if stage.function == "product":
        _product(stage, operands, numbers, out, how)
    else:
        _FUNCTIONS[stage.function](_turned(stage, operands), numbers, out)


def _product(stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array, how: How) -> None:
    """A product. A vector is one row on the left, and one column on the right."""
    from optgen import linalg

    a, b, *added = operands
    addend = linalg.Addend(numbers[0], numbers[1], added[0]) if added else None
    if stage.vectors:
        a = a[..., None, :] if 0 in stage.vectors else a
        b = b[..., None] if 1 in stage.vectors else b
        out = out[..., None, :] if 0 in stage.vectors else out[..., None]
    left, right = (x.transposed for x in stage.operands[:2])
    linalg.product(a, b, out, transpose_a=left, transpose_b=right, symmetric=stage.symmetric, how=how, addend=addend)


def _turned(stage: CallStage, operands: Sequence[Array]) -> list[Array]:
    found = zip(stage.operands, operands, strict=True)
    return [np.ascontiguousarray(x.swapaxes(-1, -2)) if operand.transposed else x for operand, x in found]


def _transpose(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = operands[0].swapaxes(-1, -2)


def _identity(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = np.eye(out.shape[-1], dtype=out.dtype)


def _trace(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = np.trace(operands[0], axis1=-2, axis2=-1, dtype=np.float64)


def _diagonal(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = np.diagonal(operands[0], axis1=-2, axis2=-1)


def _diag(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = 0
    np.einsum("...ii->...i", out)[...] = operands[0]


def _inverse_root(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    from optgen import linalg

    linalg.inverse_root([operands[0]], numbers[0], [out])


def _orthonormal(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    from optgen import linalg

    linalg.orthonormal([operands[0]], [out])


def _eigenvectors(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    from optgen import linalg

    linalg.eigenvectors([operands[0]], [out])


def _eigenvalues(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    from optgen import linalg

    linalg.eigenvalues([operands[0]], [out])


def _solve(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    a, b = operands
    if b.ndim < a.ndim:
        b, out = b[..., None], out[..., None]
    from optgen import linalg

    linalg.solve([a], [b], [out])


_FUNCTIONS: Mapping[str, Callable[[Sequence[Array], Sequence[float], Array], None]] = {
    "transpose": _transpose,
    "identity": _identity,
    "trace": _trace,
    "diagonal": _diagonal,
    "diag": _diag,
    "inverse_root": _inverse_root,
    "orthonormal": _orthonormal,
    "eigenvectors": _eigenvectors,
    "eigenvalues": _eigenvalues,
    "solve": _solve,
}
