"""The state of a parameter: the tensors in `optimizer.state[p]`, and the same memory as a kernel takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from optgen.axes import Kind
from optgen.execute import storage
from optgen.execute.kernel import LoadedKernel
from optgen.ir import COMPENSATION, Buffer
from optgen.torch.codes import Blocks, bindable_codes
from optgen.torch.forms import (
    SCALE,
    OtherShapeError,
    bindable_history,
    check_tensor,
    lies_like,
    number_dtype,
    refuse_shards,
)
from optgen.torch.halves import MASTER, keep_as
from optgen.torch.memory import ParamMemory, as_pairs, is_dtensor, like, local_tensor, part_of

STEP = "step"
"""The key of the number of updates, a float32 tensor of shape () on the CPU, as PyTorch's optimizers have it."""

Values = Mapping[str, float | None]


def shape_of(b: Buffer, shape: torch.Size, last_two: bool, *, is_complex: bool = False) -> torch.Size:
    """The shape of a state of some numbers for each parameter, by the parameter's shape.

    It has axes of length 1 where there is one number for all of the parameter's elements, so that it can be cut as the
    parameter is. With `last_two`, rows and columns are those of matrices of the last two axes, and otherwise the first
    axis and the others. Complex parameters are pairs of real numbers along their last axis: where that one is kept, it
    is followed by an axis of 2.
    """
    if b.entries:
        one = shape_of(replace(b, entries=""), shape, last_two, is_complex=is_complex)
        return torch.Size([int(b.entries), *one])
    if b.kind is Kind.MATRIX:
        return torch.Size(storage.shape_of(b, tuple(shape), by_row=False, last_two=last_two))
    sizes = list(shape)
    if b.kind not in (Kind.ROW, Kind.COL):
        return torch.Size([])
    if last_two and len(sizes) > 1:
        sizes[-1 if b.kind is Kind.ROW else -2] = 1
    elif b.kind is Kind.ROW:
        sizes[1:] = [1] * (len(sizes) - 1)
    else:
        sizes[:1] = [1]
    keeps_last = (b.kind is Kind.ROW) == (len(shape) < 2)
    return torch.Size([*sizes, 2] if is_complex and keeps_last else sizes)


@dataclass(frozen=True)
class StateKeys:
    """What an optimizer keeps in `state[p]`, and how.

    `has_step`: beside the states, it keeps the count; without it, a parameter whose states exist counts as updated
    once, unless states are rounded at random, for which the count is kept. `counts_in_python`: the count is an int, and
    no tensor. `names` has the keys of states that the spec names otherwise. `numbers` are states of one number for each
    parameter that are kept in `scalar_dtype`, as the count is, and not in float64.
    """

    has_step: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    counts_in_python: bool = False

    def key_of(self, buffer: str) -> str:
        """The key in `optimizer.state[p]` of a kernel's buffer."""
        if buffer == "w":
            return MASTER
        if not self.names:
            return buffer
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
        return any(x is not None for key, x in kept.items() if key not in (MASTER, COMPENSATION, STEP))

    def scalar_dtype(self, kept: Mapping[str, Any]) -> torch.dtype:
        """The dtype of a parameter's numbers: what they have, or else PyTorch's for such numbers."""
        first = self.numbers[0] if self.numbers else STEP
        single = torch.get_default_dtype() != torch.float64
        return number_dtype(kept, first, torch.float32 if single else torch.float64)

    def rule_flags(self, kept: Mapping[str, Any]) -> Mapping[str, bool]:
        """The flags of the spec that say in which dtype its numbers are kept."""
        return {"single": self.scalar_dtype(kept) == torch.float32} if self.numbers else {}


