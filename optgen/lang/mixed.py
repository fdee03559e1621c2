"""`normuon otherwise adamw(lr = 3e-4)`: a spec, and another one for the parameters that it does not update.

It becomes the text that one would write by hand: a flag for where the first one's requirements hold, a flag `plain` for
what it is not to update either, and `otherwise use adamw(lr = adamw_lr)`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce

from optgen.diagnostics import Source, SpecErrors, listed, suggest
from optgen.functions.table import FUNCTIONS
from optgen.lang.builtins import CONSTANTS, RESERVED
from optgen.lang.parts import Part, default_of, is_plain, joined, name, negated, token
from optgen.lang.splicing import Splicing
from optgen.lang.syntax import KEYWORDS, read_lines
from optgen.lang.uses import FOR, Tokens, Use, UseError
from optgen.model import RESERVED_PARAMS
from optgen.specfiles import CHAIN

PLAIN = "plain"
"""The flag of the parameters that the first spec is not to update, though it could."""
OF_ALL = ("wd", "rescale_grad", "clip_gradient")
"""Params that both read, which the second one may be given as numbers of its own."""


def mixed(chain: str, word: str, own: Part, use: Use, other: Part) -> Part:
    """The spec that updates as `own` where its requirements hold, and else as `other`, which `use` names.

    `word` is what the first one is called. Raises SpecErrors, and ValueError for a wrong argument.
    """
    try:
        _check(own, word)
        _check(other, use.name)
        if other.of_sizes()[0]:
            raise UseError(
                f"{use.name} does not update all parameters itself", use.span, "name an optimizer that requires nothing"
            )
        for field in use.fields:
            _check_field(use, other, field)
        return Splicing(_as_host(own, word, use, other), lambda _: other).run()
    except UseError as error:
        raise SpecErrors(Source(chain, CHAIN.split(chain, maxsplit=1)[2]), [error.diagnostic]) from None


def check_value(use: Use, field: str, choices: Sequence[str]) -> None:
    """ValueError unless a param is given a number, or a flag one of its choices."""
    value = use.fields[field]
    shown = f"{use.name}: {field} = {' '.join(t.text for t in value)}"
    if choices and (len(value) != 1 or value[0].text not in choices):
        raise ValueError(f"{shown} is none of {listed(choices)}")
    if not choices and not is_plain(value):
        raise ValueError(f"{shown} is no number")


def _check(part: Part, called: str) -> None:
    """ValueError for what cannot update some parameters only."""
    if part.has_phases:
        raise ValueError(f"{called} has phases, and 'otherwise' puts steps of one gradient together")
    if _shares(part):
        raise ValueError(f"{called} shares values between all parameters, and beside 'otherwise' it has only some")
    if part.parts:
        raise ValueError(f"{called} already has a part for other parameters, {part.parts[-1].text}")


def _shares(part: Part) -> bool:
    """Whether something is reduced over params, or a state is of kind shared."""
    lines = (*part.declarations, *part.update, *part.evaluate)
    over = any(t.type == "OVER" for line in lines for t in line)
    return over or any([t.text for t in x[2:4]] == [":", "shared"] for x in part.declarations if x[0].type == "STATE")


def _check_field(use: Use, other: Part, field: str) -> None:
    """ValueError for an argument that the second spec does not have, and for a value that the argument cannot take."""
    known = {*other.params(), *other.flags(), "lr", *(x for x in OF_ALL if other.reads(x))}
    if field not in known:
        help = suggest(field, sorted(known)) or f"it has {listed(sorted(known))}"
        raise ValueError(f"{use.name} has no param or flag '{field}'; {help}")
    check_value(use, field, other.flags().get(field, ()))


def _as_host(own: Part, word: str, use: Use, other: Part) -> Part:
    """The first spec with the lines that say which parameters it is for, and what updates the others."""
    of_sizes, _ = own.of_sizes()
    prefix = use.prefix or use.name.rpartition("/")[2]
    clash = sorted({PLAIN, f"{prefix}_lr"} & (own.own_names() | own.aliases()))
    if clash:
        help = f"choose another prefix: {word} otherwise {use.name} as NAME"
        help = f"{word} is mixed in a file then, with 'otherwise use'" if clash[0] == PLAIN else help
        raise UseError(f"the name '{clash[0]}' is in {word}, and is needed for {use.name}", use.span, help)
    flag = _free(word, {*own.own_names(), *RESERVED, *FUNCTIONS, *CONSTANTS, *KEYWORDS})
    text = f"by {prefix} too, as for embeddings and the last layer"
    lines = [line for line in own.declarations if line not in of_sizes]
    lines.append((*_line(f"flag {PLAIN} per param = false"), token("STRING", f'"{text}"')))
    where = reduce(joined, [*(line[1:-1] for line in of_sizes), negated((name(PLAIN),))])
    lines.append((*_line(f"flag {flag} ="), *where))
    fields = dict(use.fields)
    if other.reads("lr"):
        rate = f"{prefix}_lr"
        default = "".join(t.text for t in fields["lr"]) if "lr" in fields else _rate_of(other)
        doc = f'"the rate of {prefix}"'
        lines.append((*_line(f"param {rate} per param = {default} follows lr"), token("STRING", doc)))
        fields["lr"] = (name(rate, use.span),)
    arguments = [t for x, value in fields.items() for t in (token("COMMA", ","), name(x), token("EQUAL", "="), *value)]
    called = (*_line(f"use {use.name}("), *arguments[1:], *_line(f") as {prefix}"))
    lines.append((token("OTHERWISE", "otherwise"), *(t._replace(span=use.span) for t in called)))
    title = token("STRING", f'"{own.name}, and {other.name} for other parameters"')
    header = token("OPTIMIZER", "optimizer"), name(f"{own.name}Otherwise{other.name}"), name(FOR), name(flag), title
    return replace(own, header=header, declarations=lines)


def _rate_of(other: Part) -> str:
    """The default of the second spec's rate."""
    lines = [x for x in other.declarations if x[0].type == "PARAM" and x[1].text == "lr"]
    return default_of(lines[0]) if lines else f"{RESERVED_PARAMS['lr'].default:g}"


def _free(word: str, taken: Collection[str]) -> str:
    return word if word not in taken else f"by_{word}"


def _line(text: str) -> Tokens:
    return tuple(t for line in read_lines(Source("", text))[0] for t in line.tokens)
