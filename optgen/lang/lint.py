"""Warnings."""
from __future__ import annotations
from collections.abc import Iterator
from optgen.diagnostics import Diagnostic
from optgen.model import Optimizer
def lint(optimizer: Optimizer) -> Iterator[Diagnostic]:
    yield from ()
