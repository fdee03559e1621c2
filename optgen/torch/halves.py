"""What is kept beside weights of 16 bits, a float32 master or what rounding lost, made of the other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from optgen.execute.kernel import LoadedKernel
from optgen.ir import COMPENSATION
from optgen.torch.forms import OtherShapeError, check_tensor
from optgen.torch.memory import ParamMemory, as_pairs, like, local_tensor, part_of

MASTER = "master"
"""The key of the float32 weight beside a parameter of 16 bits; kernels call it `w`."""


def keep_as(kernel: LoadedKernel, kept: dict[str, Any], memory: ParamMemory) -> None:
    """Have `kept`, the states of a parameter, hold what this kernel keeps of its weight, if they hold the other one.

    A master is the weight and its compensation. A compensation is what rounding a master to the weight's dtype loses,
    whatever the weight is now, as a model may be loaded behind its optimizer. ValueError, naming the state, for one
    that does not fit.
    """
    has_master = "w" in kernel.states
    compensates = any(b.name == COMPENSATION for b in kernel.native.buffers)
    found = {key for key in (MASTER, COMPENSATION) if kept.get(key) is not None}
    if has_master and not compensates and found == {COMPENSATION}:
        kept[MASTER] = _like(_exact(memory, kept[COMPENSATION]), memory)
    elif compensates and not has_master and found == {MASTER}:
        kept[COMPENSATION] = _like(_lost(memory, kept[MASTER]), memory)


def _exact(memory: ParamMemory, compensation: Any) -> torch.Tensor:
    """The weight before it was rounded, in float32. Where the compensation was itself rounded to half a unit, the sum
    could round to the weight's neighbour; then it is the next number towards the weight."""
    weight = as_pairs(local_tensor(memory.param).detach())
    exact = weight.float() + _pairs(COMPENSATION, compensation, memory).float()
    return torch.where(exact.to(weight.dtype) == weight, exact, torch.nextafter(exact, weight.float()))


def _lost(memory: ParamMemory, master: Any) -> torch.Tensor:
    """What rounding a master loses, in the weight's dtype."""
    exact, dtype = _pairs(MASTER, master, memory).float(), memory.tensor.dtype
    return (exact - exact.to(dtype).float()).to(dtype)


def _pairs(key: str, there: Any, memory: ParamMemory) -> torch.Tensor:
    """What is here of a state, with pairs where the parameter is complex, on its device."""
    check_tensor(key, there)
    found = as_pairs(part_of(there, memory.param).detach()).to(memory.tensor.device)
    expected = as_pairs(local_tensor(memory.param)).shape
    if found.shape != expected:
        raise OtherShapeError(key, tuple(there.shape), tuple(memory.param.shape))
    return found


def _like(pairs: torch.Tensor, memory: ParamMemory) -> torch.Tensor:
    shape = tuple(memory.param.shape)
    return like(pairs, memory.param, (*shape, 2) if memory.is_complex else shape)


def carry_weight(kept: Mapping[str, Any], entry: dict[str, Any], *specs: Any) -> None:
    """Have the states of a parameter under another optimizer begin with what is kept of its weight, unless one of
    these specs has a state of that name that means something else."""
    names = {state.name for spec in specs for state in spec.states}
    for key in (MASTER, COMPENSATION):
        if key not in names:
            entry.pop(key, None)
            if kept.get(key) is not None:
                entry[key] = kept[key]
