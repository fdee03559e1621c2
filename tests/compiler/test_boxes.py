"""Boxes of tensors, cut anywhere, in processes that are threads here: the bits of the whole tensor, by the oracle."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import optgen
from optgen import Box, Piece
from optgen.axes import Kind
from optgen.execute.cpu.fold import fold_blocks
from optgen.ir import BLOCK
from optgen.ir.reductions import tree_reduce
from tests.compiler.boxes import MODES, ROWS, WHOLE, Cut, Problem, check_rows, grid, part
from tests.compiler.features import FEATURES
from tests.compiler.harness import (
    CASES,
    SPECS,
    TORCH,
    TORCH_CASES,
    Array,
    Case,
    Shape,
    arrays_of,
    by_name,
    cases,
    copies,
    has_histories,
    numbers,
    same_bits,
)
from tests.sweeps import swept

CHANGE_SUMS = [c for c in CASES if c.load().cut((30, 40)) != "anywhere" and not has_histories(c.spec)]


def check_rows_of_spec(name: str, mode: str) -> None:
    case = next(c for c in CASES if c.spec is SPECS[name])
    which = (list(SPECS).index(name) + list(MODES).index(mode)) % 3
    check_rows(case, MODES[mode], {shape: cuts[which] for shape, cuts in ROWS.items()})


CUT = [name for name, spec in SPECS.items() if not has_histories(spec)]


ONE_OF_EACH = (
    *(("adafactor", "bfloat16-stochastic"), ("adam", "bfloat16-master"), ("dadaptsgd", "bfloat16-master")),
    *(("groupadagrad", "bfloat16-master"), ("lars", "int4"), ("radam", "int8"), ("sgld", "float32"), ("yogi", "int8")),
)
"""What boxes need code for: rows that are cut and that are summed, sums of tensors and of all of them, draws, codes."""


@pytest.mark.parametrize(("name", "mode"), ONE_OF_EACH)
def test_rows_of_specs(name: str, mode: str) -> None:
    """In one mode each: all have all modes in the next test."""
    check_rows_of_spec(name, mode)


@pytest.mark.stress
@pytest.mark.parametrize("name", CUT)
def test_rows_of_every_spec_in_every_mode(name: str) -> None:
    for mode in MODES:
        check_rows_of_spec(name, mode)


@pytest.mark.parametrize("name", swept(TORCH, ["torch/asgd", "torch/sgd"]))
def test_rows_of_every_spec_of_torch(name: str) -> None:
    case = next(c for c in TORCH_CASES if c.spec is TORCH[name])
    which = list(TORCH).index(name)
    check_rows(case, list(MODES.values())[which % 4], {shape: cuts[which % 3] for shape, cuts in ROWS.items()})


@pytest.mark.parametrize(
    ("name", "mode"),
    swept(
        [
            *(("batch", mode) for mode in ("float32", "bfloat16-master", "int4")),
            *(("torch/adafactor", mode) for mode in ("bfloat16-stochastic", "int8")),
        ],
        [("batch", "float32"), ("torch/adafactor", "int8")],
    ),
)
def test_matrices_of_batches(name: str, mode: str) -> None:
    """Batches that are cut between matrices, with blocks of columns and of the tensor in several of them."""
    case = by_name(name) if name == "batch" else next(c for c in TORCH_CASES if c.spec is TORCH[name])
    cuts: dict[Shape, Cut] = {
        (5, 1, 7): (0, 2, 3, 5),
        (3, 70, 130): (0, 1, 2, 3),
        (4, 2, 5, 300): (0, 3, 3, 4),
        (6, 17, 256): (0, 0, 5, 6),
        (20, 300): (0, 9, 19, 20),
        (2, 0, 4): (0, 1, 2, 2),
        (2, 3, 0): (0, 1, 1, 2),
        (0, 3, 4): (0, 0, 0, 0),
        (2, 3, 4): WHOLE,
    }
    check_rows(case, MODES[mode], cuts)


ONE_OF_SPEC = tuple({case.spec.name: case for case in reversed(CHANGE_SUMS)}.values())
"""One case of each spec whose sums boxes cut."""


@pytest.mark.parametrize("case", swept(CHANGE_SUMS, ONE_OF_SPEC), ids=str)
def test_rows_of_every_flag_that_changes_sums(case: Case) -> None:
    cuts = {shape: ROWS[shape][0] for shape in ((130, 300), (9001,), (5,))}
    check_rows(case, {}, cuts)


FEATURE_CASES = tuple(cases(*(x for x in FEATURES if not has_histories(x))))


IN_CODES = ("Starts",)
"""The features whose states are in codes; the others are in float32.

