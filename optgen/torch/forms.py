"""The forms in which `optimizer.state[p]` holds what kernels read otherwise: codes in blocks of the parameter's rows,
histories, and single numbers, on the CPU and for captured graphs on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from optgen.execute import storage
from optgen.execute.buffers import Array
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Buffer
from optgen.torch.features import with_huge_pages
from optgen.torch.memory import Form, ParamMemory, as_pairs, axes_in_memory, is_dtensor, like, local_tensor, part_of

# ---------------------------------------------------------------- codes

SCALE = ".scale"
"""What the keys of scales end with."""


def bindable_codes(
    b: Buffer, key: str, kept: Mapping[str, Any], memory: ParamMemory, start: float | str, last_two: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales that can be bound: those that `kept` has, or its numbers encoded, or the start.

    ValueError if what is there does not fit.
    """
    model, device = memory.empty_state(torch.uint8, "meta"), memory.tensor.device
    there, scales = kept.get(key), kept.get(key + SCALE)
    if isinstance(there, torch.Tensor) and isinstance(scales, torch.Tensor):
        codes, factors = part_of(there, memory.param), part_of(scales, memory.param)
        _check_codes(b, key, codes, factors, model.shape, last_two)
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


def decode_codes(kernel: LoadedKernel, kept: dict[str, Any], key_of: Callable[[str], str], param: torch.Tensor) -> None:
    """Have `kept`, the states of a parameter, hold the float32 numbers in place of codes and their scales."""
    for b in kernel.states.values():
        key = key_of(b.name)
        codes, scales = kept.get(key), kept.get(key + SCALE)
        if b.is_quantized and isinstance(codes, torch.Tensor) and isinstance(scales, torch.Tensor):
            own, factors, shape = local_tensor(codes), local_tensor(scales), as_pairs(local_tensor(param)).shape
            _check_codes(b, key, own, factors, shape, kernel.native.last_two)
            kept[key] = _decoded(b, own, factors, shape)
            del kept[key + SCALE]


def check_tensor(key: str, there: Any) -> None:
    """TypeError if a state is no tensor, ValueError if it is a meta tensor."""
    if not isinstance(there, torch.Tensor):
        raise TypeError(f"state['{key}']: expected a tensor, not {there!r}")
    if there.is_meta:
        raise ValueError(f"state['{key}']: a meta tensor, which holds no numbers")


def _check_codes(
    b: Buffer, key: str, codes: torch.Tensor, scales: torch.Tensor, shape: torch.Size, last_two: bool
) -> None:
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


# ---------------------------------------------------------------- histories


