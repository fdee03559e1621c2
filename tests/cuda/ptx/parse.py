"""PTX text to functions of statements: names and shapes of things, no meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.types import REGISTERS, TYPES


@dataclass(frozen=True)
class Statement:
    """`@guard opcode operands;` of a line, or a label, whose opcode is "" and whose only operand is its name."""

    line: int
    text: str
    guard: str
    opcode: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Parameter:
    name: str
    size: int


@dataclass
class Function:
    """An .entry or .func: parameters, declared registers and arrays, statements in order.

    `registers` are (prefix, count, dtype), the count None for a register declared alone. `shared` and `local` are
    (name, alignment, bytes).
    """

    name: str
    line: int
    entry: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    limits: dict[str, int]
    registers: list[tuple[str, int | None, np.dtype]] = field(default_factory=list)
    shared: list[tuple[str, int, int]] = field(default_factory=list)
    local: list[tuple[str, int, int]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


_NAME = r"[%$A-Za-z_][\w$.]*"
_HEADER = re.compile(
    r"(?P<linking>(?:\.(?:visible|weak|extern|noreturn)\s+)*)\.(?P<kind>entry|func)\b\s*(?:\((?P<results>[^)]*)\)\s*)?"
    rf"(?P<name>{_NAME})\s*(?:\((?P<parameters>[^)]*)\))?\s*(?P<limits>[^;{{]*)(?P<end>[;{{])"
)
_LABEL = re.compile(rf"({_NAME})\s*:(?!:)")
_STATEMENT = re.compile(r"((?:[^;{}]|\{[^{};]*\})+);")
_INSTRUCTION = re.compile(rf"(?:@(?P<guard>!?{_NAME})\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*)$", re.S)
_OPERAND = re.compile(r"\s*((?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{}\[\]()]+)+?)\s*(?:,|$)")
_PARAMETER = re.compile(
    rf"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+\d+\s+)?)?"
    rf"(?P<name>{_NAME})(?:\[(?P<count>\d+)\])?$"
)
_REG = re.compile(rf"\.reg\s+\.(\w+)\s+({_NAME})(?:<(\d+)>)?$")
_ARRAY = re.compile(rf"\.(shared|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+({_NAME})(?:\[(\d+)\])?$")
_LIMIT = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg|maxclusterrank)\s+(\d+)((?:\s*,\s*\d+)*)")
_IGNORED = re.compile(r"\.(version|target|address_size|pragma|loc|file|section)\b")


def parse(text: str) -> tuple[list[Function], list[tuple[str, int, int]]]:
    """The functions with a body, and the .shared arrays outside of functions."""
    text = _without_comments(text)
    functions: list[Function] = []
    shared: list[tuple[str, int, int]] = []
    function: Function | None = None
    depth = 0
    # Registers declared in inner braces, by what they are called there: they are the function's under longer names.
    inner: dict[str, str] = {}
    for line, kind, match in _pieces(text):
        if kind == "header":
            if match["end"] == "{":
                function, depth = _header(match, line), 1
                functions.append(function)
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            inner = {}
            if depth < 0:
                raise PtxError(f"line {line}: }} without {{")
            function = function if depth else None
        elif kind == "label" and function is not None:
            function.statements.append(Statement(line, match[0], "", "", (match[1],)))
        elif kind == "statement":
            _statement(" ".join(match[1].split()), line, function, shared, inner if depth > 1 else None)
        else:
            raise PtxError(f"line {line}: {match[0].strip()[:60]!r}: a label outside of a function")
    if depth:
        raise PtxError(f"line {text.count(chr(10)) + 1}: the text ends within a function: a }} is missing")
    return functions, shared


def _without_comments(text: str) -> str:
    """Comments as blanks; the lines stay where they are."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def _pieces(text: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    """Headers, braces, labels and statements, each with its line. Directives that end with their line are left out."""
    position, line = 0, 1
    blank = re.compile(r"\s*")
    directive = re.compile(r"\.(?:version|target|address_size|loc|file)\b[^\n]*")
    braces = (("open", re.compile(r"\{")), ("close", re.compile(r"\}")))
    # By the first character of each: a label, which few lines are, has a colon behind its name.
    dotted = (("header", _HEADER), ("statement", _STATEMENT))
    others = (*braces, ("label", _LABEL), ("statement", _STATEMENT))
    while True:
        end = blank.match(text, position).end()  # type: ignore[union-attr]
        line += text.count("\n", position, end)
        position = end
        if position == len(text):
            return
        is_dotted = text[position] == "."
        if is_dotted and (skipped := directive.match(text, position)):
            position = skipped.end()
            continue
        for kind, pattern in dotted if is_dotted else others:
            if match := pattern.match(text, position):
                yield line, kind, match
                break
        else:
            raise PtxError(f"line {line}: cannot read {text[position : position + 60].splitlines()[0]!r}")
        line += text.count("\n", position, match.end())
        position = match.end()


def _header(match: re.Match[str], line: int) -> Function:
    limits = {}
    rest = match["limits"]
    for limit in _LIMIT.finditer(rest):
        if any(int(n) != 1 for n in re.findall(r"\d+", limit[3])):
            raise PtxError(f"line {line}: {limit[0]}: only blocks of one dimension are known")
        limits[limit[1]] = int(limit[2])
    if left := re.sub(r"\.noreturn", "", _LIMIT.sub("", rest)).strip():
        raise PtxError(f"line {line}: {left!r} is not known behind a function's parameters")
    return Function(
        match["name"],
        line,
        match["kind"] == "entry",
        _parameters(match["parameters"] or "", line),
        _parameters(match["results"] or "", line),
        limits,
    )


def _parameters(text: str, line: int) -> tuple[Parameter, ...]:
    return tuple(_parameter(" ".join(p.split()), line) for p in text.split(",") if p.strip())


def _parameter(text: str, line: int) -> Parameter:
    match = _PARAMETER.match(text)
    if match is None or match["type"] not in TYPES or match["type"] == "pred":
        raise PtxError(f"line {line}: cannot read the parameter {text!r}")
    return Parameter(match["name"], TYPES[match["type"]].itemsize * int(match["count"] or 1))


def _statement(
    text: str,
    line: int,
    function: Function | None,
    shared: list[tuple[str, int, int]],
    inner: dict[str, str] | None,
) -> None:
    """Put a declaration or an instruction where it belongs; `inner` names the registers of inner braces."""
    if _IGNORED.match(text):
        return
    if match := _ARRAY.match(text):
        space, align, type, name, count = match.groups()
        if type in TYPES and type != "pred" and (space == "shared" or function is not None):
            size = TYPES[type].itemsize
            arrays = shared if function is None else function.shared if space == "shared" else function.local
            arrays.append((name, int(align or size), size * int(count or 1)))
            return
    elif function is not None and (match := _REG.match(text)):
        if match[1] in REGISTERS:
            count = None if match[3] is None else int(match[3])
            name = match[2]
            if inner is not None and count is None:
                inner[match[2]] = name = f"%{match[2].lstrip('%')}.{len(function.registers)}"
            function.registers.append((name, count, REGISTERS[match[1]]))
            return
    elif function is not None and text.startswith(".param"):
        _parameter(text, line)
        return
    elif function is not None and (match := _INSTRUCTION.match(text)):
        given = match["operands"]
        if inner:
            given = re.sub(_NAME, lambda m: inner.get(m[0], m[0]), given)
        if any(x in given for x in "{[("):
            operands = tuple(m[1] for m in _OPERAND.finditer(given))
        else:
            operands = tuple(x.strip() for x in given.split(",")) if given else ()
        function.statements.append(Statement(line, text, match["guard"] or "", match["opcode"], operands))
        return
    raise PtxError(f"line {line}: {text[:80]!r} is not known here")
