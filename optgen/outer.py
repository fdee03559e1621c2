"""Outer steps: equations of some updates only that read nothing of the others but the weight that these have made.

Such an update is two phases, which need no code of stages: the inner one, as in the other updates, and then the outer
one over the new weights. Between the two, workers exchange them: a mean over workers is of all parameters at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from optgen.diagnostics import Span
from optgen.expressions import Call, Expr, Name, children, is_over_workers, walk, with_children
from optgen.functions.table import is_draw
from optgen.model import Equation, Optimizer, Timing

INNER, OUTER = "inner", "outer"
"""The phases."""


@dataclass(frozen=True)
class OuterStep:
    """A spec whose outer step is a phase of its own: `spec` has the phases, and the same states.

    The outer phase is due in the updates of `timing`. If it `exchanges`, its weights are the means of those of workers.
    """

    spec: Optimizer
    timing: Timing
    exchanges: bool


class NoOuterStepError(Exception):
    """A spec has no outer step: the message says what there is instead, as a clause, and `span` where."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


def outer_step(optimizer: Optimizer) -> OuterStep:
    """The outer step of a spec; NoOuterStepError if it has none."""
    return _Split(optimizer).result()


class _Split:
    """The equations of a spec, and which of them are of the outer step."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        if optimizer.phases:
            raise NoOuterStepError("a step has phases")
        weights = [e for e in optimizer.update if e.target.key == "w'"]
        timed = [e for e in weights if e.timing is not None]
        if len(weights) != 2 or len(timed) != 1 or weights[0] is not timed[0] or weights[0].guard is not None:
            raise NoOuterStepError("w' is not one value in some updates, and another in the others", weights[-1].span)
        (outer, other), self.fast = weights, ""
        if not isinstance(other.value, Name) or other.value.primed or other.guard is not None:
            raise NoOuterStepError("w' is no local value in the other updates", other.span)
        self.fast = other.value.id
        assert outer.timing is not None
        self.timing: Timing = outer.timing
        self.lines: dict[str, list[Equation]] = {}
        for e in optimizer.update:
            self.lines.setdefault(e.target.key, []).append(e)
        self.targets = [e.target.key for e in optimizer.update if e.timing == self.timing and e.target.primed]

    def result(self) -> OuterStep:
        for key in self.targets:
            if len(self.lines[key]) > 1 and key != "w'":
                raise NoOuterStepError(f"{key} has several values", self.lines[key][1].span)
        outer_locals = self._locals(self.targets)
        inner_targets = [key for key in self.lines if key.endswith("'") and key not in self.targets]
        inner_locals = self._locals([*inner_targets, self.fast])
        used = [e for key in (*self.targets, *outer_locals) for e in self._own(key)]
        means = [e for line in used for e in walk(line.value) if is_over_workers(e)]
        self._check(used, exchanges=bool(means))
        inner = {*inner_targets, *inner_locals, self.fast}
        before = [replace(e, phase=INNER) for e in self.optimizer.update if e.target.key in inner]
        for name in (x for e in before for x in _names(e.value)):
            if name.key in self.targets:
                raise NoOuterStepError(f"other updates read {name.key}, which it changes", name.span)
        weight = replace(self.lines["w'"][1], is_otherwise=False, phase=INNER)
        after = [
            replace(e, value=self._after(e.value), timing=None, phase=OUTER) for e in self.optimizer.update if e in used
        ]
        spec = replace(self.optimizer, update=(*before, weight, *after), phases=(INNER, OUTER))
        return OuterStep(spec, self.timing, bool(means))

    def _own(self, key: str) -> list[Equation]:
        """The lines of a name in the outer step."""
        return [e for e in self.lines[key] if e.timing == self.timing or not e.target.primed]

    def _locals(self, keys: Iterable[str]) -> list[str]:
        """The local values that those of some names are computed of, but for the new weight."""
        found: list[str] = []
        ahead = [e.value for key in keys for e in (self._own(key) if key in self.targets else self.lines[key])]
        while ahead:
            for name in _names(ahead.pop()):
                if name.key in self.lines and not name.primed and name.key not in (*found, self.fast):
                    found.append(name.key)
                    ahead += [e.value for e in self.lines[name.key]]
        return found

    def _check(self, used: list[Equation], *, exchanges: bool) -> None:
        own = {key.removesuffix("'") for key in self.targets} - {"w"}
        states = {s.name for s in self.optimizer.states}
        for line in used:
            if line.guard is not None or line.loop is not None:
                raise NoOuterStepError(f"{line.target.key} depends on a flag or a loop", line.span)
            for e in walk(line.value):
                if is_draw(e):
                    raise NoOuterStepError(f"{line.target.key} is drawn", e.span)
                if is_over_workers(e) and not (isinstance(e, Call) and _is_name(e.args[0], self.fast)):
                    raise NoOuterStepError(f"it is of another value than {self.fast}", e.span)
            for name in _plain_names(line.value) if exchanges else _names(line.value):
                key, is_fast = name.key, name.key == self.fast
                if key in ("w", "g", "grad") or (name.primed and key not in self.targets) or (is_fast and exchanges):
                    raise NoOuterStepError(
                        f"{line.target.key} reads {key}, which each worker has for itself", name.span
                    )
                if key in states - own:
                    raise NoOuterStepError(f"{line.target.key} reads {key}, which other updates change", name.span)

    def _after(self, expr: Expr) -> Expr:
        """An expression of the outer step: the new weight, and its mean, are the weight as the phase finds it."""
        if is_over_workers(expr) or _is_name(expr, self.fast):
            return Name("w", False, expr.span)
        return with_children(expr, [self._after(x) for x in children(expr)])


def _is_name(expr: Expr, key: str) -> bool:
    return isinstance(expr, Name) and expr.key == key


def _names(expr: Expr) -> Iterator[Name]:
    yield from (x for x in walk(expr) if isinstance(x, Name))


def _plain_names(expr: Expr) -> Iterator[Name]:
    """The names that are not in a mean over workers."""
    if isinstance(expr, Name):
        yield expr
    elif not is_over_workers(expr):
        for child in children(expr):
            yield from _plain_names(child)
