"""States in codes, as `optimizer.state[p]` holds them and kernels read them: codes and the scales of their blocks.

Blocks restart at each row of the parameter, or run on from row to row. Scales say which: they have two axes, or one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from optgen.execute import storage
from optgen.execute.kernel import LoadedKernel
from optgen.execute.state import can_restart
from optgen.ir import Buffer
from optgen.torch.features import with_huge_pages
from optgen.torch.forms import SCALE, check_tensor
from optgen.torch.memory import ParamMemory, as_pairs, axes_in_memory, is_dtensor, like, local_tensor, part_of


class Blocks(NamedTuple):
    """How the blocks of a parameter's codes are made: whether they restart `by_row`, whether the kernel takes both
    forms (`either`) if they are there, and whether rows are those of the last two axes."""

    by_row: bool
    either: bool
    last_two: bool

    @classmethod
    def of(cls, kernel: LoadedKernel, shape: tuple[int, ...], *, by_row: bool) -> Blocks:
        """Those of a parameter of this shape, as it is bound."""
        return cls(by_row, not by_row and can_restart(kernel, shape), kernel.native.last_two)

    def take(self, scales: torch.Tensor) -> bool:
        """Whether blocks with such scales can be bound as they are."""
        return self.either or (scales.dim() == 2) == self.by_row


def bindable_codes(
    b: Buffer, key: str, kept: Mapping[str, Any], memory: ParamMemory, start: float | str, blocks: Blocks
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales that can be bound: those that `kept` has, or its numbers encoded, or the start.

    ValueError if what is there does not fit.
    """
    model, device = memory.empty_state(torch.uint8, "meta"), memory.tensor.device
    there, scales = kept.get(key), kept.get(key + SCALE)
    if isinstance(there, torch.Tensor) and isinstance(scales, torch.Tensor):
        if blocks.by_row and scales.dim() == 1 and not is_dtensor(there):
            there, scales = _in_rows(b, there, scales, memory, blocks)
        if blocks.take(scales):
            codes, factors = part_of(there, memory.param), part_of(scales, memory.param)
            _check_codes(b, key, codes, factors, model.shape, blocks.last_two)
            if b.format.is_packed:
                codes = codes.contiguous()
            if b.format.is_packed or codes.stride() == model.stride() or codes.numel() < 2:
                return _kept(codes.to(device), factors.to(device), memory, blocks)
        there = _numbers(b, key, there, scales, memory.param, blocks.last_two)
    if there is not None:
        check_tensor(key, there)
        there = part_of(there, memory.param)
        if there.numel() != memory.tensor.numel() >> there.is_complex():
            raise ValueError(
                f"state['{key}']: shape {tuple(there.shape)}, but its parameter has {tuple(memory.param.shape)}"
            )
        return _encode(b, memory.like_bound(there.detach()), memory, blocks)
    if start == "w":
        return _encode(b, memory.tensor.detach(), memory, blocks)
    return _all_equal(b, float(start), memory, blocks)


