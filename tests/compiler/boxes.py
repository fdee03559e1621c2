"""Tensors that processes, which are threads here, have in boxes, beside the interpreter's whole tensor."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from optgen import Box, State
from optgen.axes import Kind
from optgen.ir import GRADIENT_FACTOR
from tests.compiler.harness import (
    Array,
    Case,
    Shape,
    arrays_of,
    copies,
    interpret_step,
    numbers,
    same_bits,
)

MODES: dict[str, dict[str, Any]] = {
    "float32": {},
    "bfloat16-master": {"dtype": "bfloat16", "master": True, "scales_gradient": True},
    "bfloat16-stochastic": {"storage": "bfloat16_stochastic"},
    "int8": {"storage": "int8_dynamic", "blocks_by_row": True},
    "int4": {"storage": "int4_dynamic", "blocks_by_row": True},
}
FACTOR = 0.37
"""What gradients are multiplied by, where the rule does that."""
Cut = tuple[int, ...]
WHOLE: Cut = ()
"""The tensor is no box: every process updates all of it."""
ROWS: dict[Shape, tuple[Cut, ...]] = {
    (130, 300): ((0, 65, 66, 130), (0, 50, 130, 130), (0, 130)),
    (70, 256): ((0, 1, 30, 70), (0, 0, 35, 70), (0, 70)),
    (9001,): ((0, 4096, 7000, 9001), (0, 4000, 4001, 9001), (0, 9001)),
    (300, 33): ((0, 64, 200, 300), (0, 63, 129, 300), (0, 300)),
    (5,): ((0, 2, 2, 5), (0, 2, 4, 5), (0, 5)),
    (7, 2, 3, 5): ((0, 3, 6, 7), (0, 7, 7, 7), (0, 7)),
    (0, 4): ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0)),
    (40, 3): (WHOLE, WHOLE, WHOLE),
    (): (WHOLE, WHOLE, WHOLE),
}
"""Cuts into three, three and one."""


def grid(shape: Shape, cuts: Mapping[int, Cut]) -> tuple[tuple[Shape, Shape], ...]:
    """The boxes of a tensor whose axes are cut."""
    axes = [tuple(itertools.pairwise(cuts.get(k, (0, length)))) for k, length in enumerate(shape)]
    return tuple(
        (tuple(begin for begin, _ in box), tuple(end - begin for begin, end in box)) for box in itertools.product(*axes)
    )


def part(x: Array, box: Box | None) -> Array:
    """The elements of an array that a box has."""
    if box is None:
        return x.copy()
    where = tuple(slice(begin, begin + length) for begin, length in zip(*box.bounds, strict=True))
    return np.ascontiguousarray(x[where]).copy()


class World:
    """Processes that add up their arrays. `sums` are the numbers of how many parameters each exchange was about."""

    def __init__(self, size: int) -> None:
        self.size, self.barrier = size, threading.Barrier(size)
        self.given, self.exchanges = dict[int, Array](), 0

    def exchange(self, rank: int) -> Callable[[list[int], Array], None]:
        def add_up(_members: list[int], numbers: Array) -> None:
            self.given[rank] = numbers.copy()
            self.barrier.wait(60)
            total = np.sum([self.given[r] for r in range(self.size)], axis=0)
            self.barrier.wait(60)
            numbers[:] = total
            self.exchanges += rank == 0

        return add_up

    def run(self, work: Callable[[int], None]) -> None:
        """Do the work of all processes at once."""
        errors: list[BaseException] = []

        def guarded(rank: int) -> None:
            try:
                work(rank)
            except BaseException as error:
                errors.append(error)
                self.barrier.abort()

        threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        if errors:
            raise errors[0]


class Problem:
    """Tensors of a rule, which the processes of a world have in `boxes`: [process][tensor]."""

    def __init__(self, case: Case, mode: Mapping[str, Any], shapes: Sequence[Shape], *, special: bool = False) -> None:
        self.case, self.rule, self.shapes = case, case.load(**mode), shapes
        rng = np.random.default_rng(3)

        def made() -> list[Array]:
            return [numbers(rng, shape, self.rule.dtype, special=special) for shape in shapes]

        self.params, self.grads, self.flags = made(), [made(), made()], case.flags(len(shapes))
        self.inputs = {i.name: made() for i in case.spec.inputs}

    def whole(self) -> tuple[list[Array], State]:
        """What the interpreter makes of the whole tensors in two steps."""
        params = copies(self.params)
        state = self.rule.init(params, flags=self.flags)
        values = {**self.rule.values, "lr": 0.1, GRADIENT_FACTOR: FACTOR}
        for grads in self.grads:
            interpret_step(self.rule, params, grads, state, values, inputs=self.inputs, flags=self.flags, seed=77)
        return params, state

    def in_boxes(self, boxes: Sequence[Sequence[Box | None]]) -> tuple[list[list[Array]], list[State], World]:
        """The parts of each process, and its state, after two steps."""
        world = World(len(boxes))
        own = [[part(x, box) for x, box in zip(self.params, mine, strict=True)] for mine in boxes]
        states = [self.rule.init(x, flags=self.flags, pieces=mine) for x, mine in zip(own, boxes, strict=True)]

        def work(rank: int) -> None:
            def parts(arrays: Sequence[Array]) -> list[Array]:
                return [part(x, box) for x, box in zip(arrays, boxes[rank], strict=True)]

            inputs = {name: parts(arrays) for name, arrays in self.inputs.items()}
            how: dict[str, Any] = {"flags": self.flags, "pieces": boxes[rank], "exchange": world.exchange(rank)}
            step = self.rule.bind(own[rank], parts(self.grads[0]), states[rank], inputs, **how)
            step.seed = 77
            if self.rule.scales_gradient:
                step.gradient_factor = FACTOR
            for grads in self.grads:
                step.rebind(parts(grads))
                step(lr=0.1)

        world.run(work)
        return own, states, world


def part_of_state(problem: Problem, name: str, array: Array, box: Box | None) -> Array:
    """What a box has of a state of the whole tensor; rows are not cut."""
    spec = problem.case.spec
    kind = {state.name: state.kind for state in spec.states}.get(name.removesuffix(".scale"), Kind.ELEM)
    own = (Kind.ELEM, Kind.ROW, Kind.COL) if box and spec.last_two and len(box.shape) > 2 else (Kind.ELEM, Kind.ROW)
    if box is None or kind not in own or not box.shape[0]:
        return array
    each = len(array) // box.shape[0]  # rows, or columns, of a batch, for each along its first axis
    begin, length = box.bounds[0][0], box.bounds[1][0]
    return array[begin * each : (begin + length) * each]


def check_rows(case: Case, mode: Mapping[str, Any], cuts: Mapping[Shape, Cut], *, special: bool = False) -> World:
    """Tensors that are cut between rows, compared with the interpreter's: parameters and states have the same bits."""
    shapes = case.shapes(*cuts)
    size = max(len(cuts[shape]) - 1 for shape in shapes)
    boxes = [
        [Box.of_rows(shape, cuts[shape], rank) if cuts[shape] else None for shape in shapes] for rank in range(size)
    ]
    problem = Problem(case, mode, shapes, special=special)
    params, state = problem.whole()
    own, states, world = problem.in_boxes(boxes)
    for rank, i in itertools.product(range(size), range(len(shapes))):
        where = f"{case}: tensor {i} of shape {shapes[i]}, cut at {cuts[shapes[i]]}, process {rank}"
        box = boxes[rank][i]
        assert same_bits(own[rank][i], part(params[i], box)), where
        found, expected = arrays_of(states[rank], i), arrays_of(state, i)
        assert found.keys() == expected.keys(), where
        for name, array in found.items():
            assert same_bits(array, part_of_state(problem, name, expected[name], box)), f"{name}: {where}"
    return world
