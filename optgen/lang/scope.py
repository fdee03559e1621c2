"""The names of a spec: their declarations, and which of them failed.

A name that failed once is not reported again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from optgen.diagnostics import Diagnostic, Span, listed, suggest
from optgen.expressions import Name
from optgen.functions.table import FUNCTIONS
from optgen.lang.builtins import COMMON_NAMES, RESERVED
from optgen.model import RESERVED_PARAMS, Dim, Flag, Input, Loop, Param, StateDecl


@dataclass
class Scope:
    """The names of a spec, and the errors about them. `failed` holds names and keys (`m`, `m'`). `last_two`: parameters
    are batches of matrices."""

    params: dict[str, Param] = field(default_factory=dict)
    flags: dict[str, Flag] = field(default_factory=dict)
    states: dict[str, StateDecl] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    dims: dict[str, Dim] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    locals: dict[str, Span] = field(default_factory=dict)
    arrays: dict[str, Loop] = field(default_factory=dict)  # local arrays, and the loops whose turns set elements
    carried: set[str] = field(default_factory=set)  # the local values that loops carry from turn to turn
    last_two: bool = False
    failed: set[str] = field(default_factory=set)
    reported: dict[Diagnostic, None] = field(default_factory=dict)

    @property
    def given(self) -> list[str]:
        """The inputs that are numbers, which each step is given."""
        return [p.name for p in self.params.values() if p.given]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(self.reported)

    def report(self, code: str, message: str, span: Span, help: str | None = None, section: str | None = None) -> None:
        """Add an error, unless the same one was reported for the same place."""
        self.reported.setdefault(Diagnostic(code, message, span, help, section))

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """`diagnostics.suggest`, as long as there are few errors: it is slow, and many errors have one cause."""
        return suggest(name, known) if len(self.reported) < 50 else None

    def what(self, name: str) -> str | None:
        """A declared or reserved name described in words; None if it is neither."""
        tables: tuple[tuple[str, Iterable[str]], ...] = (
            ("a param", self.params),
            ("a param", RESERVED_PARAMS),
            ("a flag", self.flags),
            ("a state", self.states),
            ("an input", self.inputs),
            ("a dimension", self.dims),
            ("an alias", self.aliases),
            ("a reserved name", RESERVED),
        )
        return next((word for word, table in tables if name in table), None)

    def unknown(
        self, name: Name, known: Iterable[str], declare: str = "declare it, or define it on a line above"
    ) -> None:
        """Report a name that nothing declares; `declare` says how."""
        common, names = COMMON_NAMES.get(name.id), list(known)
        if common is not None:
            help = f"it is called '{common}' here"
        elif name.id in FUNCTIONS:
            help = f"it is a function: {FUNCTIONS[name.id].usage}"
        else:
            near = self.suggest(name.id, names)
            help = near or f"{declare}; there are {listed(names)}"
        self.report("E206", f"unknown name '{name.key}'", name.span, help)
        self.failed.update((name.id, name.key))


def meaning(name: str) -> str:
    """A reserved name described in words."""
    return f"reserved for {RESERVED[name]}"
