"""The method: ceiling, ours and peers take turns, and what is compared is what was measured side by side."""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ceiling
import numpy as np
import own_ceiling
import workloads
from ceiling import Streams
from peers import PEERS, Absent
from workloads import LR, OPTIMIZERS, SHAPES, WD, Rule, Shape, Tensors

import optgen
from optgen import ir

SAMPLE_SECONDS = 0.05
"""A sample has as many calls as fit into this time, and at least one."""
MOST_CALLS = 5000
PAUSE_SECONDS = 0.03
"""Between samples: idle OpenMP threads spin for up to 20 ms before they sleep, on a core that the next one needs."""

CEILING, OWN_CEILING, OURS, FLOAT32, DONATED = "ceiling", "own ceiling", "optgen", "float32", "donated"
"""OWN_CEILING is that of the sweeps of a spec, where it has several. FLOAT32 is ours with everything in float32, beside
what stores something in fewer bits. DONATED is ours with donated gradients, where a step can use their memory."""


@dataclass(frozen=True)
class Result:
    """One optimizer on one list of shapes: seconds of a step by contender, one sample a repetition."""

    shapes: str
    optimizer: str
    tensors: int
    parameters: int
    reads: int
    writes: int
    bytes: int
    sweeps: int
    seconds: Mapping[str, Sequence[float]]
    absent: Mapping[str, str]

    def median(self, name: str) -> float:
        """Seconds of a step."""
        return statistics.median(self.seconds[name])

    def bandwidth(self, name: str) -> float:
        """Bytes a second, counting the fewest that must move."""
        return self.bytes * self.parameters / self.median(name)

    def ratio(self, name: str, other: str) -> float:
        """Median of the paired ratios of the seconds of `name` to those of `other`."""
        pairs = zip(self.seconds[name], self.seconds[other], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def share(self, name: str) -> float:
        """Share of the ceiling: 1 is the speed of the additions alone."""
        return self.ratio(CEILING, name)

    @property
    def own_share(self) -> float:
        """Our share of the spec's own ceiling, which for a single sweep is the ceiling."""
        return self.ratio(OWN_CEILING if OWN_CEILING in self.seconds else CEILING, OURS)


def add_peers(
    steps: dict[str, Callable[[], object]], optimizer: str, tensors: Tensors, peers: Sequence[str]
) -> dict[str, str]:
    """The peers' steps on copies of the tensors; why some are absent."""
    absent: dict[str, str] = {}
    for name in peers:
        try:
            step = PEERS[name](optimizer, tensors)
        except Absent as reason:
            absent[name] = str(reason)
        else:
            steps |= {} if step is None else {name: step}
    return absent


def measure(shapes: str, optimizer: str, peers: Sequence[str], reps: int) -> Result:
    """Time `reps` rounds of all contenders, each warmed up before."""
    rule, sizes = OPTIMIZERS[optimizer], SHAPES[shapes][1]
    tensors = workloads.make(sizes, rule.dtype)
    ours = bind(rule, tensors)
    streams = Streams.of(ours.rule, max(sizes, key=math.prod))
    steps: dict[str, Callable[[], object]] = {
        CEILING: ceiling.bind(rule, streams, sizes),
        OURS: ours,
    }
    if ours.rule.cost.sweeps > 1 and rule == rule.in_float32:
        steps[OWN_CEILING] = own_ceiling.bind(rule, sizes)
    if rule != rule.in_float32:
        steps[FLOAT32] = bind(rule.in_float32, workloads.make(sizes))
    if (given_away := donated(ours.rule, rule, sizes)) is not None:
        steps[DONATED] = given_away
    absent = add_peers(steps, optimizer, tensors, peers)
    seconds = interleave(steps, reps)
    workloads.check(tensors.weights, f"{optimizer}: weights")
    for name, arrays in ours.state.arrays.items():
        workloads.check((x for x in arrays if x is not None), f"{optimizer}: state {name}")
    return Result(
        shapes, optimizer, len(sizes), tensors.parameters, len(streams.reads), len(streams.writes), streams.bytes,
        ours.rule.cost.sweeps, seconds, absent,
    )  # fmt: skip


def bind(rule: Rule, tensors: Tensors, *, donate_grads: bool = False) -> optgen.BoundStep:
    """A step with the rates of all contenders; the further inputs that a spec reads are the sizes of the gradients."""
    loaded = rule.load()
    inputs = {i.name: [np.abs(g) for g in tensors.grads] for i in loaded.spec.inputs}
    step = loaded.bind(tensors.weights, tensors.grads, inputs=inputs, donate_grads=donate_grads)
    rates = {"lr": LR, "wd": WD} | rule.values
    step(**{name: rates[name] for name in ("lr", "wd") if name in loaded.spec.reads})
    return step


def donated(loaded: optgen.UpdateRule, rule: Rule, shapes: Sequence[Shape]) -> Callable[[], object] | None:
    """A step whose gradients are donated, None where no kernel uses their memory.

    Gradients are given anew before each step, as in training, and the call of `rebind` is part of the time. They are
    then what the last step left in their memory.
    """
    buffers = [b for shape in set(shapes) for b in loaded.kernel(shape, donated=True).native.buffers]
    if not any(ir.is_gradient(b.name) and b.written for b in buffers):
        return None
    tensors = workloads.make(shapes, rule.dtype)
    bound = bind(rule, tensors, donate_grads=True)

    def step() -> None:
        bound.rebind(tensors.grads)
        bound()

    return step


def interleave(steps: Mapping[str, Callable[[], object]], reps: int) -> dict[str, list[float]]:
    """Seconds of a call, by name, `reps` each, taken in turns."""
    calls = {name: _calls(step) for name, step in steps.items()}
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    gc.collect()
    gc.disable()
    try:
        for _ in range(reps):
            for name, step in steps.items():
                time.sleep(PAUSE_SECONDS)
                if calls[name] > 1:
                    _time(step, calls[name] // 10 + 1)
                seconds[name].append(_time(step, calls[name]) / calls[name])
    finally:
        gc.enable()
    return seconds


def _calls(step: Callable[[], object]) -> int:
    """Warm up, and find how many calls make a sample."""
    calls = 1
    _time(step, 2)
    while calls < MOST_CALLS and (taken := _time(step, calls)) < SAMPLE_SECONDS:
        calls = min(MOST_CALLS, 2 * calls, round(SAMPLE_SECONDS / taken * calls) + 1)
    return calls


def _time(step: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter()
    for _ in itertools.repeat(None, calls):
        step()
    return time.perf_counter() - begin
