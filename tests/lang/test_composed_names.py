"""Names of specs that are composed: those of one mean in another what they mean there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.diagnostics import SpecErrors
from tests.lang.test_transforms import Array, gradients


@pytest.mark.parametrize("transform", ["cautious", "centralize"])
def test_functions_of_a_base_are_its_own(transform: str, tmp_path: Path) -> None:
    """A definition, a param or a flag by the name of a function or a constant hides it in its own spec alone."""
    own = """optimizer Own
param pi = 3
flag max = true
def {mean}(x)    = 7*x
def {norm}(x, y) = x + {mean}(y)
state m = 0
update:
  m' = 0.5*m + {mean}(g)
  w' = w - lr*{norm}(m', pi*g)   if max
  w' = w - lr*max(m', g)         otherwise
"""
    results = []
    for names in ({"mean": "mean", "norm": "norm"}, {"mean": "septuple", "norm": "added"}):
        (tmp_path / "own.opt").write_text(own.format(**names))
        w, g = [x.copy() for x in gradients(1)], gradients(0)
        step = optgen.load(f"{tmp_path}/own.opt with {transform}", "float64", lr=0.1).bind(w, g)
        step()
        step()
        results.append(w)
    assert all((a == b).all() for a, b in zip(*results, strict=True))


def test_functions_of_a_spec_are_not_those_of_one_that_it_uses(tmp_path: Path) -> None:
    (tmp_path / "host.opt").write_text("""optimizer Host
param pi = 3
def norm(x) = 100*x
state mean = 0
update:
  a     = use lamb()
  mean' = 0.5*mean + norm(g)
  w'    = a + 0*pi*mean'