def bindable(
    kernel: LoadedKernel,
    kept: dict[str, Any],
    memory: ParamMemory,
    values: Values,
    shared: dict[str, torch.Tensor],
    keys: StateKeys,
    *,
    by_row: bool,
    capturable: bool = False,
) -> dict[str, torch.Tensor]:
    """The tensors to bind for each state of a parameter, as its kernel has them.

    `kept` is `optimizer.state[p]`. A tensor that is there is used, converted if it has another dtype, device or order;
    a missing one starts as the spec says, with these values of params, and a master as `keep_as` says. Afterwards
    `kept` has them all. `shared` has the states that all parameters share, those of the first one after its call. With
    `by_row`, blocks of codes restart at each row. With `capturable`, states of kind host are on the parameter's device.
    ValueError names a tensor that does not fit.
    """
    bound: dict[str, torch.Tensor] = {}
    keep_as(kernel, kept, memory)
    blocks = Blocks.of(kernel, tuple(memory.tensor.shape), by_row=by_row)
    for b in kernel.states.values():
        key, scale_key = keys.key_of(b.name), keys.key_of(b.name + SCALE)
        if b.is_scale:
            continue  # comes with its codes
        if b.entries:
            refuse_shards(key, memory)
        if b.entries and b.kind is Kind.ELEM:
            start = start_of(b, values)
            kept[key], bound[b.name] = bindable_history(int(b.entries), key, kept.get(key), memory, start, _dtype(b))
        elif b.is_quantized:
            kept[key], kept[scale_key] = bindable_codes(b, key, kept, memory, start_of(b, values), blocks)
            found = local_tensor(kept[key])
            bound[b.name] = found if b.format.is_packed else memory.like_bound(found)
            bound[b.name + SCALE] = local_tensor(kept[scale_key])
        elif b.kind is Kind.ELEM:
            kept[key] = found = _elements(b, key, kept.get(key), memory, values)
            bound[b.name] = memory.like_bound(local_tensor(found))
        else:
            there = shared.get(b.name, kept.get(key))
            of_kernel = storage.shape_of(b, tuple(memory.tensor.shape), by_row=False, last_two=kernel.native.last_two)
            on_host = b.kind is Kind.HOST and not capturable
            device = torch.device("cpu") if on_host else memory.tensor.device
            numbers = _numbers(b, key, there, memory, values, kernel.native.last_two, device)
            if not (b.name in keys.numbers and isinstance(there, torch.Tensor) and there.dim() == 0):
                kept[key] = numbers  # and a tensor in `scalar_dtype` stays, to be written in place
            if b.kind is Kind.SHARED:
                shared[b.name] = numbers
            bound[b.name] = local_tensor(numbers).view(of_kernel)
    if "w" not in kernel.states:
        kept.pop(MASTER, None)  # it would be out of date when it is asked for again
    if all(b.name != COMPENSATION for b in kernel.native.buffers):
        kept.pop(COMPENSATION, None)
    return bound


def shared_states(
    kernel: LoadedKernel, every_kept: Iterable[Mapping[str, Any]], keys: StateKeys
) -> dict[str, torch.Tensor]:
    """The states that all parameters share, of the first one that has them."""
    names = [b.name for b in kernel.states.values() if b.kind is Kind.SHARED]
    found: dict[str, torch.Tensor] = {}
    if names:
        for kept in every_kept:
            found = {**{name: kept[keys.key_of(name)] for name in names if keys.key_of(name) in kept}, **found}
    return found


def starts_as_weight(kernel: LoadedKernel, values: Values) -> bool:
    """Whether a state starts as the parameter, as masters do."""
    return any(not b.is_scale and start_of(b, values) == "w" for b in kernel.states.values())


def restart(
    kernel: LoadedKernel, kept: Mapping[str, Any], memory: ParamMemory, values: Values, keys: StateKeys
) -> None:
    """Write the parameter as it is now into the states that start as it, in place."""
    for b in kernel.states.values():
        if b.is_scale or start_of(b, values) != "w":
            continue
        key = keys.key_of(b.name)
        if b.is_quantized:
            factors = local_tensor(kept[keys.key_of(b.name + SCALE)])
            blocks = Blocks(factors.dim() == 2, False, kernel.native.last_two)
            coded, scales = bindable_codes(b, key, {}, memory, "w", blocks)
            local_tensor(kept[key]).copy_(local_tensor(coded))
            factors.copy_(local_tensor(scales))
        else:
            local_tensor(kept[key]).copy_(local_tensor(_elements(b, key, None, memory, values)))


def follow_weight(kept: Mapping[str, Any], param: torch.Tensor) -> None:
    """Have the master be the parameter where it no longer rounds to it, as someone else wrote the parameter."""
    master, weight = as_pairs(local_tensor(kept[MASTER])), as_pairs(local_tensor(param).detach())
    master.copy_(torch.where(master.to(weight.dtype) == weight, master, weight))


def forget_unused(state: MutableMapping[Any, Any], groups: Iterable[Mapping[str, Any]]) -> bool:
    """Remove the states that were never updated, of parameters that are in no group; whether there were any.

    FSDP2 puts others into groups. States that were updated stay, for a parameter that comes back.
    """
    there = {p for group in groups for p in group["params"]}
    unused = [
        p for p, kept in state.items() if isinstance(p, torch.Tensor) and p not in there and kept.get(STEP, 1) == 0
    ]
    for p in unused:
        del state[p]
    return bool(unused)


