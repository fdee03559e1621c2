"""Functions of two variables, and paths on them."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from optgen import api, pipeline
from optgen.diagnostics import Source
from optgen.model import Optimizer
from optgen.races.functions import FUNCTIONS
from optgen.races.trajectories import path


def spec(name: str) -> Optimizer:
    return pipeline.checked(api.read(name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_the_differences(name: str) -> None:
    f = FUNCTIONS[name]
    x0, x1, y0, y1 = f.bounds
    x, y = np.random.default_rng(1).uniform((x0, y0), (x1, y1), (50, 2)).T
    h = 1e-5
    across, up = f.gradient(x, y)
    np.testing.assert_allclose(across, (f.value(x + h, y) - f.value(x - h, y)) / (2 * h), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(up, (f.value(x, y + h) - f.value(x, y - h)) / (2 * h), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_minimum_is_one_and_the_start_is_in_the_picture(name: str) -> None:
    f = FUNCTIONS[name]
    x0, x1, y0, y1 = f.bounds
    x, y = np.meshgrid(np.linspace(x0, x1, 201), np.linspace(y0, y1, 201))
    assert f.value(*f.minimum) <= f.value(x, y).min() + 1e-9
    np.testing.assert_allclose(f.gradient(*f.minimum), 0, atol=1e-12)
    if f.saddle is not None:
        np.testing.assert_allclose(f.gradient(*f.saddle), 0, atol=1e-12)
        beside = [f.value(f.saddle[0] + a, f.saddle[1] + b) for a, b in ((1e-3, 0), (0, 1e-3))]
        assert min(beside) < f.value(*f.saddle) < max(beside)
    assert x0 < f.start[0] < x1 and y0 < f.start[1] < y1
    assert f.value(*f.start) > f.value(*f.minimum) + 0.1


def test_a_path_is_what_the_equations_say() -> None:
    f, w, m = FUNCTIONS["rosenbrock"], np.array(FUNCTIONS["rosenbrock"].start), np.zeros(2)
    expected = [w]
    for _ in range(20):
        m = 0.9 * m - 1e-4 * np.array(f.gradient(*w))
        w = w + m
        expected.append(w)
    found = path(spec("sgd"), "rosenbrock", 1e-4, 20, momentum=0.9)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(found, path(spec("sgd"), "rosenbrock", 1e-4, 20, momentum=0.9))


def test_the_rate_is_that_of_a_spec_that_does_not_declare_it() -> None:
    plain = pipeline.check(Source("plain.opt", 'optimizer Plain "x"\nupdate:\n  w\' = w - lr*g'))
    np.testing.assert_array_equal(path(plain, "rosenbrock", 1e-4, 5), path(spec("sgd"), "rosenbrock", 1e-4, 5))


def test_the_documented_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text("utf-8").partition("## Trajectories")[2]
    (tmp_path / "mine.py").write_text(documented.partition("```python\n")[2].partition("```")[0])
    runpy.run_path(str(tmp_path / "mine.py"))
    assert capsys.readouterr().out in documented


def test_each_phase_has_a_gradient_of_its_own() -> None:
    f, w = FUNCTIONS["quadratic"], np.array(FUNCTIONS["quadratic"].start)
    g = np.array(f.gradient(*w))
    ahead = w - 0.01 * g
    found = path(spec("extragradient"), "quadratic", 0.01, 1)
    np.testing.assert_allclose(found[1], w - 0.01 * np.array(f.gradient(*ahead)), rtol=1e-12)


def test_points_are_the_weights_to_evaluate_with() -> None:
    found = path(spec("schedulefree_sgd"), "quadratic", 0.01, 3)
    start = np.array(FUNCTIONS["quadratic"].start)
    z = start - 0.01 * np.array(FUNCTIONS["quadratic"].gradient(*start))
    np.testing.assert_allclose(found[1], z, rtol=1e-12)  # the average of one
    assert not np.allclose(found[2], found[1])


def test_rules_of_matrices_see_a_column_and_rules_of_losses_the_loss() -> None:
    muon = path(spec("muon"), "quadratic", 0.1, 1, wd=0.0)
    assert 0.05 < np.linalg.norm(muon[1] - muon[0]) < 0.2  # a column is normalized, its singular value comes near 1
    alig = path(spec("alig"), "quadratic", 1.0, 100)
    assert np.linalg.norm(alig[-1]) < 0.01 * np.linalg.norm(alig[0])


def test_a_path_that_diverges_ends_in_nan() -> None:
    found = path(spec("sgd"), "rosenbrock", 1.0, 50)
    assert np.isfinite(found[:3]).all() and np.isnan(found[-1]).all()


def test_what_a_path_has_not_is_said() -> None:
    with pytest.raises(ValueError, match="Sophia reads h_hat, which a path has not"):
        path(spec("sophia"), "quadratic", 0.1, 1)
    with pytest.raises(KeyError, match=r"no function 'rosenbrok'.*rosenbrock"):
        path(spec("sgd"), "rosenbrok", 0.1, 1)
    with pytest.raises(ValueError, match="steps: a whole number from 0, not -1"):
        path(spec("sgd"), "quadratic", 0.1, -1)


def test_a_spec_that_does_not_declare_lr_has_the_rate_that_is_asked_for() -> None:
    plain = pipeline.check(Source("<text>", 'optimizer P "p"\nupdate:\n  w\' = w - lr*g\n'))
    first, second = (path(plain, "quadratic", rate, 1) for rate in (0.01, 0.02))
    assert second[1] - second[0] == pytest.approx(2 * (first[1] - first[0]))
