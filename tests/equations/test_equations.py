"""What the compiler makes of specs is what their equations say: of all that are shipped, of those in which a fault was
found once, and of random ones."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import optgen
from optgen import specfiles
from tests.equations import agree, functions
from tests.equations.random_specs import Line, Node, Spec, spec

FOUND = sorted((Path(__file__).parent / "found").glob("*.opt"))
TOGETHER = 25
"""How many random specs one test has."""


@pytest.mark.parametrize("name", specfiles.all_available())
def test_a_spec_that_is_shipped(name: str) -> None:
    rule = optgen.load(name, "float64", lr=0.1)
    shapes = [s for s in ((4, 3), (2, 5), (5,)) if agree.fits(rule, s)]
    assert agree.compare(rule, shapes, 1, compiled=False) is None


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_spec_in_which_a_fault_was_found(path: Path, dtype: str) -> None:
    rule = optgen.load(optgen.parse(path.read_text(encoding="utf-8")), dtype)
    shapes = [s for s in ((3, 4), (2, 3, 2), (5,)) if agree.fits(rule, s)]
    assert agree.compare(rule, shapes, 2, compiled=True) is None


def failing(first: int, size: int, every: int) -> dict[int, str]:
    """What is wrong with so many random specs, by seed."""
    seeds = range(first, first + TOGETHER)
    found = {seed: agree.disagreement(spec(seed, size), agree.how(seed, every), seed) for seed in seeds}
    return {seed: wrong for seed, wrong in found.items() if wrong is not None}


@pytest.mark.parametrize("first", range(0, 300, TOGETHER))
def test_random_specs(first: int) -> None:
    """`python -m tests.equations 1 --first SEED` makes the smallest spec that fails of one that does."""
    assert failing(first, 2, 12) == {}


@pytest.mark.stress
@pytest.mark.parametrize("first", range(300, 20_300, TOGETHER))
def test_many_random_specs(first: int) -> None:
    assert failing(first, 3, 6) == {}


def test_the_equations_share_the_syntax_tree_alone() -> None:
    tree = {f"optgen.{x}" for x in ("expressions", "model", "diagnostics", "lang.parser", "lang.compose")}
    for path in Path(__file__).parent.glob("*.py"):
        if path.stem not in ("agree", "test_equations"):
            read = {node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
            assert {x for x in read if x and x.startswith("optgen")} <= tree, path.name


def test_check_accepts_most_random_specs() -> None:
    accepted = 0
    for seed in range(100):
        try:
            optgen.parse(spec(seed).text)
        except optgen.SpecErrors:
            continue
        accepted += 1
    assert accepted > 80


def test_the_smallest_spec_that_fails_has_nothing_else() -> None:
    made = next(x for x in map(spec, range(1000)) if "trace(" in x.text and "repeat" in x.text)
    assert len(made.lines) > 5
    least = agree.smallest(made, lambda x: "trace(" in x.text)
    assert [str(x) for x in (*least.declared, *least.lines)] == [str(least.lines[0])]
    assert least.lines[0].value is not None and len(list(least.lines[0].value.walk())) <= 3


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations that mean something else than the compiler has differ, and so do kernels that do."""
    lines = Line("update:"), Line("  w' = ", Node("w - lr*{}", (Node("norm({})", (Node("g"),)),)))
    own = Spec((), lines)
    assert agree.disagreement(own, agree.How("float64", compiled=True), 1) is None
    monkeypatch.setitem(functions.REDUCTIONS, "norm", lambda x: abs(x).sum(axis=-1))
    wrong = agree.disagreement(own, agree.How("float64", compiled=True), 1)
    assert wrong is not None and wrong.startswith("update 1: w[0] is")
