"""Whether the compiled step, the interpreter and the equations agree; the smallest spec on which they do not."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import optgen
from optgen import groups
from optgen.axes import ELEMENTS, Kind, length_of
from optgen.diagnostics import SpecErrors
from optgen.execute.stages import calls
from optgen.execute.stages.stage_run import HOW
from optgen.ir.interp import TensorUpdate
from optgen.linalg import FactorizationError
from optgen.model import Input
from optgen.shapes import sizes
from tests.compiler import whole
from tests.compiler.harness import arrays_of, built, copies, copy_state, interpret_eval, interpret_step, same_bits
from tests.equations.expressions import Noise
from tests.equations.meaning import Meaning
from tests.equations.random_specs import Spec, smaller

Array = np.ndarray[Any, Any]
SHAPES = {0: ((3, 4), (5,)), 2: ((4, 3), (2, 5), (2, 3, 2))}
STEPS = 3
NOISE = {"float64": 1e-15, "float32": 1e-7}
"""How much of its size rounding may change the result of an operation, or of a sum."""


def load(spec: Spec, dtype: str) -> optgen.UpdateRule:
    """The rule of a random spec. Raises SpecErrors where `check` does not accept it, or not with its transform."""
    checked = optgen.parse(spec.text)
    if not spec.transform:
        return optgen.load(checked, dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.opt"
        path.write_text(spec.text)
        return optgen.load(f"{path} with {spec.transform}", dtype)


@dataclass(frozen=True)
class How:
    """How a spec is run: with parameters of a dtype, and by the interpreter alone or by a compiled kernel, too."""

    dtype: str
    compiled: bool

    def __str__(self) -> str:
        return f"{self.dtype}{', compiled' if self.compiled else ''}"


def how(seed: int, every: int) -> How:
    """How the spec of a seed is run, of which every so many-th is compiled: by turns in float32 and float64. Without a
    kernel it is five times as fast; then every third is in float32, of which the equations tell less."""
    compiled = every > 0 and seed % every == 0
    narrow = seed // every % 2 if compiled else seed % 3 == 1
    return How("float32" if narrow else "float64", compiled)


def disagreement(spec: Spec, how: How, seed: int) -> str | None:
    """What is wrong; None if all agree, if `check` does not accept the spec, or where a factorization fails."""
    try:
        rule = load(spec, how.dtype)
        shapes = [s for s in SHAPES[spec.rank] if fits(rule, s)]
        return compare(rule, shapes, seed, compiled=how.compiled)
    except (SpecErrors, FactorizationError):
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def compare(
    rule: optgen.UpdateRule, shapes: Sequence[tuple[int, ...]], seed: int, *, compiled: bool, judged: bool = True
) -> str | None:
    """What differs in some updates of parameters of these shapes; None if nothing does. Unless it is `judged`, only
    the kernel and the interpreter are compared."""
    rng, dtype = np.random.default_rng(seed), np.dtype(rule.dtype)
    if rule.spec.joins_params:
        shapes = [s for s in shapes if rule.variant(s) == rule.variant(shapes[0])]
    if not shapes:
        return None

    def make() -> list[Array]:
        return [rng.normal(size=s).astype(dtype) for s in shapes]

    weights, grads = make(), make()
    inputs = {x.name: [_given(rng, _shape(rule, x, s), x).astype(dtype) for s in shapes] for x in rule.spec.inputs}
    given = {name: float(rng.uniform(1, 2)) for name in rule.spec.given}
    judge = Judge(rule, weights, {**inputs, **given}, seed)
    step = _bound(rule, weights, grads, inputs, seed) if compiled else None
    reference = copies(weights)
    state = copy_state(step.state) if step is not None else _made(rule, judge.meaning)
    for count in range(1, STEPS + 1):
        for phase in rule.spec.phases or (None,):
            for g in grads:
                g[...] = rng.normal(size=g.shape)
            values = {**rule.values, **given}
            products = calls.call if step is not None else None
            wrong = interpret(rule, reference, grads, state, inputs, values, count, phase, seed, products)
            if wrong is not None:
                return f"update {count}: the whole kernel and its stages have other bits of {wrong}"
            if step is not None:
                (step if phase is None else getattr(step, phase))(**given)
                if (wrong := _other_bits(weights, step.state, reference, state)) is not None:
                    return f"update {count}: the kernel and the interpreter have other bits of {wrong}"
            if judged and (wrong := judge.update(grads, phase, reference, state)) is not None:
                return f"update {count}: {wrong}"
    return judge.evaluate(interpret_eval(rule, reference, state)) if judged and rule.spec.evaluate else None


def _given(rng: np.random.Generator, shape: tuple[int, ...], what: Input) -> Array:
    """An input. One that has a dimension twice is a sum of products, as those of activations are."""
    made = rng.normal(size=shape)
    return made @ made.T if len({*what.axes}) < len(what.axes) else made


def _shape(rule: optgen.UpdateRule, given: Input, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an input of a parameter."""
    if given.axes == ELEMENTS:
        return shape
    lengths = {**rule.values, **sizes(shape, rule.spec.last_two), **rule.variant(shape).sizes}
    return tuple(length_of(axis, lengths) for axis in given.axes)


