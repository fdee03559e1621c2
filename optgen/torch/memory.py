"""A parameter as a kernel takes it: its memory, and the part of it that this process has, if it is sharded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed import ProcessGroup, all_reduce
from torch.nn.parameter import is_lazy

from optgen.execute.buffers import Array
from optgen.execute.piece import Bounds, Box
from optgen.execute.rule import UpdateRule
from optgen.execute.tensors.sparse import RowSparse
from optgen.model import DIMENSIONS, Optimizer
from optgen.torch import features
from optgen.torch.features import with_huge_pages

# ---------------------------------------------------------------- memory

Form = tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]
"""The dtype, shape and strides of a tensor."""


class ParamMemory:
    """A parameter, and the tensor that is bound in its place.

    `tensor` is the parameter itself where it is plain: dense in C order, real. Otherwise it is a view of its memory:
    complex numbers are pairs of real ones, and axes stand in the order in which they lie in memory. `is_copy` says that
    there is no such view (gaps, or `by_memory` is false and the axes do not lie in order); then it is a copy, which
    `load` and `store` keep equal to the parameter. `is_reordered` says that the view has its axes in another order.
    With `always_view`, `tensor` is never the parameter itself, so that it can have a gradient of its own. The first
    `flat_axes` axes are bound as one, for sparse gradients that number single elements by as many indices.
    """

    def __init__(
        self, param: torch.Tensor, *, by_memory: bool = True, always_view: bool = False, flat_axes: int = 1
    ) -> None:
        self.param, self.flat_axes = param, flat_axes
        self._reads_sparse = has_sparse_rows(param.grad)
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
        if self.flat_axes > 1:
            x = x.flatten(0, self.flat_axes - 1)
        return x.resolve_neg().contiguous()

    def like_param(self, x: torch.Tensor) -> torch.Tensor:
        """What `like_bound` made this tensor of: a view of the parameter's shape, with pairs where it is complex."""
        shape, axes = local_tensor(self.param).shape, self._axes_of_pairs
        x = x.view([*(shape[k] for k in self._axes), *([2] if self.is_complex else [])])
        return x.permute([axes.index(k) for k in range(len(axes))])

    @property
    def _axes_of_pairs(self) -> list[int]:
        return [*self._axes, len(self._axes)] if self.is_complex else self._axes

    def empty_state(self, dtype: torch.dtype, device: torch.device | str) -> torch.Tensor:
        """A new state of the parameter's shape and order; complex where the parameter is and the state has its dtype,
        otherwise with pairs. `like_bound` gives what is bound."""
        local = local_tensor(self.param)
        if not self.is_complex:
            return with_huge_pages(torch.empty_like(local, dtype=dtype, device=device, memory_format=self._format()))
        model = torch.empty_like(local, device="meta", memory_format=self._format())
        if dtype != self.tensor.dtype:
            model = torch.view_as_real(model)
        own = model.dtype if model.is_complex() else dtype
        return with_huge_pages(torch.empty_like(model, dtype=own, device=device))

    def form(self, dtype: torch.dtype) -> Form:
        """The dtype, shape and strides of `empty_state`."""
        if self.is_complex or self.is_copy:
            state = self.empty_state(dtype, "meta")
            return state.dtype, state.shape, state.stride()
        local = local_tensor(self.param)
        return dtype, local.shape, local.stride()

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
        if has_sparse_rows(grad) != self._reads_sparse:
            raise TypeError("a gradient that was dense is sparse, or the other way round")
        self.tensor.grad = self.bound_grad(grad)

    def bound_grad(self, grad: torch.Tensor) -> torch.Tensor:
        """A gradient of the parameter as it is bound: dense, of the parameter's dtype and order."""
        local = local_tensor(placed_like(self.param, grad)).detach()
        if local.layout != torch.strided:
            local = local.to_dense()
        return self.like_bound(local.to(local_tensor(self.param)))

    def free_grad(self) -> None:
        """After a step: let go of the gradient, whose memory the next `backward` may need."""
        if not self.is_plain:
            self.tensor.grad = None

    def is_current(self) -> bool:
        """Whether the parameter still is the memory that this was made of; a plain one is looked after elsewhere."""
        return self.is_plain or self.is_in_place()

    def is_in_place(self) -> bool:
        """Whether the parameter has the address, dtype, shape and order that it had."""
        return _place(local_tensor(self.param)) == self._place


def local_tensor(x: torch.Tensor) -> torch.Tensor:
    """The part of a DTensor that is here; any other tensor is here as a whole."""
    local = getattr(x, "_local_tensor", None)
    return x if local is None else local


def is_here(param: torch.Tensor) -> bool:
    """Whether a parameter has memory: it is no meta tensor and not lazy, and its storage was not freed."""
    if param.is_meta or is_lazy(param):
        return False
    local = local_tensor(param)
    return local.layout != torch.strided or not local.numel() or local.untyped_storage().nbytes() > 0


