"""Capturable steps, which a captured CUDA graph replays: counts, numbers and rates that are on the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch

from optgen.model import Optimizer
from optgen.torch.scalars import Kept, side_by_side
from optgen.torch.spelling import Spelling

# ---------------------------------------------------------------- what can be captured


def is_capturing() -> bool:
    """Whether the current stream is being captured."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]


def check_capture(name: str, groups: Iterable[Mapping[str, Any]], *, binds: bool = False) -> None:
    """RuntimeError, in PyTorch's words, if a step of these groups is captured, and one of them is not capturable.

    RuntimeError too if the step `binds`: a capture is no time to load kernels and make states.
    """
    if not is_capturing():
        return
    if not all(group.get("capturable") for group in groups):
        raise RuntimeError(
            f"Attempting CUDA graph capture of step() for an instance of {name} but param_groups' capturable is False."
        )
    if binds:
        raise RuntimeError(
            f"{name}: call step() before it is captured, with a gradient for each parameter that has one in the "
            "capture: it loads kernels and makes states"
        )


# ---------------------------------------------------------------- numbers of parameters


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


# ---------------------------------------------------------------- values of groups


class GpuValues(NamedTuple):
    """The values of a capturable group that are tensors on a GPU, by the spec's names: steps read them there.

    `numbers` are what they were when the host read them, once, to check them and to choose kernels.
    """

    tensors: Mapping[str, torch.Tensor] = {}
    numbers: Mapping[str, float] = {}

    def as_numbers(self, spelling: Spelling, group: Mapping[str, Any]) -> Mapping[str, Any]:
        """A group with numbers in the place of these tensors."""
        read: dict[str, Any] = {}
        for key, names in spelling.params.items():
            if not self.tensors.keys().isdisjoint(names):
                each = [self.numbers.get(name, x) for name, x in zip(names, _each(group[key]), strict=False)]
                read[key] = each[0] if len(names) == 1 else each
        return {**group, **read} if read else group

    def moved(self, before: GpuValues) -> list[str]:
        """The names that have another tensor than before, have one now, or have none any more."""
        names = {**before.tensors, **self.tensors}
        return [name for name in names if self.tensors.get(name) is not before.tensors.get(name)]


def gpu_values(spec: Optimizer, spelling: Spelling, group: Mapping[str, Any], before: GpuValues) -> GpuValues:
    """The values of a group that steps read on a GPU; those that choose code are not among them."""
    if not group.get("capturable"):
        return GpuValues()
    params, choosing = spec.all_params, spec.deciding
    tensors, numbers = {}, {}
    for key, names in spelling.params.items():
        for name, x in zip(names, _each(group[key]), strict=False):
            if torch.is_tensor(x) and x.is_cuda and name not in choosing and not params[name].zero_off:
                tensors[name] = x
                numbers[name] = before.numbers[name] if before.tensors.get(name) is x else x.item()
    return GpuValues(tensors, numbers)


def _each(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, tuple | list) else (given,)