class OtherShapeError(ValueError):
    """A state is there, but has another shape than kernels expect."""

    def __init__(self, key: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
        super().__init__(f"state['{key}']: shape {found}, expected {expected}")


def refuse_shards(key: str, memory: ParamMemory) -> None:
    """ValueError for a parameter of which other processes have parts."""
    if is_dtensor(memory.param):
        raise ValueError(f"state['{key}'] is a history, and these are not kept of parameters that are sharded")


def bindable_history(
    entries: int, key: str, there: Any, memory: ParamMemory, start: float | str, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `state[p]` holds, and the same memory as a kernel takes it: `there` if it can be bound as it is, else a
    copy of it, or a new one. OtherShapeError if it has another shape."""
    one = memory.empty_state(dtype, "meta")
    shape, strides = (entries, *one.shape), (one.numel(), *one.stride())
    kept = there
    if there is not None:
        check_tensor(key, there)
        if tuple(there.shape) not in (shape, (*shape, 2)):
            raise OtherShapeError(key, tuple(there.shape), shape)
    if there is None or not lies_like(there, (one.dtype, shape, strides), memory.tensor.device):
        kept = torch.empty_strided(shape, strides, dtype=one.dtype, device=memory.tensor.device)
        pairs = as_pairs(kept)
        if there is None:
            assert not isinstance(start, str)
            pairs.fill_(start)
        else:
            pairs.copy_(as_pairs(there.detach()).reshape(pairs.shape))
    first = memory.like_bound(kept[0])
    return kept, as_pairs(kept).as_strided((entries, *first.shape), (first.numel(), *first.stride()))


def lies_like(there: torch.Tensor, form: Form, device: torch.device) -> bool:
    """Whether a tensor has this dtype, shape and order, and is its own memory on this device."""
    dtype, shape, strides = form
    return (
        there.dtype == dtype
        and there.device == device
        and there.shape == shape
        and (there.stride() == strides or there.numel() < 2)
        and not there.is_neg()
        and not there.is_conj()
        and not there.requires_grad
    )


# ---------------------------------------------------------------- single numbers

Kept = Sequence[dict[str, Any]]


class Scalars:
    """Numbers that `state[p][key]` holds as tensors of shape () on the CPU, of some dtype.

    `values` is the kernels' vector, of a dtype that has more digits. A tensor that was written between steps sets the
    parameter's number. All of them are views of one array, so that reading them is one look; those that were there stay
    the same objects, for whoever holds them. One that was there for several parameters stays that of the first.
    """

    def __init__(self, key: str, values: Array, kept: Kept, dtype: torch.dtype) -> None:
        self.values = values
        found: set[int] = set()
        for k, value in zip(kept, values, strict=True):
            if not is_cpu_scalar(k.get(key)) or id(k[key]) in found:
                k[key] = torch.tensor(value, dtype=dtype, device="cpu")
            found.add(id(k[key]))
        self._tensor = side_by_side([k[key] for k in kept], dtype)
        self._address = self._tensor.data_ptr()
        self._shown: Array = self._tensor.numpy()
        self._last = self._shown.tobytes()

    def is_current(self) -> bool:
        """Whether the tensors still are the memory that is read; `share_memory_` moves it."""
        return self._tensor.data_ptr() == self._address

    def read(self) -> None:
        """Before a step: take what was written."""
        if self._shown.tobytes() != self._last:
            self.values[:] = self._shown

    def write(self) -> None:
        """After a step: show the new numbers."""
        self._shown[:] = self.values
        self._last = self._shown.tobytes()


class PythonCounts:
    """Counts that `state[p][key]` holds as numbers of Python."""

    def __init__(self, key: str, values: Array, kept: Kept) -> None:
        self._key, self.values, self._kept = key, values, kept
        self.write()

    def is_current(self) -> bool:
        """True, as the numbers are looked up anew."""
        return True

    def read(self) -> None:
        """Before a step: take what was written."""
        self.values[:] = [int(k[self._key]) for k in self._kept]

    def write(self) -> None:
        """After a step: show the new counts."""
        for k, count in zip(self._kept, self.values.tolist(), strict=True):
            k[self._key] = count


LARGEST_COUNT = 1 << 53


def count_of(x: Any, key: str) -> int:
    """The number of updates that a state has; ValueError if it is none."""
    try:
        count = int(x) if float(x).is_integer() else -1
    except (TypeError, ValueError, OverflowError, RuntimeError):  # text, NaN, infinity, several elements, no memory
        count = -1
    if not 0 <= count <= LARGEST_COUNT:
        raise ValueError(f"state['{key}'] is {x!r}, which is no number of updates")
    return count


def is_cpu_scalar(x: Any) -> bool:
    """Whether something is a tensor of shape () on the CPU that others may hold."""
    return isinstance(x, torch.Tensor) and x.dim() == 0 and x.device.type == "cpu" and not x.requires_grad


def step_tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """A count as a tensor of shape () on the CPU: the same one if it is, else a new one."""
    return x if is_cpu_scalar(x) else torch.tensor(0.0 if x is None else float(x), dtype=dtype, device="cpu")


def number_dtype(kept: Mapping[str, Any], key: str, default: torch.dtype) -> torch.dtype:
    """The dtype of a number that is there, if it is one of floats; else the default."""
    there = kept.get(key)
    return there.dtype if isinstance(there, torch.Tensor) and there.dtype.is_floating_point else default


def side_by_side(tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """One tensor that has these tensors of shape () as its elements; they get its memory, if they have not."""
    first = tensors[0]
    memory, begin = first.untyped_storage().data_ptr(), first.storage_offset()
    for i, t in enumerate(tensors):
        if t.dtype != dtype or t.untyped_storage().data_ptr() != memory or t.storage_offset() != begin + i:
            break
    else:
        return first.as_strided((len(tensors),), (1,), begin)
    together = torch.tensor([t.item() for t in tensors], dtype=dtype, device=first.device)
    for t, element in zip(tensors, together, strict=True):
        t.data = element
    return together


# ---------------------------------------------------------------- single numbers on a GPU


class GpuScalars:
    """Numbers that `state[p][key]` holds as tensors of shape () on the GPU, of some dtype.

    `values` is the kernels' vector. What is copied between the two is part of a captured graph.
    """

    def __init__(self, key: str, values: torch.Tensor, kept: Kept, dtype: torch.dtype) -> None:
        self._values, self._shown = values, shown(key, values.to(dtype), kept)

    def is_current(self) -> bool:
        """True, as the tensors in `state[p]` are looked at one by one."""
        return True

    def read(self) -> None:
        """Before a step: take what was written."""
        self._values.copy_(self._shown)

    def write(self) -> None:
        """After a step: show the new numbers."""
        self._shown.copy_(self._values)


def shown(key: str, values: torch.Tensor, kept: Kept) -> torch.Tensor:
    """A vector with these values, whose elements `state[p][key]` holds: the one that is there, if it has their dtype
    and device, else `values` itself."""
    there = [k.get(key) for k in kept]
    if not all(isinstance(x, torch.Tensor) and (x.dtype, x.device) == (values.dtype, values.device) for x in there):
        for k, value in zip(kept, values, strict=True):
            k[key] = value
    found = side_by_side([k[key] for k in kept], values.dtype)
    return found.copy_(values)