def is_dtensor(x: torch.Tensor) -> bool:
    """Whether a tensor is a DTensor, of which each process has a part."""
    return hasattr(x, "_local_tensor")


def placed_like(param: Any, grad: Any) -> torch.Tensor:
    """A gradient with the placements of its parameter, for which all processes may have to exchange what they have."""
    is_alike = not (is_dtensor(param) and is_dtensor(grad)) or grad.placements == param.placements
    return grad if is_alike else grad.redistribute(placements=param.placements)  # type: ignore[no-any-return]


def as_pairs(x: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones, a last axis of 2; other numbers as they are."""
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def check_layout(param: torch.Tensor, k: int = 0) -> None:
    """TypeError if a parameter, `params[k]`, is not dense. PyTorch gives dense ones dense and COO gradients only."""
    layout = local_tensor(param).layout
    if layout != torch.strided:
        raise TypeError(f"params[{k}]: {layout}, where only dense parameters are updated; make one of its to_dense()")


def fits(param: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether a plain parameter's gradient can be read where it is."""
    return (
        grad.layout == torch.strided
        and grad.dtype == param.dtype
        and grad.is_contiguous()
        and not grad.is_neg()
        and local_tensor(grad) is grad
    )


def has_sparse_rows(grad: torch.Tensor | None) -> bool:
    """Whether a gradient is a sparse COO tensor that numbers rows, or parts of them."""
    if grad is None:
        return False
    local = local_tensor(grad)
    return local.layout == torch.sparse_coo and local.sparse_dim() > 0


def is_zero(grad: torch.Tensor) -> bool:
    """Whether all elements of a gradient, dense or sparse COO, are 0."""
    values = grad.coalesce().values() if grad.layout == torch.sparse_coo else grad
    return not bool((values != 0).any())


def is_of_zeros(groups: Iterable[Mapping[str, Any]]) -> bool:
    """Whether there are gradients, and all of them and all rates are 0: so they are in the step by which
    torch.distributed.checkpoint has states made."""
    groups = list(groups)
    if any(group["lr"] for group in groups):
        return False
    grads = [p.grad for group in groups for p in group["params"] if p.grad is not None]
    return bool(grads) and all(map(is_zero, grads))


def row_sparse(memory: ParamMemory) -> RowSparse:
    """The sparse gradient of a parameter, as rows of the tensor that is bound; elements of one place are summed.

    TypeError if the gradient is dense.
    """
    param = local_tensor(memory.param)
    assert memory.param.grad is not None
    grad = local_tensor(memory.param.grad).detach()
    if grad.layout != torch.sparse_coo:
        raise TypeError("a gradient that was sparse is dense")
    grad = grad.coalesce()
    indices, values = grad.indices(), grad.values().to(param.dtype)
    rows = indices[0]
    if memory.flat_axes > 1:
        for size, more in zip(param.shape[1 : memory.flat_axes], indices[1:], strict=True):
            rows = rows * size + more
    elif len(indices) > 1:
        rows, places = torch.unique(rows, return_inverse=True)
        values = values.new_zeros((len(rows), *param.shape[1:])).index_put_((places, *indices[1:]), values)
    if memory.is_complex:
        if memory.tensor.dim() == 1:  # each part is a row
            rows = torch.stack((2 * rows, 2 * rows + 1), 1).flatten()
            return RowSparse(rows, as_pairs(values).flatten())
        values = as_pairs(values).flatten(-2)
    return RowSparse(rows.contiguous(), values.contiguous())


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


# ---------------------------------------------------------------- DTensors

FLAT = "a flat parameter of FullyShardedDataParallel (FSDP1)"


@dataclass(frozen=True)
class Sharding:
    """How a DTensor is cut: over these dimensions of a device mesh. Over the others it is replicated."""

    mesh: Any
    dims: tuple[int, ...]

    def groups(self) -> list[ProcessGroup]:
        """The process groups, one for each dimension, whose processes together have the whole tensor once."""
        return [self.mesh.get_group(dim) for dim in self.dims]

    def places(self) -> list[tuple[int, ...]]:
        """The places in the mesh of the processes that together have the whole tensor once, one of which this is."""
        ranges = [
            range(self.mesh.size(dim)) if dim in self.dims else [k] for dim, k in enumerate(self.mesh.get_coordinate())
        ]
        return list(itertools.product(*ranges))

    def exchange(self) -> Callable[[list[int], Array], None]:
        """What brings each process the numbers of all: a sum, to which all but one process add 0."""
        groups = self.groups()

        def exchange(_members: list[int], numbers: Array) -> None:
            shared = torch.from_numpy(numbers)
            for group in groups:
                all_reduce(shared, group=group)

        return exchange


def sharding_of(x: Any) -> Sharding | None:
    """How a tensor is cut; None for one that is here as a whole."""
    mesh = getattr(x, "device_mesh", None)
    if mesh is None:
        return None
    dims = tuple(k for k, placement in enumerate(x.placements) if _shards(placement) and mesh.size(k) > 1)
    return Sharding(mesh, dims) if dims else None


def box_of(x: Any) -> Box | None:
    """The part of a DTensor that is here; None for a tensor that is here as a whole.

    ValueError if the parts of the processes are no boxes.
    """
    sharding = sharding_of(x)
    if sharding is None:
        return None
    bounds = [bounds_at(place, x.shape, sharding.mesh, x.placements) for place in sharding.places()]
    own = bounds_at(sharding.mesh.get_coordinate(), x.shape, sharding.mesh, x.placements)
    return Box(tuple(x.shape), tuple(bounds), bounds.index(own))


def bounds_at(coordinate: Sequence[int], whole: Sequence[int], mesh: Any, placements: Sequence[Any]) -> Bounds:
    """The offset and the shape of the part of a tensor that the process at a place of the mesh has."""
    shape, offset = features.shape_and_offset(coordinate, whole, mesh, placements)
    return tuple(map(int, offset)), tuple(map(int, shape))


def like(local: torch.Tensor, param: Any, shape: Sequence[int]) -> torch.Tensor:
    """The part of a state that is here, as a DTensor that is cut like its parameter.

    `shape` is that of the whole state. Axes that are as long as the parameter's are cut as these are; a state whose
    axes are not is the same in all processes. Of a parameter that is no DTensor, the tensor itself.
    """
    if not is_dtensor(param):
        return local
    from torch.distributed.tensor import DTensor, Replicate  # which only DTensors need

    placements = [
        p if _shards(p) and len(shape) > p.dim and shape[p.dim] == param.shape[p.dim] else Replicate()
        for p in param.placements
    ]
    whole = torch.empty(tuple(shape), device="meta")
    return DTensor.from_local(
        local, param.device_mesh, placements, run_check=False, shape=whole.shape, stride=whole.stride()
    )


def part_of(whole: torch.Tensor, param: torch.Tensor) -> torch.Tensor:
    """What is here of a tensor with the axes of a whole parameter, some of which may have length 1.

    A DTensor's part is what it has here.
    """
    if is_dtensor(whole):
        return local_tensor(whole)
    box = box_of(param)
    if box is None:
        return whole
    (offset, own), shape = box.bounds, box.shape
    for axis, size in enumerate(whole.shape[: len(shape)]):
        begin, length = offset[axis], own[axis]
        if size == shape[axis]:
            whole = whole.narrow(axis, begin, length)
    return whole


def _shards(placement: Any) -> bool:
    return getattr(placement, "dim", None) is not None


# ---------------------------------------------------------------- FSDP1


def is_flat(param: torch.Tensor) -> bool:
    """Whether a parameter is one of FSDP1: a FlatParameter, or with `use_orig_params=True` a piece of one."""
    return getattr(param, "_is_flat_param", False) or getattr(param, "_fsdp_flattened", False)


def check_flat(rule: UpdateRule, param: torch.Tensor) -> None:
    """ValueError for a parameter of FSDP1, `params[0]`, if its update is not the same for each element alone."""
    if is_flat(param) and not is_elementwise(rule, param):
        raise ValueError(
            f"params[0]: {FLAT}, which has lost the shapes of what it is made of, and {rule.spec.name} does not update "
            "each element for itself; shard the model with FSDP2, torch.distributed.fsdp.fully_shard"
        )


def is_elementwise(rule: UpdateRule, param: torch.Tensor) -> bool:
    """Whether each element of a parameter is updated for itself, whatever its place."""
    return not _reads_shapes(rule.spec) and rule.cut(tuple(param.shape)) == "anywhere"


def _reads_shapes(spec: Optimizer) -> bool:
    return spec.has_stages or spec.joins_params or not spec.reads.isdisjoint(DIMENSIONS)


def check_flat_options(
    name: str, params: Iterable[torch.Tensor], *, in_backward: bool, clip_norm: float | None
) -> None:
    """ValueError where the gradients of FSDP1 are not those that an option is about."""
    if not (in_backward or clip_norm is not None) or not any(map(is_flat, params)):
        return
    if in_backward:
        raise ValueError(
            f"{name}: in_backward=True with {FLAT}, whose gradient is summed over the processes after it was "
            "accumulated; leave in_backward out"
        )
    raise ValueError(
        f"{name}: clip_norm={clip_norm:g} with {FLAT}, of whose gradient each process has a part; leave clip_norm out, "
        "and call clip_grad_norm_ of the FullyShardedDataParallel before each step"
    )
