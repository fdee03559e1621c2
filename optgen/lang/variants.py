"""Checks every flag variant as a straight line of equations: which names are defined, where, and of which kind.

Variants in which all guards agree are one program, and are checked once. An error in some of the variants names the
flags that these have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Unary, walk
from optgen.lang.kinds import Names, base_names, check_start, infer_values
from optgen.lang.loops import check_carried, is_visible, loops_around
from optgen.lang.names import readable_names
from optgen.lang.scope import Scope
from optgen.model import PHASE, Flags, Loop, Optimizer, Program, StateDecl
from optgen.truth import truth

MAX_VARIANTS = 4096
"""The largest number of combinations of flags. With more, checking or building them could take minutes."""

MAX_LINES = 100_000
"""The largest number of equations of all variants together, for the same reason."""


@dataclass
class _Findings:
    """Errors of single variants, each with the variants that have it."""

    met: dict[tuple[str, str, Span, str, str | None], list[Flags]] = field(default_factory=dict)

    def add(self, flags: Flags, code: str, message: str, span: Span, help: str, section: str | None) -> None:
        self.met.setdefault((code, message, span, help, section), []).append(flags)


def check_variants(optimizer: Optimizer, scope: Scope, update: Span, phases: Mapping[str, Span]) -> None:
    """Report the errors of single variants. `update` is the place where a missing `w'` is reported, or in a spec with
    phases that of the phase."""
    count = prod(len(v) for v in optimizer.flag_values().values())
    if count > MAX_VARIANTS or count * len(optimizer.update) > MAX_LINES:
        help = "join flags that exclude each other into one with choices: flag kind = 'a' | 'b' | 'c'"
        message = f"{count} combinations of flags are too many"
        scope.report("E412", message, (optimizer.flags or optimizer.update)[0].span, help)
        return
    variants = distinct_variants(optimizer)
    if not variants:
        help = "no combination of flags satisfies all of them"
        scope.report("E411", "the requirements exclude everything", optimizer.requires[0].span, help)
    findings = _Findings()
    for flags in variants:
        _Walk(optimizer, scope, flags, findings).run(phases.get(str(flags.get(PHASE)), update))
    for (code, message, span, help, section), where in findings.met.items():
        scope.report(code, message + describe(where, variants), span, help, section)


def distinct_variants(optimizer: Optimizer) -> list[Flags]:
    """The variants that differ in flags that guards read. Each keeps these flags only."""
    read = {e.id for g in optimizer.guards() for e in walk(g) if isinstance(e, Name)}
    # The flags that test `p set` count as read: they decide whether p is known to be set in a variant.
    read |= {f.name for f in optimizer.flags if f.condition and any(isinstance(e, IsSet) for e in walk(f.condition))}
    read |= {PHASE}
    seen: dict[tuple[tuple[str, object], ...], Flags] = {}
    for flags in optimizer.variants():
        kept = {name: value for name, value in flags.items() if name in read}
        seen.setdefault(tuple(kept.items()), kept)
    return list(seen.values())


def describe(where: list[Flags], variants: list[Flags]) -> str:
    """` when heavy and not nesterov`: the flags that these variants have in common and the others do not."""
    where = [f for f in variants if f in where]  # each once: a variant is checked for each timing
    if len(where) == len(variants):
        return ""
    words = []
    for name, value in where[0].items():
        if all(f[name] == value for f in where) and not all(f[name] == value for f in variants):
            words.append(f"{name} == '{value}'" if isinstance(value, str) else name if value else f"not {name}")
    if words:
        return f" when {' and '.join(words)}".replace(f"when {PHASE} ==", "in phase")
    example = describe(where[:1], variants).removeprefix(" when ")
    return f" in some variants, as when {example}"


class _Walk:
    """The check of one variant."""

    def __init__(self, optimizer: Optimizer, scope: Scope, flags: Flags, findings: _Findings) -> None:
        self.optimizer = optimizer
        self.scope = scope
        self.flags = flags
        self.findings = findings
        self.set_params = set(_known_set(optimizer, flags))

    def report(self, code: str, message: str, span: Span, help: str, section: str | None = None) -> None:
        self.findings.add(self.flags, code, message, span, help, section)

    def run(self, update: Span) -> None:
        program = self.optimizer.program(self.flags)
        names = self._section(program)
        if self.optimizer.timings:
            self._section(self.optimizer.program(self.flags, due=()))
        starts = self.optimizer.late_starts(program)
        for state in program.states:
            if state.name in starts:
                self._start(state, starts[state.name], program, names)
            if not self._is_updated(program, state.name + "'"):
                name = state.name
                help = f"write {name}' = ... ({name}' = {name} keeps it), or guard the state as its equations are"
                self.report("E209", f"state '{name}' is never updated", state.span, help)
        if not self._is_defined(program, "w'"):
            help = "every variant ends with the new weight: w' = ..."
            self.report("E210", "w' is not defined", update, help)
        if self.optimizer.evaluate:
            evaluation = self.optimizer.program(self.flags, evaluate=True)
            self._section(evaluation)
            if not self._is_defined(evaluation, "w'"):
                help = "write w' = ..., the weights to evaluate with"
                self.report("E210", "'eval:' does not define w'", self.optimizer.evaluate[-1].span, help)

    def _start(self, state: StateDecl, start: Expr, program: Program, names: Names) -> None:
        """Check the expression that a state starts from: its kind, that its params are set, and that its local values
        are known before the state is read."""
        self._check_set(start)
        if all(
            [self._is_known(name, state, program) for name in readable_names(start) if name.id in self.scope.locals]
        ):
            check_start(state, start, names, self.report)

    def _is_known(self, name: Name, state: StateDecl, program: Program) -> bool:
        """Whether a local value is defined above the first line that reads a state which starts from it."""
        if name.id in self.scope.failed:
            return False
        places = [k for k, e in enumerate(program.equations) if e.target.key == name.id]
        if not places:
            help = "define it in every variant that has the state, or guard the state"
            self.report("E205", f"'{name.id}' is not defined", name.span, help, "first-update")
            return False
        defined = program.equations[places[0]]
        if defined.loop is not None:
            help = "a state starts once; read what the loop carries behind it, by an equation of its own"
            self.report("E213", f"{name.id} is a value of one turn of a loop", name.span, help)
            return False
        above = program.equations[: places[0] + 1]
        reader = next((e for e in above if any(x.key == state.name for x in readable_names(e.value))), None)
        if reader is not None:
            message = f"'{state.name}' starts from {name.id}, and is read above it on line {reader.span.line}"
            help = f"define {name.id} above that line; {name.id} cannot depend on {state.name}"
            self.report("E204", message, name.span, help, "first-update")
        return reader is None

    def _is_updated(self, program: Program, key: str) -> bool:
        """Whether a state gets a new value in this variant, be it in another phase."""
        if not self.optimizer.phases or key in self.scope.failed:
            return self._is_defined(program, key)
        lines = (e for e in self.optimizer.update if e.target.key == key)
        return any(e.guard is None or truth(e.guard, self.flags) for e in lines)

    def _is_defined(self, program: Program, key: str) -> bool:
        return key in self.scope.failed or any(e.target.key == key for e in program.equations)

    def _section(self, program: Program) -> Names:
        """Check that each name is defined once, before its use; then the kinds, which are returned."""
        defined: dict[str, Span] = {}
        states = {s.name for s in program.states}
        loops: dict[str, Loop | None] = {}
        places: dict[str, Span] = {}
        for e in program.equations:
            if not self.optimizer.phases or e.phase is not None:  # and not what keeps a state
                places.setdefault(e.target.key, e.span)
        for equation in program.equations:
            target = equation.target
            missing = target.id in self.scope.states and target.id not in states
            turns = {loop.index for loop in loops_around(equation.loop)}
            if missing:
                self._no_state(target)
            for name in readable_names(equation.value):
                if not (missing and name.id == target.id) and name.key not in turns:
                    self._read(name, target, states, defined, places)
                    if name.key in loops and not is_visible(name, loops[name.key], equation.loop):
                        help = f"carry it: write {name.id}' = ..., which is known behind the loop"
                        self.report("E213", f"{name.key} is a value of one turn of a loop", name.span, help)
            if equation.loop is not None and target.primed:
                check_carried(equation, loops, self.report)
            self._check_set(equation.value)
            if target.key in defined:
                rule = "the cases of one name stand together, and others need another name"
                if loops[target.key] != equation.loop:
                    rule = "a name is set in one loop: choose another one here"
                    if not target.primed and is_visible(target, loops[target.key], equation.loop):
                        rule = f"{target.id}' = ... sets the {target.id} of the next turn"
                help = f"the first is on line {defined[target.key].line}; {rule}"
                self.report("E202", f"a second definition of {target.key}", target.span, help)
            defined.setdefault(target.key, target.span)
            loops.setdefault(target.key, equation.loop)
            if target.at is not None:
                defined.setdefault(target.id, target.span)
        names = base_names(self.optimizer, tuple(self.scope.states.values()))
        names |= dict.fromkeys(self.scope.failed)
        return infer_values(program, names, self.report)

    def _no_state(self, name: Name) -> None:
        help = "guard this line as the state is guarded, or drop the guard of the state"
        self.report("E205", f"state '{name.id}' does not exist", name.span, help)

    def _read(
        self, name: Name, target: Name, states: set[str], defined: Mapping[str, Span], places: Mapping[str, Span]
    ) -> None:
        """Check a name that the equation of `target` reads. `defined` are the names above it, `places` those of all
        lines."""
        scope, key = self.scope, name.id if name.id in self.scope.arrays else name.key
        if key in defined or key in scope.failed or name.id in scope.failed:
            return
        if name.id in scope.states and name.id not in states:
            self._no_state(name)
        elif key == target.key:
            help = f"write {name.id} for its value before the step"
            if not name.primed:
                help = f"write {name.id}' = ..., and declare 'state {name.id} = 0' to keep it from step to step"
            self.report("E204", f"{key} is defined by itself", name.span, help)
        elif key in places:
            help = f", or use the value before the step: {name.id}" if name.primed else ""
            message = f"{key} is used before its definition on line {places[key].line}"
            self.report("E204", message, name.span, f"move that line up{help}")
        elif self.optimizer.phases and name.primed and name.id in states:
            help = f"write {name.id}, which is what the phases above have set; or set it in this phase"
            self.report("E204", f"{key} is not set", name.span, help, "phase")
        elif name.id in scope.locals:
            help = "define it in every variant that reads it, or guard this line"
            if self.optimizer.phases:
                help = "a local value that is no draw belongs to one phase: define it here, too, or keep it in a state"
            self.report("E205", f"'{name.id}' is not defined", name.span, help)
        # A new value that no line of this variant defines is reported at the state, or as a missing w'.

    def _check_set(self, expr: Expr) -> None:
        """Check that a param that may be unset is read only as a bound of `clip`, unless a flag says that it is set."""
        match expr:
            case Name(id=id, primed=False):
                param = self.optimizer.all_params.get(id)
                if param is not None and param.optional and id not in self.set_params and id not in self.scope.failed:
                    help = f"declare 'flag has_{id} = {id} set' and guard the line, or use it as a bound of clip"
                    self.report("E410", f"'{id}' may be unset", expr.span, help)
            case Call(function="clip", args=(x, *bounds)):
                self._check_set(x)
                for bound in bounds:
                    if not isinstance(bound, Name):
                        self._check_set(bound)
            case Call(args=args):
                for arg in args:
                    self._check_set(arg)
            case Unary(operand=x):
                self._check_set(x)
            case Binary(left=a, right=b):
                self._check_set(a)
                self._check_set(b)


def _known_set(optimizer: Optimizer, flags: Flags) -> Iterator[str]:
    """The params that have a value in this variant, by the flags that test `p set`."""
    for flag in optimizer.flags:
        if flag.condition is not None and flag.name in flags:
            yield from _implied(flag.condition, bool(flags[flag.name]))


def _implied(condition: Expr, holds: bool) -> Iterator[str]:
    """The params that are set if a condition holds, or if it does not."""
    match condition:
        case IsSet(name=name) if holds:
            yield name.id
        case Unary(op="not", operand=x):
            yield from _implied(x, not holds)
        case Binary(op="and", left=a, right=b) if holds:
            yield from _implied(a, True)
            yield from _implied(b, True)
        case Binary(op="or", left=a, right=b) if not holds:
            yield from _implied(a, False)
            yield from _implied(b, False)
