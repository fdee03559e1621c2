"""The gradients that kernels read: the caller's tensors, or dense copies of row-sparse ones whose zero rows count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import LoadedKernel, Rows
from optgen.execute.protocols import Device
from optgen.execute.storage import code_rows
from optgen.execute.tensors import sparse
from optgen.execute.tensors.sparse import RowSparse
from optgen.ir.storage import QUANT_BLOCK

NOT_BY_ROW = Rows()


@dataclass(frozen=True)
class GivenGradients:
    """Where a step finds gradients: in the list, or without one as `x.grad` of the `sources`. `each` is how many are
    summed for a parameter, `lazy` whether rows that a row-sparse one lacks stay as they are, and `donated` whether the
    step may overwrite them."""

    listed: Sequence[Any] | None
    sources: Sequence[Any]
    each: int
    lazy: bool
    donated: bool


@dataclass(frozen=True, slots=True)
class CheckedGradient:
    """The gradient of a parameter: dense tensors that are summed, or the rows of a sparse one, numbered by `index`."""

    tensors: Sequence[Tensor]
    index: Array | None = None

    def is_only(self, x: Array) -> bool:
        """Whether it is this one array, and dense."""
        return self.index is None and len(self.tensors) == 1 and x is self.tensors[0].owner


class Gradients:
    """The gradients of parameters whose `kernels` are chosen.

    `by_row` says of each parameter whether it is always updated row by row, as its blocks of codes restart at each row.
    With `lazy`, a kernel that can updates only the rows that a row-sparse gradient has. `donated`: kernels may write to
    gradients.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        kernels: Sequence[LoadedKernel],
        by_row: Sequence[bool],
        lazy: bool,
        device: Device,
        donated: bool,
    ) -> None:
        self._device, self._donated = device, donated
        self._params, self._kernels, self._by_row, self._lazy = params, kernels, by_row, lazy
        self._dense_copies: dict[int, _DenseCopy] = {}

    def check(self, grads: Mapping[int, Any]) -> dict[int, CheckedGradient]:
        """The gradients of parameters, by their numbers. TypeError and ValueError name one that cannot be used."""
        return {i: self._check(i, grad) for i, grad in grads.items()}

    def _check(self, i: int, grad: Any) -> CheckedGradient:
        name, param, kernel = f"grads[{i}]", self._params[i], self._kernels[i]
        is_sparse = isinstance(grad, RowSparse)
        several = _is_list_of_gradients(grad)
        count = len(grad) if several else 1
        if count != kernel.variant.gradients:
            raise ValueError(f"{name}: {count} gradients, where {kernel.variant.gradients} were bound; bind it anew")
        flag = kernel.variant.flags.get("sparse")
        if flag is not None and flag != (is_sparse and self._lazy and kernel.native.lazy):
            found = "row-sparse" if is_sparse else "dense"
            raise ValueError(f"{name}: {found}, for which its parameter has another kernel; bind it anew")
        if not isinstance(grad, RowSparse):
            named = [(x, f"{name}[{k}]") for k, x in enumerate(grad)] if several else [(grad, name)]
            return CheckedGradient([self._dense(i, x, where) for x, where in named])
        if self._donated:
            raise ValueError(
                f"{name}: row-sparse; donate_grads gives away the memory of dense gradients, so leave it out"
            )
        if self._is_lazy(i) and kernel.is_quantized and not self._by_row[i]:
            raise ValueError(
                f"{name}: row-sparse, but the blocks of codes of its parameter's states run on from row to row; "
                "make the state with init(params, row_sparse=[...])"
            )
        if self._device.is_capturable:
            raise ValueError(f"{name}: row-sparse; the host reads its row numbers, so its step cannot be capturable")
        index, values = sparse.check(grad, param, kernel.native.dtype, name, self._device)
        return CheckedGradient([values], index)

    def _dense(self, i: int, grad: Any, name: str) -> Tensor:
        tensor = self._device.tensor(grad, name)
        buffers.check(tensor, self._kernels[i].native.dtype, self._params[i].shape, "its parameter")
        if self._donated:
            buffers.check_writable(tensor)
        return tensor

    def reads(self, i: int, grad: CheckedGradient) -> tuple[Sequence[Tensor], Rows]:
        """The tensors that the kernel of parameter i reads for a gradient, and the rows of the parameter it updates."""
        if grad.index is None:
            return grad.tensors, self._all_rows(i)
        (values,) = grad.tensors
        if self._is_lazy(i):
            index = grad.index if self._params[i].size else grad.index[:0]  # rows without elements are not updated
            return grad.tensors, Rows(len(index), index)
        copy = self._dense_copies.setdefault(i, _DenseCopy(self._params[i], values.dtype, self._device))
        return [copy.fill(grad.index, values)], self._all_rows(i)

    def _is_lazy(self, i: int) -> bool:
        return self._lazy and self._kernels[i].native.lazy and not self._kernels[i].variant.boxes

    def _all_rows(self, i: int) -> Rows:
        return all_rows(self._params[i], self._kernels[i]) if self._by_row[i] else NOT_BY_ROW


def are_bound(grads: Sequence[Any], held: Any) -> bool:
    """Whether `held`, what `check` gave for all parameters, is that of these gradients: arrays of NumPy, which stay
    where they are."""
    if not isinstance(held, Mapping) or len(held) != len(grads):
        return False
    return all(type(x) is np.ndarray and held[i].is_only(x) for i, x in enumerate(grads))


def found_gradients(params: Sequence[Any]) -> list[Any]:
    """The `.grad` of each parameter; ValueError naming one that cannot have any."""
    try:
        return [x.grad for x in params]
    except AttributeError:
        for i, x in enumerate(params):
            if not hasattr(x, "grad"):
                raise ValueError(f"params[{i}]: a {type(x).__name__} has no .grad; pass grads to bind") from None
        raise


def _count(grad: Any) -> int:
    """The number of gradients that a caller gave for one parameter: one, or as many as the list has."""
    return len(grad) if _is_list_of_gradients(grad) else 1


def gradients_per_param(grads: Sequence[Any]) -> int:
    """The number of gradients that are summed for each parameter; ValueError where parameters differ in it."""
    counts = set(map(_count, grads))
    if len(counts) > 1 or 0 in counts:
        raise ValueError(f"grads: as many for each parameter are summed, and not {sorted(counts)}")
    return counts.pop() if counts else 1


def _is_list_of_gradients(grad: Any) -> bool:
    # A list of numbers is a mistake: one gradient that was not made an array.
    return isinstance(grad, list | tuple) and not isinstance(next(iter(grad), None), int | float)


def all_rows(param: Tensor, kernel: LoadedKernel) -> Rows:
    """All rows of a parameter whose blocks of codes restart at each row. It is updated row by row where a row is no
    whole number of blocks. A single number counts as one row. A parameter without elements has no rows."""
    count, length = code_rows(param.shape, True, kernel.native.last_two)
    if length % QUANT_BLOCK == 0:
        return NOT_BY_ROW
    return Rows(count if param.size else 0)


class _DenseCopy:
    """A dense gradient on the device: the rows of the last sparse one, and zeros."""

    def __init__(self, param: Tensor, dtype: str, device: Device) -> None:
        self._device = device
        self._array = device.full(param.shape, dtype, 0.0, param)
        self._tensor = device.tensor(self._array, "gradient")
        self._written = np.zeros(0, np.int64)

    def fill(self, index: Array, values: Tensor) -> Tensor:
        self._device.set_rows(self._array, self._written, index, values)
        self._written = index
        return self._tensor
