"""The lines of a spec as tokens, and what makes them lines of another: new names, guards and timings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.functions.table import FUNCTIONS
from optgen.groups import WORDS
from optgen.lang.builtins import CONSTANTS
from optgen.lang.syntax import VERSIONS, Token, is_version, read_lines, value_end
from optgen.lang.uses import Tokens, is_transform, is_use, parts_of
from optgen.model import DIMENSIONS, RESERVED_PARAMS

NOWHERE = Span(0, 0, 0)
"""The place of what stands in no text."""
DECLARES = ("PARAM", "FLAG", "STATE", "INPUT", "DIM", "DEF")
_BY_ROWS = {"row", "col", "matrix", "rows", "cols", "matrices", *WORDS}


@dataclass
class Part:
    """The lines of a spec as tokens, section by section. `bumps`: by how much the versions of specs that it uses are
    above 1."""

    header: Tokens = ()
    versions: list[Tokens] = field(default_factory=list)
    bumps: int = 0
    cite: Tokens = ()
    axes: list[Tokens] = field(default_factory=list)
    rates: list[Tokens] = field(default_factory=list)
    schedules: list[Tokens] = field(default_factory=list)
    declarations: list[Tokens] = field(default_factory=list)
    update: list[Tokens] = field(default_factory=list)
    evaluate: list[Tokens] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.header[1].text

    @property
    def title(self) -> str:
        return next((t.text[1:-1] for t in self.header if t.type == "STRING"), self.name)

    @property
    def version(self) -> int:
        """Its own version, and what the specs that it uses add to it: any of them that rises makes it another one."""
        return (int(self.versions[0][1].text) if self.versions else 1) + self.bumps

    @property
    def parts(self) -> Tokens:
        """`for FLAG otherwise WORD` of its first line; empty if all parameters have one update."""
        return parts_of(self.header)

    def own_names(self) -> set[str]:
        """What it declares and defines, without reserved names."""
        found = {line[1].text for line in self.declarations if line[0].type in DECLARES}
        lines = (*self.update, *self.evaluate)
        found |= {line[0].text for line in lines if line[0].type == "NAME" and not line[0].text.endswith("'")}
        found |= {line[-2].text for line in lines if line[0].type == "REPEAT" and line[-3].type == "AS"}
        return found - set(RESERVED_PARAMS)

    def functions(self) -> set[str]:
        """The functions that it defines."""
        return {line[1].text for line in self.declarations if line[0].type == "DEF"}

    def aliases(self) -> set[str]:
        """The further names of its params."""
        return {alias for line in self.declarations for alias in aliases_of(line)}

    @property
    def has_phases(self) -> bool:
        return any(line[0].type == "PHASE" for line in self.update)

    def params(self) -> set[str]:
        return {line[1].text for line in self.declarations if line[0].type == "PARAM"}

    def flags(self) -> dict[str, list[str]]:
        """The flags that are arguments, with their values."""
        return {line[1].text: choices for line in self.declarations if (choices := choices_of(line))}

    def of_sizes(self) -> tuple[list[Tokens], list[Tokens]]:
        """What it requires of the sizes of a parameter, itself or by flags, and what else it requires: the lines."""
        reads = set(DIMENSIONS)
        for line in self.declarations:
            if line[0].type == "FLAG" and reads & {t.text for t in line[2:]}:
                reads.add(line[1].text)
        requires = [line for line in self.declarations if line[0].type == "REQUIRE"]
        own = [line for line in requires if reads & {t.text for t in line if t.type == "NAME"}]
        return own, [line for line in requires if line not in own]

    def reads(self, name: str) -> bool:
        """Whether a line reads a name; that of an argument, as in `use base(wd = 0)`, is not read."""
        lines = (*self.declarations, *self.update, *self.evaluate)
        return any(
            t.text == name and not (k + 1 < len(line) and line[k + 1].type == "EQUAL")
            for line in lines
            for k, t in enumerate(line)
            if k
        )

    def goes_by_rows(self) -> bool:
        """Whether a line reads rows or columns, which `axes last two` gives another meaning."""
        return any(t.text in _BY_ROWS for line in (*self.declarations, *self.update) for t in line)


def read_part(source: Source) -> Part:
    """The lines of a spec or a transform. Raises SpecErrors for errors in its characters and brackets."""
    lines, errors = read_lines(source)
    if errors:
        raise SpecErrors(source, errors)
    part = Part()
    section = part.declarations
    for line in (line.tokens for line in lines if line.tokens):
        tokens = tuple(t._replace(written=source.where(t.span)) for t in line)
        if is_transform(tokens) or tokens[0].type == "OPTIMIZER":
            part.header = tokens
        elif tokens[0].type == "SECTION":
            section = part.update if tokens[0].text == "update" else part.evaluate
        elif tokens[0].type == "PHASE":
            section = part.update
            section.append(tokens)
        elif tokens[0].type == "VERSION":
            part.versions.append(_version_line(tokens, source))
        elif tokens[0].type == "CITE":
            part.cite = tokens
        elif tokens[0].type == "AXES":
            part.axes.append(tokens)
        elif tokens[0].type == "LR_HINT":
            part.rates.append(tokens)
        elif tokens[0].type == "SCHEDULE":
            part.schedules.append(tokens)
        else:
            section.append(tokens)
    return part


def _version_line(tokens: Tokens, source: Source) -> Tokens:
    """SpecErrors if it is no version: the versions of parts are added up before lines are parsed."""
    if [t.type for t in tokens] == ["VERSION", "NUMBER"] and is_version(tokens[1].text):
        return tokens
    raise SpecErrors(source, [Diagnostic("E105", "this is no version", tokens[-1].span, VERSIONS, "version")])


# ---------------------------------------------------------------- tokens


def token(type: str, text: str, span: Span = NOWHERE) -> Token:
    return Token(type, text, span)


def name(text: str, span: Span = NOWHERE) -> Token:
    return Token("NAME", text, span)


AND, NOT, IF = token("AND", "and"), token("NOT", "not"), token("IF", "if")
OPEN, CLOSE = token("OPEN", "("), token("CLOSE", ")")


def at(span: Span, tokens: Tokens) -> Tokens:
    """The tokens as if all stood at one place."""
    return tuple(t._replace(span=span) for t in tokens)


@dataclass(frozen=True)
class Renaming:
    """What stands in the place of names: of `m` by `values["m"]`, of `m'` by `values["m'"]`. A call of a function of
    the language stays, unless that is `defined`."""

    values: Mapping[str, Tokens]
    defined: Collection[str] = ()

    def line(self, tokens: Tokens) -> Tokens:
        """A line with its names replaced. An expression is put in brackets."""
        renaming = self._within(tokens) if tokens[0].type == "DEF" else self
        return tuple(t for i in range(len(tokens)) for t in renaming._token(tokens, i))

    def _within(self, definition: Tokens) -> Renaming:
        """The renaming of a line that defines a function, whose arguments stay apart from all other names."""
        arguments = [t.text for t in definition[2 : _first(definition, "EQUAL")] if t.type == "NAME"]
        values = {x: value for x, value in self.values.items() if x not in arguments}
        read = {t.text for value in values.values() for t in value}
        own = {x: (name(_free(x, {*read, *arguments, *values})),) for x in arguments if x in read}
        return replace(self, values=values | own)

    def _token(self, tokens: Tokens, i: int) -> Iterator[Token]:
        value = self.values.get(tokens[i].text) if tokens[i].type == "NAME" else None
        if value is None or self._is_call(tokens, i) or _is_of_use(tokens, i) or _is_kind(tokens, i):
            yield tokens[i]
        elif len(value) == 1:
            yield value[0] if value[0].span != NOWHERE else value[0]._replace(span=tokens[i].span)
        else:
            yield from (OPEN, *value, CLOSE)

    def _is_call(self, tokens: Tokens, i: int) -> bool:
        """Whether a token calls a function of the language."""
        called = tokens[i].text in FUNCTIONS and i + 1 < len(tokens) and tokens[i + 1].text == "("
        return called and tokens[i].text not in self.defined


def _free(word: str, taken: Collection[str]) -> str:
    """A name that is not taken, which begins with a word."""
    return next(x for x in (f"{word}_{k}" for k in range(1, 1000)) if x not in taken)


def _is_of_use(tokens: Tokens, i: int) -> bool:
    """Whether a token of a use names an argument, the used spec, or the prefix of its names."""
    if not is_use(tokens) or i == 0:
        return False
    behind = tokens[i + 1].type if i + 1 < len(tokens) else ""
    return behind == "EQUAL" or tokens[i - 1].text in ("use", "as")


def _is_kind(tokens: Tokens, i: int) -> bool:
    """Whether a token belongs to the language as `int` does in `param k: int`, `row` in `state R: row`, `x` in
    `state L: rows x n` and `normal(rows x n)`, `block` in `state v: block n`, and the words `zero off` and
    `for users`."""
    types = [t.type for t in tokens]
    if types[i - 1] in ("PER", "OVER") or types[i - 1 : i + 2] == ["NAME"] * 3:
        return True
    if tokens[0].type in ("PARAM", "STATE") and "EQUAL" in types[:i]:
        own = ("zero", "off") if tokens[0].type == "PARAM" else ("for", "users")
        return tokens[i].text in own and "NAME" in (types[i - 1], *types[i + 1 : i + 2])
    if tokens[0].type not in DECLARES or "COLON" not in types[:i] or "EQUAL" in types[:i]:
        return False
    first = types.index("COLON") + 1
    if tokens[first].text in WORDS and types[first + 1] != "EQUAL":  # block n, axis -1
        return i == first
    return types[first + 1 : first + 2] in ([], ["EQUAL"], ["STRING"]) or (i - first) % 2 == 1


def renamed(names: Mapping[str, str], span: Span) -> dict[str, Tokens]:
    """New names for names, with a prime and without."""
    return {old + prime: (name(new + prime, span),) for old, new in names.items() for prime in ("", "'")}


def with_own_functions(part: Part, taken: Collection[str] = ()) -> Part:
    """A part whose own functions have no name of a function of the language, which lines of other parts may call. A new
    name is not among those that are `taken`."""
    new: dict[str, str] = {}
    for own in sorted(part.functions() & FUNCTIONS.keys()):
        word, known = f"{part.name.lower()}_{own}", {*taken, *part.own_names(), *new.values()}
        new[own] = word if word not in known else _free(word, known)
    return _with_lines(part, Renaming(renamed(new, NOWHERE), new.keys()).line) if new else part


def with_arguments(part: Part, handed: Collection[str]) -> Part:
    """A part whose functions take the `handed` names that they read as arguments: what these stand for may be a value
    of an equation, which no definition can read."""
    needs: dict[str, list[str]] = {}
    for line in (x for x in part.declarations if x[0].type == "DEF"):
        start = _first(line, "EQUAL")
        read = {t.text for t in line[start:]} - {t.text for t in line[2:start]}
        needs[line[1].text] = sorted({*handed} & read | {x for f in needs.keys() & read for x in needs[f]})
    needs = {function: names for function, names in needs.items() if names}
    return _with_lines(part, lambda line: _with_more_arguments(line, needs)) if needs else part


def _with_more_arguments(line: Tokens, needs: Mapping[str, Sequence[str]]) -> Tokens:
    """A line in which calls and definitions of functions have these further arguments."""
    made = list(line)
    for i in range(len(line) - 2, -1, -1):
        if line[i].text in needs and line[i].type == "NAME" and line[i + 1].text == "(":
            depth = 0
            for end in range(i + 1, len(made)):
                depth += {"OPEN": 1, "CLOSE": -1}.get(made[end].type, 0)
                if depth == 0:
                    break
            made[end:end] = [t for x in needs[line[i].text] for t in (token("COMMA", ","), name(x, line[i].span))]
    return tuple(made)


def with_constants(part: Part, hidden: Collection[str]) -> Part:
    """A part in which constants of the language, as `pi`, are written as numbers, if other parts use these names for
    something else."""
    values = {x: (token("NUMBER", repr(CONSTANTS[x])),) for x in CONSTANTS.keys() & {*hidden} - part.own_names()}
    return _with_lines(part, Renaming(values).line) if values else part


def _with_lines(part: Part, change: Callable[[Tokens], Tokens]) -> Part:
    declarations, update, evaluate = (list(map(change, x)) for x in (part.declarations, part.update, part.evaluate))
    return replace(part, declarations=declarations, update=update, evaluate=evaluate)


def _first(line: Tokens, type: str) -> int:
    return next(i for i, t in enumerate(line) if t.type == type)


def aliases_of(line: Tokens) -> list[str]:
    """The further names of a param, in its line."""
    start, end = _aliases(line)
    return [t.text for t in line[start + 1 : end] if t.type == "NAME"]


def without_aliases(line: Tokens, dropped: Collection[str]) -> Tokens:
    """A param's line without these further names."""
    start, end = _aliases(line)
    kept = [x for x in aliases_of(line) if x not in dropped]
    words = [part for k, x in enumerate(kept) for part in (*([token("COMMA", ",")] if k else ()), name(x))]
    return (*line[:start], *(line[start : start + 1] if words else ()), *words, *line[end:])


