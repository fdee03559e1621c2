"""What watches the compiler at work, as `optgen show SPEC --times` does."""

from __future__ import annotations

from collections.abc import Callable

Observer = Callable[[str, object], None]
"""Called behind each step of the compiler, with the name of the step and what it made."""


def nobody(step: str, made: object) -> None:
    """The observer of a compiler that nobody watches."""
