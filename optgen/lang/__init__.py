"""The spec language: text to checked model.

    source -> syntax (tokens, logical lines) -> parser (declarations and equations) -> check -> model.Optimizer

`kinds` and `builtins` say what values and functions mean, `lint` finds what is legal but probably wrong, `format` lays a
spec out anew. Nothing in here executes a spec.
"""

from optgen.lang.check import parse
from optgen.lang.format import format_text

__all__ = ["format_text", "parse"]