def with_aliases(line: Tokens, added: Sequence[str]) -> Tokens:
    """A param's line with these further names, besides those that it has."""
    names = (*aliases_of(line), *added)
    words = [part for x in names for part in (token("COMMA", ","), name(x))][1:]
    start, end = _aliases(line)
    return (*line[:start], token("ALIAS", "alias"), *words, *line[end:]) if words else line


def _aliases(line: Tokens) -> tuple[int, int]:
    """Where `alias A, B` begins and ends in a line; its end, if it has none."""
    start = next((i for i, t in enumerate(line) if t.type == "ALIAS" and line[0].type == "PARAM"), len(line))
    return start, next((i for i in range(start + 1, len(line)) if line[i].type not in ("NAME", "COMMA")), len(line))


def default_of(line: Tokens) -> str:
    """The default of a param, as it is written."""
    start = _first(line, "EQUAL") + 1
    return "".join(t.text for t in line[start : start + (2 if line[start].type == "ADD" else 1)])


def with_default(line: Tokens, value: Tokens) -> Tokens:
    """A param's line with another default."""
    start = _first(line, "EQUAL") + 1
    return (*line[:start], *value, *line[start + (2 if line[start].type == "ADD" else 1) :])


def choices_of(line: Tokens) -> list[str]:
    """The values of a flag that is an argument, as they are written; none for other lines."""
    if line[0].type != "FLAG":
        return []
    start = _first(line, "EQUAL") + 1
    if line[start].text in ("true", "false") and (start + 1 == len(line) or line[start + 1].type == "STRING"):
        return ["true", "false"]
    return [t.text for t in line[start:] if t.type == "CHOICE"] if line[start].type == "CHOICE" else []


