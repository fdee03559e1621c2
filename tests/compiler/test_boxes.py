"""Boxes of tensors, cut anywhere, in processes that are threads here: the bits of the whole tensor, by the oracle."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import Box, Piece, State
from optgen.execute.cpu.fold import fold_blocks
from optgen.ir import BLOCK
from optgen.ir.interp import tree_reduce
from optgen.model import Kind
from tests.compiler.harness import (
    CASES,
    FEATURES,
    SPECS,
    Array,
    Case,
    Shape,
    arrays_of,
    by_name,
    cases,
    copies,
    interpret_step,
    numbers,
    same_bits,
)

MODES: dict[str, dict[str, Any]] = {
    "float32": {},
    "bfloat16-master": {"dtype": "bfloat16", "master": True},
    "bfloat16-stochastic": {"storage": "bfloat16_stochastic"},
    "int8": {"storage": "int8_dynamic", "blocks_by_row": True},
}
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
        values = {**self.rule.values, "lr": 0.1}
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
            for grads in self.grads:
                step.rebind(parts(grads))
                step(lr=0.1)

        world.run(work)
        return own, states, world


def part_of_state(problem: Problem, name: str, array: Array, box: Box | None) -> Array:
    """What a box has of a state of the whole tensor; rows are not cut."""
    kinds = {state.name: state.kind for state in problem.case.spec.states}
    kind = kinds.get(name.removesuffix(".scale"), Kind.ELEM)
    if box is None or kind not in (Kind.ELEM, Kind.ROW):
        return array
    begin, length = box.bounds[0][0], box.bounds[1][0]
    return array[begin : begin + length]


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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SPECS)
def test_rows_of_every_spec(name: str, mode: str) -> None:
    case = next(c for c in CASES if c.spec is SPECS[name])
    which = (list(SPECS).index(name) + list(MODES).index(mode)) % 3
    check_rows(case, MODES[mode], {shape: cuts[which] for shape, cuts in ROWS.items()})


@pytest.mark.parametrize("case", [c for c in CASES if c.load().cut((30, 40)) != "anywhere"], ids=str)
def test_rows_of_every_flag_that_changes_sums(case: Case) -> None:
    cuts = {shape: ROWS[shape][0] for shape in ((130, 300), (9001,), (5,))}
    check_rows(case, {}, cuts)


@pytest.mark.parametrize("mode", ["float32", "int8"])
@pytest.mark.parametrize("case", list(cases(*FEATURES)), ids=str)
def test_rows_of_every_feature(case: Case, mode: str) -> None:
    """Reductions of every kind and direction, with infinities and NaN."""
    cuts = {shape: ROWS[shape][0] for shape in ((130, 300), (5,), (0, 4), (40, 3))}
    check_rows(case, MODES[mode], cuts, special=True)


@st.composite
def some_cuts(draw: st.DrawFn) -> dict[Shape, Cut]:
    """One to four tensors of any rank, cut between any of their rows for one to three processes."""
    count = draw(st.integers(1, 3))
    rest = st.sampled_from(((), (1,), (5,), (64,), (129,), (256,), (300,), (3, 100)))
    found: dict[Shape, Cut] = {}
    for _ in range(draw(st.integers(1, 4))):
        shape = (draw(st.integers(0, 140)), *draw(rest))
        inner = [draw(st.integers(0, shape[0])) for _ in range(count - 1)]
        found[shape] = (0, *sorted(inner), shape[0])
    return found


@pytest.mark.parametrize("name", ["lamb", "adafactor", "came", "prodigy", "sgld"])
@given(cuts=some_cuts(), mode=st.sampled_from(list(MODES)))
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_rows_cut_anywhere(name: str, cuts: dict[Shape, Cut], mode: str) -> None:
    case = next(c for c in CASES if c.spec is SPECS[name])
    if case.shapes(*cuts):
        check_rows(case, MODES[mode], cuts)


# ---------------------------------------------------------------- other axes


GRIDS: tuple[tuple[Shape, dict[int, Cut]], ...] = (
    ((70, 300), {1: (0, 100, 300)}),
    ((70, 300), {0: (0, 33, 70), 1: (0, 100, 300)}),
    ((6, 7, 300), {2: (0, 100, 300)}),
    ((6, 7, 300), {0: (0, 5, 6), 1: (0, 3, 7)}),
    ((70, 300), {1: (0, 300, 300)}),
)


@pytest.mark.parametrize(("shape", "cuts"), GRIDS)
@pytest.mark.parametrize(
    ("name", "mode"),
    [("adam", "bfloat16-stochastic"), ("sgld", "float32")]
    + [(name, "float32") for name in ("lamb", "adafactor", "adammini", "came", "prodigy")],
)
def test_other_axes(name: str, mode: str, shape: Shape, cuts: dict[int, Cut]) -> None:
    """Elementwise rules come to the same bits; where there are sums, numbers are as close as those may be."""
    case = next(c for c in CASES if c.spec is SPECS[name])
    problem = Problem(case, MODES[mode], [shape, (40, 50)])
    rng = np.random.default_rng(4)
    problem.grads = [[rng.standard_normal(s).astype(np.float32) for s in problem.shapes] for _ in range(2)]
    cells = grid(shape, cuts)
    boxes = [[Box(shape, cells, rank), None] for rank in range(len(cells))]
    params, _ = problem.whole()
    own, states, _ = problem.in_boxes(boxes)
    for rank, box in enumerate(boxes):
        for x, whole, its_box in zip(own[rank], params, box, strict=True):
            expected = part(whole, its_box)
            if case.load().cut(shape) == "anywhere":
                assert same_bits(x, expected)
            else:
                np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-30)
    for rank, other in itertools.combinations(range(len(cells)), 2):
        if cells[rank][0][0] != cells[other][0][0]:
            continue
        for key, x in arrays_of(states[rank], 0).items():  # the states of rows are those of all boxes with these rows
            if any(s.name == key and s.kind is Kind.ROW for s in case.spec.states):
                assert same_bits(x, arrays_of(states[other], 0)[key])


def test_eight_bits_cut_between_blocks_of_columns() -> None:
    for name in ("adam", "lamb"):
        problem = Problem(by_name(name), MODES["int8"], [(70, 512)])
        cells = grid((70, 512), {1: (0, 256, 512)})
        boxes = [[Box((70, 512), cells, rank)] for rank in range(2)]
        (whole,), _ = problem.whole()
        (left, right), _, _ = problem.in_boxes(boxes)
        assert same_bits(np.concatenate([left[0], right[0]], axis=1), whole)


# ---------------------------------------------------------------- the exchange


def test_what_is_exchanged() -> None:
    """Once for each level of reductions, whatever the number of tensors, and nothing for an elementwise rule."""
    cuts = {shape: ROWS[shape][0] for shape in ((130, 300), (70, 256), (300, 33))}
    counted = {name: check_rows(by_name(name), {}, cuts).exchanges for name in ("adam", "groupadagrad", "lamb", "came")}
    # CAME in two steps: rows and columns, their mean, the norm of the update, rows and columns again, and their mean.
    assert counted == {"adam": 0, "groupadagrad": 0, "lamb": 2, "came": 10}


def test_each_place_has_one_writer() -> None:
    """So that a sum of integers, in any order, is what was written; a whole tensor beside boxes is not exchanged."""
    shape, seen = (130, 300), list[Array]()
    lamb = optgen.load("lamb")
    for rank in range(3):
        box = Box.of_rows(shape, (0, 65, 66, 130), rank)
        arrays = [np.ones(box.bounds[1], np.float32), np.ones((99, 99), np.float32)]
        grads = copies(arrays)
        lamb.bind(arrays, grads, pieces=[box, None], exchange=lambda members, x: seen.append(x.copy()))()
    assert [x.dtype for x in seen] == [np.int64] * 3
    assert (np.count_nonzero(seen, axis=0) == 1).sum() == np.count_nonzero(seen)
    blocks, divided = -(-130 * 300 // BLOCK), 2  # both cuts are in blocks 4, of elements 16,384 to 20,479
    assert seen[0].size == 2 * (blocks + (divided - 1) * BLOCK)


def test_folds_are_those_of_the_interpreter() -> None:
    rng = np.random.default_rng(0)
    for op, filler in (("sum", 0.0), ("max", -np.inf), ("min", np.inf)):
        terms = np.full((5, BLOCK), filler)
        counts = [1, 127, 129, 4000, 4096]
        for row, count in zip(terms, counts, strict=True):
            row[:count] = numbers(rng, (count,), "float64", special=True)
        with np.errstate(all="ignore"):
            found = fold_blocks(op, terms)  # type: ignore[arg-type]
            expected = [tree_reduce(op, row[:count]) for row, count in zip(terms, counts, strict=True)]  # type: ignore[arg-type]
        assert same_bits(found, np.array(expected))


def test_shares_of_threads_meet_anywhere() -> None:
    """Large boxes, whose blocks and rows are shared among threads."""
    before = optgen.num_threads()
    optgen.set_num_threads(2)
    try:
        for name, mode in (("lamb", "int8"), ("adafactor", "bfloat16-stochastic")):
            rule = by_name(name).load(**MODES[mode])
            shapes, cut = [(1000, 301), (701, 512)], [(0, 333, 1000), (0, 350, 701)]
            problem = Problem(by_name(name), MODES[mode], shapes)
            boxes = [[Box.of_rows(s, c, rank) for s, c in zip(shapes, cut, strict=True)] for rank in range(2)]
            whole = copies(problem.params)
            step = rule.bind(whole, problem.grads[0])
            step.seed = 77
            for grads in problem.grads:
                step.rebind(grads)
                step(lr=0.1)
            own, _, _ = problem.in_boxes(boxes)
            for i, w in enumerate(whole):
                assert same_bits(np.concatenate([own[0][i], own[1][i]]), w)
    finally:
        optgen.set_num_threads(before)


def test_an_eval_section_of_boxes() -> None:
    case = next(c for c in CASES if c.spec.evaluate)
    shape = (70, 300)
    rule, rng = case.load(**MODES["int8"]), np.random.default_rng(1)
    w, g = (numbers(rng, shape, "float32", special=False) for _ in range(2))
    whole = w.copy()
    step = rule.bind([whole], [g])
    step()
    (expected,) = step.evaluate()
    parts = []
    for rank in range(2):
        box = Box.of_rows(shape, (0, 33, 70), rank)
        own = rule.bind([part(w, box)], [part(g, box)], pieces=[box])
        own()
        parts += own.evaluate()
    assert same_bits(np.concatenate(parts), expected)


def test_what_cannot_be_a_box() -> None:
    w, g = np.ones((3, 300), np.float32), np.ones((3, 300), np.float32)
    box = Box.of_rows((9, 300), (0, 3, 9), 0)
    with pytest.raises(ValueError, match=r"boxes: not a grid over a tensor of shape \(4, 4\)"):
        Box((4, 4), (((0, 0), (2, 4)), ((2, 0), (1, 4))), 0)
    with pytest.raises(ValueError, match=r"each box once \(a copy of one is none\)"):
        Box((4, 4), (((0, 0), (4, 4)), ((0, 0), (4, 4))), 0)
    with pytest.raises(ValueError, match="number: 2, where there are 2 boxes"):
        Box.of_rows((9, 300), (0, 3, 9), 2)
    adam = optgen.load("adam")
    with pytest.raises(ValueError, match=r"params\[0\]: shape \(2, 300\), but its box, at \(0, 0\) of \(9, 300\), has"):
        adam.bind([w[:2]], [g[:2]], pieces=[box])
    with pytest.raises(ValueError, match="some are a Piece and some a Box"):
        adam.bind([w, w[0].copy()], [g, g[0]], pieces=[box, Piece(0, (300,))])
    with pytest.raises(ValueError, match=r"optgen_lamb\w* reduces over tensors of which boxes are elsewhere: pass"):
        optgen.load("lamb").bind([w], [g], pieces=[box])
    long = Box.of_rows((99, 300), (0, 3, 99), 0)
    with pytest.raises(
        ValueError, match="run on from row to row, so it is cut at multiples of 256 elements only; make"
    ):
        optgen.load("adam", storage="int8_dynamic").bind([w], [g], pieces=[long])


# ---------------------------------------------------------------- 8-bit blocks by row


@pytest.mark.parametrize("name", ["adam", "lamb", "came", "prodigy"])
def test_blocks_restart_at_rows(name: str) -> None:
    """In tensors that are whole: compared with the interpreter, and by the shapes of scales."""
    problem = Problem(by_name(name), MODES["int8"], [(130, 300), (70, 256), (9001,), (300, 33)])
    params, state = problem.whole()
    own, (found,), _ = problem.in_boxes([[None] * 4])
    assert all(map(same_bits, own[0], params))
    for key, arrays in state.arrays.items():
        for a, b in zip(arrays, found.arrays[key], strict=True):
            assert (a is None) == (b is None)
            assert a is None or same_bits(a, b), key
    scales = [None if x is None else x.shape for x in state.arrays["m.scale"]]
    # Prodigy sums over all parameters, which need one kernel, so that all are of 8 bits.
    rest = [(9001, 1), (300, 1)] if name == "prodigy" else [None, None]
    assert scales == [(130, 2), (70, 1), *rest]
