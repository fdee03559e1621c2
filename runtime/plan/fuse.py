"""Expressions of single elements that follow each other become one kernel.

A group is open while expressions join it. It becomes a step when another step needs what it computes, so a group may
reach over steps that have nothing to do with it. What no step outside of the group reads stays in registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.plan.broadcast import groups_of
from runtime.plan.fused import fused_kernel
from runtime.plan.steps import Array, Buffer, ElementStep, KernelStep, PythonStep, Shape, Step


def fuse(steps: Sequence[Step], kept: Iterable[Buffer]) -> list[Step]:
    """The steps, with kernels in the place of expressions. `kept` are buffers that are read by others."""
    # By step here, by member in a group: what more read than the members do is read outside of it.
    readers = Counter(buffer for step in steps for buffer in set(step.reads))
    readers.update(kept)
    done: list[Step] = []
    open_groups: list[_Group] = []

    def close(buffers: set[Buffer]) -> None:
        """Emit the groups that compute one of the buffers, and before each those that it reads from."""
        for group in [x for x in open_groups if not x.computed.isdisjoint(buffers)]:
            if group in open_groups:
                open_groups.remove(group)
                close(group.read)
                done.append(group.step(readers))

    for step in steps:
        touched = {*step.reads, *step.writes}
        if not isinstance(step, ElementStep):
            close(touched)
            written = set(step.writes)
            if isinstance(step, PythonStep) and not step.outputs:  # an effect, which may write to any parameter
                written |= {x for group in open_groups for x in group.read if x.kind == "input"}
            for group in list(open_groups):
                if group in open_groups and not group.read.isdisjoint(written):
                    close(group.computed)
            done.append(step)
            continue
        home = next((x for x in open_groups if x.takes(step)), None)
        for group in list(open_groups):
            if group is not home and not group.computed.isdisjoint(step.reads):
                close(group.computed)
        if home is None or home not in open_groups:
            home = _Group(step)
            open_groups.append(home)
        else:
            home.add(step)
    while open_groups:
        close(open_groups[0].computed)
    return done


class _Group:
    """Expressions over arrays of one size and type."""

    def __init__(self, first: ElementStep) -> None:
        self.members = [first]
        self.computed = set(first.writes)
        self.read = set(first.reads)

    def takes(self, step: ElementStep) -> bool:
        """Whether the expression has as many elements, and its operands can be broadcast in the same axes."""
        if (step.output.size, step.output.dtype) != (self.members[0].output.size, self.members[0].output.dtype):
            return False
        members = [*self.members, step]
        if any(x.size != step.output.size for m in members for x in m.operands
               if isinstance(x, Array) and x.buffer in self.computed):  # fmt: skip
            return False  # what is computed here is in registers, one element at a time
        return _axes(members) is not None

    def add(self, step: ElementStep) -> None:
        self.members.append(step)
        self.computed.update(step.writes)
        self.read.update(set(step.reads) - self.computed)

    def step(self, readers: Counter[Buffer]) -> KernelStep:
        """The kernel of the group, and its call."""
        inside = Counter(buffer for member in self.members for buffer in set(member.reads))
        outputs = [m.output for m in self.members if readers[m.output.buffer] > inside[m.output.buffer]
                   or m.output.buffer.kind != "block"]  # fmt: skip
        found = _axes(self.members)
        assert found is not None
        lengths, patterns = found
        kernel, inputs = fused_kernel(self.members, outputs, len(lengths), patterns)
        arrays = [*inputs, *outputs]
        if len(lengths) <= 1:
            n = self.members[0].output.size
            tasks, numbers = -(-n // ELEMENTS_PER_TASK), [n]
        else:
            outer, channels, n = [1] * (3 - len(lengths)) + lengths
            each = max(1, ELEMENTS_PER_TASK // n)
            tasks, numbers = -(-(outer * channels) // each), [each, outer * channels, channels, n]
        work = self.members[0].output.size * sum(m.work for m in self.members)
        return KernelStep(
            kernel, tasks, work, [*arrays, *numbers], [x.buffer for x in inputs], [x.buffer for x in outputs],
            self.members[0].output.dtype,
        )  # fmt: skip


def _axes(members: Sequence[ElementStep]) -> tuple[list[int], dict[Shape, tuple[bool, ...]]] | None:
    """The axes that the group is computed in, and along which of them operands of other sizes vary, by their shapes.

    None if the expressions have broadcast operands in different shapes, or need too many axes.
    """
    size = members[0].output.size
    arrays = [(x, m.output.shape) for m in members for x in m.operands if isinstance(x, Array)]
    smaller = [(x.shape, shape) for x, shape in arrays if x.size != size]
    if len({shape for _, shape in smaller}) > 1:
        return None
    shape = smaller[0][1] if smaller else members[0].output.shape
    ordered = sorted({operand for operand, _ in smaller})
    found = groups_of(shape, [*ordered, shape])
    return found and (found[0], dict(zip(ordered, found[1], strict=False)))