class Judge:
    """The equations beside a step. Where numbers differ, the equations with some noise tell how much rounding may
    change them."""

    def __init__(self, rule: optgen.UpdateRule, weights: list[Array], inputs: Mapping[str, Any], seed: int) -> None:
        self.rule, self.inputs, self.seed = rule, inputs, seed
        self.first = copies(weights)
        self.updates: list[tuple[list[Array], str | None]] = []
        self.meaning = self._meaning(None)

    def _meaning(self, noise: Noise | None) -> Meaning:
        return Meaning(self.rule.spec.source.text, self.first, self.seed, noise, **self.rule.values, **self.rule.flags)

    @functools.cached_property
    def noisy(self) -> list[Meaning]:
        """The equations with noise, as far as they have come."""
        everywhere = self.rule.dtype != "float64"
        found = [self._meaning(Noise(NOISE[self.rule.dtype], k, everywhere=everywhere)) for k in range(16)]
        for grads, phase in self.updates:
            for meaning in found:
                meaning.update(grads, phase, **self.inputs)
        return found

    def update(self, grads: list[Array], phase: str | None, weights: list[Array], state: optgen.State) -> str | None:
        """Compute an update, or one phase. What differs; None if nothing does."""
        self.updates.append((copies(grads), phase))
        self.meaning.update(grads, phase, **self.inputs)
        if "noisy" in self.__dict__:
            for meaning in self.noisy:
                meaning.update(grads, phase, **self.inputs)
        for i, w in enumerate(weights):
            if not self._is_close(w, lambda m, i=i: m.members[i].w):
                return f"w[{i}] is {w}, and the equations say {self.meaning.members[i].w}"
            for name, array in arrays_of(state, i).items():
                if not self._is_close(array, lambda m, i=i, name=name: m.state(name, i)):
                    return f"{name}[{i}] is {array}, and the equations say {self.meaning.state(name, i)}"
        return None

    def evaluate(self, weights: list[Array]) -> str | None:
        """Compare the weights to evaluate a model with."""
        for i, w in enumerate(weights):
            if not self._is_close(w, lambda m, i=i: m.evaluated()[i]):
                return f"evaluate: {w}, and the equations say {self.meaning.evaluated()[i]}"
        return None

    def _is_close(self, ours: Array, judged: Callable[[Meaning], Array]) -> bool:
        a, b = (np.asarray(x, float).reshape(-1) for x in (ours, judged(self.meaning)))
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= 1e3 * NOISE[self.rule.dtype] * (1 + np.abs(b))
            beyond = ~(np.abs(b) <= np.finfo(self.rule.dtype).max)  # what overflows may become infinite or NaN
            near |= (a == b) | (~np.isfinite(a) & beyond)
            if near.all():
                return True
            others = [np.asarray(judged(m), float).reshape(-1) for m in self.noisy]
            spread = np.max(
                [np.where((b == x) | (np.isnan(b) & np.isnan(x)), 0, np.abs(b - x)) for x in others], axis=0
            )
            return bool(np.all(near | np.isnan(spread) | (np.abs(a - b) <= 100 * spread)))


