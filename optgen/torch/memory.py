"""The memory of a PyTorch parameter, as a kernel takes it: real numbers in C order."""

from __future__ import annotations

import torch

from optgen.execute.sparse import RowSparse


class ParamMemory:
    """A parameter, and the tensor that is bound in its place.

    `tensor` is the parameter itself where it is plain: dense in C order, real. Otherwise it is a view of its memory:
    complex numbers are pairs of real ones, and axes stand in the order in which they lie in memory. `is_copy` says that
    there is no such view (gaps, or `by_memory` is false and the axes do not lie in order); then it is a copy, which
    `load` and `store` keep equal to the parameter. With `by_row`, where a sparse gradient numbers single elements, or
    parts of rows, by several indices, these are the rows of the bound tensor.
    """

    def __init__(
        self, param: torch.Tensor, *, by_memory: bool, always_view: bool = False, by_row: bool = False
    ) -> None:
        self.param = param
        self.is_sparse = param.grad is not None and param.grad.layout == torch.sparse_coo
        self.sparse_dims = param.grad.sparse_dim() if by_row and param.grad is not None else 1
        local = local_tensor(param)
        self.address = local.data_ptr()
        self._axes = _axes_in_memory(local)
        in_order = self._axes == list(range(local.dim()))
        self.is_copy = self._axes is None or not (by_memory or in_order)
        self.is_complex = local.is_complex()
        self.is_plain = local is param and in_order and not self.is_copy and not self.is_complex and not always_view
        if self.is_copy:
            self._axes = list(range(local.dim()))
        self.tensor = param if self.is_plain else self.like_bound(local.detach())

    def like_bound(self, x: torch.Tensor) -> torch.Tensor:
        """A tensor of the parameter's shape and strides as it is bound: a view where `x` lies like the parameter."""
        assert self._axes is not None
        x = x.permute(self._axes) if x.dim() > 1 else x
        if x.is_complex():
            x = torch.view_as_real(x.resolve_conj())
            x = x.flatten(-2) if x.dim() > 1 else x
        if self.sparse_dims > 1:
            x = x.flatten(0, self.sparse_dims - 1)
        return x.resolve_neg().contiguous()

    def empty_state(self, dtype: torch.dtype, *, is_weight: bool) -> torch.Tensor:
        """A new state of the parameter's shape and order; complex as the parameter is, if it is kept like the weight.

        Its memory is bound by `like_bound`.
        """
        model = self.empty_like_meta(dtype, is_weight=is_weight)
        return torch.zeros_like(model, device=self.tensor.device)

    def empty_like_meta(self, dtype: torch.dtype, *, is_weight: bool) -> torch.Tensor:
        """What `empty_state` returns, without memory."""
        local = torch.empty_like(local_tensor(self.param), device="meta")
        if self.is_complex and not is_weight:
            return torch.empty(self.tensor.shape, dtype=dtype, device="meta")
        own = None if self.is_complex else dtype
        return torch.empty_like(local, dtype=own, device="meta", memory_format=self._format())

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
            new = self.tensor
            if self.is_complex:
                new = torch.view_as_complex(new.reshape(*local.shape, 2))
            local.copy_(new.reshape(local.shape))

    def read_grad(self) -> None:
        """Give the bound tensor the parameter's gradient: of the same dtype and order, copied where it is not."""
        if self.is_plain:
            return
        grad = self.param.grad
        if grad is None:
            self.tensor.grad = None
            return
        local = local_tensor(grad)
        if (local.layout == torch.sparse_coo) != self.is_sparse:
            raise TypeError("a gradient that was dense is sparse, or the other way round")
        if local.layout != torch.strided:
            local = local.to_dense()
        self.tensor.grad = self.like_bound(local.detach().to(local_tensor(self.param).dtype))

    def is_current(self) -> bool:
        """Whether the parameter still is the memory that this was made of; a plain one is looked after elsewhere."""
        return self.is_plain or local_tensor(self.param).data_ptr() == self.address


def local_tensor(x: torch.Tensor) -> torch.Tensor:
    """The part of a DTensor that is here; any other tensor is here as a whole."""
    local = getattr(x, "_local_tensor", None)
    return x if local is None else local


def fits(param: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether a plain parameter's gradient can be read where it is."""
    return (
        grad.layout == torch.strided
        and grad.dtype == param.dtype
        and grad.is_contiguous()
        and not grad.is_neg()
        and local_tensor(grad) is grad
    )


def row_sparse(grad: torch.Tensor) -> RowSparse:
    """A sparse COO gradient as the rows that it has; duplicate rows are summed. TypeError if it is dense."""
    if grad.layout != torch.sparse_coo:
        raise TypeError("a gradient that was sparse is dense")
    grad = grad.coalesce()
    indices = grad.indices()[0]
    for size, more in zip(grad.shape[1:], grad.indices()[1:], strict=False):
        indices = indices * size + more
    return RowSparse(indices, grad.values())


def _axes_in_memory(x: torch.Tensor) -> list[int] | None:
    """The axes from the slowest to the fastest; None if the elements do not fill their memory, or overlap."""
    if x.layout != torch.strided:
        return None
    if x.is_contiguous():
        return list(range(x.dim()))
    axes = sorted(range(x.dim()), key=x.stride, reverse=True)
    return axes if x.permute(axes).is_contiguous() else None
