"""Tensors in pieces, and gradients that are summed as they are read: the same bits as whole tensors and the oracle."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import Piece, RowSparse, State
from optgen.ir import BLOCK
from tests.compiler.features import FEATURES
from tests.compiler.harness import (
    CASES,
    Array,
    Case,
    Shape,
    arrays_of,
    by_name,
    cases,
    covering,
    interpret_step,
    numbers,
    same_bits,
)
from tests.sweeps import swept

SHAPES: tuple[Shape, ...] = ((3,), (9001,), (130, 100), (5000,), (0,), (8192,), ())
MODES: dict[str, dict[str, Any]] = {
    "float64": {"dtype": "float64"},
    "float16-master": {"dtype": "float16", "master": True},
    "bfloat16": {"dtype": "bfloat16", "storage": "bfloat16_stochastic"},
    "int8": {"storage": "int8_dynamic"},
    "int4": {"storage": "int4_dynamic"},
}


class Problem:
    """Tensors of one rule, as `ranks` owners have them: each tensor's blocks are dealt out as evenly as possible."""

    def __init__(self, case: Case, mode: Mapping[str, Any], gradients: int, ranks: int) -> None:
        self.rule, self.ranks = case.load(**mode), ranks
        self.shapes = case.shapes(*SHAPES)
        rng = np.random.default_rng(5)
        self.params = [self._numbers(rng, shape) for shape in self.shapes]
        self.grads = [[self._numbers(rng, shape) for _ in range(gradients)] for shape in self.shapes]
        self.inputs = {i.name: [self._numbers(rng, s) for s in self.shapes] for i in case.spec.inputs}
        self.flags = case.flags(len(self.shapes))
        own = [{name: x[i] for name, x in self.flags.items()} for i in range(len(self.shapes))]
        self.cuts = [self.rule.cut(shape, flags) for shape, flags in zip(self.shapes, own, strict=True)]
        self.barrier, self.shared = threading.Barrier(ranks), dict[int, Array]()

    def _numbers(self, rng: np.random.Generator, shape: Shape) -> Array:
        return numbers(rng, shape, self.rule.dtype, special=False)

    def span(self, i: int, rank: int) -> tuple[int, int]:
        """Which elements of tensor i a rank has; one that cannot be cut belongs to one rank alone."""
        size = self.params[i].size
        if self.cuts[i] in ("tensors", "never"):
            return (0, size) if rank == i % self.ranks else (0, 0)
        blocks = -(-size // BLOCK)
        begin, end = (min(blocks * r // self.ranks * BLOCK, size) for r in (rank, rank + 1))
        return (begin, end) if end > begin else (0, 0)

    def is_whole(self, i: int, rank: int) -> bool:
        return self.span(i, rank) == (0, self.params[i].size)

    def part(self, x: Array, i: int, rank: int) -> Array:
        begin, end = self.span(i, rank)
        return x.copy() if self.is_whole(i, rank) else x.reshape(-1)[begin:end].copy()

    def exchange(self, rank: int, members: list[int], partials: Array) -> None:
        """Rows of the blocks that other ranks have, from there."""
        self.shared[rank] = partials.copy()
        self.barrier.wait(60)
        row = 0
        for i in members:
            for other in range(self.ranks):
                begin, end = self.span(i, other)
                blocks = slice(row + begin // BLOCK, row + -(-end // BLOCK))
                partials[blocks] = self.shared[other][blocks]
            row += -(-self.params[i].size // BLOCK)
        self.barrier.wait(60)

    def bind(self, rank: int, params: list[Array]) -> optgen.BoundStep:
        pieces = [
            None if self.is_whole(i, rank) else Piece(self.span(i, rank)[0], shape)
            for i, shape in enumerate(self.shapes)
        ]
        grads = [[self.part(x, i, rank) for x in xs] for i, xs in enumerate(self.grads)]
        inputs = {name: [self.part(x, i, rank) for i, x in enumerate(xs)] for name, xs in self.inputs.items()}

        def exchange(members: list[int], partials: Array) -> None:
            self.exchange(rank, members, partials)

        wanted = exchange if "blocks" in self.cuts else None
        return self.rule.bind(params, grads, inputs=inputs, flags=self.flags, pieces=pieces, exchange=wanted)


def updated_in_pieces(problem: Problem, steps: int) -> tuple[list[list[Array]], list[State]]:
    """The pieces of all ranks after some steps, each rank in a thread of its own."""
    ranks = range(problem.ranks)
    parts = [[problem.part(w, i, r) for i, w in enumerate(problem.params)] for r in ranks]
    bound = [problem.bind(r, parts[r]) for r in ranks]

    def run(step: optgen.BoundStep) -> None:
        step.seed = 77
        for _ in range(steps):
            step(lr=0.1)

    threads = [threading.Thread(target=run, args=(step,)) for step in bound]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return parts, [step.state for step in bound]


def check(case: Case, mode: Mapping[str, Any], ranks: int, gradients: int = 1) -> None:
    problem = Problem(case, mode, gradients, ranks)
    whole = [w.copy() for w in problem.params]
    before = optgen.num_threads()
    optgen.set_num_threads(1)  # the threads here are ranks
    try:
        step = problem.rule.bind(whole, problem.grads, inputs=problem.inputs, flags=problem.flags)
        step.seed = 77
        for _ in range(2):
            step(lr=0.1)
        parts, states = updated_in_pieces(problem, 2)
    finally:
        optgen.set_num_threads(before)
    for i, w in enumerate(whole):
        joined = np.concatenate([part[i].reshape(-1) for part in parts])
        assert same_bits(joined, w.reshape(-1)), f"{case}: tensor {i} of shape {w.shape}"
        for name, array in arrays_of(step.state, i).items():
            owners = [r for r in range(ranks) if parts[r][i].size]
            found = [arrays_of(states[r], i)[name] for r in owners]
            if array.shape == () and owners:
                assert all(same_bits(x, array) for x in found), f"{case}: state {name}[{i}]"
            elif owners:
                pieces = np.concatenate([x.reshape(-1) for x in found])
                assert same_bits(pieces, array.reshape(-1)), f"{case}: state {name}[{i}]"


@pytest.mark.parametrize("case", swept(CASES, covering(CASES)), ids=str)
def test_pieces_equal_the_whole(case: Case) -> None:
    check(case, {}, ranks=3)


STORED = "adam", "lamb", "sgld", "prodigy", "came"
PIECES = [("lamb", mode) for mode in MODES] + [
    (name, mode) for i, name in enumerate(STORED) for j, mode in enumerate(MODES) if name != "lamb" and i in (j, j + 1)
]


@pytest.mark.parametrize(
    ("name", "mode"), swept(PIECES, lambda x: x not in [("came", "int8"), ("came", "int4"), ("prodigy", "bfloat16")])
)
def test_pieces_of_every_storage(name: str, mode: str) -> None:
    case = next(c for c in CASES if c.spec.name.lower() == name)
    check(case, MODES[mode], ranks=2, gradients=2)


KEEPING = Case(
    optgen.parse("optimizer Keeping\nstate last = 0\nupdate:\n  last' = grad\n  w' = w - lr*(g + last')\n"), {}
)
"""The sum of the gradients has a name of its own before anything else reads it."""


SUMS = [(by_name("adam"), mode, count) for mode in ("float32", *MODES) for count in (1, 2, 5)]
SUMS += [(case, "float32", 2) for case in (KEEPING, *cases(*FEATURES[1:]))]


def adds_to_others(case: Case, mode: str, count: int) -> bool:
    """Whether its sum is read in another way: every element, row and column reads it as those of these do."""
    if str(case) == "adam":
        return count == 2 or (mode, count) in [("float32", 1), ("bfloat16", 5), ("int8", 5)]
    return case.spec.name in ("Keeping", "Rows", "Starts", "Batch")


@pytest.mark.parametrize(("case", "mode", "count"), swept(SUMS, lambda x: adds_to_others(*x)), ids=str)
def test_gradients_are_summed_as_they_are_read(case: Case, mode: str, count: int) -> None:
    """In order, in the type that is computed with: compared with the interpreter."""
    problem = Problem(case, MODES.get(mode, {}), count, 1)
    ours, theirs = ([w.copy() for w in problem.params] for _ in range(2))
    state, reference = (problem.rule.init(problem.params, flags=problem.flags) for _ in range(2))
    step = problem.rule.bind(ours, problem.grads, state, problem.inputs, flags=problem.flags)
    step(rescale_grad=0.3)
    values = {**problem.rule.values, "rescale_grad": 0.3}
    how: dict[str, Any] = {"inputs": problem.inputs, "flags": problem.flags}
    interpret_step(problem.rule, theirs, problem.grads, reference, values, **how)
    assert all(map(same_bits, ours, theirs))


def test_what_exchange_raises_ends_the_step() -> None:
    def exchange(members: list[int], partials: Array) -> None:
        raise TimeoutError("rank 3 is missing")

    w = np.ones(4096, np.float32)
    step = optgen.load("lamb").bind([w], [np.ones_like(w)], pieces=[Piece(0, (8192,))], exchange=exchange)
    with pytest.raises(TimeoutError, match="rank 3 is missing"):
        step()
    assert (w == 1).all()


def test_bad_pieces_and_gradients() -> None:
    adam, w, g = optgen.load("adam"), np.ones(5000, np.float32), np.ones(5000, np.float32)
    with pytest.raises(ValueError, match=r"params\[0\]: a piece is one-dimensional and within its tensor"):
        adam.bind([w], [g], pieces=[Piece(4096, (9000,))])
    with pytest.raises(
        ValueError, match=r"params\[0\]: a tensor is cut at multiples of 4096 elements, not at 0 and 5000"
    ):
        adam.bind([w], [g], pieces=[Piece(0, (9000,))])
    with pytest.raises(ValueError, match=r"params\[0\]: optgen_adafactor\w* updates whole tensors only"):
        optgen.load("adafactor").bind([w[:4096]], [g[:4096]], pieces=[Piece(0, (100, 100))])
    with pytest.raises(ValueError, match="pieces: 0 for 1 parameters"):
        adam.bind([w], [g], pieces=[])
    with pytest.raises(ValueError, match="as many for each parameter are summed"):
        adam.bind([w, w.copy()], [[g, g.copy()], g])
    with pytest.raises(ValueError, match=r"grads\[0\]\[1\]: shape \(3,\), but its parameter has \(5000,\)"):
        adam.bind([w], [[g, g[:3]]])
    with pytest.raises(TypeError, match=r"grads\[0\]\[1\]: expected a tensor"):
        adam.bind([w], [[g, RowSparse([0], np.ones((1,), np.float32))]])
    step = adam.bind([w], [[g, g]])
    with pytest.raises(ValueError, match=r"grads\[0\]: 1 gradients, where 2 were bound; bind it anew"):
        step.rebind([g])


def test_where_tensors_can_be_cut() -> None:
    found = {name: optgen.load(name).cut((30, 40)) for name in ("adam", "sgld", "lamb", "prodigy", "adafactor")}
    expected = {"adam": "anywhere", "sgld": "anywhere", "lamb": "blocks", "prodigy": "blocks", "adafactor": "tensors"}
    assert found == expected
    kinds = optgen.load(FEATURES[1])
    assert kinds.cut((30, 40)) == "never"