def start_of(b: Buffer, values: Values) -> float | str:
    """The number a state starts as, or "w"."""
    start = values[b.init] if isinstance(b.init, str) and b.init != "w" else b.init
    return "w" if b.name == "w" or start is None else start


def _dtype(b: Buffer) -> torch.dtype:
    found: torch.dtype = getattr(torch, storage.dtype_of(b))
    return found


def _elements(b: Buffer, key: str, there: Any, memory: ParamMemory, values: Values) -> torch.Tensor:
    """A state of the parameter's shape: `there` if it can be bound as it is."""
    start = start_of(b, values)
    if there is not None:
        check_tensor(key, there)
        if there.dtype == torch.uint8:
            raise ValueError(f"state['{key}']: codes in uint8, where {b.storage} is kept; give the storage they have")
        return values_like(memory, key, there, _dtype(b))
    new = memory.empty_state(_dtype(b), memory.tensor.device).zero_()
    if start == "w":
        assign(new, local_tensor(memory.param).detach())
    elif isinstance(start, float | int) and start != 0:
        as_pairs(new).fill_(start)
    return like(new, memory.param, memory.param.shape)


def values_like(memory: ParamMemory, key: str, there: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor of the parameter's shape and order, and by default of its dtype: `there` if it is one, else a copy of
    it. ValueError if it has another shape."""
    dtype, device = dtype or memory.tensor.dtype, memory.tensor.device
    check_tensor(key, there)
    check_size(key, there, memory.param)
    if lies_like(local_tensor(there), memory.form(dtype), device):
        return there if is_dtensor(there) == is_dtensor(memory.param) else like(there, memory.param, there.shape)
    new = memory.empty_state(dtype, device).zero_()
    assign(new, part_of(there, memory.param))
    return like(new, memory.param, memory.param.shape)


def own_dimensions(memory: ParamMemory, b: Buffer, there: torch.Tensor) -> torch.Tensor:
    """An input of dimensions of its own, in the dtype of the buffer and without gaps: `there`, or a copy of it."""
    check_tensor(b.name, there)
    dtype = getattr(torch, storage.dtype_of(b))
    return there.detach().to(memory.tensor.device, dtype).contiguous()


def assign(new: torch.Tensor, values: torch.Tensor) -> None:
    """Write values of any dtype, complex or as pairs."""
    pairs = as_pairs(new)
    pairs.copy_(as_pairs(values).reshape(pairs.shape))


def check_size(key: str, there: torch.Tensor, param: torch.Tensor) -> None:
    """ValueError unless a state has numbers of its parameter's kind: one, or a pair, for each element."""
    shape = tuple(param.shape)
    if there.layout != torch.strided or there.is_complex() > param.is_complex():
        kind = f"{there.layout} of {there.dtype}"
        raise ValueError(f"state['{key}']: {kind}, but its parameter is dense, of {param.dtype}")
    if tuple(there.shape) not in (shape, (*shape, 2)):
        raise ValueError(f"state['{key}']: shape {tuple(there.shape)}, but its parameter has {shape}")


def _numbers(
    b: Buffer, key: str, there: Any, memory: ParamMemory, values: Values, last_two: bool, device: torch.device
) -> torch.Tensor:
    """A state for each row or column, or a single number: `there` if it can be bound as it is."""
    params = memory.param, local_tensor(memory.param)
    whole, shape = (shape_of(b, x.shape, last_two, is_complex=memory.is_complex) for x in params)
    if there is not None:
        there = torch.tensor(there, device="cpu") if isinstance(there, int | float) else there
        check_tensor(key, there)
        found = part_of(there, memory.param)
        if found.numel() != shape.numel():
            raise OtherShapeError(key, tuple(found.shape), tuple(shape))
        same = found.dtype == _dtype(b) and found.device == device and found.shape == shape and found.is_contiguous()
        if same and (found is there or is_dtensor(there)):
            return there  # type: ignore[no-any-return]
        new = found.detach().to(device, _dtype(b), copy=True).reshape(shape).contiguous()
    else:
        start = start_of(b, values)
        assert not isinstance(start, str)
        new = torch.full(shape, start, dtype=_dtype(b), device=device)
    return like(new, memory.param, whole) if b.kind in (Kind.ROW, Kind.COL) else new
