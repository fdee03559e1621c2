"""The gradient of every operator, and the gradient of its gradient, against differences.

Each file of tests of a family has a table `GRADIENTS`, from a name (the operator's, with what distinguishes the case
after a space) to a `Case`, and a set `NO_GRADIENT` of operators that have none to check.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import nd
from runtime.ndarray import serialization
from runtime.ndarray.random import operators as random_operators
from runtime.ndarray.updates import optimizer_ops
from tests.ndarray.gradients import Case, check

FILES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
TABLES = [importlib.import_module(f"tests.ndarray.{name}") for name in FILES]


def cases() -> Iterator[tuple[str, Case]]:
    for table in TABLES:
        for name, case in getattr(table, "GRADIENTS", {}).items():
            if isinstance(case, Case):
                yield name, case


@pytest.mark.parametrize(("name", "case"), [pytest.param(name, case, id=name) for name, case in cases()])
def test_gradient(name: str, case: Case) -> None:
    function, arrays, *how = case
    order, rtol, atol, eps = how
    check(function, *arrays, order=order, rtol=rtol, atol=atol, eps=eps)


NO_GRADIENT = {name for family in (random_operators, serialization, optimizer_ops) for name in family.__all__} | {
    "cast_storage"
}
"""Operators that draw, read, write or update: nothing to differentiate."""


def test_every_operator_has_a_case() -> None:
    exported = {name for family in nd.FAMILIES for name in family.__all__ if callable(getattr(nd, name))}
    known = {name.split()[0] for name, _ in cases()}
    known |= {name for table in TABLES for name in getattr(table, "NO_GRADIENT", ())}
    assert exported - known - NO_GRADIENT == set(), "operators without a case in a table GRADIENTS"
    assert known - exported == set(), "cases of operators that nd does not offer"
