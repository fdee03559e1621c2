"""Places of the arrays of a plan in one block of memory: arrays that are not needed at the same time share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optgen.stages.plan import CallStage, KernelStage, LoopStage, Plan, Stage, StageArray

Interval = tuple[int, int]


def lives(plan: Plan) -> dict[str, Interval]:
    """The first and the last stage that needs each array, by the numbers of stages in the order of the plan."""
    found: dict[str, Interval] = {}
    arrays = {array.key: array for array in plan.arrays}
    others = {x.new: x.other for stage in plan.walk() if isinstance(stage, LoopStage) for x in stage.carried}
    _visit(plan.stages, 0, found, arrays, others, plan.places)
    return found


def _visit(
    stages: Sequence[Stage], begin: int, found: dict[str, Interval], arrays: Mapping[str, StageArray],
    others: Mapping[str, str], places: Mapping[str, str],
) -> int:  # fmt: skip
    """Take note of what stages need; returns the number behind the last one. `others` has the second arrays of values
    that loops carry, by the first ones."""
    number = begin
    for stage in stages:
        match stage:
            case KernelStage(buffers=buffers):
                keys = [b.memory for b in buffers]
            case CallStage(operands=operands, target=target):
                keys = [*(x.key for x in operands), target]
            case LoopStage(body=body, carried=carried):
                before = dict(found)
                end = _visit(body, number + 1, found, arrays, others, places)
                known = [key for key in before if found[key] != before[key]]
                known += [key for key in found if arrays[key].entries and found[key][1] > number]  # kept in all turns
                for key in {*known, *(x for own in carried for x in own)}:
                    first, last = found.get(key, (number, end))
                    found[key] = min(first, number), max(last, end)
                number = end + 1
                continue
        for key in keys:
            place = places.get(key, key)
            if place in arrays:
                first, last = found.get(place, (number, number))
                found[place] = first, max(last, number)
                # Either array of a value that a loop carries may be the last one.
                if others.get(place) in found:
                    found[others[place]] = found[place]
        number += 1
    return number


def offsets(plan: Plan, sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Where arrays of these sizes begin, the largest first, each at the lowest place that is free; and the end."""
    own = lives(plan)
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
