"""Sweeps: long lists of cases. `make test` runs those that find faults, `make stress` the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def swept(cases: Iterable[Any], kept: Collection[Any] | Callable[[Any], bool]) -> list[Any]:
    """The cases for `pytest.mark.parametrize`: those that are not `kept` are left to `make stress`.

    A tuple is the values of several parameters; a single parameter that is a tuple comes as `pytest.param(value)`.
    ValueError if something to keep is no case, so that a case that is renamed is not lost.
    """
    cases = list(cases)
    keeps = kept if callable(kept) else kept.__contains__
    if not callable(kept) and (lost := [case for case in kept if case not in cases]):
        raise ValueError(f"to be kept, but no cases: {lost}")
    return [case if keeps(case) else _left_to_stress(case) for case in cases]


def _left_to_stress(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.stress], id=case.id)
    return pytest.param(*case if isinstance(case, tuple) else (case,), marks=pytest.mark.stress)
