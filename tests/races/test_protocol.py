"""The protocol of tuning: which trials a contender gets, whatever the losses are."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optgen.races.protocol import BRACKET, SIZES, Attempt, TrialPlan, due, fitting, full, without_rate

SEEDS = (4, 0, 9)
FULL = full(SEEDS)


def played(
    plan: TrialPlan, hint: float | None, loss: Callable[[Attempt], float], order: Callable[[list[Attempt]], Attempt]
) -> dict[Attempt, float]:
    """All attempts of a contender, one at a time, in the order in which some scheduler takes them."""
    losses: dict[Attempt, float] = {}
    while attempts := due(plan, hint, losses):
        assert len(losses) < 100
        attempt = order(attempts)
        assert attempt not in losses
        losses[attempt] = loss(attempt)
    return losses


def bowl(best: float) -> Callable[[Attempt], float]:
    """A loss whose least is at a rate, and that diverges a hundred times above it."""
    return lambda x: math.inf if x.rate > 100 * best else abs(math.log10(x.rate / best)) + 0.01 * x.seed


@given(st.randoms(use_true_random=True), st.sampled_from([None, 0.003, 1.0]), st.sampled_from(SIZES), st.integers(1, 4))
def test_all_contenders_have_the_same_number_of_trials_in_any_order_and_at_any_losses(
    random: Random, hint: float | None, size: tuple[int, int], seeds: int
) -> None:
    plan = TrialPlan(*size, tuple(range(seeds)))
    losses = played(plan, hint, lambda _: random.choice([math.inf, 0.0, random.gauss(0, 1)]), random.choice)
    short = [x for x in losses if x.is_short]
    assert len(losses) - len(short) + len(short) / len(BRACKET) == plan.trials
    rates = {x.rate: {y.seed for y in losses if y.rate == x.rate and not y.is_short} for x in losses if not x.is_short}
    assert sorted(map(len, rates.values()))[-3:] == [seeds] * 3
    assert all(own in ({0}, set(range(seeds))) for own in rates.values())
    tried = {x.rate: y for x, y in losses.items() if x.seed == 0 and not x.is_short}
    best = min(tried.values())
    assert best in (tried[rate] for rate, own in rates.items() if len(own) == seeds)


def test_seven_rates_are_a_factor_of_the_square_root_of_ten_apart_around_the_hint() -> None:
    assert sorted(x.rate for x in due(FULL, 0.003, {})) == [9.49e-5, 0.0003, 0.000949, 0.003, 0.00949, 0.03, 0.0949]
    assert {x.seed for x in due(FULL, 0.003, {})} == {4}


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_rates_are_extended_while_the_best_one_is_at_an_end(factor: float) -> None:
    """The least of the losses is a factor of 1,000 away from a hint of 1, which the seventh rate is a factor of 32
    from."""
    losses = played(FULL, 1.0, bowl(factor), lambda attempts: attempts[0])
    rates = sorted({x.rate for x in losses}, key=lambda rate: abs(math.log10(rate)))
    assert len(rates) == 10
    assert [abs(math.log10(rate)) for rate in rates[-3:]] == pytest.approx([2, 2.5, 3], abs=1e-3)
    assert {x.rate for x in losses if x.seed == 9} == {rate for rate in rates if rate in rates[-3:]}


def test_rates_are_refined_beside_a_best_one_that_is_at_no_end() -> None:
    losses = played(FULL, 1.0, bowl(10**0.2), lambda attempts: attempts[-1])
    extra = [x.rate for x in losses if x.seed == 4][7:]
    assert extra == [1.78, 1.33, 2.37]
    assert sorted({x.rate for x in losses if x.seed == 9}) == [1.33, 1.78, 2.37]


def test_a_bracket_of_short_runs_stands_in_for_a_hint() -> None:
    assert [x.rate for x in due(FULL, None, {})] == list(BRACKET)
    losses = played(FULL, None, bowl(0.02), lambda attempts: attempts[0])
    assert {x.rate for x in losses if not x.is_short} >= {0.000316, 0.00316, 0.01, 0.316}
    assert min({x.rate for x in losses if x.seed == 9}, key=lambda rate: abs(math.log10(rate / 0.02))) == 0.0178


def test_without_a_rate_there_is_one_trial_for_each_seed() -> None:
    losses = played(without_rate(FULL), 1.0, lambda _: 1.0, lambda attempts: attempts[0])
    assert [(x.rate, x.seed) for x in losses] == [(1.0, seed) for seed in SEEDS]


def test_a_budget_gives_up_rates_before_seeds_and_never_takes_more() -> None:
    work = [10.0, 30.0]
    assert fitting(16 * 40, work, SEEDS) == FULL
    assert fitting(16 * 40 - 1, work, SEEDS) == TrialPlan(7, 1, SEEDS)
    assert fitting(10 * 40, work, SEEDS) == TrialPlan(3, 1, SEEDS)
    assert fitting(4 * 40, work, SEEDS) == TrialPlan(3, 1, SEEDS[:1])
    assert fitting(4 * 40 - 1, work, SEEDS) is None


@pytest.mark.parametrize("best", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("hint", [None, 0.1, 1.0])
def test_rates_outside_of_an_interval_are_replaced_by_others_inside(hint: float | None, best: float) -> None:
    losses: dict[Attempt, float] = {}
    while attempts := due(FULL, hint, losses, lambda rate: rate <= 1):
        losses[attempts[0]] = bowl(best)(attempts[0])
    whole = [x for x in losses if not x.is_short]
    assert len(whole) == FULL.trials - (hint is None) and max(x.rate for x in whole) <= 1
    assert best > 1 or any(0.5 < x.rate / best < 2 for x in whole)
