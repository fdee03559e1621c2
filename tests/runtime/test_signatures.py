"""Functions whose parameters are data behave as those that are written out: signatures, arguments, errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from runtime.core.signatures import REQUIRED, with_signature


def written(a, b: int, c: float = 1.0, d: Any = None) -> tuple:
    """What it is given."""
    return a, b, c, d


@with_signature(
    "written",
    "What it is given.",
    {"a": ("", REQUIRED), "b": ("int", REQUIRED), "c": ("float", 1.0), "d": ("Any", None)},
    returns="tuple",
)
def made(*values: Any) -> tuple:
    return values


def open_written(self, x: int = 1, **kwargs: Any) -> tuple:
    return self, x, kwargs


@with_signature("open_written", None, {"self": ("", REQUIRED), "x": ("int", 1)}, keywords=True, returns="tuple")
def open_made(*values: Any, **kwargs: Any) -> tuple:
    return *values, kwargs


PAIRS = [(written, made), (open_written, open_made)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_it_is_shown_as_written(one: Callable, other: Callable) -> None:
    assert inspect.signature(one) == inspect.signature(other)
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1,), {}),
        ((1, 2), {}),
        ((1, 2, 3), {"d": 4}),
        ((), {"b": 2, "a": 1}),
        ((), {"b": 2}),
        ((1, 2, 3, 4), {}),
        ((1, 2, 3, 4, 5), {}),
        ((1, 2), {"b": 3}),
        ((1, 2), {"e": 3}),
        ((1,), {"x": 3}),
        ((1, 2), {"x": 3}),
        ((1,), {"x": 3, "y": 4}),
    ],
)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_it_takes_arguments_as_written(one: Callable, other: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
    def outcome(function: Callable) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            return str(error)

    assert outcome(one) == outcome(other)
