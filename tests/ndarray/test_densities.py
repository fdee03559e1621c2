"""Densities: their values against scipy, shapes, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case

_rng = np.random.default_rng(0)
A, B = _rng.uniform(0.5, 2, (2, 3)), _rng.uniform(0.2, 0.8, (2, 3))
REALS, COUNTS = _rng.uniform(0.2, 3, (2, 3, 4)), _rng.integers(0, 9, (2, 3, 4)).astype(float)
SHARES = _rng.dirichlet([1.0, 2.0, 3.0], (2, 4))


@pytest.fixture
def stats() -> Any:
    """scipy.stats, whose import takes a second."""
    return pytest.importorskip("scipy.stats")


DENSITIES: dict[str, tuple[np.ndarray, tuple[np.ndarray, ...], Callable]] = {
    "uniform": (B[..., None] + 0.1, (B, A + 1), lambda stats, x, a, b: stats.uniform.logpdf(x, a, b - a)),
    "normal": (REALS - 1, (A, B), lambda stats, *x: stats.norm.logpdf(*x)),
    "gamma": (REALS, (A, B), lambda stats, x, a, b: stats.gamma.logpdf(x, a, scale=1 / b)),
    "exponential": (REALS, (A,), lambda stats, x, rate: stats.expon.logpdf(x, scale=1 / rate)),
    "poisson": (COUNTS, (A,), lambda stats, *x: stats.poisson.logpmf(*x)),
    "negative_binomial": (COUNTS, (A, B), lambda stats, *x: stats.nbinom.logpmf(*x)),
    "generalized_negative_binomial": (
        COUNTS,
        (A, B),
        lambda stats, x, m, a: stats.nbinom.logpmf(x, 1 / a, 1 / (m * a + 1)),
    ),
}


def _case(name: str) -> Case:
    """Of the parameters, and of the sample where it can vary."""
    sample, parameters, _ = DENSITIES[name]
    density = getattr(nd, f"random_pdf_{name}")
    if sample is not COUNTS:
        return Case(density, (sample, *parameters))
    return Case(lambda *p: density(nd.array(sample, dtype="float64"), *p), parameters)


GRADIENTS = {f"random_pdf_{name}": _case(name) for name in DENSITIES}
GRADIENTS["random_pdf_dirichlet"] = Case(nd.random_pdf_dirichlet, (SHARES, A))


@pytest.mark.parametrize("name", DENSITIES)
def test_values(name: str, stats: Any) -> None:
    sample, parameters, expected = DENSITIES[name]
    density = getattr(nd, f"random_pdf_{name}")
    arrays = [nd.array(x, dtype="float64") for x in (sample, *parameters)]
    log = expected(stats, sample, *(p[..., None] for p in parameters))
    np.testing.assert_allclose(density(*arrays, is_log=True).asnumpy(), log, 1e-12)
    np.testing.assert_allclose(density(*arrays).asnumpy(), np.exp(log), 1e-12)


def test_dirichlet(stats: Any) -> None:
    x, alpha = nd.array(SHARES, dtype="float64"), nd.array(A, dtype="float64")
    expected = [[stats.dirichlet.pdf(point, a) for point in points] for points, a in zip(SHARES, A, strict=True)]
    np.testing.assert_allclose(nd.random_pdf_dirichlet(x, alpha).asnumpy(), expected, 1e-12)
    with pytest.raises(mx.MXNetError, match=r"alpha has shape \(2, 3\), so the sample has shape \(2, '...', 3\), not"):
        nd.random_pdf_dirichlet(nd.ones((3, 3)), alpha)


def test_shapes_that_do_not_fit_and_counts_without_gradient() -> None:
    with pytest.raises(mx.MXNetError, match=r"sample has shape \(4,\), the parameters have \(2,\), \(2,\)"):
        nd.random_pdf_normal(nd.ones((4,)), nd.ones((2,)), nd.ones((2,)))
    counts = nd.array([1, 2])
    counts.attach_grad()
    with autograd.record():
        y = nd.random_pdf_poisson(counts, nd.array([3, 4]))
    assert y._node is None
