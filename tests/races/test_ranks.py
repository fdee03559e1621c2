"""Ranks: the t distribution against an integral of its density, and who shares a rank."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optgen.races import ranks


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30])
def test_the_quantile_is_where_the_integral_of_the_density_says(freedom: int) -> None:
    """By Simpson's rule over [-t, t]."""
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)

    def density(x: float) -> float:
        return scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    t, n = ranks.quantile(freedom), 20_000
    weights = [1, *([4, 2] * (n // 2 - 1)), 4, 1]
    area = sum(weight * density(-t + 2 * t * k / n) for k, weight in enumerate(weights)) * 2 * t / n / 3
    assert area == pytest.approx(ranks.CONFIDENCE, abs=1e-9)


def test_paired_differences_decide_not_the_spread_over_seeds() -> None:
    """Seeds differ by much more than contenders do, which pairs cancel."""
    a = {0: 1.0, 1: 2.0, 2: 3.0}
    b = {0: 1.1, 1: 2.11, 2: 3.09}
    assert ranks.shared([b, a]) == [2, 1]
    assert ranks.shared([{0: 1.1, 1: 1.9, 2: 3.1}, a]) == [1, 1]


def test_one_seed_separates_nobody_and_divergence_is_last() -> None:
    assert ranks.shared([{0: 2.0}, {0: 1.0}]) == [1, 1]
    assert ranks.shared([{}, {0: 2.0}, {}, {0: 1.0}]) == [2, 1, 2, 1]


def test_who_is_clearly_better_has_the_lower_rank_though_sharing_is_not_transitive() -> None:
    a, b, c = {0: 0.0, 1: 0.1, 2: 0.2}, {0: 1.0, 1: 0.0, 2: 0.5}, {0: 1.0, 1: 1.1, 2: 1.2}
    assert not ranks.is_clearly_lower(a, b) and not ranks.is_clearly_lower(b, c)
    assert ranks.is_clearly_lower(a, c)
    assert ranks.shared([c, b, a]) == [2, 1, 1]


LOSSES = st.lists(st.fixed_dictionaries({seed: st.integers(-9, 9) for seed in range(3)}), max_size=6)


@given(LOSSES)
def test_clearly_better_contenders_have_lower_ranks_and_ranks_follow_the_means(losses: list[dict[int, float]]) -> None:
    found = ranks.shared(losses)
    for i, own in enumerate(losses):
        better = [j for j, other in enumerate(losses) if ranks.is_clearly_lower(other, own)]
        lower = [j for j, other in enumerate(losses) if math.fsum(other.values()) < math.fsum(own.values())]
        assert all(found[j] < found[i] for j in better)
        assert found[i] >= max((found[j] for j in lower), default=1)
    assert set(found) == set(range(1, max(found, default=0) + 1))


def test_a_wide_spread_is_no_better_rank_than_that_of_a_lower_mean() -> None:
    """The third one is not clearly worse than the first, by its spread alone, but has a greater mean than the
    second."""
    assert ranks.shared([{0: 0.0, 1: 0.0, 2: 0.1}, {0: 1.0, 1: 1.1, 2: 1.0}, {0: 9.0, 1: 0.1, 2: 0.0}]) == [1, 2, 2]
