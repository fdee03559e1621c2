"""States of 8 bits: codes of the parameter's shape and order, and a float32 scale for each block in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Buffer
from optgen.torch.memory import ParamMemory, axes_in_memory, local_tensor
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
        _check(key, codes, factors, model.shape, last_two)
        if codes.stride() == model.stride() or codes.numel() < 2:
            return _kept(codes.to(device), factors.to(device), memory, last_two)
        there = _decoded(b, codes, factors)
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


def decode(kernel: LoadedKernel, kept: dict[str, Any], key_of: Callable[[str], str]) -> None:
    """Have `kept` hold the float32 numbers in place of codes and their scales."""
    for b in kernel.states.values():
        key = key_of(b.name)
        codes, scales = kept.get(key), kept.get(key + SCALE)
        if b.is_quantized and isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
            _check(key, local_tensor(codes), local_tensor(scales), codes.shape, kernel.native.last_two)
            kept[key] = _decoded(b, local_tensor(codes), local_tensor(scales))
            del kept[key + SCALE]


def check_tensor(key: str, there: Any) -> None:
    """TypeError if a state is no tensor, ValueError if it is a meta tensor."""
    if not isinstance(there, torch.Tensor):
        raise TypeError(f"state['{key}']: expected a tensor, not {there!r}")
    if there.is_meta:
        raise ValueError(f"state['{key}']: a meta tensor, which holds no numbers")


def _check(key: str, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size, last_two: bool) -> None:
    if codes.dtype != torch.uint8 or codes.shape != shape:
        raise ValueError(
            f"state['{key}']: {codes.dtype} of shape {tuple(codes.shape)}, where codes are torch.uint8 of shape "
            f"{tuple(shape)}"
        )
    expected = _scale_shape(tuple(shape), last_two)
    if scales.dtype != torch.float32 or tuple(scales.shape) != expected:
        raise ValueError(
            f"state['{key}{SCALE}']: {scales.dtype} of shape {tuple(scales.shape)}, where the scales of 8-bit blocks "
            f"are torch.float32 of shape {expected}"
        )


def _decoded(b: Buffer, codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The numbers that codes stand for, in their order: blocks are neighbours in memory."""
    axes = axes_in_memory(codes) or list(range(codes.dim()))
    in_memory = codes.permute(axes).contiguous()
    numbers = torch.from_numpy(np.asarray(storage.decode(in_memory.cpu().numpy(), scales.cpu().numpy(), b)))
    return numbers.to(codes.device).permute([axes.index(k) for k in range(codes.dim())])


def _encode(b: Buffer, bound: torch.Tensor, memory: ParamMemory, last_two: bool) -> tuple[torch.Tensor, torch.Tensor]:
    coded, scales = storage.encode(bound.float().cpu().numpy(), b, by_row=True, last_two=last_two)
    codes, device = torch.from_numpy(np.asarray(coded)), bound.device
    return _kept(memory.like_param(codes.to(device)), torch.from_numpy(scales).to(device), memory, last_two)


def _all_equal(b: Buffer, value: float, memory: ParamMemory, last_two: bool) -> tuple[torch.Tensor, torch.Tensor]:
    (code,), (scale,) = storage.encode(np.full(1, value, np.float32), b, by_row=False)
    device = memory.tensor.device
    codes = memory.empty_state(torch.uint8, device).fill_(int(code))
    scales = torch.full(_scale_shape(tuple(codes.shape), last_two), float(scale), dtype=torch.float32, device=device)
    return _kept(codes, scales, memory, last_two)


def _kept(
    codes: torch.Tensor, scales: torch.Tensor, memory: ParamMemory, last_two: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales as `state[p]` has them: DTensors if the parameter is one. ValueError if it is cut along columns,
    where blocks of codes would be cut, or is cut and a batch of matrices."""
    shape, own = memory.param.shape, local_tensor(memory.param).shape
    if own[1:] != shape[1:] or (last_two and len(shape) > 2 and own != shape):
        raise ValueError(
            f"8-bit states of a parameter of shape {tuple(shape)} of which {tuple(own)} is here: it can be cut along "
            "its first axis only, and in batches of matrices not at all; keep these states in float32 or bfloat16"
        )
    return like(codes, memory.param, shape), like(scales, memory.param, (*shape[:1], *scales.shape[1:]))


def _scale_shape(shape: tuple[int, ...], last_two: bool) -> tuple[int, ...]:
    return storage.shape_of(Buffer("", True, storage="scale"), shape, by_row=True, last_two=last_two)