def _bound(
    rule: optgen.UpdateRule, weights: list[Array], grads: list[Array], inputs: Any, seed: int
) -> optgen.BoundStep:
    step = rule.bind(weights, grads, inputs=inputs or None)
    step.seed = seed
    return step


def _made(rule: optgen.UpdateRule, meaning: Meaning) -> optgen.State:
    """The states as they are before any update: arrays in the dtype of the parameters, numbers in float64."""
    arrays: dict[str, list[Array | None]] = {}
    for state in rule.spec.states:
        own: list[Array | None] = []
        for i, member in enumerate(meaning.members):
            if state.name not in member.states and state.name not in member.entries:
                own.append(None)
            elif state.kind is Kind.SHARED and own:
                own.append(own[0])
            else:
                array = np.array(meaning.state(state.name, i), rule.dtype if state.axes else float)
                entries = array.shape[:1] if state.entries else ()
                shape = member.w.shape if state.kind is Kind.ELEM else (-1,) if len(state.axes) == 1 else array.shape
                own.append(array.reshape((*entries, *(shape if state.axes else ()))))
        arrays[state.name] = own
    return optgen.State(arrays, np.zeros(len(meaning.members), np.int64))


def fits(rule: optgen.UpdateRule, shape: tuple[int, ...]) -> bool:
    """Whether a parameter may have this shape: a requirement, a block or an axis may forbid it."""
    try:
        groups.sizes(rule.spec.program(rule.variant(shape).flags).groups, shape, rule.values)
    except ValueError:
        return False
    return True


def interpret(
    rule: optgen.UpdateRule, weights: Sequence[Array], grads: Sequence[Array], state: optgen.State,
    inputs: Mapping[str, Sequence[Array]], values: Mapping[str, Any], count: int, phase: str | None, seed: int,
    products: Any = None,
) -> str | None:  # fmt: skip
    """One update, or one phase, by the interpreter. Unless its `products` are given, one in stages is computed by the
    kernel before it is cut, too. What that has other bits of; None if there is nothing."""
    variants = [rule.variant(w.shape, {} if phase is None else {"phase": phase}) for w in weights]
    flags = None if phase is None else {"phase": [phase] * len(weights)}
    if not any(rule.spec.is_staged(v.flags) for v in variants):
        first = phase is None or phase == rule.spec.phases[0]
        state.t[...] -= not first
        interpret_step(rule, weights, grads, state, values, build=built, seed=seed, inputs=inputs, flags=flags)
        return None
    state.t[...] = count
    updates = []
    for i, (w, g) in enumerate(zip(weights, grads, strict=True)):
        own = arrays_of(state, i) | {name: x[i] for name, x in inputs.items()} | {"w": w, "grad": g}
        given = {name: math.nan if x is None else x for name, x in values.items()}
        known = given | sizes(w.shape, rule.spec.last_two) | {"step": float(count)} | {**variants[i].sizes}
        updates.append((variants[i], TensorUpdate(own, known, count, i), known))
    for together in [updates] if rule.spec.joins_params else [[x] for x in updates]:
        variant, _, known = together[0]
        tensors = [x for _, x, _ in together]
        by_whole = None if products else whole.copies(tensors)
        if by_whole is not None:
            whole.update(rule.spec, variant, by_whole, count, known, seed)
        call = functools.partial(products, how=HOW[variant.matmul]) if products else whole.stage_call
        whole.update_by_stages(rule.spec, variant, tensors, count, known, seed, call)
        if by_whole is not None and (wrong := whole.other_bits(by_whole, tensors)) is not None:
            return wrong
    return None


def _other_bits(
    weights: Sequence[Array], state: optgen.State, others: Sequence[Array], other: optgen.State
) -> str | None:
    for i, (w, x) in enumerate(zip(weights, others, strict=True)):
        theirs = {"w": x} | arrays_of(other, i)
        for name, array in ({"w": w} | arrays_of(state, i)).items():
            if not same_bits(array, theirs[name]):
                return f"{name}[{i}]: {array} and {theirs[name]}"
    return None


def smallest(spec: Spec, fails: Callable[[Spec], bool]) -> Spec:
    """A spec that still fails, of which no part can be left out."""
    while (found := next((x for x in smaller(spec) if fails(x)), None)) is not None:
        spec = found
    return spec
