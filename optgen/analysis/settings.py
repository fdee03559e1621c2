"""Settings of a spec: which hyper-parameters are free, and which have a value, or are those of another spec."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optgen import arguments
from optgen.analysis.equations import SHAPE, Numbers, NumberSystem, sizes
from optgen.diagnostics import Span
from optgen.expressions import Binary, Expr, Name, Number, walk
from optgen.model import Flag, Flags, FlagValue, Optimizer, Param, Program
from optgen.symbolic.written import expression

NOWHERE = Span(0, 0, 0)
RATE = "lr"
UNTOUCHED = ("rescale_grad", "clip_gradient")
"""Params that stay at their defaults, which change nothing."""
TINY = 1e-9
"""Defaults below this are not tried: a run cannot tell them from 0."""
MOST_GROUPS = 40
"""How many values of the params that decide flags are looked at."""

Values = Mapping[str, Expr | None]
"""What params are: expressions of the free params of the first spec; None for one that is unset."""


@dataclass(frozen=True)
class Setting:
    """Arguments of a spec: `values` of the params that it reads, and the flags that are `chosen`."""

    values: Values
    chosen: Flags


@dataclass(frozen=True)
class Branch:
    """Settings that run the same equations: `flags` are all flags of the variant. `fixed` are the values of the params
    that decide them, or sizes; `options` has those of the others."""

    optimizer: Optimizer
    chosen: Flags
    flags: Flags
    fixed: Values
    options: Mapping[str, Sequence[Expr]]
    programs: dict[Any, Program] = field(default_factory=dict, compare=False, repr=False)  # of all branches of a spec


def number(x: float) -> Number:
    """A number as an expression."""
    return Number(float(x), f"{x:.15g}", NOWHERE)


def name(id: str) -> Name:
    """A param as an expression."""
    return Name(id, False, NOWHERE)


def complement(id: str) -> Expr:
    """1 - p."""
    return Binary("-", number(1), name(id), NOWHERE)


def computed(expr: Expr, known: Mapping[str, Numbers], arithmetic: NumberSystem) -> Numbers:
    """The value of a number, a param, or a sum, difference or product of these."""
    match expr:
        case Number(text=text):
            return arithmetic.constant(text)
        case Name(id=id):
            return known[id]
        case Binary(op=op, left=a, right=b):
            return arithmetic.binary(op, computed(a, known, arithmetic), computed(b, known, arithmetic))
    raise TypeError(expr)


def plain(expr: Expr | None, known: Mapping[str, float]) -> float | None:
    """The value of such an expression as a number of Python."""
    match expr:
        case Number(value=x):
            return x
        case Name(id=id):
            return known[id]
        case Binary(op="*", left=a, right=b):
            return (plain(a, known) or 0.0) * (plain(b, known) or 0.0)
        case Binary(op="-", left=a, right=b):
            return (plain(a, known) or 0.0) - (plain(b, known) or 0.0)
    return None


# ---------------------------------------------------------------- what params may be


def params_of(optimizer: Optimizer) -> dict[str, Param]:
    """The params that equations or flags read, but for those that change nothing at their defaults."""
    return {
        p.name: p
        for p in optimizer.all_params.values()
        if (p.name in optimizer.reads or p.name in optimizer.fixed) and p.name not in UNTOUCHED and not p.given
    }


def is_decay(param: Param) -> bool:
    """Whether a param lies between 0 and 1."""
    return param.interval is not None and param.interval.low >= 0 and param.interval.high <= 1


def sampled(params: Mapping[str, Param], random: Any) -> dict[str, float]:
    """Random values of params that are no whole numbers, within their intervals; int params have their defaults."""
    found = {}
    for p in params.values():
        if p.is_int:
            found[p.name] = float(p.default or 1)
            continue
        low, high = (0.0, 1.0) if p.interval is None else (p.interval.low, p.interval.high)
        low, high = max(low, -1e3), min(high, 1e3)
        if low <= 0.0 < high:
            low, high = 0.0, min(high, 1.0)
        span = min(high - low, 1.0)
        found[p.name] = low + span * (random.uniform(0.35, 0.9) if is_decay(p) else random.uniform(0.05, 0.45))
    return found


def _within(p: Param, x: float) -> bool:
    return math.isfinite(x) and (p.interval is None or x in p.interval) and not (p.is_int and not x.is_integer())


def _numbers(p: Param, some: Sequence[float]) -> list[Expr]:
    return [number(x) for x in dict.fromkeys(some) if _within(p, x) and not (p.zero_off and x == 0)]


def own_options(p: Param) -> list[Expr | None]:
    """What a param of the spec that is asked about may be: free, or special."""
    if p.name == RATE:
        return [name(RATE)]
    if p.is_int:
        return [*_numbers(p, [float(p.default or 0), 1.0, 0.0])]
    special = _numbers(p, [0.0] if p.name == "wd" else [0.0, 1.0])
    return [name(p.name), *special, *([None] if p.optional and p.default is None else [])]


def literals(optimizer: Optimizer) -> list[float]:
    """The positive numbers in the equations of a spec, which others may have as arguments."""
    values = [e.value for e in optimizer.update]
    found = {e.value for value in values for e in walk(value) if isinstance(e, Number)}
    return sorted(x for x in found if 0 < x < math.inf and x not in (1.0, 2.0))[:4]


def other_options(
    p: Param, asked: Mapping[str, Param], sample: Mapping[str, float], some: Sequence[float]
) -> Sequence[Expr | None]:
    """What a param of another spec may be: a number, a param of the one that is asked about, or what it leaves of 1.
    `some` are further numbers that are tried."""
    decays = [q.name for q in asked.values() if is_decay(q) and q.name != RATE]
    if p.name == RATE:
        return [name(RATE), *(Binary("*", name(RATE), complement(q), NOWHERE) for q in decays)]
    default = [] if p.default is None or 0 < abs(p.default) < TINY else [float(p.default)]
    if p.is_int:
        return _numbers(p, [*default, 1.0, 0.0, *(sample[q.name] for q in asked.values() if q.is_int)])
    alike = [
        q.name
        for q in asked.values()
        if q.name != RATE and not q.is_int and _within(p, sample[q.name])
        and (is_decay(q) == is_decay(p) or q.name in (p.name, *p.aliases) or p.name in q.aliases)
    ]  # fmt: skip
    found: list[Expr | None] = [*_numbers(p, [*default, 0.0, 1.0, *some]), *map(name, alike)]
    if is_decay(p):
        found += [complement(q) for q in decays]
    return [*found, *([None] if p.optional and p.default is None else [])]


# ---------------------------------------------------------------- branches


def branches(
    optimizer: Optimizer, options: Mapping[str, Sequence[Expr | None]], sample: Mapping[str, float]
) -> Iterator[Branch]:
    """The settings that some options of params and all choices of flags make, by the equations that they run."""
    deciding = [
        p for p, x in options.items()
        if p in optimizer.deciding or p in optimizer.fixed or None in x or optimizer.all_params[p].is_int
    ]  # fmt: skip
    programs: dict[Any, Program] = {}
    for chosen in _choices(optimizer):
        for fixed in itertools.islice(itertools.product(*(options[p] for p in deciding)), MOST_GROUPS):
            own = dict(zip(deciding, fixed, strict=True))
            found = variant(optimizer, Setting(own, chosen), sample)
            if found is not None:
                rest = {p: [e for e in x if e is not None] for p, x in options.items() if p not in own}
                yield Branch(optimizer, chosen, found, own, rest, programs)


def _choices(optimizer: Optimizer) -> Iterator[dict[str, FlagValue]]:
    """The flags that are arguments, at their defaults but for two of them at most."""
    own = [f for f in optimizer.flags if f.condition is None]
    defaults: dict[str, FlagValue] = {f.name: default_of(f) for f in own}
    changes = [(f.name, x) for f in own for x in f.choices or (False, True) if x != defaults[f.name]]
    for count in range(3):
        for changed in itertools.combinations(changes, count):
            if len(dict(changed)) == count:
                yield {**defaults, **dict(changed)}


def default_of(flag: Flag) -> FlagValue:
    """The default of a flag that is an argument."""
    return flag.choices[0] if flag.choices else bool(flag.default)


def whole(optimizer: Optimizer, values: Values, sample: Mapping[str, float]) -> dict[str, float | None]:
    """All params as numbers of Python; those that are not set at their defaults."""
    return {p.name: p.default for p in optimizer.all_params.values()} | {p: plain(x, sample) for p, x in values.items()}


def variant(optimizer: Optimizer, setting: Setting, sample: Mapping[str, float]) -> Flags | None:
    """All flags of a setting, for a matrix; None where the spec refuses it."""
    try:
        values = whole(optimizer, setting.values, sample)
        return arguments.resolve_flags(optimizer, values, setting.chosen, sizes(SHAPE))
    except ValueError:
        return None


# ---------------------------------------------------------------- as text


def _is_default(p: Param, x: Expr | None) -> bool:
    return x is None if p.default is None else isinstance(x, Number) and x.value == p.default


def _flag_words(setting: Setting, optimizer: Optimizer) -> list[str]:
    chosen = ((optimizer.flag(f), x) for f, x in setting.chosen.items())
    return [f"{f.name}={str(x).lower()}" for f, x in chosen if x != default_of(f)]


def _word(p: str, x: Expr | None) -> str:
    return f"{p}={'none' if x is None else expression(x)}"


def own_words(setting: Setting, optimizer: Optimizer) -> list[str]:
    """The arguments of the spec that is asked about which are not free."""
    special = [(p, x) for p, x in setting.values.items() if not isinstance(x, Name)]
    return [_word(p, x) for p, x in special] + _flag_words(setting, optimizer)


def own_special_count(setting: Setting, optimizer: Optimizer) -> int:
    """How many arguments of that spec are neither free nor, of whole numbers, their defaults."""
    params = optimizer.all_params
    usual = [p for p, x in setting.values.items() if params[p].is_int and _is_default(params[p], x)]
    return len(own_words(setting, optimizer)) - len(usual)


def other_words(setting: Setting, optimizer: Optimizer, asked: Setting) -> list[str]:
    """The arguments of another spec: but for those that are the free param of the same name, and for defaults where
    there is none of that name."""
    free = {p for p, x in asked.values.items() if isinstance(x, Name)}
    words = []
    for p, x in setting.values.items():
        same = isinstance(x, Name) and x.id == p
        if not same and (p in free or not _is_default(optimizer.all_params[p], x)):
            words.append(_word(p, x))
    return words + _flag_words(setting, optimizer)


def special_count(setting: Setting, optimizer: Optimizer, asked: Setting) -> int:
    """How many arguments of another spec are numbers that are neither defaults nor those of the same param of the
    first one, or flags that are not at their defaults."""
    params, found = optimizer.all_params, setting.values.items()
    numbers = [p for p, x in found if not isinstance(x, Name | Binary) and not _is_default(params[p], x)]
    return len([p for p in numbers if asked.values.get(p, NOWHERE) != setting.values[p]]) + len(
        _flag_words(setting, optimizer)
    )


def called(title: str, words: Sequence[str]) -> str:
    """A spec with its arguments, as a call."""
    return f"{title}({', '.join(words)})" if words else title


def default_words(p: Param) -> str:
    """The default of a param, for people."""
    return "none" if p.default is None else f"{p.default:.15g}"