EVERYTHING is slow to compile, and has nothing that boxes need other code for than LAMB and CAME.
"""


@pytest.mark.parametrize(
    ("case", "mode"),
    swept(
        [
            *((case, "float32") for case in FEATURE_CASES),
            *zip(FEATURE_CASES, itertools.cycle(("int8", "int4")), strict=False),
        ],
        lambda x: (x[1] != "float32") == (x[0].spec.name in IN_CODES) and x[0].spec.name != "Everything",
    ),
    ids=str,
)
def test_rows_of_every_feature(case: Case, mode: str) -> None:
    """Reductions of every kind and direction, with infinities and NaN; blocks of each are cut."""
    cuts: dict[Shape, Cut] = {(66, 130): (0, 33, 65, 66)} | {s: ROWS[s][0] for s in ((5,), (0, 4), (40, 3))}
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


def check_cut_anywhere(name: str, cuts: dict[Shape, Cut], mode: str) -> None:
    case = next(c for c in CASES if c.spec is SPECS[name])
    if case.shapes(*cuts):
        check_rows(case, MODES[mode], cuts)


ANYWHERE = {
    "lamb": "float32",
    "adafactor": "bfloat16-stochastic",
    "came": "float32",
    "prodigy": "bfloat16-master",
    "sgld": "float32",
}


@pytest.mark.parametrize("name", ANYWHERE)
@given(cuts=some_cuts())
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_rows_cut_anywhere(name: str, cuts: dict[Shape, Cut]) -> None:
    check_cut_anywhere(name, cuts, ANYWHERE[name])


@pytest.mark.stress
@pytest.mark.parametrize("name", ANYWHERE)
@given(cuts=some_cuts(), mode=st.sampled_from(list(MODES)))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_rows_cut_anywhere_in_every_mode(name: str, cuts: dict[Shape, Cut], mode: str) -> None:
    check_cut_anywhere(name, cuts, mode)


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
    + [(name, "float32") for name in ("lamb", "adafactor", "came", "prodigy")],
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


def test_batches_cut_along_other_axes_than_the_first() -> None:
    """Numbers as close as sums may be where matrices are whole; else such boxes are refused."""
    case, shape = next(c for c in TORCH_CASES if c.spec is TORCH["torch/adafactor"]), (3, 4, 20, 30)
    problem = Problem(case, {}, [shape])
    rng = np.random.default_rng(4)
    problem.grads = [[rng.standard_normal(shape).astype(np.float32)] for _ in range(2)]
    cells = grid(shape, {0: (0, 1, 3), 1: (0, 3, 4)})
    boxes = [Box(shape, cells, rank) for rank in range(len(cells))]
    (whole,), _ = problem.whole()
    own, _, _ = problem.in_boxes([[box] for box in boxes])
    for box, (x,) in zip(boxes, own, strict=True):
        np.testing.assert_allclose(x, part(whole, box), rtol=1e-6, atol=1e-30)
    rows = Box(shape, grid(shape, {2: (0, 7, 20)}), 0)
    w, g = np.ones(rows.bounds[1], np.float32), np.ones(rows.bounds[1], np.float32)
    with pytest.raises(ValueError, match=r"of the last two axes.* is cut in other axes only, so"):
        case.load().bind([w], [g], pieces=[rows], exchange=lambda _, numbers: None)


@pytest.mark.parametrize(
    ("name", "mode"),
    swept(itertools.product(("adam", "lamb"), ("int8", "int4")), [("adam", "int4"), ("lamb", "int8")]),
)
def test_codes_cut_between_blocks_of_columns(name: str, mode: str) -> None:
    problem = Problem(by_name(name), MODES[mode], [(70, 512)])
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
        for name, mode in (
            ("lamb", "int8"),
            ("lamb", "int4"),
            ("adafactor", "bfloat16-stochastic"),
            ("batch", "float32"),
        ):
            rule = by_name(name).load(**MODES[mode])
            shapes, cut = [(1000, 301), (701, 512), (9, 170, 300)], [(0, 333, 1000), (0, 350, 701), (0, 4, 9)]
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


# ---------------------------------------------------------------- blocks by row


@pytest.mark.parametrize(
    ("name", "mode"),
    swept(
        itertools.product(("adam", "lamb", "came", "prodigy"), ("int8", "int4")),
        lambda x: x[0] in ("adam", "lamb") or x == ("prodigy", "int8"),
    ),
)
def test_blocks_restart_at_rows(name: str, mode: str) -> None:
    """In tensors that are whole: compared with the interpreter, and by the shapes of scales."""
    problem = Problem(by_name(name), MODES[mode], [(130, 301), (70, 256), (9001,), (300, 33)])
    params, state = problem.whole()
    own, (found,), _ = problem.in_boxes([[None] * 4])
    assert all(map(same_bits, own[0], params))
    for key, arrays in state.arrays.items():
        for a, b in zip(arrays, found.arrays[key], strict=True):
            assert (a is None) == (b is None)
            assert a is None or same_bits(a, b), key
    scales = [None if x is None else x.shape for x in state.arrays["m.scale"]]
    # Prodigy sums over all parameters, which need one kernel, so that all are in codes.
    rest = [(9001, 1) if name == "prodigy" else None, (300, 1)]
    assert scales == [(130, 2), (70, 1), *rest] if mode == "int8" else [(130, 3), (70, 2), *rest]
