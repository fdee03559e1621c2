"""Tensors that are updated in groups, one after the other: the same bits as all tensors sweep by sweep."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import Box, RowSparse, State
from optgen.execute.cpu import groups
from optgen.execute.cpu.groups import group_ends
from tests.compiler.features import BATCH, FROZEN, ROWS
from tests.compiler.harness import Array, Shape, assert_same, copies, copy_state, numbers, same_bits

SHAPES: tuple[Shape, ...] = (
    (300, 70), (5,), (4097,), (0,), (64, 3, 3), (20_001,), (1, 1), (3, 5000), (257, 3), (0, 4), (8192,), (130, 1), (),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Groups of these shapes, on three threads; two of them are too large for a group."""
    monkeypatch.setattr(groups, "GROUP_BYTES", 1 << 13)
    monkeypatch.setattr(groups, "LARGEST_BYTES", 1 << 18)
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1)
    before = optgen.num_threads()
    optgen.set_num_threads(3)
    yield
    optgen.set_num_threads(before)


def step(spec: Any, params: list[Array], grads: list[Any], state: State | None = None, **how: Any) -> Any:
    return optgen.load(spec, **how).bind(params, grads, state)


def count(bound: Any) -> int:
    """How many groups a step has."""
    return sum(table.groups.count for table in bound._tables if table.groups is not None)


@pytest.mark.parametrize(
    ("spec", "how"),
    [
        ("lamb", {}),
        ("lans", {"dtype": "float64"}),
        ("adafactor", {"storage": "bfloat16_stochastic"}),
        ("came", {"storage": "int8_linear"}),
        ("lars", {"momentum": 0.9, "dtype": "bfloat16", "master": True}),
        (ROWS, {"storage": "int8_dynamic"}),
        (BATCH, {}),
        (FROZEN, {"kept": "sums"}),
    ],
    ids=str,
)
def test_the_same_bits(spec: Any, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    dtype = how.get("dtype", "float32")
    params, grads, others = ([numbers(rng, s, dtype, special=False) for s in SHAPES] for _ in range(3))

    def run() -> tuple[list[Array], State, int]:
        w = copies(params)
        bound = step(spec, w, grads, **how)
        bound.seed = 7
        bound(lr=[0.01 * (i + 1) for i in range(len(w))])
        bound.rebind(others)
        bound(lr=0.1)
        return w, bound.state, count(bound)

    w, state, cut = run()
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1000)
    expected, expected_state, none = run()
    assert cut >= 3 and none == 0
    assert_same("groups", w, state, expected, expected_state)


def test_only_the_parameters_with_gradients_count() -> None:
    torch = pytest.importorskip("torch")
    params = [torch.nn.Parameter(torch.randn(4096)) for _ in range(9)]
    bound = optgen.load("lamb").bind(params)
    for present in (range(9), range(2, 9), range(9)):
        for i, p in enumerate(params):
            p.grad = torch.randn(4096) if i in present else None
        bound()
        assert count(bound) == len(present)
    assert bound.state.t.tolist() == [2, 2, *[3] * 7]


def test_row_sparse_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other rows each time, and with all of them after that."""
    rng = np.random.default_rng(4)
    params = [numbers(rng, (200, 30), "float32", special=False) for _ in range(8)]

    def run() -> tuple[list[Array], State]:
        draw = np.random.default_rng(5)
        w = copies(params)
        sparse = [
            RowSparse(draw.permutation(200)[: 20 * i], draw.standard_normal((20 * i, 30), np.float32)) for i in range(8)
        ]
        bound = step("groupadagrad", w, sparse)
        assert (count(bound) > 3) == (groups.LEAST_GROUPS == 1)
        bound()
        bound.rebind([RowSparse(np.arange(200), x) for x in params])
        bound()
        return w, bound.state

    w, state = run()
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1000)
    assert_same("rows", w, state, *run())


def test_what_depends_on_others_is_not_cut() -> None:
    """Sums over all parameters, the partial results of pieces; a single sweep gains nothing."""
    params = [np.ones(4096, np.float32) for _ in range(9)]
    assert count(step("lamb", copies(params), params)) == 9
    for spec in ("prodigy", "adam"):
        assert count(step(spec, copies(params), params)) == 0
    seen: list[list[int]] = []
    sizes = [4096 * (9 - i) for i in range(9)]
    larger = [np.ones(n, np.float32) for n in sizes]
    bound = optgen.load("lamb").bind(copies(larger), larger, exchange=lambda members, _: seen.append(members))
    bound()
    assert count(bound) == 0 and seen == [list(range(9))]


def test_whole_tensors_beside_a_box() -> None:
    """Their kernel is one for boxes, too, though none of them is one, and no exchange is needed."""
    rng = np.random.default_rng(8)
    shapes = ((30, 100), *[(4096 + i,) for i in range(9)])
    params, grads = ([numbers(rng, s, "float32", special=False) for s in shapes] for _ in range(2))
    whole, beside = copies(params), copies(params)
    rule = optgen.load("adafactor")
    rule.bind(whole, grads)()
    rule.bind(beside, grads, pieces=[Box.of_rows((30, 100), (0, 30), 0), *[None] * 9])()
    assert all(same_bits(a, b) for a, b in zip(whole, beside, strict=True))


def test_a_table_is_freed_with_its_step() -> None:
    """Without the garbage collector, for which a table in a cycle of references would wait."""
    params = [np.ones(4096, np.float32) for _ in range(9)]
    bound = step("lamb", copies(params), params)
    table = weakref.ref(bound._tables[0])
    assert count(bound) == 9
    del bound
    assert table() is None


def test_each_parameter_has_its_own_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table has the smallest tensors first, and counts stand in the order of the parameters."""
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1000)
    rng = np.random.default_rng(6)
    params, grads = ([numbers(rng, (n,), "float32", special=False) for n in (900, 30)] for _ in range(2))
    together, alone = copies(params), copies(params)
    rule = optgen.load("lamb")
    state = rule.init(together)
    state.t[...] = [7, 0]
    rule.bind(together, grads, state)()
    assert state.t.tolist() == [8, 1]
    for w, g, t in zip(alone, grads, (7, 0), strict=True):
        own = rule.init([w])
        own.t[...] = t
        rule.bind([w], [g], own)()
    assert all(same_bits(a, b) for a, b in zip(together, alone, strict=True))


def test_a_state_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    params = [np.ones(5000, np.float32) for _ in range(9)]
    w, grads = copies(params), [np.full(5000, 0.1 * i, np.float32) for i in range(9)]
    first = step("lamb", w, grads)
    first()
    again, state = copies(w), copy_state(first.state)
    first()
    monkeypatch.setattr(groups, "LEAST_GROUPS", 1000)
    second = step("lamb", again, grads, state)
    second()
    assert_same("state", w, first.state, again, second.state)


def test_ends_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert group_ends([1 << 13] * 4, 1) == [1, 2, 3, 4]
    assert group_ends([1 << 12] * 5, 1) == [2, 4, 5]
    assert group_ends([0, 1, (1 << 18), (1 << 18) + 1, 1 << 20], 1) == [3]
    assert group_ends([], 1) == group_ends([1 << 20], 1) == []
    monkeypatch.setattr(groups, "LEAST_GROUPS", 2)
    assert group_ends([1 << 13] * 4, 2) == [1, 2, 3, 4] and group_ends([1 << 13] * 3, 2) == []
