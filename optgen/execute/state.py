"""The state of a rule, which it keeps between steps: made for parameters, and checked against them."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.axes import Kind
from optgen.execute import buffers, storage
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import LoadedKernel
from optgen.execute.protocols import Device
from optgen.ir import Buffer
from optgen.ir.storage import QUANT_BLOCK


@dataclass(frozen=True)
class State:
    """The state of a rule: `arrays[name][i]` belongs to parameter i, and is None if its variant has no such state.

    An elementwise state has the shape of the parameter. A state per row has shape (rows,), one per column (cols,), in
    the matrix view of shape[0] by the rest; of a spec with `axes last two`, these are the rows, or the columns, of all
    matrices one after the other: a parameter of shape (2, 3, 4, 5) has (2*3*4,) and (2*3*5,). Host, tensor and shared
    states are float64 of shape (); a shared one is the same array for all i. A quantized state NAME has codes (uint8),
    and their scales as "NAME.scale" (float32, one for each block of 256 elements, with 4 bits of 128): of shape
    (ceil(size/256),), or (rows, ceil(cols/256)) for a parameter that takes row-sparse updates, and where the rule has
    `blocks_by_row`. Codes of 8 bits have the shape of the parameter. Two codes of 4 bits are in a byte, the first one
    in its lower half: the array has the shape (ceil(size/2),), or (rows, ceil(cols/2)). "w" are the float32 masters of
    parameters of 16 bits. `t[i]` counts the updates (int64).

    States of kind host and `t` are NumPy arrays; those of capturable steps are arrays on the GPU.
    """

    arrays: Mapping[str, Sequence[Any]]
    t: Any

    def __repr__(self) -> str:
        kept = [f"{name} ({dtype})" for name, dtype, _, _ in _summary(self) if not name.endswith(".scale")]
        (n,) = self.t.shape
        return f"<optgen state: {', '.join(kept) or 'no arrays'}; {n} parameter{'s' * (n != 1)}, {counted(self)}>"

    def _repr_markdown_(self) -> str:
        """A line of what it is and a table of its arrays, as notebooks show them."""
        rows = [f"| `{name}` | {dtype} | {n} | {elements:,} |" for name, dtype, n, elements in _summary(self)]
        return "\n".join([f"`{self!r}`\n", "| state | dtype | arrays | elements |", "|---|---|--:|--:|", *rows])


def counted(state: State) -> str:
    """The counts of a state in words: `t = 3`, or `t = 2 to 5` where parameters differ."""
    if hasattr(state.t, "__cuda_array_interface__"):
        return "counts on the GPU"
    counts = [int(count) for count in state.t]
    first, last = min(counts, default=0), max(counts, default=0)
    return f"t = {first}" if first == last else f"t = {first} to {last}"


def _summary(state: State) -> Iterator[tuple[str, str, int, int]]:
    """A row for each state: its name, the dtypes of its arrays, how many different ones, and their elements."""
    for name, arrays in state.arrays.items():
        present = list({id(x): x for x in arrays if x is not None}.values())
        dtypes = dict.fromkeys(str(x.dtype).removeprefix("torch.") for x in present)  # PyTorch's are `torch.float32`
        yield name, ", ".join(dtypes), len(present), sum(math.prod(x.shape) for x in present)


def initial(
    kernels: Sequence[LoadedKernel],
    params: Sequence[Tensor],
    by_row: Sequence[bool],
    values: Mapping[str, float | None],
    device: Device,
) -> State:
    """The state before the first update; `values` has the params that states start as."""
    arrays: dict[str, list[Any]] = defaultdict(lambda: [None] * len(params))
    shared: dict[str, Any] = {}
    for i, (kernel, param, rows) in enumerate(zip(kernels, params, by_row, strict=True)):
        for name, array in _initial_arrays(kernel, param, rows, values, device).items():
            if kernel.states[name].kind is Kind.SHARED:
                array = shared.setdefault(name, array)
            arrays[name][i] = array
    return State(dict(arrays), device.host_full((len(params),), "int64", 0))


def _initial_arrays(
    kernel: LoadedKernel, param: Tensor, by_row: bool, values: Mapping[str, float | None], device: Device
) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for b in kernel.states.values():
        if b.is_scale:
            continue  # made with its codes
        shape, dtype = storage.shape_of(b, param.shape, by_row, kernel.native.last_two), storage.dtype_of(b)
        value = values[b.init] if isinstance(b.init, str) and b.init != "w" else b.init
        if b.is_quantized:
            arrays |= _initial_codes(b, param, by_row, kernel.native.last_two, value, device)
        elif value == "w" or b.name == "w":
            arrays[b.name] = device.copy(param, dtype)
        else:
            assert isinstance(value, float | int)
            # A state of kind host is computed before any element is read, by the CPU unless the step is capturable.
            if b.kind is Kind.HOST:
                arrays[b.name] = device.host_full(shape, dtype, value)
            else:
                arrays[b.name] = device.full(shape, dtype, value, param if b.kind is Kind.ELEM else None)
    return arrays


def _initial_codes(
    b: Buffer, param: Tensor, by_row: bool, last_two: bool, value: float | str | None, device: Device
) -> dict[str, Any]:
    if value == "w":
        codes, scales = storage.encode(device.get(param), b, by_row, last_two)
        return {b.name: device.put(codes), b.scales.name: device.put(scales)}
    assert isinstance(value, float | int)
    code, magnitude = storage.encode_equal(value, b)
    shapes = [storage.shape_of(x, param.shape, by_row, last_two) for x in (b, b.scales)]
    return {
        b.name: device.full(shapes[0], storage.dtype_of(b), code, None if b.format.is_packed else param),
        b.scales.name: device.full(shapes[1], "float32", magnitude),
    }


# ---------------------------------------------------------------- a state that a caller brings


StateTensors = dict[str, Sequence[Tensor | None]]
"""The tensors of each state, one for each parameter, None where the parameter's kernel does not have the state."""


