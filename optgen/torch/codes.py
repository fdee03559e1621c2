"""States of 8 bits: codes of the parameter's shape and order, and a float32 scale for each block in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.ir import Buffer
from optgen.torch.memory import ParamMemory, axes_in_memory, local_tensor

SCALE = ".scale"
"""What the keys of scales end with."""


def scale_key(b: Buffer) -> str:
    """The key in `optimizer.state[p]` of the scales of codes; their buffer has the same name."""
    return b.name + SCALE


def prepare(b: Buffer, kept: dict[str, Any], memory: ParamMemory, start: float | str) -> None:
    """Have `kept` hold codes and scales that can be bound: those that are there, or numbers encoded, or the start.

    ValueError if scales do not fit their codes.
    """
    model, device = memory.empty_state(torch.uint8, "meta"), memory.tensor.device
    there, scales = kept.get(b.name), kept.get(scale_key(b))
    if isinstance(there, torch.Tensor) and isinstance(scales, torch.Tensor):
        _check(b, local_tensor(there), local_tensor(scales), model.shape)
        if local_tensor(there).stride() == model.stride() or there.numel() < 2:
            kept[b.name] = there if there.device == device else there.to(device)
            kept[scale_key(b)] = scales if scales.device == device else scales.to(device)
            return
        there = _decoded(b, local_tensor(there), local_tensor(scales))
    if isinstance(there, torch.Tensor):
        if there.numel() != memory.tensor.numel() >> there.is_complex():
            raise ValueError(
                f"state['{b.name}']: shape {tuple(there.shape)}, but its parameter has {tuple(memory.param.shape)}"
            )
        found = _encode(b, memory.like_bound(local_tensor(there).detach()), memory)
    elif start == "w":
        found = _encode(b, memory.tensor.detach(), memory)
    else:
        found = _all_equal(b, float(start), memory)
    kept[b.name], kept[scale_key(b)] = found


def decode(buffers: Iterable[Buffer], kept: dict[str, Any]) -> None:
    """Have `kept` hold the float32 numbers in place of codes and their scales."""
    for b in buffers:
        codes, scales = kept.get(b.name), kept.get(scale_key(b))
        if b.is_quantized and isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
            _check(b, local_tensor(codes), local_tensor(scales), codes.shape)
            kept[b.name] = _decoded(b, local_tensor(codes), local_tensor(scales))
            del kept[scale_key(b)]


def _check(b: Buffer, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size) -> None:
    if codes.dtype != torch.uint8 or codes.shape != shape:
        raise ValueError(
            f"state['{b.name}']: {codes.dtype} of shape {tuple(codes.shape)}, where codes are torch.uint8 of shape "
            f"{tuple(shape)}"
        )
    expected = _scale_shape(tuple(shape))
    if scales.dtype != torch.float32 or tuple(scales.shape) != expected:
        raise ValueError(
            f"state['{scale_key(b)}']: {scales.dtype} of shape {tuple(scales.shape)}, where the scales of 8-bit blocks "
            f"are torch.float32 of shape {expected}"
        )


def _decoded(b: Buffer, codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The numbers that codes stand for, in their order: blocks are neighbours in memory."""
    axes = axes_in_memory(codes) or list(range(codes.dim()))
    in_memory = codes.permute(axes).contiguous()
    numbers = torch.from_numpy(np.asarray(storage.decode(in_memory.cpu().numpy(), scales.cpu().numpy(), b)))
    return numbers.to(codes.device).permute([axes.index(k) for k in range(codes.dim())])


def _encode(b: Buffer, bound: torch.Tensor, memory: ParamMemory) -> tuple[torch.Tensor, torch.Tensor]:
    coded, scales = storage.encode(bound.float().cpu().numpy(), b, by_row=False)
    codes, device = torch.from_numpy(np.asarray(coded)), bound.device
    return memory.like_param(codes.to(device)), torch.from_numpy(scales).to(device)


def _all_equal(b: Buffer, value: float, memory: ParamMemory) -> tuple[torch.Tensor, torch.Tensor]:
    (code,), (scale,) = storage.encode(np.full(1, value, np.float32), b, by_row=False)
    device = memory.tensor.device
    codes = memory.empty_state(torch.uint8, device).fill_(int(code))
    return codes, torch.full(_scale_shape(tuple(codes.shape)), float(scale), device=device)


def _scale_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return storage.shape_of(Buffer("", True, storage="scale"), shape, by_row=False)
