"""Settings of two specs whose weights are the same in some updates, in float64: what may be equal, to be proved.

All settings of a spec run at once, as rows of arrays. Those of another spec are expanded update by update: only params
that change the weights of an update are tried, and only rows go on whose weights some row of the first spec has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from optgen.analysis.equations import SHAPE, CannotTellError, Steps
from optgen.analysis.reals import Array, Reals
from optgen.analysis.settings import Branch, Setting, branches, plain, whole
from optgen.expressions import Expr, Name
from optgen.model import Optimizer

UPDATES = 5
MOST_OWN, MOST_ROWS, MOST_PRODUCTS = 1000, 12_000, 1500
"""How many settings of a branch are tried at once: of the spec that is asked about, of another one, and of another one
with products of matrices, which take longer. Of the first, those with many special values are left out."""
MOST_BRANCHES = 60
CLOSE = 1e-9
FACTORS = np.sqrt(np.arange(2.0, 8.0)).reshape(SHAPE)
"""The factors on the elements of a weight in what is compared."""
EVALUATED = 0.6180339887
"""The factor on the weights to evaluate with, in what is compared."""


@dataclass(frozen=True)
class Problem:
    """Weights, gradients and inputs that all settings are tried with, and the values of free params."""

    sample: Mapping[str, float]
    w: Array
    gradients: Array
    inputs: Array

    @staticmethod
    def of(sample: Mapping[str, float]) -> Problem:
        random = np.random.default_rng(37)
        size = (UPDATES, 4, 1, *SHAPE)
        return Problem(
            sample, random.normal(size=(1, *SHAPE)), random.normal(size=size), random.uniform(0.5, 1.5, size)
        )


@dataclass(frozen=True)
class SettingRows:
    """Settings of a branch, and what their weights are after each update: of (updates, rows), one number that depends
    on all updates so far."""

    branch: Branch
    places: Array
    weights: Array

    def setting(self, row: int) -> Setting:
        """The setting of a row."""
        chosen = zip(self.branch.options.items(), self.places[row], strict=True)
        return Setting({**self.branch.fixed, **{p: options[k] for (p, options), k in chosen}}, self.branch.chosen)


def _run(branch: Branch, columns: Mapping[str, Array], problem: Problem, updates: int, *, other: bool = False) -> Array:
    """The weights of rows after each update; `other`: with other gradients."""
    spec = branch.optimizer
    fixed = whole(spec, branch.fixed, problem.sample)
    values: dict[str, Any] = {p: None if x is None else np.full((1, 1, 1), x) for p, x in fixed.items()}
    values |= {p: x[:, None, None] for p, x in columns.items()}
    steps = Steps(spec, branch.flags, Reals(), SHAPE, values, fixed, problem.w, programs=branch.programs)
    found, total = [], 0.0
    for k in range(updates):
        first = 2 if other else 0
        gradients = problem.gradients[k, first : first + max(1, len(spec.phases))]
        given = {x.name: problem.inputs[k, n] for n, x in enumerate(spec.inputs)}
        steps.step(list(gradients), given)
        total = total + (k + 1) * ((steps.w + EVALUATED * steps.evaluated()) * FACTORS).sum((1, 2))
        found.append(np.broadcast_to(total, (max(map(len, columns.values()), default=1),)))
    return np.array(found)


def _values(options: Sequence[Expr], places: Array, sample: Mapping[str, float]) -> Array:
    return np.array([plain(x, sample) for x in options], float)[places]


def _columns(branch: Branch, places: Array, problem: Problem) -> dict[str, Array]:
    own = enumerate(branch.options.items())
    return {p: _values(options, places[:, k], problem.sample) for k, (p, options) in own}


def all_rows(
    optimizer: Optimizer, options: Mapping[str, Sequence[Expr | None]], problem: Problem
) -> Iterator[SettingRows]:  # fmt: skip
    """All settings of a spec whose weights depend on the gradient and stay finite, with their weights."""
    for branch in islice(branches(optimizer, options, problem.sample), MOST_BRANCHES):
        places = _few_special([len(x) for x in branch.options.values()])
        columns = _columns(branch, places, problem)
        try:
            found, others = (_run(branch, columns, problem, UPDATES, other=x) for x in (False, True))
        except (CannotTellError, ValueError, KeyError, IndexError):
            continue
        kept = np.isfinite(found[-1]) & (np.abs(found[-1] - others[-1]) > CLOSE)
        if kept.any():
            yield SettingRows(branch, places[kept], found[:, kept])


def _few_special(counts: Sequence[int]) -> Array:
    """The places of all choices of options, of which there are so many for each param; if these are too many, of those
    choices in which few params have another one than the first."""
    found = [(0,) * len(counts)]
    for special in range(1, len(counts) + 1):
        changed = list(combinations(range(len(counts)), special))
        if special > 1 and len(found) + sum(math.prod(counts[p] - 1 for p in c) for c in changed) > MOST_OWN:
            break
        for c in changed:
            found += product(*(range(1, n) if p in c else (0,) for p, n in enumerate(counts)))
    return np.array(found, int).reshape(-1, len(counts))


# ---------------------------------------------------------------- the rows of another spec


@dataclass(frozen=True)
class KnownRows:
    """The weights of all rows of the spec that is asked about, sorted for each update."""

    order: Array
    weights: Array

    @staticmethod
    def of(rows: Sequence[SettingRows]) -> KnownRows:
        every = np.concatenate([r.weights for r in rows], axis=1)
        order = np.argsort(every, axis=1)
        return KnownRows(order, np.take_along_axis(every, order, 1))

    def range(self, update: int, weights: Array) -> tuple[Array, Array]:
        """Between which places of the sorted rows those are that have these weights."""
        margin = CLOSE * (1 + np.abs(weights))
        own = self.weights[update]
        return np.searchsorted(own, weights - margin), np.searchsorted(own, weights + margin)

    def has(self, update: int, weights: Array) -> Array:
        """Whether some row has these weights."""
        first, last = self.range(update, weights)
        return np.asarray((last > first) & np.isfinite(weights))


def matching(
    optimizer: Optimizer, options: Mapping[str, Sequence[Expr | None]], problem: Problem, known: KnownRows,
    *, products: bool,
) -> Iterator[tuple[int, Setting]]:  # fmt: skip
    """The settings of another spec that have the weights of a row, by its number. Without `products`, variants that
    have products of matrices are left out."""
    for branch in islice(branches(optimizer, options, problem.sample), MOST_BRANCHES):
        if not products and optimizer.has_products and optimizer.is_staged(branch.flags):
            continue
        try:
            rows = _expanded(branch, problem, known)
        except (CannotTellError, ValueError, KeyError, IndexError):
            continue
        if rows is not None:
            first, last = known.range(UPDATES - 1, rows.weights[-1])
            for row in range(len(rows.places)):
                for place in range(int(first[row]), int(last[row])):
                    yield int(known.order[UPDATES - 1, place]), rows.setting(row)


def _expanded(branch: Branch, problem: Problem, known: KnownRows) -> SettingRows | None:
    """The rows of a branch that have the weights of known ones after each update; None if there are none. Where there
    are too many, a param is the one of its name, if the spec that is asked about has one."""
    places, weights = np.zeros((1, len(branch.options)), int), np.zeros((0, 1))
    tried: set[int] = set()
    most = MOST_PRODUCTS if branch.optimizer.is_staged(branch.flags) else MOST_ROWS
    for update in range(UPDATES):
        new = sorted(_influential(branch, problem, update + 1) - tried)
        tried |= set(new)
        every = list(branch.options.items())
        chosen: dict[int, Sequence[int]] = {k: range(len(every[k][1])) for k in new}
        if len(places) * math.prod(map(len, chosen.values())) > most:
            chosen = {k: _of_its_name(*every[k]) for k in new}
        if len(places) * math.prod(map(len, chosen.values())) > most:
            return None
        for k, own in chosen.items():
            many = np.repeat(places, len(own), axis=0)
            many[:, k] = np.tile(own, len(places))
            places = many
        weights = _run(branch, _columns(branch, places, problem), problem, update + 1)
        kept = known.has(update, weights[-1])
        if not kept.any():
            return None
        places, weights = places[kept], weights[:, kept]
    return SettingRows(branch, places, weights)


def _of_its_name(p: str, options: Sequence[Expr]) -> Sequence[int]:
    """The place of the param of the same name among options; all places, if it is not among them."""
    return [k for k, x in enumerate(options) if isinstance(x, Name) and x.id == p] or range(len(options))


def _influential(branch: Branch, problem: Problem, updates: int) -> set[int]:
    """The places of the params on which the weights of so many updates depend."""
    count = len(branch.options)
    changed = np.arange(2 * count + 1) == np.array([[k + 1, k + 1 + count] for k in range(count)]).reshape(count, 2, 1)
    generic = 0.4 + 0.01 * np.arange(count)[:, None]
    values = np.where(changed[:, 0], 0.97, np.where(changed[:, 1], 0.03, generic))
    weights = _run(branch, dict(zip(branch.options, values, strict=True)), problem, updates)[-1]
    differs = ~np.isclose(weights[1:], weights[0], rtol=1e-13, atol=0)
    return set(np.flatnonzero(differs.reshape(2, count).any(axis=0)).tolist())
