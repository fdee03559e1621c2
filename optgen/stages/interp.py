"""The definition of staged programs: an interpreter that executes a plan with NumPy.

Kernels are executed by the interpreter of kernels. Calls are the caller's: given equal results of calls, a step has
equal bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optgen import arguments, groups
from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Axis, When, length_of
from optgen.ir.interp import TensorUpdate, interpret
from optgen.shapes import matrix_view, sizes
from optgen.stages.layout import offsets
from optgen.stages.plan import PARAMETER, PARAMETER_SIZES, CallStage, KernelStage, LoopStage, Plan, Stage

Array = np.ndarray[Any, Any]
CallFunction = Callable[[CallStage, Sequence[Array], Sequence[float], Array], None]
"""Computes a call: takes the stage, its operands as they are stored, its numbers, and the array of the result."""


def interpret_plan(
    plan: Plan,
    tensors: Sequence[TensorUpdate],
    call: CallFunction,
    *,
    last_two: bool = False,
    seed: int = 0,
) -> None:
    """Execute one update of tensors, in place: of one, or of all that share values."""
    runs = [_TensorRun(plan, tensor, last_two) for tensor in tensors]
    for run in runs:
        shared = [x.key for x in plan.arrays if x.known is When.SHARED and x.key in run.arrays]
        run.arrays |= {key: runs[0].arrays[key] for key in shared}
    _PlanRun(runs, call, seed).stages(plan.stages)


@dataclass(frozen=True)
class _PlanRun:
    runs: Sequence[_TensorRun]
    call: CallFunction
    seed: int

    def stages(self, stages: Sequence[Stage]) -> None:
        for stage in stages:
            match stage:
                case KernelStage(kernel=kernel):
                    interpret(kernel, [run.update(stage) for run in self.runs], self.seed)
                case CallStage():
                    for run in self.runs:
                        run.call(stage, self.call)
                case LoopStage():
                    self.loop(stage)

    def loop(self, loop: LoopStage) -> None:
        initial = [{x.start: run.arrays[x.start] for x in loop.carried} for run in self.runs]
        slots = [{x.new: (run.arrays[x.new], run.arrays[x.other]) for x in loop.carried} for run in self.runs]
        for turn in range(int(arguments.number(loop.count, self.runs[0].values))):
            for run, own in zip(self.runs, slots, strict=True):
                if loop.index is not None:
                    run.values[loop.index] = turn
                for _, new, _ in loop.carried:
                    run.arrays[new] = own[new][turn % 2]
            self.stages(loop.body)
            for run in self.runs:
                for key, new, _ in loop.carried:
                    run.arrays[key] = run.arrays[new]
        for run, before in zip(self.runs, initial, strict=True):
            for key, new, _ in loop.carried:
                run.arrays[new] = run.arrays[key]
                run.arrays[key] = before[key]


class _TensorRun:
    """The arrays and numbers of one tensor."""

    def __init__(self, plan: Plan, tensor: TensorUpdate, last_two: bool) -> None:
        self.plan, self.tensor = plan, tensor
        shape = tensor.buffers["w"].shape
        self.own = sizes(shape, last_two)
        self.values = {**tensor.hyper, **self.own, **groups.sizes(plan.groups, shape, tensor.hyper)}
        self.lead = (matrix_view(shape, last_two)[0],) if last_two and len(shape) > 2 else ()
        elements = np.float64 if tensor.buffers["w"].dtype == np.float64 else np.float32
        sweeps = [x for x in plan.walk() if isinstance(x, KernelStage) and x.domain == PARAMETER]
        self.elements = {b.name for x in sweeps for b in x.buffers if b.axes == ELEMENTS and not b.entries}
        self.arrays = self._made(elements)

    def _made(self, elements: type[np.floating[Any]]) -> dict[str, Array]:
        """The arrays, in one block of memory, as compiled steps have them. It is full of NaN."""
        shapes, dtypes, sizes = {}, {}, {}
        for array in self.plan.arrays:
            narrow = (array.is_narrow and array.axes) or len(array.axes) == 2
            shapes[array.key] = (self.length(array.entries),) if array.entries else self.shape(array.axes)
            dtypes[array.key] = np.dtype(elements if narrow else np.float64)
            sizes[array.key] = -(-math.prod(shapes[array.key]) * dtypes[array.key].itemsize // 8) * 8
        begins, end = offsets(self.plan, sizes)
        block = np.full(end, 0xFF, np.uint8)
        return {key: np.ndarray(shapes[key], dtypes[key], block, begin) for key, begin in begins.items()}

    def shape(self, axes: Axes) -> tuple[int, ...]:
        return (*self.lead, *(self.length(axis) for axis in axes)) if axes else ()

    def length(self, axis: Axis) -> int:
        return length_of(axis, self.values)

    def array(self, key: str) -> Array:
        place = self.plan.places.get(key, key)
        return self.arrays[place] if place in self.arrays else self.tensor.buffers[place]

    def update(self, section: KernelStage) -> TensorUpdate:
        """The tensor as a kernel takes it."""
        buffers = {
            b.memory: self.array(b.memory).reshape(-1) if _is_line(b) else self.array(b.memory) for b in section.buffers
        }
        domain = self.tensor.buffers["w"].shape if section.domain == PARAMETER else self.shape(section.domain)
        hyper: Mapping[str, float] = self.values
        if section.domain != PARAMETER:
            own = sizes(domain, bool(self.lead))
            hyper = {**self.values, **own, **{PARAMETER_SIZES[name]: x for name, x in self.own.items()}}
        return replace(self.tensor, buffers=buffers, hyper=hyper, shape=domain)

    def call(self, stage: CallStage, call: CallFunction) -> None:
        vectors = range(len(stage.operands)) if stage.function != "product" else stage.vectors
        operands = [self.matrix(x.key, wanted=k not in vectors) for k, x in enumerate(stage.operands)]
        numbers = [arguments.number(x, self.values) for x in stage.numbers]
        call(stage, operands, numbers, self.matrix(stage.target))

    def matrix(self, key: str, *, wanted: bool = False) -> Array:
        """An array as a call takes it: that of a parameter is a matrix. One that no sweep reads is known by its shape,
        or as a matrix is `wanted`."""
        found, own = self.array(key), self.tensor.buffers["w"].shape
        is_like = found.shape == own and (wanted or len(own) > 2)
        is_param = key not in self.arrays and (self.plan.places.get(key, key) in self.elements or is_like)
        return found.reshape(self.shape(PARAMETER)) if is_param else found


def _is_line(buffer: Any) -> bool:
    return buffer.axes in (ROWS, COLS) and not buffer.entries
