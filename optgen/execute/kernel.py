"""A kernel in memory: what its callers know of it, and the structure that its entry point reads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from optgen.backends.step_struct import STEP_FIELDS, StepField
from optgen.compiled import NativeKernel
from optgen.execute.buffers import Array, Tensor
from optgen.ir import Buffer, Variant, is_gradient

BufferTensors = Mapping[str, Sequence[Tensor | None]]
"""The tensors of each buffer, one for each parameter, None where the parameter's kernel does not have the buffer."""


def _ctype(field: StepField) -> type[ctypes.c_int64 | ctypes.c_uint64 | ctypes.c_void_p]:
    """A pointer is an address, so that it may be set to an integer or to None."""
    if not field.is_integer:
        return ctypes.c_void_p
    return ctypes.c_uint64 if field.c_type.startswith("u") else ctypes.c_int64


class StepStruct(ctypes.Structure):
    """optgen_step: `STEP_FIELDS` says what each field holds."""

    _fields_ = tuple((field.name, _ctype(field)) for field in STEP_FIELDS)


NOT_BY_ROW = -1
"""What `present` holds for a tensor that is updated as one array of elements, and not row by row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a parameter that are updated: `count` of them, numbered by `index` (int64; None: all, in order).

    With a count of NOT_BY_ROW the parameter is updated as one array of elements.
    """

    count: int = NOT_BY_ROW
    index: Array | None = None


class LoadedKernel:
    """One variant of an optimizer, loaded.

    `address` is its entry point on the CPU, 0 if it has several, and `run` calls that with the address of a
    StepStruct. `buffer_index` and `hyper_index` number its buffers and hyper-parameters by name; `gradients` are the
    numbers of gradients among the buffers. `states` are the buffers that are kept between steps, by name: the states,
    their `scales`, and the master weight as "w".
    """

    def __init__(self, variant: Variant, native: NativeKernel, address: int) -> None:
        self.variant, self.native, self.address = variant, native, address
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        self.buffer_index = {b.name: k for k, b in enumerate(native.buffers)}
        self.hyper_index = {name: k for k, name in enumerate(native.hyper)}
        self.gradients = [k for name, k in self.buffer_index.items() if is_gradient(name)]
        states = kept(native.buffers, variant)
        self.states: Mapping[str, Buffer] = {b.name: b for b in states}
        self.scales = [b.name for b in states if b.is_scale]
        self.is_quantized = any(b.is_quantized for b in native.buffers)

    def check(self, values: Mapping[str, float | None]) -> None:
        """ValueError where a parameter of these params and sizes cannot be updated."""


def kept(buffers: Iterable[Buffer], variant: Variant) -> list[Buffer]:
    """The buffers of a variant that are kept between steps."""
    return [b for b in buffers if b.init is not None or (b.name == "w" and variant.master)]


def group_by_kernel(kernels: Sequence[LoadedKernel], members: Sequence[int]) -> dict[LoadedKernel, list[int]]:
    """The parameters among `members` that each kernel updates; `kernels` are those of all parameters."""
    groups: dict[LoadedKernel, list[int]] = {}
    for i in members:
        groups.setdefault(kernels[i], []).append(i)
    return groups


def smallest_first(kernel: LoadedKernel, members: list[int], params: Sequence[Tensor]) -> list[int]:
    """The parameters that a kernel updates, in the order of a table: small ones first, which may be updated in groups.
    The order stays as it is if the kernel has one sweep, or if a result depends on the order."""
    if kernel.native.shared or kernel.native.sweeps < 2:
        return members
    return sorted(members, key=lambda i: params[i].size)


def difference(a: LoadedKernel, b: LoadedKernel) -> str:
    """The flags and storages in which the variants of two kernels differ."""
    words = []
    for x, y in ((a.variant.flags, b.variant.flags), (a.variant.storage, b.variant.storage)):
        words += [f"{name} is {x.get(name)} and {y.get(name)}" for name in {**x, **y} if x.get(name) != y.get(name)]
    return ", ".join(words)
