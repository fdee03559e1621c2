"""Observers of the compiler: they are told what each of its steps made. `optgen show SPEC --times` has one."""

from __future__ import annotations

from collections.abc import Callable

Observer = Callable[[str, object], None]
"""It is called after each step of the compiler, with the name of the step and what it made."""


def ignore(step: str, made: object) -> None:
    """The observer that does nothing."""
