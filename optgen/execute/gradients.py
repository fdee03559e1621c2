"""Where kernels find gradients: in the caller's memory, or, where they need all rows of a sparse one, in a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.execute import buffers, sparse
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import Kernel
from optgen.execute.sparse import RowSparse

if TYPE_CHECKING:
    from optgen.execute.device import Device

WHOLE = -1


@dataclass(frozen=True, slots=True)
class Rows:
    """What of a parameter a kernel updates: all of it, or `count` rows, which `index` numbers (None: all, in order)."""

    count: int = WHOLE
    index: Array | None = None


ALL = Rows()


@dataclass(frozen=True, slots=True)
class Checked:
    """A gradient that can be used: several that are summed, or one, of which `index` are the rows if it is
    row-sparse."""

    tensors: Sequence[Tensor]
    index: Array | None = None


class Gradients:
    """The gradients of parameters whose `kernels` are chosen.

    `by_row`: parameters that are always updated by rows, as their 8-bit blocks restart at each; `lazy`: only rows that
    are present are updated, where the kernel can.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        kernels: Sequence[Kernel],
        by_row: Sequence[bool],
        lazy: bool,
        device: Device,
    ) -> None:
        self._device = device
        self._params, self._kernels, self._by_row, self._lazy = params, kernels, by_row, lazy
        self._scratch: dict[int, _Scratch] = {}

    def check(self, grads: Mapping[int, Any]) -> dict[int, Checked]:
        """The gradients of these parameters, checked one by one; nothing has changed yet."""
        return {i: self._check(i, grad) for i, grad in grads.items()}

    def _check(self, i: int, grad: Any) -> Checked:
        name, param, kernel = f"grads[{i}]", self._params[i], self._kernels[i]
        is_sparse = isinstance(grad, RowSparse)
        several = _is_several(grad)
        count = len(grad) if several else 1
        if count != kernel.variant.gradients:
            raise ValueError(f"{name}: {count} gradients, where {kernel.variant.gradients} were bound; bind it anew")
        flag = kernel.variant.flags.get("sparse")
        if flag is not None and flag != (is_sparse and self._lazy and kernel.native.lazy):
            found = "row-sparse" if is_sparse else "dense"
            raise ValueError(f"{name}: {found}, for which its parameter has another kernel; bind it anew")
        if not isinstance(grad, RowSparse):
            named = [(x, f"{name}[{k}]") for k, x in enumerate(grad)] if several else [(grad, name)]
            return Checked([self._dense(i, x, where) for x, where in named])
        if self._is_lazy(i) and kernel.is_quantized and not self._by_row[i]:
            raise ValueError(
                f"{name}: row-sparse, but the 8-bit blocks of its parameter's states run on from row to row; "
                "make the state with init(params, row_sparse=[...])"
            )
        index, values = sparse.check(grad, param, kernel.native.dtype, name, self._device)
        return Checked([values], index)

    def _dense(self, i: int, grad: Any, name: str) -> Tensor:
        tensor = self._device.tensor(grad, name)
        buffers.check(tensor, self._kernels[i].native.dtype, self._params[i].shape, "its parameter")
        return tensor

    def place(self, i: int, grad: Checked) -> tuple[Sequence[Tensor], Rows]:
        """What the kernel of parameter i reads, and the rows of the parameter it updates."""
        if grad.index is None:
            return grad.tensors, self._all_rows(i)
        (values,) = grad.tensors
        if self._is_lazy(i):
            index = grad.index if self._params[i].size else grad.index[:0]  # rows without elements are not updated
            return grad.tensors, Rows(len(index), index)
        scratch = self._scratch.setdefault(i, _Scratch(self._params[i], values.dtype, self._device))
        return [scratch.fill(grad.index, values)], self._all_rows(i)

    def _is_lazy(self, i: int) -> bool:
        return self._lazy and self._kernels[i].native.lazy

    def _all_rows(self, i: int) -> Rows:
        return all_rows(self._params[i]) if self._by_row[i] else ALL


def how_many(grad: Any) -> int:
    """How many gradients there are in the place of one."""
    return len(grad) if _is_several(grad) else 1


def _is_several(grad: Any) -> bool:
    # Numbers in a list are no gradients, but the mistake of who forgot to make an array of them.
    return isinstance(grad, list | tuple) and not isinstance(next(iter(grad), None), int | float)


def all_rows(param: Tensor) -> Rows:
    return Rows((param.shape[0] if param.size else 0) if param.shape else 1)


class _Scratch:
    """A dense gradient: zero but for the rows it was last filled with."""

    def __init__(self, param: Tensor, dtype: str, device: Device) -> None:
        self._device = device
        self._array = device.full(param.shape, dtype, 0.0)
        self._tensor = device.tensor(self._array, "gradient")
        self._written = np.zeros(0, np.int64)

    def fill(self, index: Array, values: Tensor) -> Tensor:
        self._device.set_rows(self._array, self._written, index, values)
        self._written = index
        return self._tensor
