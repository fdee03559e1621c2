"""fmt"""
from __future__ import annotations
from optgen.diagnostics import Source
def format_text(source: Source) -> str:
    return source.text
