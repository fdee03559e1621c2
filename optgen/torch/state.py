"""The state of a parameter: the tensors in `optimizer.state[p]`, and the same memory as a kernel takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Buffer
from optgen.model import Kind
from optgen.torch import scalars
from optgen.torch.memory import ParamMemory, local_tensor

MASTER = "master"
"""The key of the float32 weight beside a parameter of 16 bits; kernels call it `w`."""
STEP = "step"
"""The key of the number of updates, a float32 tensor of shape () on the CPU, as PyTorch's optimizers have it."""

Values = Mapping[str, float | None]
ShapeOf = Callable[[str, torch.Tensor], torch.Size | None]
"""The shape of a state's tensor for a parameter; None for the shape that kernels have."""


def _shape_of_kernel(name: str, param: torch.Tensor) -> torch.Size | None:
    return None


@dataclass(frozen=True)
class StateKeys:
    """What an optimizer keeps in `state[p]`, and how.

    `has_step`: beside the states, it keeps the count; without it, a parameter whose states exist counts as updated
    once. `counts_in_python`: the count is an int, and no tensor. `shape_of` gives the shape of a state's tensor.
    `names` has the keys of states that the spec names otherwise. `numbers` are states of one number for each parameter
    that are kept in `scalar_dtype`, as the count is, and not in float64.
    """

    has_step: bool = True
    shape_of: ShapeOf = _shape_of_kernel
    names: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    counts_in_python: bool = False

    def key_of(self, buffer: str) -> str:
        """The key in `optimizer.state[p]` of a kernel's buffer."""
        if buffer == "w":
            return MASTER
        name, dot, part = buffer.partition(".")
        return self.names.get(name, name) + dot + part

    def storage_names(self, storage: Any) -> Any:
        """Which storage each state has, by the spec's names, where it is given by the keys here."""
        if not isinstance(storage, Mapping):
            return storage
        spec_names = {key: name for name, key in self.names.items()}
        return {spec_names.get(key, key): kind for key, kind in storage.items()}

    def is_started(self, kept: Mapping[str, Any]) -> bool:
        """Whether a parameter has states."""
        return any(x is not None for key, x in kept.items() if key != MASTER)

    def scalar_dtype(self, kept: Mapping[str, Any]) -> torch.dtype:
        """The dtype of a parameter's numbers: what they have, or else PyTorch's for such numbers."""
        first = self.numbers[0] if self.numbers else STEP
        single = torch.get_default_dtype() != torch.float64
        return scalars.dtype_of(kept, first, torch.float32 if single else torch.float64)

    def rule_flags(self, kept: Mapping[str, Any]) -> Mapping[str, bool]:
        """The flags of the spec that say in which dtype its numbers are kept."""
        return {"single": self.scalar_dtype(kept) == torch.float32} if self.numbers else {}


def prepare(
    kernel: LoadedKernel,
    kept: dict[str, Any],
    memory: ParamMemory,
    values: Values,
    shared: dict[str, torch.Tensor],
    *,
    by_row: bool,
    keys: StateKeys,
) -> dict[str, torch.Tensor]:
    """The tensors to bind for each state of a parameter, as its kernel has them.

    `kept` is `optimizer.state[p]`. A tensor that is there is used, converted if it has another dtype, device or order;
    a missing one starts as the spec says, with these values of params. Afterwards `kept` has them all. `shared` has the
    states that all parameters share, those of the first one after its call. ValueError names a tensor that does not
    fit.
    """
    bound: dict[str, torch.Tensor] = {}
    for b in kernel.states.values():
        if b.is_scale:
            continue  # comes with its codes
        if b.is_quantized:
            _codes(b, keys.key_of(b.name), kept, memory, values, by_row, bound)
        elif b.kind is Kind.ELEM:
            key = keys.key_of(b.name)
            kept[key] = found = _elements(b, key, kept, memory, values)
            bound[b.name] = memory.like_bound(local_tensor(found))
        else:
            key = keys.key_of(b.name)
            of_kernel = storage.shape_of(b, tuple(memory.tensor.shape), False, kernel.native.last_two)
            shape = keys.shape_of(b.name, memory.param) or torch.Size(of_kernel)
            numbers = shared[b.name] if b.name in shared else _numbers(b, key, kept, memory, values, shape)
            if b.kind is Kind.SHARED:
                shared[b.name] = numbers
            kept[key] = numbers
            bound[b.name] = local_tensor(numbers).view(of_kernel)
    return bound


def _start(b: Buffer, values: Values) -> float | str:
    start = values[b.init] if isinstance(b.init, str) and b.init != "w" else b.init
    return "w" if b.name == "w" or start is None else start


def _dtype(b: Buffer) -> torch.dtype:
    found: torch.dtype = getattr(torch, storage.dtype_of(b))
    return found


