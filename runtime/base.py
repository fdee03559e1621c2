"""What everything else stands on: the library's error, and the wording for a misspelt name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MXNetError(RuntimeError):
    """An operation on arrays or parameters that cannot be done as asked; the name is the one MXNet code catches."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of an error message: `; did you mean 'x'?` when something is near, else `; known: a, b, c`."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(names)}"
