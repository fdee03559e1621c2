"""Puts the lines of other specs in the place of their uses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from optgen.diagnostics import Source, listed, suggest
from optgen.functions.table import FUNCTIONS
from optgen.lang.builtins import CONSTANTS, RESERVED
from optgen.lang.parts import (
    Part,
    Renaming,
    aliases_of,
    at,
    default_of,
    groups,
    guard_of,
    guarded,
    is_plain,
    joined,
    name,
    negated,
    renamed,
    timed,
    token,
    with_aliases,
    with_arguments,
    with_choice,
    with_constants,
    with_default,
    with_own_functions,
    without_aliases,
)
from optgen.lang.syntax import KEYWORDS, MAX_VERSION, TIMINGS, Token, read_lines, value_end
from optgen.lang.uses import FOR, Tokens, Use, UseError, is_use, parts_of, read_use
from optgen.model import RESERVED_PARAMS

HANDED = ("w", "grad", "g", "lr", "wd", "rescale_grad", "clip_gradient", "t", "step")
"""The reserved names that a use may give another meaning."""


@dataclass(frozen=True)
class _Spliced:
    """The equations of a use, guarded but for those of the weight, which are the cases of what the use defines."""

    before: list[Tokens]
    weight: list[Tokens]
    after: list[Tokens]
    evaluate: list[Tokens]


class Splicing:
    """Makes a spec without uses of one with them. `find` gives the lines of the spec that a use names. `base` are the
    names of a base, which stay as they are."""

    def __init__(self, host: Part, find: Callable[[Use], Part], base: Collection[str] = ()) -> None:
        self.host = host = with_own_functions(host)
        self.find = find
        self.plain = {*host.own_names(), *base}
        self.taken = host.own_names()
        header, self.chosen = _split_header(host.header)
        self.result = replace(host, header=header, declarations=[], update=[], evaluate=[], axes=list(host.axes))
        self.of_base: list[Tokens] = []  # the declarations of a base, which stand first
        self.defaults: dict[str, tuple[str, str]] = {}  # of reserved params that a use brought, and which one it was

    def run(self) -> Part:
        """The spec without uses. Raises UseError."""
        others = [line for line in self.host.declarations if is_use(line)]
        for line in self.host.declarations:
            if not is_use(line):
                self.result.declarations.append(guarded(line, self.chosen) if line[0].type == "STATE" else line)
        for cases in groups(self.host.update):
            if any(map(is_use, cases)):
                self._cases(cases)
            else:
                self.result.update += [guarded(line, self.chosen) for line in cases]
        for line in filter(is_use, self.host.evaluate):
            raise UseError(
                "a use in 'eval:'", line[0].span, "use it in 'update:', and keep in a state what is read here"
            )
        if self.chosen and not others:
            help = "write 'otherwise use adamw() as adam' above 'update:'"
            for line in self.host.declarations:
                if line[0].type == "OTHERWISE":
                    raise UseError("'otherwise' without 'use'", line[0].span, help)
            raise UseError("nothing is said of the other parameters", self.chosen[0].span, help)
        evaluate = [guarded(line, self.chosen) for line in self.host.evaluate]
        self.result.evaluate = evaluate or self.result.evaluate
        for line in others:
            self._otherwise(line)
        if len(self.chosen) == len(others) == 1:
            self._name_parts(others[0])
        self.result.declarations[:0] = self.of_base
        return self.result

    def _cases(self, cases: list[Tokens]) -> None:
        """The cases of one name, some of which are uses."""
        before: list[Tokens] = []
        weight: list[Tokens] = []
        after: list[Tokens] = []
        above: Tokens = ()  # holds where no case above does
        for line in cases:
            own = guard_of(line)
            if is_use(line):
                use, rest = read_use(line)
                timing, rest = _split_timing(rest)
                own = rest[1:] if rest and rest[0].type == "IF" else ()
                if rest and rest[0].type not in ("IF", "OTHERWISE"):
                    raise UseError(f"'{rest[0].text}' behind a use", rest[0].span, "name its result, and go on below")
                spliced = self._splice(use, line[0], joined(self.chosen, joined(above, own)), timing)
                before, after = before + spliced.before, after + spliced.after
                weight += [_case(x, joined(self.chosen, own), rest) for x in spliced.weight]
                is_weight = len(cases) == 1 and line[0].text == "w'" and not timing
                is_whole = (is_weight or use.of_base) and not joined(above, own)
                self._keep_eval(use, spliced, is_whole=is_whole)
            else:
                weight.append(guarded(line, self.chosen))
            above = joined(above, negated(own)) if own else above
        self.result.update += [*before, *weight, *after]

    def _keep_eval(self, use: Use, spliced: _Spliced, *, is_whole: bool) -> None:
        """Keep the `eval:` of a base in a transform without one of its own; that of another used spec if the weight
        after its step is the weight after the whole step."""
        is_replaced = use.of_base and self.host.evaluate
        if spliced.evaluate and not is_replaced and (not is_whole or self.host.evaluate):
            help = "its weights to evaluate with are not those of this one"
            raise UseError(f"{_shown(use)} has 'eval:', which cannot be kept here", use.span, help)
        self.result.evaluate += [guarded(line, self.chosen) for line in spliced.evaluate]

    def _otherwise(self, line: Tokens) -> None:
        """What updates the parameters that the spec is not for."""
        use, rest = read_use(line)
        if rest:
            raise UseError(f"'{rest[0].text}' behind a use", rest[0].span, "remove it")
        if not self.chosen:
            help = "say in the first line what the spec is for: optimizer Muon for matrix"
            raise UseError("'otherwise' without 'for'", line[0].span, help)
        others = negated(self.chosen)
        spliced = self._splice(use, name("w'", use.span), others)
        self.result.update += [*spliced.before, *(guarded(x, others) for x in spliced.weight), *spliced.after]
        if self.result.evaluate or spliced.evaluate:
            same = (name("w'"), token("EQUAL", "="), name("w"))
            self.result.evaluate = self.result.evaluate or [guarded(same, self.chosen)]
            self.result.evaluate += [guarded(x, others) for x in spliced.evaluate or [same]]

    def _name_parts(self, line: Tokens) -> None:
        """Have the first line say which flag chooses, and what the other parameters are updated by."""
        header, other = self.result.header, _word(read_use(line)[0])
        parts = (name(FOR), *self.chosen, token("OTHERWISE", "otherwise"), name(other))
        self.result.header = (*header[:2], *parts, *header[2:])

    # ------------------------------------------------------------ one use

    def _splice(self, use: Use, target: Token, outer: Tokens, timing: Tokens = ()) -> _Spliced:
        """The equations of a used spec, where `outer` holds; its declarations are added to the result. Those of states
        and of the weight are computed at `timing`, and so is what only they read."""
        part = with_constants(self.find(use), self.plain)
        self.result.bumps += part.version - 1
        if self.result.version > MAX_VERSION:
            message = f"with {_shown(use)}, the version is {self.result.version}"
            raise UseError(message, use.span, f"versions of what is used add up, to at most {MAX_VERSION}")
        if use.of_base:
            part = with_own_functions(part, self.taken)
        if part.has_phases:
            help = "of transforms with phases, there is one, and it stands last: 'adam with ema, sam'"
            raise UseError(f"{_shown(use)} has phases, and cannot be used", use.span, help)
        self._agree_on_axes(use, part)
        prefix = "" if use.of_base else f"{_word(use)}_"
        names = {x: prefix + x for x in sorted(part.own_names())}
        self._take(use, set(names.values()))
        _check_starts(use, part, timing)
        numbers, values, gradients = self._fields(use, part, prefix or "base_")
        weight = self._weight_of_starts(use, part, prefix or "base_", gradients)
        known = {*self.host.params(), *RESERVED}  # which definitions read
        part = with_arguments(
            part, [x for x, v in values.items() if any(t.type == "NAME" and t.text not in known for t in v)]
        )
        values = renamed(names, use.span) | values | {"w'": (target,)}
        renaming = Renaming(values, part.functions())
        for line in part.declarations:
            start = name("w") if _is_start_alone(line) else weight
            own = replace(renaming, values=values | {"w": (start,)}) if _starts_from(line, "w") else renaming
            self._declare(own, at(use.span, line), use, numbers, outer)
        weights = [i for i, line in enumerate(part.update) if line[0].text == "w'"]
        lines = [renaming.line(at(use.span, line)) for line in self._timed(use, part, timing)]
        first, last = weights[0], weights[-1] + 1
        before = [guarded(x, outer) for x in (*gradients, *lines[:first])]
        after = [guarded(x, outer) for x in lines[last:]]
        counts = {x: _whole(values[x]) for x in ("t", "step") if x in values and timing}
        evaluated = replace(renaming, values=values | counts | renamed({"w": "w"}, use.span))
        evaluate = [evaluated.line(at(use.span, x)) for x in part.evaluate]
        return _Spliced(before, lines[first:last], after, evaluate)

    def _timed(self, use: Use, part: Part, timing: Tokens) -> list[Tokens]:
        """The equations of a used spec, computed at `timing`."""
        own = next((t for line in part.update for t in line if t.type in TIMINGS), None)
        if own and timing:
            raise UseError(f"{_shown(use)} has 'every' in its own equations", timing[0].span, "use it in each update")
        weights = [i for i, line in enumerate(part.update) if line[0].text == "w'"]
        if timing and weights != list(range(weights[0], weights[-1] + 1)):
            message = f"{_shown(use)} has parts, each with a w' of its own"
            raise UseError(message, timing[0].span, "use it in each update, or each of its parts by itself")
        kept = {"w'"} | {f"{line[1].text}'" for line in part.declarations if line[0].type == "STATE"}
        return [timed(line, timing) if line[0].text in kept else line for line in part.update]

    def _weight_of_starts(self, use: Use, part: Part, prefix: str, handed: list[Tokens]) -> Token:
        """What the weight that the used spec gets is called in expressions that states start from: an equation hands it
        over then, one more of those `handed`. Where the weight alone is a start, it is that of the whole spec."""
        expressions = [x for x in part.declarations if _starts_from(x, "w") and not _is_start_alone(x)]
        if "w" not in use.fields or not expressions:
            return name("w", use.span)
        own = name(self._fresh(f"{prefix}w"), use.span)
        handed.append((own, token("EQUAL", "="), *use.fields["w"]))
        return own

    def _take(self, use: Use, names: set[str]) -> None:
        of_language = sorted(names & {*RESERVED, *FUNCTIONS, *CONSTANTS, *KEYWORDS}) if not use.of_base else []
        if of_language:
            help = f"choose another prefix: use {use.name}(...) as NAME"
            raise UseError(f"a name of {use.name} becomes '{of_language[0]}', which is the language's", use.span, help)
        both = sorted(names & self.taken)
        if both:
            help = "rename one of them" if use.of_base else f"choose another prefix: use {use.name}(...) as NAME"
            raise UseError(f"the name '{both[0]}' is in {_shown(use)}, and here as well", use.span, help)
        self.taken |= names

    def _fresh(self, word: str) -> str:
        """A name that is not taken yet: of several transforms of gradients, each hands over its own."""
        free = next(x for x in (word, *(f"{word}{k}" for k in range(2, 1000))) if x not in self.taken)
        self.taken.add(free)
        return free

    def _agree_on_axes(self, use: Use, part: Part) -> None:
        """Rows have one meaning in a spec: parts agree on it, or only one of them has rows."""
        if bool(part.axes) == bool(self.result.axes):
            return
        last_two, other = (part, self.result) if part.axes else (self.result, part)
        if other.goes_by_rows() or (other is self.result and self.host.goes_by_rows()):
            raise UseError(f"of this spec and {_shown(use)}, one has 'axes last two'", use.span, "write it in both")
        self.result.axes = list(last_two.axes)

    def _fields(self, use: Use, part: Part, prefix: str) -> tuple[dict[str, Tokens], dict[str, Tokens], list[Tokens]]:
        """The arguments of a use: new defaults of params, what stands in the place of names, and equations for
        gradients."""
        numbers: dict[str, Tokens] = {}
        values: dict[str, Tokens] = {}
        gradients: list[Tokens] = []
        if "g" in use.fields and "grad" not in use.fields and part.reads("grad"):
            help = "hand over 'grad', from which it computes g"
            raise UseError(f"{_shown(use)} reads grad, not only g", use.fields["g"][0].span, help)
        for field, value in use.fields.items():
            started = any(_starts_from(line, field) for line in part.declarations)
            if field in ("grad", "g") and (len(value) > 1 or started):
                own = name(self._fresh(prefix + field), use.span)
                gradients.append((own, token("EQUAL", "="), *value))
                values[field] = (own,)
            elif field in part.params() and field not in HANDED and is_plain(value):
                numbers[field] = value
            elif field in part.params() or field in HANDED:
                values[field] = value  # a name, or what stands for a number
            elif field in part.flags():
                (values if self._is_flag(use, part, field) else numbers)[field] = value
            else:
                known = sorted({*part.params(), *part.flags(), *HANDED})
                help = suggest(field, known) or f"there are {listed(known)}"
                raise UseError(f"{_shown(use)} takes no '{field}'", use.places[field], help)
            counts = use.of_base and field in ("t", "step")  # which some bases read, and others do not
            if field in HANDED and not (part.reads(field) or counts or (field == "grad" and part.reads("g"))):
                raise UseError(f"{_shown(use)} reads no '{field}'", use.places[field], "leave it out")
        if "grad" in values and "g" not in values and part.reads("g"):
            own = name(self._fresh(f"{prefix}g"), use.span)
            clipped = _lex(f"{own.text} = clip(rescale_grad*{values['grad'][0].text}, clip_gradient)")
            gradients.append(at(use.span, clipped))
            values["g"] = (own,)
        return numbers, values, gradients

    def _is_flag(self, use: Use, part: Part, field: str) -> bool:
        """Whether a flag of what is used is one of this spec; if not, it is one of its values."""
        value, choices = use.fields[field], part.flags()[field]
        if len(value) == 1 and value[0].text in choices:
            return False
        own = {line[1].text for line in self.host.declarations if line[0].type == "FLAG"}
        if len(value) == 1 and value[0].text in own:
            return True
        help = f"give {listed(choices)}, or a flag of this spec"
        raise UseError(f"{field} of {_shown(use)} is a flag", use.places[field], help)

    def _declare(self, renaming: Renaming, line: Tokens, use: Use, numbers: dict[str, Tokens], outer: Tokens) -> None:
        """Add a declaration of a used spec. One that was given a value is dropped, or has it as its default."""
        kind, own = line[0].type, line[1].text
        add = (self.of_base if use.of_base else self.result.declarations).append
        if kind == "PARAM" and own in RESERVED_PARAMS:
            here = self.result.params() | self.host.params()
            # A transform that gives its base another value, as `use base(wd = 0)`, may read the base's own.
            needed = own not in use.fields or (use.of_base and self.host.reads(own))
            if needed and own not in here and (use.of_base or own != "lr"):
                add(line)
                self.defaults[own] = _shown(use), default_of(line)
            elif needed and own in self.defaults and self.defaults[own][1] != default_of(line):
                message = f"{_shown(use)} has another default of {own} than {self.defaults[own][0]}"
                raise UseError(message, use.span, f"give the value: use {use.name}({own} = ...)")
            elif use.of_base:
                self._keep_aliases(line)
        elif kind == "PARAM" and own in numbers:
            add(_without_alias(renaming.line(with_default(line, numbers[own])), use))
        elif kind == "PARAM" and own not in use.fields:
            add(_without_alias(renaming.line(line), use))
        elif kind == "FLAG" and own in numbers:
            add(renaming.line(with_choice(line, numbers[own][0])))
        elif kind == "STATE":
            add(guarded(renaming.line(line), outer))
        elif kind == "REQUIRE" and outer:
            condition, text = line[1:-1], line[-1]
            add((line[0], *negated(outer), token("OR", "or"), *_lex("("), *renaming.line(condition), *_lex(")"), text))
        elif kind != "PARAM" and not (kind == "FLAG" and own in use.fields):
            add(renaming.line(line))

    def _keep_aliases(self, of_base: Tokens) -> None:
        """Give the line of a reserved param that stands in a transform the further names that the base has for it."""
        lines = self.result.declarations
        for k, line in enumerate(lines):
            if line[0].type == "PARAM" and line[1].text == of_base[1].text:
                lines[k] = with_aliases(line, aliases_of(of_base))


def _starts_from(line: Tokens, *names: str) -> bool:
    """Whether a line is that of a state whose start reads one of these names."""
    start = next((i for i, t in enumerate(line) if t.type == "EQUAL"), len(line))
    return line[0].type == "STATE" and any(t.text in names for t in line[start:])


def _is_start_alone(line: Tokens) -> bool:
    """Whether the start of a state is one word."""
    return value_end(line) == 2 + next((i for i, t in enumerate(line) if t.type == "EQUAL"), len(line))


def _check_starts(use: Use, part: Part, timing: Tokens) -> None:
    """UseError for a state that starts from the gradient, in a use that has another one in some updates only."""
    late = next((line for line in part.declarations if _starts_from(line, "g", "grad")), None)
    if late and timing and {"g", "grad"} & use.fields.keys():
        message = f"'{late[1].text}' of {_shown(use)} starts from the gradient in the first update"
        raise UseError(message, timing[0].span, "use it in each update")


def _without_alias(line: Tokens, use: Use) -> Tokens:
    """A param's line, whose aliases are those of the base only."""
    return line if use.of_base else without_aliases(line, aliases_of(line))


