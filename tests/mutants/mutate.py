"""Mutation testing: mutants are small faults put into a source text. Each is a replacement of whole lines, so that it
can be found again after lines above it have changed.

Kinds: "comparison" (< for <=, == for !=, in for not in), "constant" (n + 1 for n, True for False), "argument" (a
keyword left out, two arguments swapped, a call such as x.copy() left out, min for max), "statement" (removed) and
"branch" (a condition negated, and for or, the branches of a conditional expression swapped).

Left alone: annotations, decorators, docstrings, texts, the arguments of what is raised, assertions, and what only a
type checker reads.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

KINDS = ("comparison", "constant", "argument", "statement", "branch")

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: (r"is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: (r"in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
_OTHER = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """The lines `before` of a file, first seen at `line`, and what stands there instead."""

    path: str
    line: int
    kind: str
    before: str
    after: str

    def applied(self, text: str) -> str | None:
        """The text with the fault, where `before` stands nearest to its old place; None if it stands there no more."""
        starts = [m.start() for m in re.finditer(rf"^(?={re.escape(self.before)}$)", text, re.MULTILINE)]
        if not starts:
            return None
        start = min(starts, key=lambda at: abs(text.count("\n", 0, at) + 1 - self.line))
        return text[:start] + self.after + text[start + len(self.before) :]

    def described(self) -> str:
        """One line for people: the place, and the lines that differ."""
        pairs = zip(self.before.splitlines(), self.after.splitlines(), strict=False)
        old, new = next((pair for pair in pairs if pair[0] != pair[1]), (self.before, self.after))
        return f"{self.path}:{self.line}: {self.kind}: {old.strip()}  ->  {new.strip()}"


def chosen(root: Path, files: Iterable[str], number: int, seed: int) -> list[Mutant]:
    """That many mutants of the files and folders, drawn with a seed: each of the kinds as often, then each place.

    FileNotFoundError if a file is not there; ValueError if one is outside of `root`, or is not in Python.
    """
    paths = sorted({path for name in files for path in _sources(root / name)})
    found: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in paths:
        name = str(path.relative_to(root))
        try:
            for mutant in mutants(name, path.read_text(encoding="utf-8")):
                found[mutant.kind].append(mutant)
        except SyntaxError as error:
            raise ValueError(f"{name}:{error.lineno} is not in Python: {error.msg}") from error
    draw = random.Random(seed)
    for places in found.values():
        draw.shuffle(places)
    turns = itertools.zip_longest(*(filter(partial(_is_fault, root), places) for places in found.values()))
    picked = itertools.islice((mutant for turn in turns for mutant in turn if mutant is not None), number)
    return sorted(picked, key=lambda m: (m.path, m.line))


def _is_fault(root: Path, mutant: Mutant) -> bool:
    """Whether the file is another one, and can still be parsed. Asked of those that are drawn, as it takes
    milliseconds."""
    try:
        ast.parse(mutant.applied((root / mutant.path).read_text(encoding="utf-8")) or "")
    except SyntaxError:
        return False
    return mutant.after != mutant.before


def _sources(place: Path) -> list[Path]:
    if not place.exists():
        raise FileNotFoundError(f"{place}: there is no such file or folder to make mutants of")
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """All mutants of a source text. A few are no Python, and a few change nothing, as two equal arguments swapped."""
    source = _Source(text)
    for node in _reachable(ast.parse(text)):
        for kind, start, end, new in _edits(node, source):
            yield source.mutant(path, kind, start, end, new)


class _Source:
    """A text, and where the nodes of its tree stand in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")  # as Python counts lines; `splitlines` knows other ends of lines, too
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr) -> str:
        return self.text[self.start(node) : self.end(node)]

    def _at(self, line: int, column: int) -> int:
        """A position, of a column in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def mutant(self, path: str, kind: str, start: int, end: int, new: str) -> Mutant:
        """The mutant with `new` at these positions."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        last = len(self.text) if last < 0 else last
        before, after = self.text[first:last], self.text[first:start] + new + self.text[end:last]
        return Mutant(path, self.text.count("\n", 0, first) + 1, kind, before, after)


def _reachable(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that may be changed, each before its children."""
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "msg"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not _is_left_alone(node, child):
                yield from _reachable(child)


def _is_left_alone(parent: ast.AST, child: ast.AST) -> bool:
    if isinstance(child, ast.Raise):
        return False  # it can be removed
    if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
        return True
    return isinstance(child, (ast.JoinedStr, ast.Assert)) or isinstance(parent, ast.Raise)


_Edit = tuple[str, int, int, str]


def _edits(node: ast.AST, source: _Source) -> Iterator[_Edit]:
    match node:
        case ast.Compare(left, [op], [right]):
            old, new = _COMPARISONS[type(op)]
            yield from _between(source, "comparison", left, right, old, new)
        case ast.BoolOp(op, [left, right, *_]):
            old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from _between(source, "branch", left, right, old, new)
        case ast.Constant(bool() as value):
            yield "constant", source.start(node), source.end(node), str(not value)
        case ast.Constant(int() as value):
            yield "constant", source.start(node), source.end(node), str(value + 1)
        case ast.Constant(float() as value):
            yield "constant", source.start(node), source.end(node), repr(2 * value or 1.0)
        case ast.Call():
            yield from _of_call(node, source)
        case ast.If(test):
            yield "branch", source.start(test), source.end(test), f"not ({source.of(test)})"
        case ast.IfExp(test, body, orelse):
            swapped = f"{source.of(orelse)} if {source.of(test)} else {source.of(body)}"
            yield "branch", source.start(node), source.end(node), swapped
        case ast.Raise() | ast.AugAssign() | ast.Expr(ast.Call()) | ast.Continue() | ast.Break() | ast.Delete():
            yield "statement", source.start(node), source.end(node), "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield "statement", source.start(node), source.end(node), "pass"


def _between(source: _Source, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[_Edit]:
    """An operator, which stands somewhere between two operands."""
    start, end = source.end(left), source.start(right)
    word = rf"\b{old}\b" if old[0].isalpha() else re.escape(old)
    found = re.search(word, source.text[start:end])
    if found is not None:
        yield kind, start + found.start(), start + found.end(), new


def _of_call(call: ast.Call, source: _Source) -> Iterator[_Edit]:
    if isinstance(call.func, ast.Name) and call.func.id in _OTHER:
        yield "argument", source.start(call.func), source.end(call.func), _OTHER[call.func.id]
    if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
        yield "argument", source.end(call.func.value), source.end(call), ""
    places: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    for i, keyword in enumerate(places):
        if isinstance(keyword, ast.keyword) and keyword.arg is not None and i:
            yield "argument", source.end(places[i - 1]), source.end(keyword), ""
    if len(call.args) > 1 and not any(isinstance(x, ast.Starred) for x in call.args[:2]):
        first, second = call.args[:2]
        swapped = source.of(second) + source.text[source.end(first) : source.start(second)] + source.of(first)
        yield "argument", source.start(first), source.end(second), swapped
