"""The calls of staged programs: products and functions of matrices, with `optgen.linalg`.

That is imported when it is needed: it takes longer than all else here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optgen.execute.buffers import Array
from optgen.stages.plan import FALLIBLE, GROUPED, TALL, CallStage

if TYPE_CHECKING:
    from optgen.linalg import How, PreparedProduct


def call(
    stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array, how: How = "native"
) -> None:
    """Compute a call; `operands` are as they are stored, and `out` is written."""
    if stage.function == "product":
        _product(stage, operands, numbers, out, how)
    elif stage.function in GROUPED:
        _grouped(stage, operands, numbers, out)
    elif stage.function in FALLIBLE:
        factorize([Request(stage, operands, numbers, out)])
    else:
        pairs = zip(stage.operands, operands, strict=True)
        _FUNCTIONS[stage.function]([x.swapaxes(-1, -2) if of.transposed else x for of, x in pairs], numbers, out)


class Request(NamedTuple):
    """A call of FALLIBLE, for `factorize`."""

    stage: CallStage
    operands: Sequence[Array]
    numbers: Sequence[float]
    out: Array


def factorize(requests: Sequence[Request]) -> None:
    """Compute calls, those of each function in one call of `optgen.linalg`: the threads share their matrices.

    FactorizationError where one has no result; `item` is its place in `requests`, and results of others may have been
    written.
    """
    from optgen import linalg

    groups: dict[tuple[Any, ...], list[int]] = {}
    for k, request in enumerate(requests):
        groups.setdefault((request.stage.function, *request.numbers), []).append(k)
    for (function, *numbers), places in groups.items():
        columns = [_factors(requests[k]) for k in places]
        for k, (a, *_) in zip(places, columns, strict=True):
            if function in TALL and a.shape[-1] > a.shape[-2]:
                raise linalg.FactorizationError(function, a.shape[-2:], too_wide(function), k, ())
        (*operands, out) = (list(column) for column in zip(*columns, strict=True))
        try:
            getattr(linalg, function)(*operands, *numbers, out)
            for k, result in zip(places, out, strict=True):
                if requests[k].stage.turned:
                    requests[k].out[...] = result.swapaxes(-1, -2)
        except linalg.FactorizationError as error:
            error.item = places[error.item]
            raise


def too_wide(function: str) -> str:
    """Why a function of TALL has no result for a matrix."""
    return f"has more columns than rows; take its transpose, as in {function}(A^T)"


def _factors(request: Request) -> list[Array]:
    """Operands and result as matrices."""
    operands, out = _turned(request.stage, request.operands), request.out
    if request.stage.turned:
        out = np.empty_like(out.swapaxes(-1, -2), order="C")
    if request.stage.function == "solve" and operands[1].ndim < operands[0].ndim:
        return [operands[0], operands[1][..., None], out[..., None]]
    return [*operands, out]


def prepare(stage: CallStage, operands: Sequence[Array], out: Array, how: How) -> PreparedProduct | None:
    """A product over fixed arrays, to be computed later; None for another function, and for a product without elements.
    The caller sets the factors of what is added."""
    from optgen import linalg

    return linalg.prepare(**_arguments(stage, operands, (0.0, 0.0), out, how)) if stage.function == "product" else None


def _product(stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array, how: How) -> None:
    from optgen import linalg

    linalg.product(**_arguments(stage, operands, numbers, out, how))


def _arguments(
    stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array, how: How
) -> dict[str, Any]:
    """The arguments of a product. A vector is one row on the left, and one column on the right."""
    from optgen import linalg

    a, b, *added = operands
    addend = linalg.Addend(numbers[0], numbers[1], added[0]) if added else None
    if stage.vectors:
        a = a[..., None, :] if 0 in stage.vectors else a
        b = b[..., None] if 1 in stage.vectors else b
        out = out[..., None, :] if 0 in stage.vectors else out[..., None]
    left, right = (x.transposed for x in stage.operands[:2])
    arrays = {"a": a, "b": b, "out": out, "addend": addend, "how": how}
    return {**arrays, "transpose_a": left, "transpose_b": right, "symmetric": stage.symmetric}


def _turned(stage: CallStage, operands: Sequence[Array]) -> list[Array]:
    found = zip(stage.operands, operands, strict=True)
    return [np.ascontiguousarray(x.swapaxes(-1, -2)) if operand.transposed else x for operand, x in found]


def _grouped(stage: CallStage, operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    """A call of groups of rows or columns."""
    from optgen.execute.stages import group_loops

    group_loops.compute(stage.function, operands[0], numbers, out)


def _transpose(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = operands[0].swapaxes(-1, -2)


def _identity(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    least = min(out.shape[-2:])
    out[...] = 0
    np.einsum("...ii->...i", out[..., :least, :least])[...] = 1


def _trace(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = np.trace(operands[0], axis1=-2, axis2=-1, dtype=np.float64)


def _diagonal(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = np.diagonal(operands[0], axis1=-2, axis2=-1)


def _diag(operands: Sequence[Array], numbers: Sequence[float], out: Array) -> None:
    out[...] = 0
    np.einsum("...ii->...i", out)[...] = operands[0]


_FUNCTIONS: Mapping[str, Callable[[Sequence[Array], Sequence[float], Array], None]] = {
    "transpose": _transpose,
    "identity": _identity,
    "trace": _trace,
    "diagonal": _diagonal,
    "diag": _diag,
}
