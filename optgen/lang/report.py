"""How checks report errors."""

from __future__ import annotations

from typing import Protocol

from optgen.diagnostics import Span


class Report(Protocol):
    """Takes an error, and the section that explains it if that is not the one of its code."""

    def __call__(self, code: str, message: str, span: Span, help: str, section: str | None = None, /) -> None: ...
