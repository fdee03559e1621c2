"""Checks of what a step is bound with, and words for their errors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optgen.axes import ELEMENTS, shown
from optgen.diagnostics import suggest
from optgen.execute import buffers, storage
from optgen.execute.buffers import Tensor
from optgen.execute.kernel import LoadedKernel, difference
from optgen.execute.protocols import Device
from optgen.model import Optimizer

ID_LIMIT = 1 << 20


def check_ids(ids: Iterable[int], n: int) -> list[int]:
    """The ids of n parameters; ValueError unless they are different numbers below ID_LIMIT."""
    checked = [operator.index(x) for x in ids]
    if len(checked) != n or len(set(checked)) != n or not all(0 <= x < ID_LIMIT for x in checked):
        raise ValueError(f"ids: expected {n} different numbers from 0 to 2^20 - 1, one for each parameter, not {ids!r}")
    return checked


def check_inputs(
    spec: Optimizer,
    inputs: Mapping[str, Iterable[Any]],
    params: Sequence[Tensor],
    kernels: Sequence[LoadedKernel],
    device: Device,
    *,
    in_pieces: bool,
) -> dict[str, list[Tensor | None]]:
    """The tensors of each input, by name, None for a parameter whose kernel reads none; TypeError or ValueError where
    one is unknown, missing or does not fit. `in_pieces`: parameters are pieces of tensors, with which inputs of other
    dimensions than theirs do not go."""
    for own in (x for x in spec.inputs if x.axes != ELEMENTS and in_pieces):
        raise ValueError(
            f"{spec.name}: input '{own.name}' is {shown(own.axes)}, and a parameter is a piece of a tensor"
        )
    names = [i.name for i in spec.inputs]
    for name in inputs:
        if name not in names:
            hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
            raise TypeError(f"{spec.name} has no input '{name}'; {hint}")
    tensors: dict[str, list[Tensor | None]] = {}
    for name in names:
        held = [next((b for b in kernel.native.buffers if b.name == name), None) for kernel in kernels]
        if name not in inputs and any(held):
            raise ValueError(
                f"{spec.name} reads '{name}': give inputs={{'{name}': [...]}}, a tensor for each parameter"
            )
        listed = buffers.as_list(inputs.get(name, [None] * len(params)), f"inputs[{name!r}]", len(params))
        tensors[name] = [None] * len(params)
        for i, (x, b, p, kernel) in enumerate(zip(listed, held, params, kernels, strict=True)):
            if b is not None:
                tensors[name][i] = t = device.tensor(x, f"inputs[{name!r}][{i}]")
                shape = storage.shape_of(b, p.shape, by_row=False, last_two=kernel.native.last_two)
                what = "its parameter" if shape == p.shape else f"an input {shown(b.axes)} of this parameter"
                buffers.check(t, storage.dtype_of(b), shape, what)
    return tensors


def check_shared_values(name: str, groups: Mapping[LoadedKernel, list[int]]) -> None:
    """ValueError if parameters share values, and some have another kernel. Those that are left out add nothing.
    `groups` has the parameters of each kernel, and `name` is the spec's."""
    if len(groups) > 1 and any(kernel.native.shared for kernel in groups):
        (one, (first, *_)), (other, (second, *_)), *_ = groups.items()
        raise ValueError(
            f"{name} shares values between all parameters, so they need one kernel, but params[{first}] and "
            f"params[{second}] need different ones: {difference(one, other)}; "
            "compute the sum or norm outside of the spec, and pass it as a param, or as rescale_grad"
        )


def check_one_float32(tensor: Tensor) -> Tensor:
    """ValueError naming a tensor that is not one float32."""
    if tensor.dtype != "float32" or tensor.size != 1:
        raise ValueError(f"{tensor.name}: expected one float32, got {tensor.dtype} of shape {tensor.shape}")
    return tensor
