"""Parses logical lines to nodes of the model. Whether lines agree with each other is checked later.

`grammar.py` reads one logical line. The name that a line with an error would have defined goes to `Draft.broken`, so
that its uses are not reported as well. Where a line does not even tell that, anything that seems to be missing may be
what it would have given: the draft is `unread` then, and only errors in the form of lines are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from optgen.diagnostics import Diagnostic, Source, Span
from optgen.expressions import Expr, Number, children
from optgen.lang.actions import Actions
from optgen.lang.expression_actions import LineError
from optgen.lang.grammar import LineParser
from optgen.lang.statements import (
    Axes,
    Cite,
    Definition,
    EndLine,
    Header,
    OwnSchedule,
    PhaseLine,
    RateHint,
    RepeatLine,
    Section,
    Statement,
    Version,
)
from optgen.lang.syntax import BLOCKS, HEADS, KEYWORDS, MAX_ERRORS, Line, begins_statement, read_lines
from optgen.model import PHASE, Dim, Equation, Flag, Input, Loop, Param, Require, StateDecl

MAX_DEPTH = 100
"""The largest depth of an expression. Later stages recurse over expressions."""

Declaration = Param | Flag | StateDecl | Input | Dim
_ACTIONS = Actions()


@dataclass
class Draft:
    """The statements of a spec that could be parsed, in the order of its text, and the errors."""

    source: Source
    lines: list[Line] = field(default_factory=list)
    headers: list[Header] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    cites: list[Cite] = field(default_factory=list)
    axes: list[Axes] = field(default_factory=list)
    rates: list[RateHint] = field(default_factory=list)
    schedules: list[OwnSchedule] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    requires: list[Require] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    phases: dict[str, Span] = field(default_factory=dict)
    update: list[Equation | Broken] = field(default_factory=list)
    evaluate: list[Equation | Broken] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)  # those that are open
    loop_count: int = 0
    broken: set[str] = field(default_factory=set)
    errors: list[Diagnostic] = field(default_factory=list)
    unread: bool = False  # the parser gave up before the end, or a line does not tell what it would have given

    def error(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        """Add an error about the place of a line among others, unless it may follow from a line above it."""
        if not self.unread:
            self.errors.append(Diagnostic(code, message, span, help))


class Broken(NamedTuple):
    """An equation that could not be parsed. `key` is the name it would have defined."""

    key: str


def read_draft(source: Source) -> Draft:
    """Parse every line of a spec. Never raises: errors are in the draft."""
    lines, errors = read_lines(source)
    draft = Draft(source, lines, errors=errors, unread=not lines)
    unfinished = False  # the line above was; what goes on here was reported there
    for line in lines:
        if len(draft.errors) >= MAX_ERRORS:
            break
        if not line.tokens:
            continue
        goes_on = unfinished and not begins_statement(line.tokens)
        unfinished = line.unfinished
        if goes_on and not line.broken:
            continue
        if line.broken:
            _keep_names(draft, line)
            continue
        try:
            _place(draft, parse_line(line), line)
        except LineError as error:
            draft.errors.append(_with_section(error.diagnostic, line))
            _keep_names(draft, line)
    _end_loops(draft)
    if len(draft.errors) >= MAX_ERRORS:
        draft.errors.sort(key=lambda d: d.span)
        del draft.errors[MAX_ERRORS:]
        message = "more errors than are worth reading; the rest is left out"
        draft.errors.append(Diagnostic("E111", message, draft.errors[-1].span, "is this a spec?"))
        draft.unread = True
    return draft


def _with_section(diagnostic: Diagnostic, line: Line) -> Diagnostic:
    """A declaration that is not of its form is explained where the declaration is, unless the error says otherwise."""
    head = line.tokens[0].text
    is_form = diagnostic.code == "E105" and diagnostic.section is None and head in (*HEADS, *BLOCKS)
    return replace(diagnostic, section="repeat" if head in BLOCKS else head) if is_form else diagnostic


def _keep_names(draft: Draft, line: Line) -> None:
    """Remember what a failed line would have defined, or that it does not tell."""
    first, *rest = line.tokens
    follows = rest[0].type if rest else None
    draft.broken.update(t.text for t, behind in pairwise(line.tokens) if (t.type, behind.type) == ("NAME", "EQUAL"))
    if first.text in ("for", "while") and _ends_loops(draft):
        number = rest[0] if first.text == "for" and follows == "NAME" else None
        _begin_loop(draft, RepeatLine(Number(1.0, "1", first.span), number, first.span))
        draft.broken.update(() if number is None else (number.text,))
    elif first.type == "NAME" and _is_equation(line):
        lines = draft.evaluate if draft.sections and draft.sections[-1].name == "eval" else draft.update
        lines.append(Broken(first.text))
    elif first.type == "PHASE":
        name = rest[0].text if follows == "NAME" else f"{len(draft.phases)}"
        draft.broken.add(name)
        _begin_phase(draft, PhaseLine(name, first.span), first.span)
    elif first.type in ("SECTION", "REPEAT"):
        draft.broken.update(t.text for t in line.tokens if t.type == "NAME")
        if first.type == "SECTION":
            draft.sections.append(Section(first.text, first.span))
        else:
            _begin_loop(draft, RepeatLine(Number(1.0, "1", first.span), None, first.span))
    elif first.type == "END":
        del draft.loops[-1:]
    elif first.type == "AXES":
        draft.axes.append(Axes(first.span))
    elif first.type == "OPTIMIZER":
        draft.headers.append(Header("", (), "", first.span))
    elif first.type in ("NAME", *_NAMING):
        names = [t.text for t in line.tokens[:2] if t.type == "NAME" or (t is not first and t.text in KEYWORDS)]
        draft.broken.update(names, (name.rstrip("'") for name in names))
        draft.unread |= not names or (first.type == "NAME" and follows != "NAME")
    elif first.type not in _ALONE:
        draft.unread = True


_NAMING = ("PARAM", "FLAG", "STATE", "INPUT", "DEF")
"""What lines begin with that declare the name behind it."""
_ALONE = ("VERSION", "CITE", "LR_HINT", "SCHEDULE", "IF", "OTHERWISE")
"""What lines begin with that give nothing which other lines need."""


def _is_equation(line: Line) -> bool:
    """Whether a line that begins with a name would have defined it in a step: not `parm lr = 1`, nor `udpate:`."""
    behind = line.tokens[1] if len(line.tokens) > 1 else None
    is_other = behind is None or behind.type in ("NAME", "COLON") or behind.text in (*HEADS, *BLOCKS)
    return line.tokens[0].text.endswith("'") or not is_other


def _ends_loops(draft: Draft) -> bool:
    """Whether there is an `end` for more than the lines that begin with `repeat`: for loops of another language."""
    heads = [line.tokens[0].type for line in draft.lines if line.tokens]
    return heads.count("END") > heads.count("REPEAT")


def _place(draft: Draft, statement: Statement, line: Line) -> None:
    """Add a statement to its list of the draft."""
    span = line.tokens[0].span
    if isinstance(statement, Section):
        if statement.name == "eval" and not draft.sections:
            draft.error("E110", "'eval:' stands before 'update:'", span, "move it behind the equations of the update")
        if statement.name == "update" and draft.phases:
            help = "the equations of a step are those of 'update:', or those of its phases"
            draft.error("E110", "'update:' beside phases", span, help)
        elif any(s.name == statement.name for s in draft.sections):
            draft.error("E110", f"a second '{statement.name}:'", span, "write its equations under the first one")
        _end_loops(draft)
        draft.sections.append(statement)
    elif isinstance(statement, PhaseLine):
        _begin_phase(draft, statement, span)
    elif isinstance(statement, RepeatLine | EndLine | Equation):
        if not draft.sections:
            draft.error("E110", "an equation before 'update:'", span, "put 'update:' on a line above the equations")
            draft.sections.append(Section("update", span))
            draft.unread = True  # the line may be a declaration without its first word, or 'update:' may be missing
        _place_in_section(draft, statement)
    else:
        if draft.sections:
            help = "move it above 'update:'"
            draft.error("E110", f"'{line.tokens[0].text}' after '{draft.sections[-1].name}:'", span, help)
        match statement:
            case Header():
                draft.headers.append(statement)
            case Version():
                draft.versions.append(statement)
            case Cite():
                draft.cites.append(statement)
            case Axes():
                draft.axes.append(statement)
            case RateHint():
                draft.rates.append(statement)
            case OwnSchedule():
                draft.schedules.append(statement)
            case Definition():
                draft.definitions.append(statement)
            case Require():
                draft.requires.append(statement)
            case _:
                draft.declarations.append(statement)


def _place_in_section(draft: Draft, statement: RepeatLine | EndLine | Equation) -> None:
    evaluates = draft.sections[-1].name == "eval"
    match statement:
        case RepeatLine(span=span):
            if evaluates:
                draft.error("E113", "a loop in 'eval:'", span, "compute it in 'update:', and keep it in a state")
            _begin_loop(draft, statement)
        case EndLine(span=span) if draft.loops:
            draft.loops.pop()
        case EndLine(span=span):
            draft.error("E113", "'end' without a 'repeat'", span, "remove it, or write 'repeat n:' above")
        case Equation():
            phase = list(draft.phases)[-1] if draft.phases and draft.sections[-1].name == PHASE else None
            equation = replace(statement, loop=draft.loops[-1] if draft.loops else None, phase=phase)
            (draft.evaluate if evaluates else draft.update).append(equation)


def _begin_phase(draft: Draft, line: PhaseLine, span: Span) -> None:
    """`phase NAME:` in the place of 'update:'."""
    met = {s.name for s in draft.sections}
    if line.name in draft.phases:
        draft.error("E110", f"a second 'phase {line.name}:'", span, "write its equations under the first one")
    elif "update" in met:
        help = "the equations of a step are those of 'update:', or those of its phases"
        draft.error("E110", "a phase beside 'update:'", span, help)
    elif "eval" in met:
        draft.error("E110", "a phase behind 'eval:'", span, "move it above 'eval:'")
    _end_loops(draft)
    draft.phases.setdefault(line.name, line.span)
    draft.sections.append(Section(PHASE, span))


def _begin_loop(draft: Draft, line: RepeatLine) -> None:
    index = None if line.number is None else line.number.text
    outer = draft.loops[-1] if draft.loops else None
    draft.loops.append(Loop(draft.loop_count, line.turns, index, outer, line.span))
    draft.loop_count += 1


def _end_loops(draft: Draft) -> None:
    """Report the loops that are still open where a section ends."""
    for loop in draft.loops:
        draft.error("E113", "this loop has no 'end'", loop.span, "write 'end' on a line behind its equations")
    draft.loops.clear()


def parse_line(line: Line) -> Statement:
    """The statement of one logical line. Raises LineError."""
    statement = LineParser(line, _ACTIONS).statement()
    for expr in _expressions(statement):
        if (span := too_deep(expr)) is not None:
            help = "name a part of it on a line of its own"
            raise LineError("E107", f"an expression of more than {MAX_DEPTH} levels", span, help)
    return statement


def _expressions(statement: Statement) -> list[Expr]:
    match statement:
        case Equation(value=a, guard=b, timing=timing):
            found = [a, b] if timing is None else [a, b, timing.every, timing.start]
        case RepeatLine(turns=a):
            found = [a]
        case StateDecl(init=a, guard=b):
            found = [a, b]
        case Flag(condition=a) | Require(condition=a) | Definition(body=a):
            found = [a]
        case _:
            found = []
    return [x for x in found if x is not None]


def too_deep(expr: Expr) -> Span | None:
    """The place where an expression exceeds MAX_DEPTH levels. A loop, because this is what protects recursion."""
    stack: list[tuple[Expr, int]] = [(expr, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return node.span
        stack.extend((child, depth + 1) for child in children(node))
    return None
