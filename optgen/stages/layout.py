"""Places of the arrays of a plan in one block of memory: arrays that are not needed at the same time share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optgen.stages.plan import KernelStage, LoopStage, Plan, Stage

Interval = tuple[int, int]


def lives(plan: Plan) -> dict[str, Interval]:
    """The first and the last stage that needs each array, by the numbers of stages in the order of the plan."""
    found = _Lives(plan)
    found.visit(plan.stages, 0)
    return found.intervals


class _Lives:
    def __init__(self, plan: Plan) -> None:
        self.intervals: dict[str, Interval] = {}
        self.places = plan.places
        self.arrays = {array.key for array in plan.arrays}
        self.filled = {array.key for array in plan.arrays if array.entries}
        self.carried = {x.new: x for loop in plan.walk() if isinstance(loop, LoopStage) for x in loop.carried}

    def visit(self, stages: Sequence[Stage], begin: int) -> int:
        """Take note of what stages need; returns the number behind the last one."""
        number = begin
        for stage in stages:
            if isinstance(stage, LoopStage):
                number = self.loop(stage, number)
                continue
            if isinstance(stage, KernelStage):
                keys = [b.memory for b in stage.buffers]
            else:
                keys = [*(x.key for x in stage.operands), stage.target]
            for key in keys:
                self.need(key, number)
            number += 1
        return number

    def need(self, key: str, number: int) -> None:
        place = self.places.get(key, key)
        if place not in self.arrays:
            return
        first, last = self.intervals.get(place, (number, number))
        self.intervals[place] = first, max(last, number)
        carried = self.carried.get(place)
        # Either array of a value that a loop carries may be the last one, and after no turn that of the start.
        if carried is not None and carried.other in self.intervals:
            self.intervals[carried.other] = self.intervals[place]
        if carried is not None and carried.start in self.intervals and number > first:
            self.need(carried.start, number)

    def loop(self, loop: LoopStage, number: int) -> int:
        """What is known before a loop and needed in it, what it carries, and arrays that it fills are needed in all of
        it."""
        before = dict(self.intervals)
        end = self.visit(loop.body, number + 1)
        known = {key for key in before if self.intervals[key] != before[key]}
        known |= {key for key in self.filled & self.intervals.keys() if self.intervals[key][1] > number}
        known |= {x for own in loop.carried for x in own}
        for key in known:
            first, last = self.intervals.get(key, (number, end))
            self.intervals[key] = min(first, number), max(last, end)
        return end + 1


def offsets(plan: Plan, sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Where arrays of these sizes begin, the largest first, each at the lowest place that is free; and the end."""
    own = {key: life for key, life in lives(plan).items() if key in sizes}
    placed: list[tuple[int, int, Interval]] = []
    found: dict[str, int] = {}
    for key in sorted(own, key=lambda k: (-sizes[k], k)):
        begin, (first, last) = 0, own[key]
        for start, stop, (low, high) in sorted(placed):
            if low <= last and first <= high and start < begin + sizes[key] and begin < stop:
                begin = stop
        found[key] = begin
        placed.append((begin, begin + sizes[key], own[key]))
    return found, max((stop for _, stop, _ in placed), default=0)
