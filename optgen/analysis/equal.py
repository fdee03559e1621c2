"""Which spec an optimizer equals, at which arguments: `adamw(wd=0) is adam`.

Settings of both are run side by side (`matches.py`); of those with the same weights, algebra on the equations proves
that they make the same updates (`proof.py`), and kernels of both run beside each other (`together.py`). For a
statement that is proved, both must agree. States may have other names, and differ by a factor.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from optgen import pipeline, specfiles
from optgen.analysis import matches, together
from optgen.analysis.equations import shape_of
from optgen.analysis.matches import KnownRows, Problem, SettingRows
from optgen.analysis.proof import Pair, proved
from optgen.analysis.settings import (
    RATE,
    called,
    default_words,
    literals,
    number,
    other_options,
    other_words,
    own_options,
    own_special_count,
    own_words,
    params_of,
    sampled,
    special_count,
    variant,
)
from optgen.analysis.statement import Statement, Verdict
from optgen.expressions import Binary, Expr, IsSet, Name, Number, walk
from optgen.model import Optimizer, Program
from optgen.objectcode import cache
from optgen.symbolic.written import expression

QUESTION = "equals"
MOST = 2
"""How many arguments of another spec may be special."""
TRIED = 10
"""How many pairs of settings are looked at for each spec, those with the fewest special values first."""


def equals(optimizer: Optimizer) -> list[Statement]:
    """The specs of optgen which make the same updates as this one: at any arguments, or at special ones, of one
    of the two, or of both; from the cache where they were looked for before.

    The claim of a statement is `SPEC(arguments) is OTHER(arguments)`. Arguments that are not named are free, and the
    same in both where both have one of that name; those that the other one has alone are at their defaults.
    """
    names = specfiles.all_available()
    texts = (specfiles.source(specfiles.spec_path(name)).text for name in names)

    def make() -> bytes:
        return json.dumps([s.to_json() for s in among(optimizer, names)]).encode()

    data = cache.get(cache.key("equals", title_of(optimizer), optimizer.source.text, *texts), make)
    found = json.loads(data)
    return [Statement(s["question"], s["claim"], s["text"], Verdict(s["verdict"])) for s in found]


def among(optimizer: Optimizer, names: Sequence[str]) -> list[Statement]:
    """Those of some specs, by name, that make the same updates; a single statement, undecided, if none does."""
    from tqdm import tqdm

    title, params = title_of(optimizer), params_of(optimizer)
    sample = sampled(params, random.Random(37))
    problem, found = Problem.of(sample), list[tuple[tuple[int, ...], Statement]]()
    with np.errstate(all="ignore"):
        rows = [*matches.all_rows(optimizer, {p.name: own_options(p) for p in params.values()}, problem)]
        if not rows:
            return [_undecided(f"Whether another spec makes the same updates as {title} cannot be told.")]
        known = KnownRows.of(rows)
        for name in tqdm(names, desc="other specs", unit="spec", leave=False, disable=None):
            other = _other(optimizer, name)
            pairs = [] if other is None else _pairs(optimizer, other, rows, known, problem)
            statement = _statement(pairs, title, name)
            found += [] if statement is None else [statement]
    if not found:
        return [_undecided(f"No spec that comes with optgen was found to make the same updates as {title}.")]
    return [x for _, x in sorted(found, key=lambda x: (x[1].verdict is Verdict.RUN, x[0]))]


def _undecided(text: str) -> Statement:
    return Statement(QUESTION, "none", text, Verdict.UNDECIDED)


def title_of(optimizer: Optimizer) -> str:
    """What a spec is called: its name as `load` takes it, or that of its file, or of the optimizer."""
    path = Path(optimizer.source.name)
    return specfiles.name_of(path) if path.suffix == ".opt" else optimizer.name


def _other(optimizer: Optimizer, name: str) -> Optimizer | None:
    """A spec that comes with optgen; None if it cannot make the same updates, or is the one that is asked about."""
    source = specfiles.source(specfiles.spec_path(name))
    if source.text == optimizer.source.text:
        return None
    other = pipeline.checked(source)
    same = len(other.phases) == len(optimizer.phases) and len(other.inputs) == len(optimizer.inputs)
    return other if same and not other.given and not optimizer.given else None


def _pairs(
    optimizer: Optimizer,
    other: Optimizer,
    rows: list[SettingRows],
    known: KnownRows,
    problem: Problem,
) -> list[Pair]:
    """The settings of both that have the same weights, where one is a special case of the other, or a single argument
    of each is special: those with the fewest special arguments."""
    some = literals(optimizer)
    params, options = params_of(optimizer), dict[str, Sequence[Expr | None]]()
    for p in params_of(other).values():
        options[p.name] = other_options(p, params, problem.sample, some)
    shape, programs = shape_of(optimizer, other), (rows[0].branch.programs, dict[Any, Program]())
    starts = np.cumsum([0, *(len(r.places) for r in rows)])
    found = []
    for row, setting in matches.matching(other, options, problem, known, products=optimizer.has_products):
        k = int(np.searchsorted(starts, row, side="right")) - 1
        pair = Pair(optimizer, other, (rows[k].setting(row - int(starts[k])), setting), problem.sample, shape, programs)
        own, theirs, *_ = rank = _rank(pair)
        if own * theirs <= 1 and theirs <= MOST:
            found.append((rank, pair))
    found.sort(key=lambda x: x[0])
    return [own for _, pair in found[:TRIED] for own in (pair, *_completed(pair, options))]


def _completed(pair: Pair, options: Mapping[str, Sequence[Expr | None]]) -> list[Pair]:
    """The pair with a param of the first spec that no argument of the other one is, in the place of a default: one that
    showed no influence, as the least norm that is divided by."""
    own, theirs = pair.settings
    names = {p for p, x in own.values.items() if isinstance(x, Name)}
    unused = names - {e.id for x in theirs.values.values() if x is not None for e in walk(x) if isinstance(e, Name)}
    found = []
    for p, x in theirs.values.items():
        if x == number(pair.second.all_params[p].default or 0.0) and p not in pair.second.deciding:
            some = [e for e in options[p] if isinstance(e, Name) and e.id in unused]
            found += [replace(pair, settings=(own, replace(theirs, values={**theirs.values, p: e}))) for e in some]
    return found


def _rank(pair: Pair) -> tuple[int, int, int, int]:
    """How many arguments of the first spec are special, how many of the other one, how many free params both have in
    common, counted down, and how many arguments of the other one are said."""
    (own, theirs), (first, second) = pair.settings, pair.specs
    values = [x for x in theirs.values.values() if x is not None]
    shared = {e.id for x in values for e in walk(x) if isinstance(e, Name)}
    special = special_count(theirs, second, own)
    return own_special_count(own, first), special, -len(shared), len(other_words(theirs, second, own))


def _statement(pairs: list[Pair], title: str, name: str) -> tuple[tuple[int, ...], Statement] | None:
    """What is known of the first pair that is proved to be equal, or else of the first that is found so by running
    both, and its rank; None if all differ somewhere."""
    alike: list[tuple[Pair, bool]] = []
    for pair in pairs:
        for changing in (True, False):
            if together.agree_in_reals(pair, changing=changing):
                if proved(pair, changing=changing) and together.agree(pair, changing=changing):
                    simple = _simplest(pair, changing=changing)
                    return _rank(simple), _said(simple, title, name, Verdict.PROVED, changing=changing)
                alike.append((pair, changing))
    for pair, changing in alike[:1]:
        long = together.agree_in_reals(pair, changing=changing, updates=together.LONG)
        if long and together.agree(pair, changing=changing):
            return _rank(pair), _said(pair, title, name, Verdict.RUN, changing=changing)
    return None


def _simplest(pair: Pair, *, changing: bool) -> Pair:
    """The pair with as many arguments of the other spec at their defaults as make no difference."""
    for p, x in pair.settings[1].values.items():
        default = pair.second.all_params[p].default
        own, theirs = pair.settings
        if x is None or default is None or p in (RATE, *pair.second.deciding) or x == number(default):
            continue
        simpler = replace(pair, settings=(own, replace(theirs, values={**theirs.values, p: number(default)})))
        if together.agree_in_reals(simpler, changing=changing) and proved(simpler, changing=changing):
            pair = simpler
    return pair


def _said(pair: Pair, title: str, name: str, verdict: Verdict, *, changing: bool) -> Statement:
    (own, theirs), (first, second) = pair.settings, pair.specs
    claim = f"{called(title, own_words(own, first))} is {called(name, other_words(theirs, second, own))}"
    text = claim + ("" if changing else " at a constant rate")
    text += "" if together.agree_in_reals(pair, changing=changing, zeros=True) else " for g ≠ 0"
    text += " for a model of a single parameter" if any(x.reduces_over_params for x in pair.specs) else ""
    text += "".join(f" while {condition}" for condition in _held(pair))
    text += f" {together.SAID}" if verdict is Verdict.RUN else ""
    return Statement(QUESTION, claim, f"{text}{_defaults(pair, name)}.", verdict)


def _held(pair: Pair) -> list[str]:
    """The conditions of flags, as they are in the settings that are compared, but for those that say whether a value is
    set, or above 0, or a parameter a matrix."""
    found = []
    for spec, setting in zip(pair.specs, pair.settings, strict=True):
        flags = variant(spec, setting, pair.sample) or {}
        for flag in spec.flags:
            match flag.condition:
                case (
                    None | IsSet() | Binary(op=">", left=Name(), right=Number(value=0.0)) | Binary(left=Name(id="rank"))
                ):
                    continue
            found.append(f"{'' if flags.get(flag.name) else 'not '}({expression(flag.condition)})")
    return found


def _defaults(pair: Pair, name: str) -> str:
    """The defaults of params that both have in common, where they differ."""
    first, second = (spec.all_params for spec in pair.specs)
    shared: Mapping[str, str] = {p: x.id for p, x in pair.settings[1].values.items() if isinstance(x, Name)}
    words = [
        f"{own} is {default_words(first[own])}, and {p} of {name} {default_words(second[p])}"
        for p, own in shared.items()
        if own != RATE and first[own].default != second[p].default
    ]
    return f" (by default {'; '.join(words)})" if words else ""
