"""The spec language: text to checked model.

    source -> syntax (tokens, logical lines) -> parser (declarations and equations) -> check -> model.Optimizer

`check` is the way on one page: `declare`, `conditions`, `names` look at each line, `variants` at every combination of
flags. `kinds` and `builtins` say what values and functions mean, `lint` finds what is legal but probably wrong, and
`format` lays a spec out anew. Nothing in here executes a spec.

Codes: E1xx characters, brackets, syntax, outline; E2xx names; E3xx kinds; E4xx values, flags, guards; W5xx warnings.
"""

from optgen.lang.check import parse
from optgen.lang.format import format_text

__all__ = ["format_text", "parse"]
