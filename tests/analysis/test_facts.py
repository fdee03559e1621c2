"""What is known of optimizers is found by the analysis, and what is false is refuted.

Facts are from papers and textbooks. False claims are those that hold for a known optimizer, about one with a small
change. Plain loops in NumPy, which share no code with the analysis, confirm that they are false.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.analysis import Statement, Verdict, equal
from optgen.analysis.answers import QUESTIONS
from optgen.analysis.subject import Subject, subject_of
from optgen.symbolic.written import expression
from tests.analysis.subjects import subject
from tests.sweeps import swept

Array = np.ndarray[Any, Any]
ANSWER = dict(QUESTIONS)


@dataclass(frozen=True)
class Fact:
    """An answer that is known: a claim, or the formula that it is about. `source` says where from."""

    spec: str
    question: str
    claim: str
    source: str
    values: tuple[tuple[str, float], ...] = ()
    formula: str | None = None

    def __str__(self) -> str:
        return f"{self.spec} {self.question} {self.claim}"


HEAVY = (("momentum", 0.9),)
FACTS = [
    Fact("adam", "gradient-scale", "limit-invariant", "Kingma & Ba 2015, section 2.1: a scale cancels"),
    Fact("adam_atan2", "gradient-scale", "invariant", "Everett et al. 2024, arXiv:2407.05872: without epsilon"),
    Fact("lion", "gradient-scale", "invariant", "Chen et al. 2023, arXiv:2302.06675: a sign"),
    Fact("sgd", "gradient-scale", "linear", "Polyak 1964: a linear recurrence", HEAVY),
    Fact("madgrad", "gradient-scale", "limit-degree 1/3", "Defazio & Jelassi 2021, arXiv:2101.11075: a cube root"),
    Fact("adam", "gradient-sign", "odd", "Kingma & Ba 2015: m is odd in gradients, and v is even"),
    Fact("sgld", "gradient-sign", "none", "Welling & Teh 2011: noise is added, whatever the gradient"),
    Fact("lamb", "weight-scale", "equivariant", "You et al. 2020, arXiv:1904.00962: the ratio of trust"),
    Fact("adam", "weight-scale", "invariant", "Kingma & Ba 2015: the weight is not read"),
    Fact("sgd", "rotation", "any", "Nesterov 2004: gradient descent knows no basis"),
    Fact("adam", "rotation", "none", "Maes et al. 2024, arXiv:2410.19964: Adam depends on the basis"),
    Fact("matrix/muon", "rotation", "both-sides", "Bernstein & Newhouse 2024, arXiv:2409.20325: the spectral norm's"),
    Fact("adam", "cut", "exact", "Kingma & Ba 2015: all operations are on elements"),
    Fact("lamb", "cut", "no", "You et al. 2020: a norm of each tensor"),
    Fact("lion", "bound", "bounded 1", "Chen et al. 2023: elements of updates are -1 or 1"),
    Fact("rmsprop", "bound", "bounded 3.162", "Kingma & Ba 2015, section 2.1, for beta1 = 0: 1/sqrt(1 - 0.9)"),
    Fact("adagrad", "bound", "bounded 1", "Duchi et al. 2011: the sum has the last square in it"),
    Fact("sgd", "bound", "unbounded", "Polyak 1964: proportional to the gradient", HEAVY),
    Fact("nsgd", "bound", "norm 1", "Cutkosky & Mehta 2020, arXiv:2002.03305: the rate is the length of a step"),
    Fact("lars", "bound", "relative 0.001", "You et al. 2017, arXiv:1708.03888: eta times the weight's norm"),
    Fact("adam", "constant-gradient", "limit", "Kingma & Ba 2015, section 2.1", formula="-(lr*g/(epsilon + abs(g)))"),
    Fact("adagrad", "constant-gradient", "zero", "Duchi et al. 2011: rates fall like 1/sqrt(t)"),
    Fact("sgd", "constant-gradient", "limit", "Polyak 1964: a geometric sum", HEAVY, "-(lr*g/(1 - momentum))"),
    Fact("sgd", "stability", "closed-form", "Nesterov 2004, 2.1.5", formula="2/lr"),
    Fact("sgd", "stability", "closed-form", "Polyak 1964", HEAVY, "2*(1 + momentum)/lr"),
    Fact("nag", "stability", "closed-form", "Cohen et al. 2021, arXiv:2103.00065, appendix B", HEAVY,
         "2*(1 + momentum)/(lr*(1 + 2*momentum))"),
    Fact("adam", "stability", "closed-form", "Cohen et al. 2022, arXiv:2207.14484: of preconditioned curvature",
         formula="2*(1 + beta1)/(lr*(1 - beta1))"),
    Fact("rmsprop", "stability", "closed-form", "Cohen et al. 2022, with beta1 = 0", formula="2/lr"),
    Fact("extragradient", "stability", "closed-form", "Korpelevich 1976: |1 - lr*h + (lr*h)^2| = 1", formula="1/lr"),
]  # fmt: skip


def _first(question: str, one: Subject) -> Statement:
    return ANSWER[question](one)[0]


@pytest.mark.parametrize("fact", swept(FACTS, lambda fact: fact.spec != "matrix/muon"), ids=str)
def test_what_is_known_is_found(fact: Fact) -> None:
    found = _first(fact.question, subject(fact.spec, **dict(fact.values)))
    assert found.claim == fact.claim
    if fact.formula is not None:
        assert found.formula is not None and expression(found.formula) == fact.formula


def test_without_decay_sgd_is_sgdw() -> None:
    """Loshchilov & Hutter 2019, arXiv:1711.05101, section 2."""
    (found,) = equal.among(optgen.load("sgd").spec, ["sgdw"])
    assert found.claim == "sgd(wd=0) is sgdw" and found.verdict is Verdict.PROVED


# ---------------------------------------------------------------- false claims


State = dict[str, Any]
Step = Callable[[Array, Array, State], Array]
"""The new weight of a weight, a gradient, and what is kept, `t` among it."""
RATE = 0.01


def follow(step: Step, gradients: Array, weight: Array) -> Array:
    """The steps under these gradients."""
    state: State = {"t": 0}
    found = []
    for gradient in gradients:
        state["t"] += 1
        new = step(weight, gradient, state)
        found.append(new - weight)
        weight = new
    return np.array(found)


def random_run(count: int = 6) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(count, 4, 3)), rng.normal(size=(4, 3))


def average(state: State, name: str, value: Array, decay: float) -> Array:
    state[name] = decay * state.get(name, 0 * value) + (1 - decay) * value
    found: Array = state[name]
    return found


def is_invariant_to_scale(step: Step) -> bool:
    gradients, weight = random_run()
    return np.allclose(follow(step, gradients, weight), follow(step, 4 * gradients, weight), rtol=1e-3)


def is_linear(step: Step) -> bool:
    gradients, weight = random_run()
    return np.allclose(4 * follow(step, gradients, weight), follow(step, 4 * gradients, weight), rtol=1e-6)


def is_odd(step: Step) -> bool:
    gradients, weight = random_run()
    return np.allclose(-follow(step, gradients, weight), follow(step, -gradients, weight), rtol=1e-6)


def is_equivariant_to_weights(step: Step) -> bool:
    gradients, weight = random_run()
    return np.allclose(4 * follow(step, gradients, weight), follow(step, gradients, 4 * weight), rtol=1e-6)


def turns(step: Step) -> bool:
    gradients, weight = random_run()
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    return np.allclose(turn @ follow(step, gradients, weight), follow(step, turn @ gradients, turn @ weight), rtol=1e-4)


def can_be_cut(step: Step) -> bool:
    gradients, weight = random_run()
    return np.allclose(follow(step, gradients, weight)[:, :2], follow(step, gradients[:, :2], weight[:2]), rtol=1e-6)


def has_elements_below_rate(step: Step) -> bool:
    gradients, weight = random_run()
    return bool(np.abs(follow(step, 1000 * gradients, weight)).max() <= RATE * (1 + 1e-6))


def is_at_its_limit_at_once(step: Step) -> bool:
    steps = follow(step, np.ones((5000, 1, 1)), np.zeros((1, 1)))
    return bool(abs(steps[0] - steps[-1]).max() < 0.01 * abs(steps[-1]).max())


def falls_to_0(step: Step) -> bool:
    steps = np.abs(follow(step, np.ones((5000, 1, 1)), np.zeros((1, 1))))
    return bool(steps[-1].max() < 0.5 * steps[500].max())


def grows_above(bound: float) -> Callable[[Step], bool]:
    """Whether weights on h*w^2/2 grow for h a little above a bound."""

    def holds(step: Step) -> bool:
        weight, state = np.ones((1, 1)), {"t": 0}
        for _ in range(500):
            state["t"] += 1
            weight = step(weight, 1.05 * bound * weight, state)
        return bool(abs(weight[0, 0]) > 1)

    return holds


def adam(
    weight: Array, gradient: Array, state: State, *, below: Callable[[Array], Array] = np.sqrt, corrected: bool = True,
    square: Callable[[Array], Array] = np.square,
) -> Array:  # fmt: skip
    m, v = average(state, "m", gradient, 0.9), average(state, "v", square(gradient), 0.999)
    t = state["t"]
    rate = RATE * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) if corrected else RATE
    return weight - rate * m / (below(v) + 1e-12)


def ball(weight: Array, gradient: Array, state: State, *, share: float = 1.0) -> Array:
    state["m"] = 0.9 * state.get("m", 0 * weight) + share * gradient
    return weight - RATE * state["m"]


def lion(weight: Array, gradient: Array, state: State, *, rest: float = 0.0) -> Array:
    m = state.get("m", 0 * weight)
    average(state, "m", gradient, 0.99)
    return weight - RATE * (np.sign(0.9 * m + 0.1 * gradient) + rest * state["m"])


def adagrad(weight: Array, gradient: Array, state: State, *, decay: float = 1.0) -> Array:
    state["v"] = decay * state.get("v", 0 * weight) + gradient**2
    return weight - RATE * gradient / np.sqrt(state["v"])


def trust(weight: Array, gradient: Array, state: State, *, more: float = 0.0) -> Array:
    return weight - RATE * (np.sqrt((weight**2).sum()) + more) * gradient / np.sqrt((gradient**2).sum())


def descent(weight: Array, gradient: Array, state: State, *, change: Callable[[Array], Array] = lambda g: g) -> Array:
    return weight - RATE * change(gradient)


ADAM = """
optimizer Known
param beta1 = 0.9 in [0, 1)
param beta2 = 0.999 in [0, 1)
state m = 0
state v = 0
update:
  rate = lr*sqrt(1 - beta2^t)/(1 - beta1^t)
  m' = beta1*m + (1 - beta1)*g
  v' = beta2*v + (1 - beta2)*g^2
  w' = w - rate*m'/(sqrt(v') + 1e-12)
"""
HEAVY_BALL = """
optimizer Known
param beta = 0.9 in [0, 1)
state m = 0
update:
  m' = beta*m + g
  w' = w - lr*m'
"""
LION = """
optimizer Known
state m = 0
update:
  c = 0.9*m + 0.1*g
  m' = 0.99*m + 0.01*g
  w' = w - lr*sign(c)
"""
ADAGRAD = """
optimizer Known
state v = 0
update:
  v' = v + g^2
  w' = w - lr*g/sqrt(v')
"""
TRUST = """
optimizer Known
update:
  w' = w - lr*norm(w)*g/norm(g)
"""
DESCENT = """
optimizer Known
update:
  w' = w - lr*g
"""


@dataclass(frozen=True)
class FalseClaim:
    """A claim that holds for a spec, and not with `old` replaced by `new`. `holds` is a test of it by plain runs, with
    the same steps in NumPy: `step` with `changed` arguments."""

    question: str
    claim: str
    text: str
    old: str
    new: str
    holds: Callable[[Step], bool]
    step: Callable[..., Array]
    changed: dict[str, Any]
    formula: str | None = None

    def __str__(self) -> str:
        return f"{self.question} {self.claim}"

    def is_said_of(self, text: str) -> bool:
        """Whether the analysis says so."""
        found = ANSWER[self.question](subject_of(optgen.parse(text), {"lr": RATE}))
        return any(
            s.claim == self.claim and (self.formula is None or (s.formula and expression(s.formula) == self.formula))
            for s in found
        )


def _one_square(gradient: Array) -> Array:
    found: Array = np.full_like(gradient, (gradient**2).mean())
    return found


def adam_of_one_square(
    weight: Array, gradient: Array, state: State, *, square: Callable[[Array], Array] = _one_square
) -> Array:
    return adam(weight, gradient, state, square=square)


WHOLE = ADAM.replace("(1 - beta2)*g^2", "(1 - beta2)*mean(g^2)")
"""Adam with one second moment for all elements."""
FALSE = [
    FalseClaim("gradient-scale", "limit-invariant", ADAM, "sqrt(v')", "sqrt(v' + 0.1)", is_invariant_to_scale, adam,
               {"below": lambda v: np.sqrt(v + 0.1)}),
    FalseClaim("gradient-scale", "linear", DESCENT, "lr*g", "lr*clip(g, 1)", is_linear, descent,
               {"change": lambda g: np.clip(g, -1, 1)}),
    FalseClaim("gradient-sign", "odd", DESCENT, "lr*g", "lr*(g + 0.1*abs(g))", is_odd, descent,
               {"change": lambda g: g + 0.1 * np.abs(g)}),
    FalseClaim("weight-scale", "equivariant", TRUST, "norm(w)", "(norm(w) + 0.5)", is_equivariant_to_weights, trust,
               {"more": 0.5}),
    FalseClaim("rotation", "any", WHOLE, "mean(g^2)", "g^2", turns,
               adam_of_one_square, {"square": np.square}),
    FalseClaim("cut", "exact", ADAM, "(1 - beta2)*g^2", "(1 - beta2)*mean(g^2)", can_be_cut, adam,
               {"square": _one_square}),
    FalseClaim("bound", "bounded 1", LION, "sign(c)", "(sign(c) + 0.1*m')", has_elements_below_rate, lion,
               {"rest": 0.1}),
    FalseClaim("constant-gradient", "updates 1", ADAM, "lr*sqrt(1 - beta2^t)/(1 - beta1^t)", "lr",
               is_at_its_limit_at_once, adam, {"corrected": False}),
    FalseClaim("constant-gradient", "zero", ADAGRAD, "v' = v", "v' = 0.9*v", falls_to_0, adagrad, {"decay": 0.9}),
    FalseClaim("stability", "closed-form", HEAVY_BALL, "beta*m + g", "beta*m + (1 - beta)*g", grows_above(380), ball,
               {"share": 0.1}, "2*(1 + beta)/lr"),
]  # fmt: skip


@pytest.mark.parametrize("false", FALSE, ids=str)
def test_what_is_false_is_not_said(false: FalseClaim) -> None:
    changed = false.text.replace(false.old, false.new)
    assert changed != false.text
    assert false.is_said_of(false.text) and not false.is_said_of(changed)


@pytest.mark.parametrize("false", FALSE, ids=str)
def test_it_is_false_in_plain_runs(false: FalseClaim) -> None:
    def step(weight: Array, gradient: Array, state: State) -> Array:
        return false.step(weight, gradient, state, **false.changed)

    assert false.holds(false.step) and not false.holds(step)