def _in_rows(
    b: Buffer, codes: torch.Tensor, scales: torch.Tensor, memory: ParamMemory, blocks: Blocks
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales whose blocks run on from row to row, as rows have them where all blocks end with their rows."""
    shape = _with_pairs(memory.param)
    if storage.row_length(shape, blocks.last_two) % (b.scales.block or 1):
        return codes, scales
    whole = [storage.shape_of(x, shape, True, blocks.last_two) for x in (b, b.scales)]
    if scales.numel() != math.prod(whole[1]) or codes.numel() != math.prod(whole[0]):
        return codes, scales
    return codes.reshape(whole[0]) if b.format.is_packed else codes, scales.reshape(whole[1])


def decode_codes(kernel: LoadedKernel, kept: dict[str, Any], key_of: Callable[[str], str], param: torch.Tensor) -> None:
    """Have `kept`, the states of a parameter, hold the float32 numbers in place of codes and their scales."""
    for b in kernel.states.values():
        key = key_of(b.name)
        codes, scales = kept.get(key), kept.get(key + SCALE)
        if b.is_quantized and isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
            numbers = _numbers(b, key, codes, scales, param, kernel.native.last_two)
            kept[key] = like(numbers, param, _with_pairs(param))
            del kept[key + SCALE]


def _with_pairs(param: torch.Tensor) -> tuple[int, ...]:
    """The shape of a whole parameter, with pairs where it is complex."""
    return (*param.shape, 2) if param.is_complex() else tuple(param.shape)


def _numbers(
    b: Buffer, key: str, codes: torch.Tensor, scales: torch.Tensor, param: torch.Tensor, last_two: bool
) -> torch.Tensor:
    """The numbers, with pairs, that codes stand for, of the part of a parameter that is here.

    Where blocks run on from row to row and the parameter is a DTensor, whose shards may begin within a block, all
    processes must call this together.
    """
    if scales.dim() == 1 and is_dtensor(param):
        whole, shape = (_whole(codes), _whole(scales)), torch.Size(_with_pairs(param))
        _check_codes(b, key, *whole, shape, last_two)
        return part_of(_decoded(b, *whole, shape), param)
    own, factors = part_of(codes, param), part_of(scales, param)
    shape = as_pairs(local_tensor(param)).shape
    _check_codes(b, key, own, factors, shape, last_two)
    return _decoded(b, own, factors, shape)


def _whole(x: Any) -> torch.Tensor:
    found: torch.Tensor = x.full_tensor() if is_dtensor(x) else x
    return found


def _check_codes(
    b: Buffer, key: str, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size, last_two: bool
) -> None:
    """ValueError unless codes and scales are those of a parameter of this shape."""
    by_row = scales.dim() == 2
    found = (
        (key, codes, torch.uint8, b, "codes"),
        (key + SCALE, scales, torch.float32, b.scales, "the scales of blocks"),
    )
    for name, x, dtype, buffer, what in found:
        expected = storage.shape_of(buffer, tuple(shape), by_row, last_two)
        if x.dtype != dtype or tuple(x.shape) != expected:
            raise ValueError(
                f"state['{name}']: {x.dtype} of shape {tuple(x.shape)}, where {what} of {b.storage} are {dtype} of "
                f"shape {expected}"
            )


def _decoded(b: Buffer, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The numbers, of this shape, that codes stand for, in their order: blocks are neighbours in memory."""
    in_order = list(range(len(shape)))
    axes = in_order if b.format.is_packed else axes_in_memory(codes) or in_order
    in_memory = codes.contiguous() if b.format.is_packed else codes.permute(axes).contiguous()
    lies = [shape[k] for k in axes]
    numbers = torch.from_numpy(np.asarray(storage.decode(in_memory.cpu().numpy(), scales.cpu().numpy(), b, lies)))
    return numbers.to(codes.device).permute([axes.index(k) for k in in_order])


def _encode(b: Buffer, bound: torch.Tensor, memory: ParamMemory, blocks: Blocks) -> tuple[torch.Tensor, torch.Tensor]:
    coded, scales = storage.encode(bound.float().cpu().numpy(), b, blocks.by_row, blocks.last_two)
    device = bound.device
    codes = torch.from_numpy(np.asarray(coded)).to(device)
    kept = codes if b.format.is_packed else memory.like_param(codes)
    return _kept(kept, torch.from_numpy(scales).to(device), memory, blocks)


def _all_equal(b: Buffer, value: float, memory: ParamMemory, blocks: Blocks) -> tuple[torch.Tensor, torch.Tensor]:
    code, scale = storage.encode_equal(value, b)
    device = memory.tensor.device
    model = memory.empty_state(torch.uint8, "meta" if b.format.is_packed else device)
    shapes = [storage.shape_of(x, tuple(model.shape), blocks.by_row, blocks.last_two) for x in (b, b.scales)]
    codes = model
    if b.format.is_packed:
        codes = with_huge_pages(torch.empty(shapes[0], dtype=torch.uint8, device=device))
    scales = torch.full(shapes[1], scale, dtype=torch.float32, device=device)
    return _kept(codes.fill_(code), scales, memory, blocks)


def _kept(
    codes: torch.Tensor, scales: torch.Tensor, memory: ParamMemory, blocks: Blocks
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales as `state[p]` has them: DTensors if the parameter is one. ValueError if it is cut along columns,
    where blocks of codes would be cut, or is cut and a batch of matrices."""
    shape, own = memory.param.shape, local_tensor(memory.param).shape
    if own[1:] != shape[1:] or (blocks.last_two and len(shape) > 2 and own != shape):
        raise ValueError(
            f"states in codes, of a parameter of shape {tuple(shape)} of which {tuple(own)} is here: it can be cut "
            "along its first axis only, and in batches of matrices not at all; keep these states in float32 or bfloat16"
        )
    of_codes = shape if codes.shape == own else (*shape[:1], *codes.shape[1:])
    return like(codes, memory.param, of_codes), like(scales, memory.param, (*shape[:1], *scales.shape[1:]))