def _elements(b: Buffer, key: str, kept: Mapping[str, Any], memory: ParamMemory, values: Values) -> torch.Tensor:
    """A state of the parameter's shape."""
    dtype = _dtype(b)
    there = kept.get(key)
    is_weight = dtype == memory.tensor.dtype
    if isinstance(there, torch.Tensor):
        if there.dtype == torch.uint8:
            raise ValueError(f"state['{key}']: 8-bit codes, where {b.storage} is kept; give the storage they have")
        _check_size(key, there, memory.param)
        if _lies_like(local_tensor(there), memory, dtype, is_weight=is_weight):
            return there
    new = memory.empty_state(dtype, is_weight=is_weight)
    start = _start(b, values)
    if isinstance(there, torch.Tensor):
        _assign(new, local_tensor(there).to(new.device), memory)
    elif start == "w":
        _assign(new, local_tensor(memory.param).detach(), memory)
    elif isinstance(start, float | int) and start != 0:
        (torch.view_as_real(new) if new.is_complex() else new).fill_(start)
    return new


def _assign(new: torch.Tensor, values: torch.Tensor, memory: ParamMemory) -> None:
    """Write values that may have another dtype, or be complex where the state holds pairs."""
    if new.shape != values.shape:
        values = memory.like_bound(values) if values.is_complex() else values.reshape(new.shape)
    new.copy_(values)


def _lies_like(there: torch.Tensor, memory: ParamMemory, dtype: torch.dtype, *, is_weight: bool) -> bool:
    """Whether a tensor can be bound as it is."""
    model = memory.empty_like_meta(dtype, is_weight=is_weight)
    return (
        there.dtype == model.dtype
        and there.device == local_tensor(memory.param).device
        and there.shape == model.shape
        and (there.stride() == model.stride() or there.numel() < 2)
        and not there.is_neg()
        and not there.is_conj()
        and not there.requires_grad
    )


def _check_size(key: str, there: torch.Tensor, param: torch.Tensor) -> None:
    if there.numel() != param.numel() and there.numel() != 2 * param.numel():
        raise ValueError(f"state['{key}']: shape {tuple(there.shape)}, but its parameter has {tuple(param.shape)}")


def _codes(
    b: Buffer,
    key: str,
    kept: dict[str, Any],
    memory: ParamMemory,
    values: Values,
    by_row: bool,
    bound: dict[str, torch.Tensor],
) -> None:
    """8-bit codes and their scales, which are kept in the order in which they are bound."""
    scale, scale_key, device = f"{b.name}.scale", f"{key}.scale", memory.tensor.device
    shape = tuple(memory.tensor.shape)
    scale_shape = storage.shape_of(Buffer(scale, True, storage="scale"), shape, by_row)
    codes, scales = kept.get(key), kept.get(scale_key)
    if isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
        found, factors = local_tensor(codes), local_tensor(scales)
        if tuple(factors.shape) != scale_shape or found.numel() != memory.tensor.numel():
            raise ValueError(
                f"state['{scale_key}']: shape {tuple(factors.shape)}, but 8-bit blocks of a parameter of shape {shape} "
                f"have {scale_shape}"
            )
        codes = found.to(device=device, dtype=_dtype(b)).reshape(shape).contiguous()
        scales = factors.to(device=device, dtype=torch.float32).contiguous()
    else:
        start = _start(b, values)
        if isinstance(codes, torch.Tensor):  # numbers that were kept otherwise
            full = memory.like_bound(local_tensor(codes)).reshape(shape)
        elif start == "w":
            full = memory.tensor.detach()
        else:
            full = torch.full(shape, float(start), device=device)
        coded, factor = storage.encode(full.float().cpu().numpy(), b, by_row)
        codes, scales = torch.from_numpy(np.asarray(coded)).to(device), torch.from_numpy(factor).to(device)
    kept[key], kept[scale_key] = bound[b.name], bound[scale] = codes, scales


def _numbers(
    b: Buffer, key: str, kept: Mapping[str, Any], memory: ParamMemory, values: Values, shape: torch.Size
) -> torch.Tensor:
    """A state for each row or column, or a single number."""
    there = kept.get(key)
    device = torch.device("cpu") if b.kind is Kind.HOST else memory.tensor.device
    if there is not None:
        found = local_tensor(there) if isinstance(there, torch.Tensor) else torch.tensor(there)
        if found.numel() != shape.numel():
            raise ValueError(f"state['{key}']: shape {tuple(found.shape)}, expected {tuple(shape)}")
        same = found.dtype == _dtype(b) and found.device == device and found.shape == shape and found.is_contiguous()
        return found if same else found.to(device=device, dtype=_dtype(b)).reshape(shape).contiguous().clone()
    start = _start(b, values)
    assert not isinstance(start, str)
    return torch.full(shape, start, dtype=_dtype(b), device=device)
