"""States in codes: of the parameter's shape and order, or rows of bytes that codes share; and a float32 scale for each
block in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Buffer
from optgen.torch.memory import ParamMemory, as_pairs, axes_in_memory, local_tensor
from optgen.torch.pages import with_huge_pages
from optgen.torch.shards import like, part_of

SCALE = ".scale"
"""What the keys of scales end with."""


def bindable(
    b: Buffer, key: str, kept: Mapping[str, Any], memory: ParamMemory, start: float | str, last_two: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales that can be bound: those that `kept` has, or its numbers encoded, or the start.

    ValueError if what is there does not fit.
    """
    model, device = memory.empty_state(torch.uint8, "meta"), memory.tensor.device
    there, scales = kept.get(key), kept.get(key + SCALE)
    if isinstance(there, torch.Tensor) and isinstance(scales, torch.Tensor):
        codes, factors = part_of(there, memory.param), part_of(scales, memory.param)
        _check(b, key, codes, factors, model.shape, last_two)
        if b.format.is_packed:
            codes = codes.contiguous()
        if b.format.is_packed or codes.stride() == model.stride() or codes.numel() < 2:
            return _kept(codes.to(device), factors.to(device), memory, last_two)
        there = _decoded(b, codes, factors, model.shape)
    if there is not None:
        check_tensor(key, there)
        there = part_of(there, memory.param)
        if there.numel() != memory.tensor.numel() >> there.is_complex():
            raise ValueError(
                f"state['{key}']: shape {tuple(there.shape)}, but its parameter has {tuple(memory.param.shape)}"
            )
        return _encode(b, memory.like_bound(there.detach()), memory, last_two)
    if start == "w":
        return _encode(b, memory.tensor.detach(), memory, last_two)
    return _all_equal(b, float(start), memory, last_two)


def decode(kernel: LoadedKernel, kept: dict[str, Any], key_of: Callable[[str], str], param: torch.Tensor) -> None:
    """Have `kept`, the states of a parameter, hold the float32 numbers in place of codes and their scales."""
    for b in kernel.states.values():
        key = key_of(b.name)
        codes, scales = kept.get(key), kept.get(key + SCALE)
        if b.is_quantized and isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
            own, factors, shape = local_tensor(codes), local_tensor(scales), as_pairs(local_tensor(param)).shape
            _check(b, key, own, factors, shape, kernel.native.last_two)
            kept[key] = _decoded(b, own, factors, shape)
            del kept[key + SCALE]


def check_tensor(key: str, there: Any) -> None:
    """TypeError if a state is no tensor, ValueError if it is a meta tensor."""
    if not isinstance(there, torch.Tensor):
        raise TypeError(f"state['{key}']: expected a tensor, not {there!r}")
    if there.is_meta:
        raise ValueError(f"state['{key}']: a meta tensor, which holds no numbers")


def _check(b: Buffer, key: str, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size, last_two: bool) -> None:
    """ValueError unless codes and scales are those of a parameter of this shape."""
    found = (
        (key, codes, torch.uint8, b, "codes"),
        (key + SCALE, scales, torch.float32, b.scales, "the scales of blocks"),
    )
    for name, x, dtype, buffer, what in found:
        expected = _shape_of(buffer, tuple(shape), last_two)
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


def _encode(b: Buffer, bound: torch.Tensor, memory: ParamMemory, last_two: bool) -> tuple[torch.Tensor, torch.Tensor]:
    coded, scales = storage.encode(bound.float().cpu().numpy(), b, by_row=True, last_two=last_two)
    device = bound.device
    codes = torch.from_numpy(np.asarray(coded)).to(device)
    kept = codes if b.format.is_packed else memory.like_param(codes)
    return _kept(kept, torch.from_numpy(scales).to(device), memory, last_two)


def _all_equal(b: Buffer, value: float, memory: ParamMemory, last_two: bool) -> tuple[torch.Tensor, torch.Tensor]:
    code, scale = storage.encode_equal(value, b)
    device = memory.tensor.device
    model = memory.empty_state(torch.uint8, "meta" if b.format.is_packed else device)
    shapes = [_shape_of(x, tuple(model.shape), last_two) for x in (b, b.scales)]
    codes = model
    if b.format.is_packed:
        codes = with_huge_pages(torch.empty(shapes[0], dtype=torch.uint8, device=device))
    scales = torch.full(shapes[1], scale, dtype=torch.float32, device=device)
    return _kept(codes.fill_(code), scales, memory, last_two)


def _kept(
    codes: torch.Tensor, scales: torch.Tensor, memory: ParamMemory, last_two: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales as `state[p]` has them: DTensors if the parameter is one. ValueError if it is cut along columns,
    where blocks of codes would be cut, or is cut and a batch of matrices."""
    shape, own = memory.param.shape, local_tensor(memory.param).shape
    if own[1:] != shape[1:] or (last_two and len(shape) > 2 and own != shape):
        raise ValueError(
            f"states in codes, of a parameter of shape {tuple(shape)} of which {tuple(own)} is here: it can be cut "
            "along its first axis only, and in batches of matrices not at all; keep these states in float32 or bfloat16"
        )
    of_codes = shape if codes.shape == own else (*shape[:1], *codes.shape[1:])
    return like(codes, memory.param, of_codes), like(scales, memory.param, (*shape[:1], *scales.shape[1:]))


def _shape_of(b: Buffer, shape: tuple[int, ...], last_two: bool) -> tuple[int, ...]:
    return storage.shape_of(b, shape, by_row=True, last_two=last_two)
