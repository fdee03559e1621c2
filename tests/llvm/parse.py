"""LLVM IR text to functions of lines, globals and declarations; tokens, types and constants of a line.

What is not known is an error, so that nothing that LLVM may rely on is passed over: attributes, flags, metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.llvm.errors import LlvmError
from tests.llvm.types import FLOATS, OTHERS, POINTER, Array, Float, Struct, Type, integer, vector

_TOKEN = re.compile(r'[%@](?:"[^"]*"|[-\w.$]+)|c?"[^"]*"|![\w.]*|\.\.\.|-?[\w.]+(?:(?<=[eE])[+-]\d+)?|[=,*()\[\]{}<>]')
_COMMENT = re.compile(r'^((?:[^";]|"[^"]*")*);.*$')
_LABEL = re.compile(r'("[^"]*"|[-\w.$]+):$')
_STRUCT = re.compile(r"%(\S+) = type (.*)$")
_LINKAGE = {"internal", "external", "private", "hidden", "dso_local", "unnamed_addr", "local_unnamed_addr"}
_ATTRIBUTES = {
    *("noinline", "nounwind", "optnone", "alwaysinline", "noimplicitfloat", "willreturn"),
    '"denormal-fp-math"="dynamic,dynamic"',
}
_PARAMETER = {"noalias", "noundef", "nonnull", "readonly"}
"""Attributes of parameters that are checked; `align` and `range` have arguments."""
_UNREAD = {"nocapture", "writeonly", "immarg", "captures", "none"}
"""Of the parameters of declarations, which the interpreter has a meaning of its own for."""
_HINT = r'!"llvm\.loop\.(vectorize|interleave|unroll)\.[\w.]+"(, i\d+ \w+)?'
_METADATA = re.compile(
    rf"distinct !\{{ ?!\d+(, (!\d+|!\{{ ?{_HINT} ?\}}))* ?\}}"
    rf"|!\{{ ?({_HINT}|i\d+ -?\d+(, i\d+ -?\d+)+)? ?\}}"
)


@dataclass(frozen=True)
class Line:
    """An instruction: the number of its line, its text, and the label of its block."""

    number: int
    text: str
    block: str


@dataclass(frozen=True)
class Parameter:
    """A parameter; `attributes` maps names to arguments, empty ones where there are none."""

    name: str
    type: Type
    attributes: dict[str, tuple[int, ...]]


@dataclass
class Function:
    """A function with a body, or without one: a declaration."""

    name: str
    line: int
    result: Type
    parameters: tuple[Parameter, ...]
    attributes: frozenset[str]
    blocks: dict[str, list[Line]] = field(default_factory=dict)


@dataclass(frozen=True)
class Global:
    """A variable or a constant in memory; `initializer` are the tokens behind the type, none if it is elsewhere."""

    name: str
    line: int
    constant: bool
    type: Type
    initializer: Cursor
    align: int


@dataclass
class Parsed:
    functions: dict[str, Function] = field(default_factory=dict)
    declarations: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Global] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)


class Cursor:
    """The tokens of a text, from left to right."""

    def __init__(self, text: str, line: int, structs: dict[str, Struct]) -> None:
        self.text, self.line, self.structs = text, line, structs
        self.tokens = _TOKEN.findall(text)
        self.at = 0
        if "".join(self.tokens).replace(" ", "") != text.replace(" ", ""):
            raise self.fail(f"cannot read {_TOKEN.sub('', text).strip()[:40]!r}")

    def fail(self, message: str) -> LlvmError:
        return LlvmError(f"line {self.line}: {self.text}: {message}")

    @property
    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek
        if not token:
            raise self.fail("ends too early")
        self.at += 1
        return token

    def take(self, *tokens: str) -> bool:
        """Whether the next tokens are these; they are passed then."""
        found = self.tokens[self.at : self.at + len(tokens)] == list(tokens)
        self.at += len(tokens) * found
        return found

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if self.next() != token:
                raise self.fail(f"{self.tokens[self.at - 1]!r} where {token!r} is expected")

    def end(self) -> None:
        if self.peek:
            raise self.fail(f"{self.peek!r} is not known here")

    def flags(self, known: set[str]) -> set[str]:
        """The words that come next, of those that are known."""
        found = set()
        while self.peek in known:
            found.add(self.next())
        return found

    def number(self) -> int:
        token = self.next()
        if not re.fullmatch(r"-?\d+", token):
            raise self.fail(f"{token!r} where a number is expected")
        return int(token)

    def name(self, mark: str = "%") -> str:
        """A name without its mark and its quotes."""
        token = self.next()
        if not token.startswith(mark):
            raise self.fail(f"{token!r} where a name with {mark} is expected")
        return token[1:].strip('"')

    def type(self) -> Type:
        token, found = self.next(), None
        if token in OTHERS:
            found = OTHERS[token]
            self.take("addrspace", "(", "0", ")")  # another way to write `ptr`
        elif token in FLOATS:
            found = Float(token)
        elif re.fullmatch(r"i[1-9]\d*", token):
            found = integer(int(token[1:]))
        elif token.startswith("%") and token[1:].strip('"') in self.structs:
            found = self.structs[token[1:].strip('"')]
        elif token in "<[" and self.tokens[self.at + 1 : self.at + 2] == ["x"]:
            count = self.number()
            self.expect("x")
            element = self.type()
            self.expect("]" if token == "[" else ">")
            found = vector(count, element) if token == "<" else Array(f"[{count} x {element}]", count, element)
        elif token == "{":
            fields = list(self.separated("}", self.type))
            found = Struct(f"{{ {', '.join(map(str, fields))} }}", tuple(fields))
        if found is None:
            raise self.fail(f"{token!r} is no type that is known")
        if self.take("("):  # a function's, of which there is a pointer
            list(self.separated(")", self.type))
            if self.peek != "*":
                raise self.fail("the type of a function where that of a value is expected")
        while self.take("*"):
            found = POINTER
        return found

    def separated(self, end: str, item: Callable[[], Any]) -> Iterator[Any]:
        """What `item` reads, between commas, until the token `end`, which is passed."""
        while not self.take(end):
            yield item()
            if self.peek != end:
                self.expect(",")


def parse(text: str) -> Parsed:
    """A module; LlvmError for what is not known."""
    found = Parsed()
    lines = [(k, _COMMENT.sub(r"\1", line).strip()) for k, line in enumerate(text.splitlines(), 1)]
    _add_structs(found, {match[1]: (k, match[2]) for k, line in lines if (match := _STRUCT.match(line))})
    body: Function | None = None
    label = ""
    for number, line in lines:
        if not line or line == "{" or _STRUCT.match(line):
            continue
        if body is not None:
            if line == "}":
                body = None
            elif match := _LABEL.match(line):
                label = match[1].strip('"')
                if body.blocks.setdefault(label, []):
                    raise LlvmError(f"line {number}: the label {label} is there twice")
            else:
                label = label or str(len(body.parameters))  # clang leaves out that of the first block
                body.blocks.setdefault(label, []).append(Line(number, line, label))
        elif line.startswith("define "):
            body, label = _function(Cursor(line.removesuffix("{"), number, found.structs), declared=False), ""
            found.functions[body.name] = body
        elif line.startswith("declare "):
            declared = _function(Cursor(line, number, found.structs), declared=True)
            found.declarations[declared.name] = declared
        elif line.startswith("@"):
            variable = _global(Cursor(line, number, found.structs))
            found.globals[variable.name] = variable
        elif line.startswith("!"):
            name, _, value = line.partition(" = ")
            if not _METADATA.fullmatch(value):
                raise LlvmError(f"line {number}: {line}: this metadata is not known")
            found.metadata[name] = value
        elif not re.match(r'(target triple|source_filename) = "|target datalayout = "(?!.*p:32)', line):
            raise LlvmError(f"line {number}: {line[:80]}: is not known here")
    if body is not None:
        raise LlvmError(f"line {len(text.splitlines())}: the text ends within {body.name}: a }} is missing")
    return found


def _add_structs(found: Parsed, texts: dict[str, tuple[int, str]]) -> None:
    """Add the types that have names, those first that others contain."""
    while texts:
        ready = [name for name, (_, text) in texts.items() if not set(re.findall(r"%([\w.]+)", text)) & texts.keys()]
        for name in ready or list(texts):
            number, text = texts.pop(name)
            made = Cursor(text, number, found.structs).type()
            assert isinstance(made, Struct)
            found.structs[name] = made


def _function(c: Cursor, declared: bool) -> Function:
    c.next()
    c.flags(_LINKAGE)
    result, name = c.type(), c.name("@")
    c.expect("(")
    parameters = tuple(c.separated(")", lambda: _parameter(c, declared)))
    attributes = set()
    while c.peek:
        attribute = c.next() + (c.next() + c.next() if c.peek == "=" else "")
        if attribute not in _ATTRIBUTES and not attribute.startswith('"tune-cpu"=') and not declared:
            raise c.fail(f"the attribute {attribute} is not known")
        attributes.add(attribute)
    return Function(name, c.line, result, parameters, frozenset(attributes))


def _parameter(c: Cursor, declared: bool) -> Parameter:
    if declared and c.take("..."):
        return Parameter("...", OTHERS["void"], {})
    type = c.type()
    attributes = parameter_attributes(c, _UNREAD if declared else set())
    return Parameter(c.name() if c.peek.startswith("%") else "", type, attributes)


def parameter_attributes(c: Cursor, others: set[str] | frozenset[str] = frozenset()) -> dict[str, tuple[int, ...]]:
    """Those of a parameter or an argument, which come behind its type."""
    found: dict[str, tuple[int, ...]] = {}
    while c.peek not in ("", ",", ")") and c.peek[0] not in '%@-0123456789<{["' and c.peek not in _VALUES:
        word = c.next()
        if word == "align":
            found[word] = (c.number(),)
        elif word == "range":
            c.expect("(")
            c.type()
            low = c.number()
            c.expect(",")
            found[word] = (low, c.number())
            c.expect(")")
        elif word in _PARAMETER:
            found[word] = ()
        elif word in others:
            if c.take("("):
                c.expect("none", ")")
        else:
            raise c.fail(f"the attribute {word} is not known")
    return found


_VALUES = ("null", "true", "false", "undef", "poison", "zeroinitializer")


def _global(c: Cursor) -> Global:
    name = c.name("@")
    c.expect("=")
    c.flags(_LINKAGE)
    kind = c.next()
    if kind not in ("constant", "global"):
        raise c.fail(f"{kind!r} is not known here")
    type, align = c.type(), 0
    found = Global(name, c.line, kind == "constant", type, c, 0)
    for k in range(c.at, len(c.tokens) - 1):
        if c.tokens[k] == "align" and c.tokens[k - 1] == ",":
            align = int(c.tokens[k + 1])
            del c.tokens[k - 1 : k + 2]
            break
    return Global(found.name, found.line, found.constant, type, c, align)
