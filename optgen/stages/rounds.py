"""The rounds of a plan of parameters that share values: what updates one parameter after the other, and what takes all
of them at once, in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from optgen.axes import When
from optgen.stages.plan import CallStage, KernelStage, LoopStage, Plan, Stage, StageArray, walk_stages


@dataclass(frozen=True)
class Round:
    """Stages that follow each other, and the arrays that no other round needs. `is_joint`: it takes all parameters at
    once. `before` are the loops of earlier rounds that it reads values of, with those values alone."""

    plan: Plan
    is_joint: bool = False
    before: tuple[LoopStage, ...] = ()

    @property
    def has_calls(self) -> bool:
        return any(isinstance(x, CallStage) for x in self.plan.walk())


def rounds(plan: Plan) -> tuple[list[Round], list[StageArray]]:
    """The rounds of a plan, and the arrays that are kept between them. Every second round is a stage that computes what
    all parameters share; those between may be empty."""
    found: list[tuple[Stage, ...]] = [()]
    for stage in plan.stages:
        if stage.is_joint:
            found += [(stage,), ()]
        else:
            found[-1] = (*found[-1], stage)
    needed = [{plan.places.get(key, key) for key in _keys(stages)} for stages in found]
    crossing = {x.key for x in plan.arrays if x.known is When.SHARED or sum(x.key in keys for keys in needed) > 1}
    for loop in (x for x in plan.walk() if isinstance(x, LoopStage)):
        for carried in loop.carried:  # which array is the last one, the number of turns says
            places = {plan.places.get(key, key) for key in carried}
            crossing |= places if plan.places.get(carried.new, carried.new) in crossing else set()
    kept = [x for x in plan.arrays if x.key in crossing]
    own = [x for x in plan.arrays if x.key not in crossing]
    made: list[Round] = []
    before: list[LoopStage] = []
    for k, (stages, keys) in enumerate(zip(found, needed, strict=True)):
        arrays = tuple(x for x in own if x.key in keys)
        made.append(Round(Plan(stages, arrays, plan.places), bool(k % 2), _read(before, set(_keys(stages)))))
        before += [x for x in stages if isinstance(x, LoopStage)]
    return made, kept


def _read(before: Sequence[LoopStage], keys: set[str]) -> tuple[LoopStage, ...]:
    """Loops of earlier rounds, with the values alone that stages read, which need these arrays."""
    found: list[LoopStage] = []
    for loop in reversed(before):
        if own := tuple(x for x in loop.carried if x.new in keys):
            keys |= {x.start for x in own}  # where there are no turns, the value of an earlier loop
            found.append(replace(loop, body=(), carried=own))
    return tuple(reversed(found))


def are_same(a: Round, b: Round) -> bool:
    """Whether rounds of two plans compute the same of the same arrays."""
    return list(map(_nameless, a.plan.stages)) == list(map(_nameless, b.plan.stages)) and a.before == b.before


def _nameless(stage: Stage) -> Stage:
    """A stage without the name of what it is a stage of."""
    match stage:
        case KernelStage(domain, kernel):
            return KernelStage(domain, replace(kernel, name=""))
        case LoopStage(body=body):
            return replace(stage, body=tuple(map(_nameless, body)))
    return stage


def _keys(stages: tuple[Stage, ...]) -> Iterator[str]:
    """The arrays that stages need."""
    for stage in walk_stages(stages):
        match stage:
            case KernelStage():
                yield from (b.memory for b in stage.buffers)
            case CallStage():
                yield from (*(x.key for x in stage.operands), stage.target)
            case LoopStage():
                yield from (key for carried in stage.carried for key in carried)
