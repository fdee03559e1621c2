"""The names of one optimizer as another has them: which states, params and values of the two correspond.

Names correspond if equations are the same with them in each other's place. Of all ways to pair equations, one with many
pairs is searched for, from the new weight back. Then names in the same places of equations that are nearly the same
correspond, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from optgen.axes import Axis
from optgen.expressions import Call, Expr, Index, IsSet, Name, Number, children, with_children
from optgen.groups import LineGroup
from optgen.model import Equation, Loop, Optimizer
from optgen.symbolic.shown import loops
from optgen.symbolic.written import expression

Renames = Mapping[str, str]
"""Other names, by the names that are replaced."""
TRIES = 20_000
"""So many pairs of equations are tried; specs with many equal ones would take too long."""
NEAR = 0.8
"""Equations are nearly the same if so large a share of their tokens is (`difflib.SequenceMatcher.ratio`)."""
SECOND = "_B"
"""What a name of the second optimizer ends with that the first one has for something else."""
_NAME = "a "
_TOKEN = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\S")


@dataclass(frozen=True)
class _Form:
    """An equation as tokens, where names are left out, these names in order, and the name on its left."""

    tokens: tuple[str, ...]
    names: tuple[str, ...]
    target: str

    @property
    def places(self) -> Iterator[tuple[int, str]]:
        """The names with the places of their tokens."""
        return zip((i for i, x in enumerate(self.tokens) if x.startswith(_NAME)), self.names, strict=True)


def corresponding(a: Optimizer, b: Optimizer, of_a: Sequence[Equation], of_b: Sequence[Equation]) -> dict[str, str]:
    """The names of `b` that have another one among those of `a`, by equations of the two. Names of `b` that `a` has for
    something else end with SECOND."""
    kinds_a, kinds_b = _kinds(a), _kinds(b)
    forms_a, forms_b = [_form(e, kinds_a) for e in of_a], [_form(e, kinds_b) for e in of_b]
    found = _Search(forms_a, forms_b).best
    taken = set(found.values())
    found |= {x: x for x, kind in kinds_b.items() if kinds_a.get(x) == kind and x not in found and x not in taken}
    found = _with_near(found, forms_a, forms_b)
    known = {*kinds_a, *kinds_b}
    found |= {x: _fresh(x + SECOND, known) if x in kinds_a else x for x in kinds_b if x not in found}
    return {name: new for name, new in found.items() if name != new}


def _fresh(name: str, known: set[str]) -> str:
    while name in known:
        name += "_"
    return name


def _kinds(optimizer: Optimizer) -> dict[str, str]:
    """What each name is that a spec chooses freely."""
    found = dict.fromkeys((e.target.id for e in (*optimizer.update, *optimizer.evaluate)), "value")
    found |= {loop.index: "index" for e in optimizer.update for loop in loops(e) if loop.index is not None}
    found |= {p.name: "input" if p.given else "param" for p in optimizer.params}
    found |= {s.name: "state" for s in optimizer.states} | {i.name: "input" for i in optimizer.inputs}
    found |= {d.name: "dimension" for d in optimizer.dims}
    reserved = {"w", "lr", "wd", "rescale_grad", "clip_gradient", "loss"}
    return {name: kind for name, kind in found.items() if name not in reserved}


def _form(equation: Equation, kinds: Mapping[str, str]) -> _Form:
    words = list(_TOKEN.findall(_text(equation)))
    names = tuple(x for x in words if x in kinds)
    return _Form(tuple(f"{_NAME}{kinds[x]}" if x in kinds else _number(x) for x in words), names, equation.target.id)


def _number(token: str) -> str:
    return repr(float(token)) if token[0].isdigit() else token


def _text(equation: Equation) -> str:
    """All that an equation says."""
    around = [f"repeat {loop.index} {expression(loop.count)}:" for loop in loops(equation)]
    timing = equation.timing
    often = [] if timing is None else [x for x in (timing.every, timing.start) if x is not None]
    words = [f"{equation.phase}:", *around, f"{equation.target.key} = {expression(equation.value)}"]
    return " ".join([*words, *(f"every {expression(x)}" for x in often)])


class _Search:
    """The best pairs of equations, as the names of b that they give names of a."""

    def __init__(self, of_a: Sequence[_Form], of_b: Sequence[_Form]) -> None:
        self.of_b, self.tries, self.most = of_b, TRIES, -1
        self.best: dict[str, str] = {}
        forms = {form.tokens for form in of_b}
        self._try([form for form in reversed(of_a) if form.tokens in forms], frozenset(), {}, 0)

    def _try(self, rest: Sequence[_Form], used: frozenset[int], names: dict[str, str], pairs: int) -> None:
        """Pair the equations in `rest` with those that are not `used`."""
        if pairs > self.most:
            self.most, self.best = pairs, names
        if pairs + len(rest) <= self.most or self.tries <= 0:
            return
        (first, *others) = rest
        for i, other in self._options(first, used):
            self.tries -= 1
            if (more := _consistent(names, zip(other.names, first.names, strict=True))) is not None:
                self._try(others, used | {i}, more, pairs + 1)
        self._try(others, used, names, pairs)

    def _options(self, form: _Form, used: frozenset[int]) -> list[tuple[int, _Form]]:
        """The equations of b with these tokens; those with most of the names first."""
        found = [(i, x) for i, x in enumerate(self.of_b) if i not in used and x.tokens == form.tokens]
        return sorted(found, key=lambda pair: sum(x != y for x, y in zip(form.names, pair[1].names, strict=True)))


def _consistent(names: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """The names with those of further pairs; None if a name would have two, or two the same."""
    found = dict(names)
    for name, new in pairs:
        if found.setdefault(name, new) != new:
            return None
    return found if len(set(found.values())) == len(found) else None


def _with_near(names: dict[str, str], of_a: Sequence[_Form], of_b: Sequence[_Form]) -> dict[str, str]:
    """The names with those of equations that are nearly the same, the most similar ones first. Equations in which a
    name has another one already are none of these."""
    pairs = [(SequenceMatcher(None, a.tokens, b.tokens, autojunk=False), a, b) for a in of_a for b in of_b]
    near = [x for x in pairs if x[0].real_quick_ratio() >= NEAR <= x[0].quick_ratio() and x[0].ratio() >= NEAR]
    for match, a, b in sorted(near, key=lambda x: -x[0].ratio()):
        same = {j + k: i + k for i, j, size in match.get_matching_blocks() for k in range(size)}
        in_a = dict(a.places)
        found = [(name, in_a[same[place]]) for place, name in b.places if place in same]
        names = _consistent(names, found) or names
    return names


# ---------------------------------------------------------------- an optimizer with other names


def renamed(optimizer: Optimizer, names: Renames) -> Optimizer:
    """The optimizer with other names of its states, params, inputs and values. Its text is what it was."""
    return replace(
        optimizer,
        params=tuple(replace(p, name=names.get(p.name, p.name)) for p in optimizer.params),
        flags=tuple(replace(f, condition=_maybe(f.condition, names)) for f in optimizer.flags),
        states=tuple(
            replace(
                s,
                name=names.get(s.name, s.name),
                init=with_names(s.init, names),
                guard=_maybe(s.guard, names),
                axes=tuple(_axis(axis, names) for axis in s.axes),
                entries=_named(s.entries, names),
            )
            for s in optimizer.states
        ),
        inputs=tuple(
            replace(i, name=names.get(i.name, i.name), axes=tuple(_axis(axis, names) for axis in i.axes))
            for i in optimizer.inputs
        ),
        dims=tuple(
            replace(d, name=names.get(d.name, d.name), value=with_names(d.value, names)) for d in optimizer.dims
        ),
        requires=tuple(replace(r, condition=with_names(r.condition, names)) for r in optimizer.requires),
        update=tuple(_equation(e, names) for e in optimizer.update),
        evaluate=tuple(_equation(e, names) for e in optimizer.evaluate),
    )


def with_names(expr: Expr, names: Renames) -> Expr:
    """An expression with other names."""
    match expr:
        case Name(id=id, at=at):
            terms = None if at is None else Index(at.constant, tuple((names.get(x, x), k) for x, k in at.terms))
            return replace(expr, id=names.get(id, id), at=terms)
        case Number():
            return expr
        case IsSet(name=name):
            return replace(expr, name=replace(name, id=names.get(name.id, name.id)))
    expr = with_children(expr, [with_names(x, names) for x in children(expr)])
    if isinstance(expr, Call):
        scope = _group(expr.scope, names) if isinstance(expr.scope, LineGroup) else expr.scope
        return replace(expr, scope=scope, dims=tuple(_axis(axis, names) for axis in expr.dims))
    return expr


def _maybe(expr: Expr | None, names: Renames) -> Expr | None:
    return None if expr is None else with_names(expr, names)


def _axis(axis: Axis, names: Renames) -> Axis:
    return _group(axis, names) if isinstance(axis, LineGroup) else _named(axis, names)


def _group(group: LineGroup, names: Renames) -> LineGroup:
    return replace(group, of=_named(group.of, names))


def _named(count: int | str, names: Renames) -> int | str:
    """A number, or the other name of a param."""
    return count if isinstance(count, int) else names.get(count, count)


def _equation(equation: Equation, names: Renames) -> Equation:
    target = with_names(equation.target, names)
    timing = equation.timing
    assert isinstance(target, Name)
    if timing is not None:
        timing = replace(timing, every=with_names(timing.every, names), start=_maybe(timing.start, names))
    return replace(
        equation,
        target=target,
        value=with_names(equation.value, names),
        guard=_maybe(equation.guard, names),
        timing=timing,
        loop=_loop(equation.loop, names),
    )


def _loop(loop: Loop | None, names: Renames) -> Loop | None:
    if loop is None:
        return None
    index = None if loop.index is None else names.get(loop.index, loop.index)
    return replace(loop, count=with_names(loop.count, names), index=index, outer=_loop(loop.outer, names))
