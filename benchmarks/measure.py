"""The method: ceiling, ours and peers take turns, and what is compared is what was measured side by side.

The ceiling is a kernel of optgen like any other, with the streams the optimizer cannot avoid (weight and gradient and
states read, weight and states written), the same threads and the same cuts, and one addition for each stream it writes.
It works on the very arrays of ours. Only its gradients are another buffer, of zeros, so that it changes no value.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import workloads
from peers import PEERS, Absent
from workloads import LR, OPTIMIZERS, WD, Tensors

import optgen

SAMPLE_SECONDS = 0.05
"""A sample has as many calls as fit into this time, and at least one."""
MOST_CALLS = 5000
PAUSE_SECONDS = 0.03
"""Between samples: idle OpenMP threads spin for up to 20 ms before they sleep, on a core that the next one needs."""
BYTES = 4

CEILING, OURS = "ceiling", "optgen"


@dataclass(frozen=True)
class Result:
    """One optimizer on one list of shapes: seconds of a step by contender, one sample a repetition."""

    shapes: str
    optimizer: str
    tensors: int
    parameters: int
    reads: int
    writes: int
    seconds: Mapping[str, Sequence[float]]
    absent: Mapping[str, str]

    def median(self, name: str) -> float:
        """Seconds of a step."""
        return statistics.median(self.seconds[name])

    def bandwidth(self, name: str) -> float:
        """Bytes a second, counting the ceiling's streams."""
        return BYTES * (self.reads + self.writes) * self.parameters / self.median(name)

    def ratio(self, name: str, other: str) -> float:
        """Median of the paired ratios of the seconds of `name` to those of `other`."""
        pairs = zip(self.seconds[name], self.seconds[other], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def share(self, name: str) -> float:
        """Share of the ceiling: 1 is the speed of the additions alone."""
        return self.ratio(CEILING, name)


def measure(shapes: str, optimizer: str, tensors: Tensors, peers: Sequence[str], reps: int) -> Result:
    """Time `reps` rounds of all contenders, each warmed up before."""
    steps, states = _ours(optimizer, tensors)
    absent: dict[str, str] = {}
    for name in peers:
        try:
            steps[name] = PEERS[name](optimizer, tensors)
        except Absent as reason:
            absent[name] = str(reason)
    seconds = interleave(steps, reps)
    workloads.check(tensors.weights, f"{optimizer}: weights")
    for name, arrays in states.items():
        workloads.check(arrays, f"{optimizer}: state {name}")
    count = len(states)
    return Result(shapes, optimizer, len(tensors.weights), tensors.parameters, 2 + count, 1 + count, seconds, absent)


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


def ceiling_spec(states: Sequence[str]) -> str:
    """A spec that reads weight, gradient and these states, and writes weight and states."""
    lines = ['optimizer Ceiling "the streams of an optimizer, additions only"']
    lines += [f"state {name} = 0" for name in states]
    lines += ["update:", *(f"  {name}' = {name} + grad" for name in (*states, "w"))]
    return "\n".join(lines) + "\n"


def _ours(optimizer: str, tensors: Tensors) -> tuple[dict[str, Callable[[], object]], Mapping[str, list[Any]]]:
    rule = OPTIMIZERS[optimizer]
    kernel = optgen.load(rule.spec, **rule.values)
    state = kernel.init(tensors.weights)
    step = kernel.bind(tensors.weights, tensors.grads, state)
    values = {"lr": LR, "wd": WD}
    step(**{name: value for name, value in values.items() if name in kernel.kernel.hyper})
    ceiling = optgen.load(optgen.parse(ceiling_spec(list(state.arrays))))
    counts = np.zeros(len(tensors.weights), np.int64)
    top = ceiling.bind(tensors.weights, tensors.zeros, optgen.State(state.arrays, counts))
    return {CEILING: top, OURS: step}, state.arrays


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
