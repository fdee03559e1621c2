"""Which spec an optimizer equals: known identities are proved, and near misses are not."""

from __future__ import annotations

import re

import pytest
import sympy

import optgen
from optgen import api, specfiles
from optgen.analysis import Analysis, Statement, Verdict
from optgen.analysis.equal import among
from optgen.analysis.field import PRIMES, PRODUCT, Field
from optgen.diagnostics import Source
from optgen.model import Optimizer

KNOWN = [
    ("adamw", "adam", "adamw(wd=0) is adam"),
    ("sgdw", "sgd", "sgdw(momentum=0) is sgd"),
    ("qhm", "sgd", "qhm(nu=1) is sgd(momentum=beta, lr=lr*(1 - beta))"),  # Ma & Yarats 2019, arXiv:1810.06801
    ("optax/lion", "lion", "optax/lion is lion(beta1=b1, beta2=b2, wd=weight_decay)"),
    ("lion", "optax/sign_sgd", "lion(beta1=0, wd=0) is optax/sign_sgd"),
]
MORE = [
    ("sgdw", "optax/sgd", "sgdw(wd=0) is optax/sgd"),
    ("adamw", "optax/sign_sgd", "adamw(beta1=0, beta2=0, epsilon=0, wd=0) is optax/sign_sgd"),
    ("matrix/muon", "torch/muon", "matrix/muon(ns_steps=5) is torch/muon(weight_decay=wd, eps=epsilon, rounded=false)"),
    ("adamod", "adamw", "adamod(beta3=0) is adamw"),
    ("signum", "lion", "signum(wd=0) is lion(beta1=momentum, beta2=momentum, wd=wd_lh)"),
    ("adam with lookahead(k=1)", "adam", "AdamLookahead(k=1, alpha=1) is adam"),
    (
        "nadam",
        "torch/nadam",
        "nadam is torch/nadam(weight_decay=wd, eps=epsilon, momentum_decay=schedule_decay, single=false)",
    ),
]


@pytest.mark.parametrize(
    ("name", "other", "claim"), [*KNOWN, *(pytest.param(*x, marks=pytest.mark.stress) for x in MORE)]
)
def test_known_identities_are_proved(name: str, other: str, claim: str) -> None:
    (found,) = among(api.load(name).spec, [other])
    assert (found.verdict, found.claim) == (Verdict.PROVED, claim)


def planted(name: str, old: str, new: str) -> Optimizer:
    """A spec of optgen with a change, under another name."""
    text = api.load(name).spec.source.text
    assert text.count(old) == 1
    return optgen.parse(Source("mine.opt", text.replace(old, new)))


def test_a_copy_with_other_names_is_the_same() -> None:
    text = re.sub(r"\bm\b", "memory", api.load("lion").spec.source.text)
    (found,) = among(optgen.parse(Source("mine.opt", text)), ["lion"])
    assert (found.verdict, found.text) == (Verdict.PROVED, "mine is lion.")


PLANTED = [
    ("adamw", "rate*m'/(sqrt(v') + epsilon)", "rate*m'/sqrt(v' + epsilon)"),
    ("lion", "beta2*m + (1 - beta2)*g", "beta2*m + (1 - beta1)*g"),
    ("sgdw", "mom' = momentum*mom + g", "mom' = momentum*mom + g + 1e-7*w"),
    ("sgdw", "mom' = momentum*mom + g", "mom' = momentum*where(t > 100, mom, 0.5*mom) + g"),
]


@pytest.mark.parametrize(("name", "old", "new"), PLANTED)
def test_a_planted_difference_is_no_identity(name: str, old: str, new: str) -> None:
    """Not at any arguments at which the difference matters: what is proved has special ones."""
    for statement in among(planted(name, old, new), [name]):
        assert not statement.claim.startswith("mine is ")


UNSOUND = [
    "w' = w - lr*where(t == 100, 2, 1)*g",
    "w' = w - lr*where(t > 2000000, 2, 1)*g",
    "w' = w - lr*where(mod(t, 1000) == 999, 2, 1)*g",
    "w' = w - 2*lr*g  every 50\n  w' = w - lr*g  otherwise",
    "w' = w - lr*where(lr > 5, 2, 1)*g",
    "w' = w - lr*where(g == 3, 2, 1)*g",
    f"w' = w - lr*where({' and '.join(f'g > {k}e6' for k in range(1, 17))}, 2, 1)*g",
    f"w' = w - lr*({'*'.join(f'(1 + sign(g - {k}e6))' for k in range(1, 17))} + g)",
]


