"""The flags that follow from parameters, and what a spec requires of them, as C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Text, Unary
from optgen.library.c_text import field, quoted, real
from optgen.library.specs import LibrarySpec
from optgen.model import DIMENSIONS
from optgen.truth import COMPARISONS


def chooser(own: LibrarySpec) -> str:
    """The function `choose_PREFIX`, which finds the number of a variant."""
    lines = [
        f"static int32_t choose_{own.prefix}(const double *h, const int32_t *f, int32_t sparse, "
        "const dimensions *of, const char **why)",
        "{",
        "    (void)h, (void)f, (void)sparse, (void)of;",
        "    (void)differ, (void)divided, (void)min_of, (void)max_of; /* not all need them, nor these */",
        "    (void)evaluate, (void)set_rows;",
    ]
    lines += [f"    {line}" for line in _body(own)]
    return "\n".join([*lines, "}", ""])


def _body(own: LibrarySpec) -> Iterator[str]:
    spec, writer = own.spec, ConditionWriter(own)
    values = {flag.name: spec.flag_values()[flag.name] for flag in spec.flags}
    for flag in spec.flags:
        if flag.condition is None:
            k = own.chosen_flags.index(flag)
            yield f"if (f[{k}] < 0 || f[{k}] >= {len(values[flag.name])}) {{"
            yield f'    *why = "options.{field(flag.name)} must be from 0 to {len(values[flag.name]) - 1}";'
            yield "    return -1;"
            yield "}"
            yield f"const int flag_{flag.name} = f[{k}];"
        else:
            yield f"const int flag_{flag.name} = {writer.truth(flag.condition)};"
        yield f"(void)flag_{flag.name};"
    for require in spec.requires:
        yield f"if (!{writer.truth(require.condition)}) {{"
        yield f"    *why = {quoted(require.message)};"
        yield "    return -1;"
        yield "}"
    if spec.reads_sparse:
        values["sparse"] = (False, True)
        yield "const int flag_sparse = sparse;"
    terms, count = [], 1  # the place of a combination of flags, and how many there are
    for name, possible in values.items():
        terms.append((name, count))
        count *= len(possible)
    numbers = [-1] * count
    for number, flags in enumerate(own.variants):
        numbers[sum(factor * values[name].index(flags[name]) for name, factor in terms)] = number
    yield f"static const int32_t numbers[] = {{{', '.join(map(str, numbers))}}};"
    yield f"const int32_t number = numbers[{' + '.join(f'{factor} * flag_{name}' for name, factor in terms) or '0'}];"
    yield "if (number < 0)"
    yield '    *why = "no variant has these flags";'
    yield "return number;"


class ConditionWriter:
    """Conditions of a spec as expressions of C. A number that is unset is NaN, and what is computed from it, too. A
    comparison with it is false."""

    def __init__(self, own: LibrarySpec) -> None:
        self._flags = {f.name: f for f in own.spec.flags}
        self._hypers: Mapping[str, int] = {name: k for k, name in enumerate(own.hyper_defaults)}

    def truth(self, expr: Expr) -> str:
        match expr:
            case Name(id="sparse"):
                return "sparse"
            case Name(id=name) if name in self._flags:
                return f"flag_{name}"
            case IsSet(name=name):
                return f"!isnan(h[{self._hypers[name.id]}])"
            case Unary(op="not", operand=x):
                return f"!{self.truth(x)}"
            case Binary(op="and" | "or" as op, left=a, right=b):
                return f"({self.truth(a)} {'&&' if op == 'and' else '||'} {self.truth(b)})"
            case Binary(op="==" | "!=" as op, left=Name(id=name), right=Text(value=choice)):
                return f"(flag_{name} {op} {self._flags[name].choices.index(choice)})"
            case Binary(op="!=", left=a, right=b):
                return f"differ({self.number(a)}, {self.number(b)})"
            case Binary(op=op, left=a, right=b) if op in COMPARISONS:
                return f"({self.number(a)} {op} {self.number(b)})"
        raise TypeError(f"not a condition over parameters: {expr!r}")

    def number(self, expr: Expr) -> str:
        match expr:
            case Number(value=x):
                return real(x)
            case Name(id=name) if name in DIMENSIONS:
                return f"of->{name}"
            case Name(id=name):
                return f"h[{self._hypers[name]}]"
            case Unary(op="-", operand=x):
                return f"(-{self.number(x)})"
            case Binary(op="+" | "-" | "*" as op, left=a, right=b):
                return f"({self.number(a)} {op} {self.number(b)})"
            case Binary(op="/", left=a, right=b):
                return f"divided({self.number(a)}, {self.number(b)})"
            case Call(function="min" | "max" as function, args=args):
                found, *others = map(self.number, args)
                for other in others:
                    found = f"{function}_of({found}, {other})"
                return found
        raise TypeError(f"not a number of parameters: {expr!r}")
