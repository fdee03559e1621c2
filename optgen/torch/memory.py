"""The memory of a PyTorch parameter, as a kernel takes it: real numbers in C order."""

from __future__ import annotations

from typing import Any

import torch

from optgen.execute.sparse import RowSparse


class ParamMemory:
    """A parameter, and the tensor that is bound in its place.

    `tensor` is the parameter itself where it is plain: dense in C order, real. Otherwise it is a view of its memory:
    complex numbers are pairs of real ones, and axes stand in the order in which they lie in memory. `is_copy` says that
    there is no such view (gaps, or `by_memory` is false and the axes do not lie in order); then it is a copy, which
    `load` and `store` keep equal to the parameter. `is_reordered` says that the view has its axes in another order.
    With `always_view`, `tensor` is never the parameter itself, so that it can have a gradient of its own.
    """

    def __init__(self, param: torch.Tensor, *, by_memory: bool = True, always_view: bool = False) -> None:
        self.param = param
        local = local_tensor(param)
        self._place = _place(local)
        axes, in_order = axes_in_memory(local), list(range(local.dim()))
        is_view = local.is_neg() or local.is_conj()  # whose memory does not hold its values
        self.is_copy = axes is None or is_view or not (by_memory or axes == in_order)
        self._axes = in_order if self.is_copy or axes is None else axes
        self.is_reordered = self._axes != in_order
        self.is_complex = local.is_complex()
        self.is_plain = not (always_view or self.is_copy or self.is_reordered or self.is_complex or local is not param)
        self.tensor = param if self.is_plain else self.like_bound(local.detach())

    def like_bound(self, x: torch.Tensor) -> torch.Tensor:
        """A tensor of the parameter's shape as it is bound: a view where `x` lies like the parameter, else a copy.

        `x` may have pairs of real numbers, as a last axis of 2, where the parameter is complex.
        """
        x = as_pairs(x)
        if x.dim() > 1:
            x = x.permute(self._axes_of_pairs)
        if self.is_complex and x.dim() > 1:
            x = x.flatten(-2)
        return x.resolve_neg().contiguous()

    def like_param(self, x: torch.Tensor) -> torch.Tensor:
        """What `like_bound` made this tensor of: a view of the parameter's shape, with pairs where it is complex."""
        if self.is_complex:
            x = x.view(*x.shape[:-1], x.shape[-1] // 2, 2) if self._axes else x
        axes = self._axes_of_pairs
        return x.permute([axes.index(k) for k in range(len(axes))]) if x.dim() > 1 else x

    @property
    def _axes_of_pairs(self) -> list[int]:
        return [*self._axes, len(self._axes)] if self.is_complex else self._axes

    def empty_state(self, dtype: torch.dtype, device: torch.device | str) -> torch.Tensor:
        """A new state of the parameter's shape and order; complex where the parameter is and the state has its dtype,
        otherwise with pairs. `like_bound` gives what is bound."""
        local = local_tensor(self.param)
        model = torch.empty_like(local, device="meta", memory_format=self._format())
        if self.is_complex and dtype != self.tensor.dtype:
            model = torch.view_as_real(model)
        own = model.dtype if model.is_complex() else dtype
        return torch.empty_like(model, dtype=own, device=device)

    def _format(self) -> torch.memory_format:
        return torch.contiguous_format if self.is_copy else torch.preserve_format

    def load(self) -> None:
        """Before a step: have a copy hold the parameter."""
        if self.is_copy:
            self.tensor.copy_(self.like_bound(local_tensor(self.param).detach()))

    def store(self) -> None:
        """After a step: write a copy back."""
        if self.is_copy:
            local = local_tensor(self.param).detach()
            new = self.like_param(self.tensor)
            local.copy_(torch.view_as_complex(new) if self.is_complex else new)

    def read_grad(self) -> None:
        """Give the bound tensor the parameter's gradient: of the same dtype and order, copied where it is not."""
        if self.is_plain:
            return
        grad = self.param.grad
        if grad is None:
            self.tensor.grad = None
            return
        local = local_tensor(grad).detach()
        if local.layout != torch.strided:
            local = local.to_dense()
        self.tensor.grad = self.like_bound(local.to(local_tensor(self.param)))

    def is_current(self) -> bool:
        """Whether the parameter still is the memory that this was made of; a plain one is looked after elsewhere."""
        return self.is_plain or _place(local_tensor(self.param)) == self._place


def local_tensor(x: torch.Tensor) -> torch.Tensor:
    """The part of a DTensor that is here; any other tensor is here as a whole."""
    local = getattr(x, "_local_tensor", None)
    return x if local is None else local


def as_pairs(x: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones, a last axis of 2; other numbers as they are."""
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def fits(param: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether a plain parameter's gradient can be read where it is."""
    return (
        grad.layout == torch.strided
        and grad.dtype == param.dtype
        and grad.is_contiguous()
        and not grad.is_neg()
        and local_tensor(grad) is grad
    )


def is_sparse(grad: torch.Tensor | None) -> bool:
    """Whether a gradient is a sparse COO tensor."""
    return grad is not None and local_tensor(grad).layout == torch.sparse_coo


def row_sparse(grad: torch.Tensor, like: torch.Tensor) -> RowSparse:
    """A sparse COO gradient as the rows in which it has elements; elements of one place are summed.

    Rows are those of `like`, the parameter as it is bound, whose dtype they get.
    """
    grad = grad.detach().coalesce().to(like.dtype)
    indices, values = grad.indices(), grad.values()
    if grad.sparse_dim() == 1:
        return RowSparse(indices[0], values.contiguous())
    rows, places = torch.unique(indices[0], return_inverse=True)
    whole = values.new_zeros((len(rows), *like.shape[1:]))
    whole.index_put_((places, *indices[1:]), values)
    return RowSparse(rows, whole)


def axes_in_memory(x: torch.Tensor) -> list[int] | None:
    """The axes from the slowest to the fastest; None if the elements do not fill their memory, or overlap."""
    if x.layout != torch.strided:
        return None
    if x.is_contiguous():
        return list(range(x.dim()))
    axes = sorted(range(x.dim()), key=x.stride, reverse=True)
    return axes if x.permute(axes).is_contiguous() else None


def _place(x: torch.Tensor) -> tuple[Any, ...]:
    return x.data_ptr(), x.dtype, x.shape, x.stride()
