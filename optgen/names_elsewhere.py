"""The names that other libraries give to optimizers: what to write here in their place, and how that differs.

No name is taken for another one: an unknown name is an error, and says what the line of `names_elsewhere.txt` about it
does. To add a name, add it to a line there, or a line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Elsewhere(NamedTuple):
    """One line of the table: some names of other libraries, and what `optgen.load` is given in their place: the name of
    a spec or of a chain, and arguments as they are written in a call. `differs` says how both differ."""

    names: tuple[str, ...]
    libraries: str
    spec: str
    arguments: str
    differs: str

    @property
    def call(self) -> str:
        """`optgen.load("adamw", storage="int8_dynamic")`."""
        return f'optgen.load("{self.spec}"{f", {self.arguments}" if self.arguments else ""})'


@functools.cache
def rows() -> tuple[Elsewhere, ...]:
    """The lines of the table."""
    lines = (Path(__file__).with_suffix(".txt")).read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("#")]
    return tuple(Elsewhere(tuple(names.split(", ")), *rest) for names, *rest in cells)


def key(name: str) -> str:
    """A name as it is looked up: its letters and digits, behind the dots of a module: `bnb.optim.AdamW8bit`."""
    return re.sub(r"[^a-z0-9]", "", name.rpartition(".")[2].lower())


@functools.cache
def _by_key() -> Mapping[str, Elsewhere]:
    return {key(name): row for row in rows() for name in row.names}


def find(name: str) -> Elsewhere | None:
    """The line about a name, written in any case and with any marks; None if there is none."""
    return _by_key().get(key(name))


def hint(name: str) -> str | None:
    """What to write in place of a name of another library, and how it differs; None for a name that none has."""
    row = find(name)
    return None if row is None else f"a name of {row.libraries}: write {row.call}; {row.differs}"
