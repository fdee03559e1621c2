"""Activations become part of the kernels before them: a sweep less over memory each.

`relu` of normalized planes, or of their sum with another array, is computed where these are; and the gradient of planes
takes the gradient of a relu from what flows into it and its output. `relu` of a convolution, which has its bias, is
computed while the outputs are in the cache. The bits are those of the steps apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from optgen.loops.kernel import LoopKernel
from runtime.native import gathered, winograd
from runtime.native import normalization as native
from runtime.plan.expressions import ADD, RELU, RELU_GRADIENT
from runtime.plan.steps import Array, Buffer, ElementStep, KernelStep, PythonStep, Step

CONVOLUTIONS = (gathered.convolve, winograd.convolve)
"""Kernels whose parameter `y` is their output, and `relu` whether its positive part is taken."""


def with_epilogues(steps: Sequence[Step], readers: Counter[Buffer]) -> list[Step]:
    """The steps, with activations in kernels. `readers` counts the steps that read a buffer and do not write it, those
    of other parts and results, too."""
    done: list[Step] = list(steps)
    made_by = {buffer: step for step in steps for buffer in step.writes}
    for step in steps:
        if isinstance(step, ElementStep) and step.text == RELU:
            maker = _only_maker(step.operands[0], made_by, readers)
            if isinstance(maker, KernelStep) and maker.kernel in CONVOLUTIONS:
                _join_convolution(done, step, maker)
            else:
                _join_relu(done, step, made_by, readers)
        elif isinstance(step, KernelStep) and step.kernel is native.planes_back:
            _join_gradient(done, step, made_by, readers)
    return done


def _join_convolution(done: list[Step], relu: ElementStep, convolve: KernelStep) -> None:
    """Have `convolve`, which only `relu` reads, take the positive part of its output."""
    arguments = convolve.with_arguments(y=relu.output, relu=1)
    done[done.index(convolve)] = _like(convolve, convolve.kernel, arguments, [relu.output.buffer])
    done.remove(relu)


def _join_relu(done: list[Step], relu: ElementStep, made_by: dict[Buffer, Step], readers: Counter[Buffer]) -> None:
    """Have the planes that `relu` reads, or that are added to what it reads, computed by `planes_relu` in its place."""
    parts: list[tuple[Array | str, Array | None, list[Step]]] = [(relu.operands[0], None, [])]
    total = _only_maker(relu.operands[0], made_by, readers)
    if isinstance(total, ElementStep) and total.text == ADD:
        a, b = total.operands
        if isinstance(a, Array) and isinstance(b, Array) and a.size == b.size:
            parts += [(a, b, [total]), (b, a, [total])]
    for x, other, inner in parts:
        planes = _only_maker(x, made_by, readers)
        if not (isinstance(planes, KernelStep) and planes.kernel is native.planes) or x.buffer is not planes.writes[0]:
            continue
        if not _can_wait(done, planes, relu):
            continue
        data, gamma, beta, _, *rest, eps, channels, together, size = planes.arguments
        arguments = [data, gamma, beta, relu.output, *rest, eps, other, int(other is not None)]
        arguments += [channels, together, size]
        joined = _like(planes, native.planes_relu, arguments, [relu.output.buffer, *planes.writes[1:]])
        done[done.index(relu)] = joined
        for step in (planes, *inner):
            done.remove(step)
        made_by.update(dict.fromkeys(joined.writes, joined))
        return


def _join_gradient(done: list[Step], back: KernelStep, made_by: dict[Buffer, Step], readers: Counter[Buffer]) -> None:
    """Have `planes_back` take the gradient of a relu whose gradient nothing else reads."""
    flow = _only_maker(back.arguments[0], made_by, readers)
    if not (isinstance(flow, ElementStep) and flow.text == RELU_GRADIENT):
        return
    g, z = flow.operands[:2]
    if not (isinstance(g, Array) and isinstance(z, Array)) or g.size != z.size:
        return
    done[done.index(back)] = _like(back, native.planes_back_relu, [g, z, *back.arguments[1:]], back.writes)
    done.remove(flow)


def _only_maker(x: Array | str, made_by: dict[Buffer, Step], readers: Counter[Buffer]) -> Step | None:
    """The step that computes x, all of its buffer, if one step reads that."""
    if not isinstance(x, Array) or x.nbytes != x.buffer.nbytes or x.buffer.kind != "block" or readers[x.buffer] != 1:
        return None
    return made_by.get(x.buffer)


def _can_wait(done: list[Step], step: KernelStep, until: Step) -> bool:
    """Whether nothing in between reads what the step computes, or may change what it reads."""
    between = done[done.index(step) + 1 : done.index(until)]
    written = set(step.writes[1:])
    return all(written.isdisjoint(x.reads) and not (isinstance(x, PythonStep) and not x.outputs) for x in between)


def _like(step: KernelStep, kernel: LoopKernel, arguments: list[Any], writes: list[Buffer]) -> KernelStep:
    reads = [x.buffer for x in arguments if isinstance(x, Array)]
    return KernelStep(kernel, step.tasks, step.work, arguments, reads, writes, step.dtype, step.scratch)