def _case(line: Tokens, guard: Tokens, rest: Tokens) -> Tokens:
    """A line for the weight as a case of what the use defines; `rest` is the guard of the use as it is written."""
    if guard:
        return guarded(line, guard)
    open_end = line[-1].type != "OTHERWISE" and not guard_of(line)
    return (*line, *rest) if open_end else line


def _split_timing(rest: Tokens) -> tuple[Tokens, Tokens]:
    """The timing behind a use, as `every k from s` or `once`, and the guard behind that."""
    if not rest or rest[0].type not in TIMINGS:
        return (), rest
    end = next((i for i, t in enumerate(rest) if t.type in ("IF", "OTHERWISE")), len(rest))
    return rest[:end], rest[end:]


def _split_header(header: Tokens) -> tuple[Tokens, Tokens]:
    """The first line without `for GUARD`, and the guard. One that says how parts were put together stays."""
    if parts_of(header):
        return header, ()
    start = next((i for i, t in enumerate(header[2:], 2) if t.text == FOR), len(header))
    end = next((i for i in range(start, len(header)) if header[i].type in ("STRING", "ALIAS")), len(header))
    if start < len(header) and end == start + 1:
        raise UseError("'for' without a flag", header[start].span, "write: optimizer Muon for matrix")
    return (*header[:start], *header[end:]), header[start + 1 : end]


def _lex(text: str) -> Tokens:
    return tuple(t for line in read_lines(Source("", text))[0] for t in line.tokens)


def _whole(count: Tokens) -> Tokens:
    """A count of updates, which is whole where it counts one, in those between."""
    return (name("floor"), token("OPEN", "("), *count, token("CLOSE", ")"))


def _word(use: Use) -> str:
    """What the names of a used spec begin with."""
    return use.prefix or use.name.rpartition("/")[2]


def _shown(use: Use) -> str:
    return "the base" if use.of_base else use.name
