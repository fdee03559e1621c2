"""The lexer: cuts any text into logical lines and tokens.

A spec is cut into logical lines before the grammar is applied, so that an error in one line hides none in another. A
logical line continues while a bracket is open. A bracket that is never closed does not swallow the file: a row that
begins like a declaration or an equation ends the line, because neither can stand inside brackets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from optgen.diagnostics import Diagnostic, FileLine, Source, Span
from optgen.functions.table import FUNCTIONS

MAX_CHARACTERS = 32 * 1024
"""The largest length of a spec. A spec is a page of text; anything much longer is some other file, and is refused at
once."""
MAX_ERRORS = 100
"""The largest number of errors that are reported."""
MAX_NAME = 64
"""The largest length of a name, which becomes a name in C too."""
MAX_BRACKETS = 64
"""The largest depth of nested brackets. Later stages recurse over expressions."""

HEADS = (
    "optimizer", "version", "cite", "axes", "lr_hint", "schedule", "param", "flag", "state", "input", "dim", "require",
    "def", "update", "phase", "eval",
)  # fmt: skip
"""The words that begin a declaration or a section."""
BLOCKS = ("repeat", "end")
"""The words that begin and end a part of a section."""
TIMINGS = ("EVERY", "ONCE")
"""The types of tokens with which the timing of an equation begins."""
CLAUSES = (*TIMINGS, "IF", "OTHERWISE")
"""The types of tokens with which the timing or the guard of an equation begins."""
KEYWORDS = frozenset((*HEADS, *BLOCKS)) | frozenset(
    [
        "in",
        "alias",
        "per",
        "over",
        "set",
        "and",
        "or",
        "not",
        "if",
        "otherwise",
        "as",
        "every",
        "once",
        "from",
        "none",
        "true",
        "false",
        "inf",
    ]
)
"""Words that cannot be names. Words such as `row`, `zero` and `int` have a meaning only in certain places."""

MAX_VERSION = 1_000_000
"""The largest version of a spec."""
VERSIONS = f"write a whole number from 1 to {MAX_VERSION}"
"""The help of errors about versions."""


def is_version(text: str) -> bool:
    """Whether a number is a version of a spec: a whole one, from 1 to MAX_VERSION."""
    return text.isdecimal() and text[0] != "0" and len(text) <= 7 and int(text) <= MAX_VERSION


_PATTERN = re.compile(
    r"""(?P<SPACE>[\ \t]+)
      | (?P<COMMENT>\#.*)
      | (?P<NUMBER>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<tail>[A-Za-z0-9_.]*)
      | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*'*)
      | (?P<STRING>"[^"]*")
      | (?P<CHOICE>'[A-Za-z0-9_][A-Za-z0-9_.-]*')
      | (?P<TRANSPOSE>\^[\ \t]*T(?![A-Za-z0-9_']))
      | (?P<OTHER>\*\*|//|:=|[<>=!]=|[-+*/]=|&&|\|\||[-+*/@^=<>()\[\],:|])""",
    re.VERBOSE,
)
_OPERATORS = {"+": "ADD", "-": "ADD", "*": "MULTIPLY", "/": "MULTIPLY", "@": "MULTIPLY", "^": "POWER", "=": "EQUAL"}
_OPERATORS |= {"(": "OPEN", "[": "OPEN", ")": "CLOSE", "]": "CLOSE", ",": "COMMA", ":": "COLON", "|": "BAR"}
_OPERATORS |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "COMPARE")
_WORDS = {"update": "SECTION", "eval": "SECTION", "true": "BOOL", "false": "BOOL", "inf": "NUMBER"}
_WORDS |= {word: word.upper() for word in KEYWORDS if word not in _WORDS}
_FOREIGN_OPERATORS = {"**": ("^", "POWER"), "&&": ("and", "AND"), ":=": ("=", "EQUAL")}
_INSTEAD = {
    "\u2212": "-", "\u2013": "-", "\u00b7": "*", "\u00d7": "*", "\u22c5": "*", "\u2032": "'", "\u2019": "'",
    "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u221a": "sqrt(...)", "\u221e": "inf", "\u2207": "g",
    "\u201c": '"', "\u201d": '"', "{": "(", "}": ")", "!": "not", "~": "not", "&": "and",
}  # fmt: skip
_FOREIGN = {
    "||": "write 'or'; the norm of x is norm(x)",
    "//": "a comment begins with '#'; a quotient without its fraction is floor(a/b)",
    ";": "write each equation on a line of its own, without ';'",
    "%": "the remainder of a divided by b is mod(a, b)",
    "?": "to choose a value, write where(condition, a, b)",
    ".": "a number is written like 0.5, and a name has no dot; the transpose of X is X^T",
}
"""Operators of other languages -> what to write instead."""
_FOREIGN_SECTIONS = dict.fromkeys("%{}!~&", "operators") | {
    "?": "conditions", ".": "numbers", ";": "lines",
}  # fmt: skip
"""The sections of docs/language.md about them."""
_LIBRARIES = ("torch", "np", "numpy", "jnp", "jax", "math", "mx", "nd", "F", "tf", "self")
"""The modules that functions of other languages are called of, as in `torch.sign(x)`."""
_LATEX = dict.fromkeys(("cdot", "times", "odot"), "*") | {
    "frac": "a/b",
    "sqrt": "sqrt(x)",
    "nabla": "g",
    "infty": "inf",
}
"""Commands of LaTeX -> what to write instead. A letter is spelt out."""


class Token(NamedTuple):
    """A token of a logical line. `type` is a terminal of the grammar. A primed name keeps its prime in `text`.
    `written` is the line of a file that it was written in, where lines of several files are put together."""

    type: str
    text: str
    span: Span
    written: FileLine | None = None


@dataclass(frozen=True)
class Line:
    """A logical line: its tokens and the comments on its rows. One without tokens is blank or only a comment.

    `broken`: an error in it was reported, so it is not parsed. `unfinished`: it ends with an operator or a backslash,
    as if it went on below.
    """

    number: int
    tokens: tuple[Token, ...]
    comments: tuple[Token, ...]
    broken: bool = False
    unfinished: bool = False


def read_lines(source: Source) -> tuple[list[Line], list[Diagnostic]]:
    """Cut a spec into logical lines. Returns all lines, and the errors in their characters and brackets."""
    if len(source.text) > MAX_CHARACTERS:
        message = f"a spec of {len(source.text)} characters; the limit is {MAX_CHARACTERS}"
        return [], [Diagnostic("E108", message, Span(1, 1, 2), "is this the file you meant?")]
    cutter = _Cutter()
    for number, text in enumerate(source.lines, start=1):
        if len(cutter.errors) >= MAX_ERRORS:
            break
        cutter.row(number, text.removesuffix("\r"))
    if cutter.tokens:
        cutter.finish()
    return cutter.lines, cutter.errors


class _Cutter:
    """Collects rows into logical lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.errors: list[Diagnostic] = []
        self.tokens: list[Token] = []  # of the logical line that is open, as are the next three
        self.comments: list[Token] = []
        self.open: list[Token] = []
        self.broken = False
        self.unfinished = False
        self.number = 1

    def row(self, number: int, text: str) -> None:
        """Add one row of the text; ends the logical line unless a bracket is open."""
        row = list(_tokens(number, text, self.errors))
        code = [t for t in row if t.type not in ("COMMENT", "ERROR")]
        if self.tokens and begins_statement(code) and not (self._in_use() and code[0].text not in HEADS):
            self.finish()
        if not self.tokens:
            self.number = number
        self.broken |= len(code) < len(row) and any(t.type == "ERROR" for t in row)
        last = [t for t in row if t.type != "COMMENT"][-1:]
        self.unfinished = any(t.type in _INFIX or t.text == "\\" for t in last)
        self.comments.extend(t for t in row if t.type == "COMMENT")
        self.tokens.extend(code)
        for token in code:
            self._bracket(token)
        if not self.open:
            self.finish()

    def _in_use(self) -> bool:
        """Whether the line that is open uses a spec, whose arguments begin like equations."""
        return any(t.text == "use" for t in self.tokens[:3])

    def _bracket(self, token: Token) -> None:
        """Keep track of open brackets. Any closing bracket closes any opening one, because intervals are written `[0,
        1)`."""
        if token.type == "OPEN":
            self.open.append(token)
            if len(self.open) == MAX_BRACKETS + 1:
                help = "name a part of it on a line of its own"
                self._report("E107", f"more than {MAX_BRACKETS} nested brackets", token, help)
        elif token.type == "CLOSE":
            if self.open:
                self.open.pop()
            else:
                self._report("E103", f"'{token.text}' closes nothing", token, "remove it, or open a bracket before it")

    def _report(self, code: str, message: str, token: Token, help: str) -> None:
        if not self.broken:
            self.errors.append(Diagnostic(code, message, token.span, help))
        self.broken = True

    def finish(self) -> None:
        """End the logical line."""
        if self.open:
            self._report("E102", f"'{self.open[-1].text}' is never closed", self.open[-1], "add the closing bracket")
        parts = tuple(self.tokens), tuple(self.comments)
        self.lines.append(Line(self.number, *parts, self.broken, self.unfinished))
        self.tokens, self.comments, self.open, self.broken = [], [], [], False


_INFIX = ("ADD", "MULTIPLY", "POWER", "COMPARE", "EQUAL", "AND", "OR", "BAR")


def begins_statement(code: Sequence[Token]) -> bool:
    """Whether tokens begin like a declaration or an equation, which cannot stand inside brackets."""
    return bool(code) and (code[0].text in (*HEADS, *BLOCKS) or [t.type for t in code[:2]] == ["NAME", "EQUAL"])


def value_end(tokens: Sequence[Token]) -> int:
    """The index at which the options of a declaration begin, or the timing or the guard of an equation."""
    depth = 0
    start = next((i for i, t in enumerate(tokens) if t.type == "EQUAL"), len(tokens))
    for i, t in enumerate(tokens):
        depth += {"OPEN": 1, "CLOSE": -1}.get(t.type, 0)
        if i <= start or depth:
            continue
        is_word = t.type == "NAME" and tokens[i - 1].type in ("NAME", "NUMBER", "CLOSE")  # of `for users`
        if t.type in ("IN", "ALIAS", "STRING", *CLAUSES) or (is_word and tokens[0].type == "STATE"):
            return i
    return len(tokens)


def _tokens(number: int, text: str, errors: list[Diagnostic]) -> Iterator[Token]:
    """The tokens of one row, with an ERROR token in the place of a reported error."""
    position = 1 if number == 1 and text.startswith("\ufeff") else 0
    told: set[tuple[str, str | None]] = set()
    foreign = False  # a word of another language: its brackets and operators would be further errors
    while position < len(text) and len(errors) < MAX_ERRORS:
        match = _PATTERN.match(text, position)
        span = Span(number, position + 1, (match.end() if match else position + 1) + 1)
        if match is None:
            word = _bad_word(text, position, span)
            error, end = (word, word.span.end - 1) if word is not None else _bad_character(text, position, span)
            foreign |= word is not None
            if (error.message, error.help) not in told and (word is not None or not foreign):
                errors.append(error)
            told.add((error.message, error.help))
            yield Token("ERROR", text[position:end], span)
            position = end
            continue
        position = match.end()
        kind, piece = match.lastgroup or "", match[0]
        if match["NUMBER"] is not None:
            kind = "NUMBER"
        if kind == "SPACE":
            continue
        token, problem = _classify(kind, piece, span, match["tail"])
        if problem is not None and not foreign:
            errors.append(problem)
        yield token


def _classify(kind: str, piece: str, span: Span, tail: str | None) -> tuple[Token, Diagnostic | None]:
    """The token of one match, and the error in it, if any."""
    error = Token("ERROR", piece, span)
    if kind == "NUMBER" and tail:
        message = f"'{piece}' is neither a number nor a name"
        return error, Diagnostic("E101", message, span, _number_help(piece, tail), "numbers")
    if kind == "NAME":
        if len(piece) > MAX_NAME:
            message = f"a name of {len(piece)} characters; the limit is {MAX_NAME}"
            return error, Diagnostic("E101", message, span, "choose a shorter one", "limits")
        if piece.endswith("''"):
            help = f"{piece.rstrip(chr(39))}' is the value after this step; there is no later one"
            return error, Diagnostic("E101", f"'{piece}' has more than one prime", span, help, "primes")
        return Token(_WORDS.get(piece, "NAME"), piece, span), None
    if kind in ("COMMENT", "STRING") and (bad := _unprintable(piece)) is not None:
        at = Span(span.line, span.column + bad, span.column + bad + 1)
        message = f"the character {_code_point(piece[bad])} cannot stand in a spec"
        return error, Diagnostic("E101", message, at, "remove it")
    if kind == "TRANSPOSE":
        return Token(kind, "^T", span), None
    if kind == "OTHER" and piece in _FOREIGN_OPERATORS:
        ours, type_ = _FOREIGN_OPERATORS[piece]
        return Token(type_, ours, span), Diagnostic(
            "E106", f"'{piece}' is not an operator here", span, f"write '{ours}'"
        )
    if kind == "OTHER" and piece not in _OPERATORS:
        help = _FOREIGN.get(piece) or f"say what the new value is: m' = m {piece[0]} ..."
        return error, Diagnostic("E106", f"'{piece}' is not an operator here", span, help)
    return Token(_OPERATORS.get(piece, kind), piece, span), None


def _number_help(piece: str, tail: str) -> str:
    if tail[0] in "eE":
        return "an exponent needs digits: 1e-8"
    return "write '*' between a number and a name" if tail[0].isalpha() else "a number is written like 0.9 or 1e-8"


def _bad_character(text: str, position: int, span: Span) -> tuple[Diagnostic, int]:
    """The error for a character that no token begins with, and the position after it."""
    character = text[position]
    if character == '"':
        at = Span(span.line, span.column, len(text) + 1)
        return Diagnostic("E104", "this text has no closing quote", at, "a text ends with '\"' on the same line"), len(
            text
        )
    if character == "'":
        help = "a prime stands directly behind a name (m'), a choice in single quotes ('linear'), a text in double ones"
        return Diagnostic("E104", "this quote belongs to nothing", span, help), position + 1
    if character == "{" and text[position - 1 : position] == "_":
        end = text.find("}", position) + 1 or position + 1
        help = "nothing has a subscript: m is the value before this step, and m' the one after it"
        return Diagnostic("E101", f"'{character}' cannot stand here", span, help, "primes"), end
    if character == "{" and re.search(r"\bin\s*$", text[:position]):
        end = text.find("}", position) + 1 or len(text)
        help = "an interval is written [low, high] or (low, high); a choice of names is flag kind = 'a' | 'b'"
        at = Span(span.line, span.column, end + 1)
        return Diagnostic("E101", f"'{text[position:end]}' is no interval", at, help, "param"), end
    if character == "\\" and not text[position + 1 :].strip():
        help = "a line goes on while a bracket is open: put ( ) around the expression"
        return Diagnostic("E101", f"'{character}' at the end of a line", span, help, "lines"), len(text)
    section = _FOREIGN_SECTIONS.get(character)
    if character in _FOREIGN:
        help = _FOREIGN[character]
    elif character in _INSTEAD:
        help = f"write {_INSTEAD[character]}"
    elif unicodedata.category(character)[0] == "L":
        help = _letter_help(character)
    elif character.isdigit():  # one that is raised, as in x\u00b2, or lowered, as in x\u2081
        raised = "SUPERSCRIPT" in unicodedata.name(character)
        help = f"write {'^' * raised}{unicodedata.digit(character)}"
    elif "!" <= character <= "~":
        help = "names are made of a-z, A-Z, 0-9 and _; the operators are + - * / ^, comparisons, and, or, not"
    else:
        help = "remove it"
    shown = f"'{character}'" if character.isprintable() else f"the character {_code_point(character)}"
    return Diagnostic("E101", f"{shown} cannot stand here", span, help, section), position + 1


def _bad_word(text: str, position: int, span: Span) -> Diagnostic | None:
    """The error for several characters that belong together: `...`, a command of LaTeX, a function behind a dot."""
    if (gap := re.compile(r"\.{2,}|\u2026").match(text, position)) is not None:
        at = Span(span.line, span.column, gap.end() + 1)
        return Diagnostic("E101", f"'{gap[0]}' cannot stand here", at, "write out what it stands for", "functions")
    if (command := re.compile(r"\\([A-Za-z]+)(?:_\{?(\w+)\}?)?").match(text, position)) is not None:
        at = Span(span.line, span.column, command.end() + 1)
        help = f"write {_LATEX.get(command[1]) or command[1] + (command[2] or '')}"
        return Diagnostic("E101", f"'{command[0]}' is LaTeX", at, help)
    method = re.compile(r"\.([A-Za-z]\w*)\(").match(text, position)
    owner = re.search(r"[A-Za-z_]\w*'*$", text[:position])
    if method is None or owner is None or method[1] not in FUNCTIONS:
        return None
    given = re.compile(r"[^()]*(?=\))").match(text, method.end())
    inside = (given[0] if given else "...") if owner[0] in _LIBRARIES else owner[0]
    at = Span(span.line, owner.start() + 1, method.end())
    help = f"a function stands alone: write {method[1]}({inside})"
    return Diagnostic("E101", f"'{owner[0]}{method[0][:-1]}' is no function", at, help, "functions")


def _letter_help(character: str) -> str:
    """Names are ASCII; a Greek letter is spelt out by its name in Unicode (GREEK SMALL LETTER BETA)."""
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4:
        return f"spell it out: {words[3].lower() if words[1] == 'SMALL' else words[3].capitalize()}"
    return "names are made of a-z, A-Z, 0-9 and _"


def _unprintable(piece: str) -> int | None:
    """The index of a control character or half of a surrogate pair in a comment or text; None if there is none."""
    return next((i for i, c in enumerate(piece) if unicodedata.category(c) in ("Cc", "Cs") and c != "\t"), None)


def _code_point(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" ({name.lower()})" if name else "")