@pytest.mark.parametrize("update", UNSOUND)
def test_what_differs_where_no_run_comes_is_not_proved(update: str) -> None:
    """At some count, or for some gradients or rates."""
    spec = optgen.parse(f'optimizer Foo "x"\nparam lr = 0.01\nupdate:\n  {update}\n')
    assert Verdict.PROVED not in [s.verdict for s in among(spec, ["sgd"])]


SAME = [
    "w' = w - lr*max(g, g - 1)",
    "w' = w - lr*where(t > 0, g, 2*g)",
    "w' = w - lr*where(g > 1, g + 1, g) + lr*where(g > 1, 1, 0)",
    "w' = w - lr*g  every 50\n  w' = w - 2*lr*g + lr*g  otherwise",
    "w' = w - lr*sign(g)*abs(g)",
]


@pytest.mark.parametrize("update", SAME)
def test_what_is_the_same_in_all_cases_is_proved(update: str) -> None:
    spec = optgen.parse(f'optimizer Foo "x"\nparam lr = 0.01\nupdate:\n  {update}\n')
    assert [(s.verdict, s.text) for s in among(spec, ["sgd"])] == [(Verdict.PROVED, "Foo is sgd.")]


def test_whole_numbers_are_said() -> None:
    text = 'optimizer Foo "x"\nparam lr = 0.01\nparam n: int = 1 in [1, 10]\nupdate:\n  w\' = w - lr*n*g\n'
    (found,) = among(optgen.parse(text), ["sgd"])
    assert (found.verdict, found.text) == (Verdict.PROVED, "Foo(n=1) is sgd.")


def test_gradients_of_0_are_said() -> None:
    text = 'optimizer Foo "x"\nparam lr = 0.01\nupdate:\n  w\' = w - lr*g/abs(g)\n'
    (found,) = among(optgen.parse(text), ["optax/sign_sgd"])
    assert (found.verdict, found.text) == (Verdict.PROVED, "Foo is optax/sign_sgd for g ≠ 0.")


def test_primes_are_what_the_field_takes_them_for() -> None:
    for p in PRIMES:
        assert sympy.isprime(p) and (p + 1) % PRODUCT == 0
        assert p % 12 == 11 and p.bit_length() >= 160
        assert all(Field(p).sign(q) == 1 for q in sympy.primerange(114))
        assert Field(p).sign(p - 1) == p - 1


def test_what_cannot_be_compared_is_undecided() -> None:
    (found,) = among(api.load("adashift").spec, ["adam"])  # a history
    assert (found.claim, found.verdict) == ("none", Verdict.UNDECIDED)


@pytest.mark.stress
@pytest.mark.parametrize("name", specfiles.all_available())
def test_every_spec_is_compared(name: str) -> None:
    for statement in among(api.load(name).spec, ["adam", "sgd", "torch/sgd", "lion", "matrix/muon"]):
        assert statement.text.endswith(".") and (statement.claim == "none") == (statement.verdict is Verdict.UNDECIDED)


def test_people_read_a_few_and_programs_all() -> None:
    some = tuple(Statement("equals", f"mine is s{k}", f"mine is s{k}.", Verdict.PROVED) for k in range(11))
    analysis = Analysis(api.load("sgd").spec, (4, 3), (Statement("cut", "exact", "Exact.", Verdict.PROVED), *some))
    assert str(analysis).splitlines()[-2:] == [
        "proved     mine is s7.",
        "and 3 more specs that it equals at special arguments: --json",
    ]
    assert len(analysis.to_json()["statements"]) == 12


def test_what_decides_equations_is_said() -> None:
    """Of sizes, and of params that are free; and whether values are summed over all parameters."""
    text = """optimizer Foo
param beta = 0.9 in [0, 1)
flag big = size > 100
flag heavy = beta > 0.97
state m = 0
update:
  m' = beta*m + g if not (big or heavy)
  m' = beta*m + 2*g otherwise
  w' = w - lr*m'
"""
    (found,) = among(optgen.parse(text), ["sgd"])
    assert "while not (size > 100) while not (beta > 0.97)" in found.text
    text = """optimizer Foo
param beta = 0.9 in [0, 1)
state m = 0
update:
  m' = beta*m + (1 - beta)*g
  w' = w - lr*m'/sqrt(sum(m'^2))
"""
    (found,) = among(optgen.parse(text), ["nsgd"])
    assert "Foo is nsgd for g ≠ 0 for a model of a single parameter" in found.text