""")
    results = []
    for name in (f"{tmp_path}/host.opt", "lamb"):
        w, g = [x.copy() for x in gradients(1)], gradients(0)
        step = optgen.load(name, "float64", lr=0.1).bind(w, g)
        step()
        step()
        results.append(w)
    assert all((a == b).all() for a, b in zip(*results, strict=True))
    assert "def host_norm(x)" in optgen.load(f"{tmp_path}/host.opt").spec.source.text


def test_constants_of_a_transform_stay_where_its_base_hides_them(tmp_path: Path) -> None:
    (tmp_path / "turned.opt").write_text("transform Turned\ndef of(pi) = pi\nupdate:\n  w' = use base(g = pi*of(g))\n")
    (tmp_path / "own.opt").write_text("optimizer Own\nparam pi = 3\nupdate:\n  w' = w - pi*g\n")
    w, g = [np.zeros(3)], [np.ones(3)]
    optgen.load(f"{tmp_path}/own.opt with turned", "float64").bind(w, g)()
    np.testing.assert_allclose(w[0], -3 * np.pi, rtol=1e-15)


def one_step(name: str, **arguments: Any) -> Array:
    w = np.array([1.0, -2.0, 3.0])
    optgen.load(name, "float64", **{"lr": 1.0, **arguments}).bind([w], [np.array([0.5, -0.25, 2.0])])()
    return w


def write(folder: Path, **specs: str) -> None:
    for name, lines in specs.items():
        first = "transform" if name.startswith("t_") else "optimizer"
        (folder / f"{name}.opt").write_text(f"{first} X{name}\n{lines}\n")


def test_arguments_of_definitions_are_no_names_of_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        own="param beta = 2\ndef f(x) = x*beta\nupdate:\n  w' = w - lr*f(g)",
        same="param x = 3\nupdate:\n  w' = use own(beta = x)",
        other="param y = 3\nupdate:\n  w' = use own(beta = y)",
        named="param beta = 2\nparam c = 1\ndef f(beta) = c*beta\nupdate:\n  w' = w - lr*f(g)*beta",
        handed="param y = 3\nupdate:\n  w' = use named(beta = 2*y)",
        t_handed="param x = 3\nupdate:\n  w' = use base(beta = x)",
    )
    expected = [-0.5, -1.25, -3.0]
    for name in ("same", "other", "own.opt with t_handed"):
        np.testing.assert_array_equal(one_step(f"{tmp_path}/{name}" + ("" if "with" in name else ".opt")), expected)
    np.testing.assert_array_equal(one_step(f"{tmp_path}/handed.opt"), [-2.0, -0.5, -9.0])


def test_a_constant_is_the_language_s_beside_a_base_that_hides_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        turned="update:\n  w' = w - lr*g*pi",
        own="param pi = 1\nupdate:\n  w' = w - lr*g*pi",
        t_both="update:\n  a = use base()\n  b = use turned()\n  w' = b + 0*a",
    )
    expected = np.array([1.0, -2.0, 3.0]) - np.pi * np.array([0.5, -0.25, 2.0])
    np.testing.assert_allclose(one_step(f"{tmp_path}/own.opt with t_both"), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ({"clip": "param gradient = 0.1\nupdate:\n  w' = w - lr*clip(g, gradient)"}, "'clip_gradient', which is the"),
        ({"clip": "def gradient(x) = x\nupdate:\n  w' = w - gradient(g)"}, "choose another prefix: use clip"),
        (
            {"clip": "param wd = 0.1\nupdate:\n  w' = w - wd*w", "also": "param wd = 0.2\nupdate:\n  w' = w - wd*w"},
            "also has another default of wd than clip",
        ),
    ],
)
def test_a_use_that_would_mean_something_else_is_refused(specs: dict[str, str], words: str, tmp_path: Path) -> None:
    uses = "".join(f"  {name}1 = use {name}()\n" for name in specs)
    write(tmp_path, host=f"update:\n{uses}  w' = {' + '.join(f'{name}1' for name in specs)}", **specs)
    with pytest.raises(SpecErrors, match=words):
        optgen.load(f"{tmp_path}/host.opt")


def test_definitions_read_what_is_handed_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        own="param k = 1\ndef inner(x) = x + w*g\ndef outer(x, y) = inner(x)*y + k\n"
        "update:\n  w' = w - lr*outer(g, inner(inner(g) + 1))",
        t_own="update:\n  d = 2*w\n  w' = use base(w = d, g = 3*g, k = 2*norm(d), lr = 0.5*lr)",
    )
    w, g = np.array([1.0, -2.0, 3.0]), np.array([0.5, -0.25, 2.0])
    d, h = 2 * w, 3 * g
    expected = d - 0.5 * ((h + d * h) * ((h + d * h + 1) + d * h) + 2 * np.sqrt((d**2).sum()))
    np.testing.assert_allclose(one_step(f"{tmp_path}/own.opt with t_own"), expected, rtol=1e-14)
    for transform in ("centralize", "clip_norm", "cautious"):
        assert np.isfinite(one_step(f"{tmp_path}/own.opt with {transform}")).all()
    optgen.load(f"{tmp_path}/own.opt with sam")


def test_words_that_may_be_names_are_renamed_where_they_are(tmp_path: Path) -> None:
    write(
        tmp_path,
        own="param low = none zero off\nstate zero = 0\nstate axis: axis -1 = 0\nstate host = 0\ninput loss: host\n"
        "update:\n  zero' = zero + g\n  axis' = max(g, per axis -1)\n  host' = g*loss\n"
        "  w' = w - lr*clip(host' + zero' + axis', low)",
        host="update:\n  w' = use own()",
    )
    text = optgen.load(f"{tmp_path}/host.opt").spec.source.text
    assert "state own_axis: axis -1 = 0" in text and "param own_low = none zero off" in text
    assert "input own_loss: host" in text and "state own_zero = 0" in text


def test_a_transform_hands_over_a_param_by_its_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        own="param k = 2\nparam pi = 1\nupdate:\n  w' = w - lr*k*pi*g",
        t_own="param k = 3\nupdate:\n  w' = use base(k = k, pi = 2)",
        mean="param mean = 1\nupdate:\n  w' = w - lr*mean*g",
        host="def mean(x) = 2*x\nupdate:\n  a = use mean(mean = 3)\n  w' = a + 0*mean(g)",
    )
    np.testing.assert_array_equal(one_step(f"{tmp_path}/own.opt with t_own"), [-2.0, -0.5, -9.0])
    np.testing.assert_array_equal(one_step(f"{tmp_path}/host.opt"), [-0.5, -1.25, -3.0])


def test_further_names_of_params_are_those_of_the_base(tmp_path: Path) -> None:
    rule = optgen.load("rmsprop with schedule_free", momentum=0.5, schedule_free_momentum=0.25)
    assert rule.values["schedule_free_momentum"] == 0.25 and 0.5 in rule.values.values()
    (tmp_path / "scaled.opt").write_text(
        "transform Scaled\nparam c = 2 alias k, momentum, m\nupdate:\n  w' = use base(g = c*g)\n"
    )
    (tmp_path / "own.opt").write_text("optimizer Own\nparam k = 3 alias m\nupdate:\n  w' = w - k*g\n")
    composed = f"{tmp_path}/own.opt with scaled"
    assert optgen.load(composed, m=4, momentum=5).values.items() >= {"k": 4, "c": 5}.items()


def test_a_transform_with_a_rate_of_its_own_keeps_the_further_names_of_the_bases(tmp_path: Path) -> None:
    write(
        tmp_path,
        own="param lr = 0.5 alias eta, pace\nparam wd = 0 alias decay\nupdate:\n  w' = w - lr*(g + wd*w)",
        t_own='param lr = 0.1 "the rate"\nupdate:\n  w\' = use base()',
        t_scaled="param lr = 0.2 alias pace, speed\nparam wd = 1\nupdate:\n  w' = use base(lr = 2*lr, wd = wd)",
    )
    composed = f"{tmp_path}/own.opt with t_own, t_scaled"
    assert optgen.load(composed).values.items() >= {"lr": 0.2, "wd": 1}.items()
    for name in ("eta", "pace", "speed"):
        assert optgen.load(composed, decay=3, **{name: 4}).values.items() >= {"lr": 4, "wd": 3}.items()


@pytest.mark.parametrize("transform", ["cautious", "centralize"])
def test_shampoo_has_a_flag_by_the_name_of_a_function(transform: str) -> None:
    assert optgen.load(f"shampoo with {transform}").spec.flag("mean")
