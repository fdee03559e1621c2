"""What is measured on a GPU: a step of optgen's beside a copy, the streams alone, and PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import ceiling
from ceiling import Streams
from gpu_device import SIZES, Step
from measure import CEILING, OURS, Result, add_peers
from workloads import LR, OPTIMIZERS, WD, Rule, Shape, Tensors

import optgen
from optgen.execute.cuda import driver

COPY = "copy"
GRAPH, OPTIMIZER, FUSED_GRAPH = "optgen, graph", "optgen.torch", "torch-fused, graph"
PEERED = ("adamw", "adam", "momentum")
MODES = ("torch-fused", "torch-foreach", "torch-compiled")
COMPILED = ("1e5", "1e8", "resnet50")
"""Where PyTorch's compiled step is measured: it takes up to a minute to compile."""
CALLS = 200
"""In a row, of a measurement by the clock."""


class TooLarge(Exception):
    """A case for which there is not enough memory."""


@dataclass(frozen=True)
class Case(Result):
    """A result of a section; `launches` of a step of optgen's."""

    section: str
    launches: int

    def speed(self, name: str) -> float:
        """Bytes a second over those of the copy, in the same rounds."""
        return self.ratio(COPY, name)


def spec(device: Any, size: str, shapes: Sequence[Shape], optimizer: str, reps: int) -> Case:
    """One optimizer, a copy of as many bytes, and the kernel that moves its streams and computes nothing."""
    return _by_events(device, "specs", size, shapes, optimizer, [], reps)


def sizes(device: Any, size: str, optimizer: str, reps: int, compiled: bool) -> Case:
    """The same with PyTorch's."""
    return _by_events(device, "sizes", size, SIZES[size][1], optimizer, MODES if compiled else MODES[:2], reps)


def wall(device: Any, size: str, reps: int, compiled: bool) -> Case:
    """AdamW by the clock, many calls in a row, with CUDA graphs and without, and as an optimizer of PyTorch."""
    rule, shapes = OPTIMIZERS["adamw"], SIZES[size][1]
    _check_memory(device, rule, shapes, len(MODES) + 1)
    tensors = device.make(shapes, rule.dtype)
    ours, captured = bind(rule, tensors), bind(rule, tensors)
    replay = device.graph(captured.launch)

    def graph() -> None:
        captured.advance()
        replay()

    steps: dict[str, Step] = {OURS: ours, GRAPH: graph, OPTIMIZER: device.optimizer_step(tensors)}
    absent = add_peers(steps, "adamw", tensors, MODES if compiled else MODES[:2])
    steps[FUSED_GRAPH] = device.fused_graph(tensors)
    seconds = device.by_clock(steps, reps, CALLS)
    return _case(device, "wall", size, "adamw", ours, tensors, seconds, absent)


def _by_events(
    device: Any, section: str, size: str, shapes: Sequence[Shape], optimizer: str, peers: Sequence[str], reps: int
) -> Case:
    rule = OPTIMIZERS[optimizer]
    _check_memory(device, rule, shapes, len(peers))
    tensors = device.make(shapes, rule.dtype)
    ours = bind(rule, tensors)
    streams = Streams.of(ours.rule, max(shapes, key=math.prod))
    moved = streams.bytes * sum(map(math.prod, shapes))
    copy, times = device.copy(moved)
    steps: dict[str, Step] = {
        COPY: copy,
        CEILING: ceiling.bind(rule, streams, shapes, "cuda", device.zeros),
        OURS: ours,
    }
    absent = add_peers(steps, optimizer, tensors, peers)
    seconds = device.by_events(steps, reps)
    seconds[COPY] = [times * s for s in seconds[COPY]]
    return _case(device, section, size, optimizer, ours, tensors, seconds, absent)


def _case(
    device: Any, section: str, size: str, optimizer: str, ours: optgen.BoundStep, tensors: Tensors,
    seconds: Mapping[str, Sequence[float]], absent: Mapping[str, str],
) -> Case:  # fmt: skip
    device.check(tensors.weights, f"{optimizer}: weights")
    shapes = [tuple(w.shape) for w in tensors.weights]
    streams = Streams.of(ours.rule, max(shapes, key=math.prod))
    return Case(
        size, optimizer, len(shapes), sum(map(math.prod, shapes)), len(streams.reads), len(streams.writes),
        streams.bytes, ours.rule.cost.sweeps, seconds, absent, section, launches(ours),
    )  # fmt: skip


def bind(rule: Rule, tensors: Tensors) -> optgen.BoundStep:
    """A step with the rates of all contenders; the further inputs that a spec reads are the sizes of the gradients."""
    loaded = rule.load("cuda")
    inputs = {i.name: [abs(g) for g in tensors.grads] for i in loaded.spec.inputs}
    step = loaded.bind(tensors.weights, tensors.grads, inputs=inputs)
    rates = {"lr": LR, "wd": WD} | rule.values
    step(**{name: rates[name] for name in ("lr", "wd") if name in loaded.spec.reads})
    return step


def launches(step: optgen.BoundStep) -> int:
    """How many kernels a step launches, counted at the driver's door."""
    kind = type(driver.gpu(0))
    with mock.patch.object(kind, "launch", autospec=True, side_effect=kind.launch) as launch:
        step()
    return launch.call_count


def _check_memory(device: Any, rule: Rule, shapes: Sequence[Shape], peers: int) -> None:
    """TooLarge where weights, gradients, what each contender keeps, and its temporaries do not fit."""
    states = len(rule.load().spec.states)
    arrays = 2 * (2 + states) + 2 + 4 * peers + 3 * bool(peers)  # ours and the ceiling's, the copy's, the peers'
    needed, free = 4 * arrays * sum(map(math.prod, shapes)), device.free()
    if needed > free:
        raise TooLarge(f"needs {needed / 2**30:.0f} GiB, of which {free / 2**30:.0f} are free")