def with_choice(line: Tokens, value: Token) -> Tokens:
    """A flag's line with another default: the first of its choices."""
    start = _first(line, "EQUAL") + 1
    if line[start].type != "CHOICE":
        return (*line[:start], value, *line[start + 1 :])
    other = next(i for i in range(start, len(line)) if line[i].text == value.text)
    swapped = {start: line[other], other: line[start]}
    return tuple(swapped.get(i, t) for i, t in enumerate(line))


def is_plain(value: Tokens) -> bool:
    """Whether a param can have this value as its default: a number, or none."""
    return [t.type for t in value] in (["NUMBER"], ["ADD", "NUMBER"], ["NONE"])


# ---------------------------------------------------------------- guards


def guard_of(tokens: Tokens) -> Tokens:
    """The guard of an equation or a state, without `if`; empty if it has none, or `otherwise`."""
    rest = tokens[value_end(tokens) :]
    start = next((i for i, t in enumerate(rest) if t.type == "IF"), len(rest))
    end = next((i for i in range(start, len(rest)) if rest[i].type == "STRING"), len(rest))
    return rest[start + 1 : end]


def joined(outer: Tokens, inner: Tokens) -> Tokens:
    """`outer and inner`, each in brackets where it has an `or`; one of them if the other is empty."""
    if not outer or not inner:
        return outer or inner
    return (*_bracketed(outer), AND, *_bracketed(inner))