def tensors(
    state: State, kernels: Sequence[LoadedKernel], params: Sequence[Tensor], what: str, device: Device
) -> StateTensors:
    """The tensors of a state, checked; `what` is what errors call the rule."""
    if not isinstance(state, State):
        raise TypeError(f"state: expected what init() returns, not {type(state).__name__}")
    n = len(params)
    for name, arrays in state.arrays.items():
        if len(arrays) != n:
            raise ValueError(f"state[{name!r}]: {len(arrays)} tensors for {n} parameters")
    found: dict[str, list[Tensor | None]] = defaultdict(lambda: [None] * n)
    for i, (kernel, param) in enumerate(zip(kernels, params, strict=True)):
        arrays_of_param = {name: x for name, arrays in state.arrays.items() if (x := arrays[i]) is not None}
        if arrays_of_param.keys() != kernel.states.keys():
            names = [", ".join(x) or "nothing" for x in (arrays_of_param, kernel.states)]
            raise ValueError(
                f"state: holds {names[0]} for params[{i}], where {what} keeps {names[1]}; it was made by another rule, "
                "or with other flags"
            )
        own = {}
        for name, b in kernel.states.items():
            find = device.host_tensor if b.kind is Kind.HOST else device.tensor
            found[name][i] = own[name] = find(arrays_of_param[name], f"state[{name!r}][{i}]")
        in_rows = _is_by_row(kernel, own) and can_restart(kernel, param.shape)
        for name, b in kernel.states.items():
            _check(own[name], b, param, storage.shape_of(b, param.shape, in_rows, kernel.native.last_two))
    for name, column in found.items():
        if is_shared(name, kernels) and len({t.address for t in column if t is not None}) > 1:
            raise ValueError(f"state[{name!r}]: one value for all parameters, so all its arrays must be the same one")
    return {**found}


def by_row(found: StateTensors, kernels: Sequence[LoadedKernel]) -> list[bool]:
    """Whether the blocks of codes of a parameter's states restart at each row, for each parameter."""
    return [_is_by_row(k, {name: found[name][i] for name in k.scales}) for i, k in enumerate(kernels)]


def _is_by_row(kernel: LoadedKernel, tensors: Mapping[str, Tensor | None]) -> bool:
    return any((t := tensors[name]) is not None and len(t.shape) == 2 for name in kernel.scales)


def can_restart(kernel: LoadedKernel, shape: Sequence[int]) -> bool:
    """Whether a kernel can update a parameter of this shape whose blocks of codes restart at each row."""
    length = storage.row_length(shape, kernel.native.last_two)
    return kernel.native.lazy or kernel.variant.by_row or not length % QUANT_BLOCK


def is_shared(name: str, kernels: Sequence[LoadedKernel]) -> bool:
    """Whether a state is one value for all parameters."""
    return any(name in k.states and k.states[name].kind is Kind.SHARED for k in kernels)


def _check(t: Tensor, b: Buffer, param: Tensor, expected: tuple[int, ...]) -> None:
    if b.written:
        buffers.check_writable(t)
    of = "its parameter" if expected == param.shape else f"that of {param.name}, of shape {param.shape},"
    buffers.check(t, storage.dtype_of(b), expected, of)


LARGEST_COUNT = 1 << 53
"""Kernels compute with counts in float64, which has all whole numbers up to this one."""


def counts(state: State, n: int, device: Device) -> Tensor:
    """The update counts, checked."""
    t = device.host_tensor(state.t, "state.t")
    buffers.check_writable(t)
    if (t.dtype, t.shape) != ("int64", (n,)):
        raise ValueError(f"state.t: expected int64 of shape ({n},), got {t.dtype} of {t.shape}")
    check_counts(t.view() if t.gpu is None else device.get(t))
    return t


def on_host(state: State, kernels: Sequence[LoadedKernel], device: Device) -> State:
    """A state whose counts and states of kind host are in the memory of the CPU, those of a capturable step copied."""
    kinds = {name: b.kind for kernel in kernels for name, b in kernel.states.items()}
    arrays = {
        name: [x if x is None else device.host_copy(x, f"state[{name!r}][{i}]") for i, x in enumerate(own)]
        if kinds.get(name) is Kind.HOST
        else own
        for name, own in state.arrays.items()
    }
    return State(arrays, device.host_copy(state.t, "state.t"))


def check_counts(t: Array) -> None:
    """ValueError naming a count that is negative or above LARGEST_COUNT."""
    for i in np.flatnonzero((t < 0) | (t > LARGEST_COUNT)):
        raise ValueError(f"state.t[{i}]: {t[i]} updates; a count is from 0 to 2^53")


def high_16_bits(t: Tensor) -> Array:
    """A view of the highest 16 bits of each count: all 0 unless a count is negative, or 2^48 and more. Counts on a GPU
    are not looked at."""
    if t.gpu is not None:
        return np.zeros(0, np.uint16)
    return t.view().view(np.uint16)[3 if sys.byteorder == "little" else 0 :: 4]