def _bracketed(guard: Tokens) -> Tokens:
    return (OPEN, *guard, CLOSE) if any(t.type == "OR" for t in guard) else guard


def negated(guard: Tokens) -> Tokens:
    return (NOT, *guard) if len(guard) == 1 else (NOT, OPEN, *guard, CLOSE)


def guarded(tokens: Tokens, outer: Tokens) -> Tokens:
    """An equation or a state where `outer` holds too. `otherwise` becomes `if outer`, as the first case that holds is
    taken."""
    if not outer or tokens[0].type in ("REPEAT", "END", "PHASE"):
        return tokens
    start = value_end(tokens)
    ends = (i for i in range(start, len(tokens)) if tokens[i].type in ("IF", "OTHERWISE", "STRING"))
    end = next(ends, len(tokens))  # of the timing
    others = tuple(t for t in tokens[end:] if t.type == "STRING")
    return (*tokens[:end], IF, *joined(outer, guard_of(tokens)), *others)


def timed(tokens: Tokens, timing: Tokens) -> Tokens:
    """An equation that is computed at `timing` only, such as `every k`; Its guard stays, but for `otherwise`."""
    if not timing:
        return tokens
    start = value_end(tokens)
    return (*tokens[:start], *timing, *(t for t in tokens[start:] if t.type != "OTHERWISE"))


def groups(lines: Sequence[Tokens]) -> Iterator[list[Tokens]]:
    """Adjacent lines for one name: the cases of an equation."""
    for _, cases in groupby(lines, key=lambda line: line[0].text if line[0].type == "NAME" else id(line)):
        yield list(cases)
