"""Optimizers against their formulas, written a second time in NumPy: those of `families/`, in float64."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.cli import main
from optgen.lang import format_text
from tests.optimizers.families import adam, draws, history, modern, norms, papers, sgd
from tests.optimizers.formulas import LR, WD, Array, Cases, Formula, Kept, Traits

FAMILIES = adam, modern, norms, sgd, draws, history, papers
CASES: Cases = [case for family in FAMILIES for case in family.CASES]
TRAITS = {formula: traits for family in FAMILIES for formula, traits in family.TRAITS.items()}
ON_SHELF = {formula for formula, _ in papers.CASES}


def name_of(formula: Formula) -> str:
    """The name of the spec whose formula it is."""
    return f"{specfiles.SHELF}/{formula.__name__}" if formula in ON_SHELF else formula.__name__


NAMES = list(dict.fromkeys(name_of(formula) for formula, _ in CASES))
STEPS = 8
RESCALE, CLIP = 0.5, 1.2
SHAPES = [(7,), (6, 5), (4, 3, 2, 2), (70, 80), (1,), ()]
DRAWS = optgen.parse("optimizer Draws\nupdate:\n  z = normal()\n  w' = z\n")


@pytest.mark.parametrize(("formula", "values"), CASES, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_steps(formula: Formula, values: dict[str, Any]) -> None:
    """Eight steps with gradients of a noisy bowl, weight decay, rescaling and clipping."""
    rng, traits = np.random.default_rng(7), TRAITS.get(formula, Traits())
    ws = [rng.normal(size=shape) for shape in SHAPES]
    goals = [rng.normal(size=shape) for shape in SHAPES]
    gs, read = ([np.empty(shape) for shape in SHAPES] for _ in range(2))
    want = [w.copy() for w in ws]
    kept: list[Kept] = [defaultdict(float) for _ in ws]
    rule = optgen.load(name_of(formula), dtype="float64", **{"lr": LR, **values})
    state = rule.init(ws)
    step = rule.bind(ws, gs, state, inputs={i.name: read for i in rule.spec.inputs})
    draw = optgen.load(DRAWS, dtype="float64").bind(read, gs) if traits.reads == "z" else None
    settings = {"wd": WD, "rescale_grad": RESCALE, "clip_gradient": CLIP}
    for t in range(1, STEPS + 1):
        for w, g, goal, h in zip(ws, gs, goals, read, strict=True):
            g[...] = w - goal + rng.normal(size=w.shape)
            h[...] = rng.normal(size=w.shape)
        step(**{name: value for name, value in settings.items() if name in rule.spec.reads})
        if draw:
            draw()
        clipped = [np.clip(RESCALE * g, -CLIP, CLIP) for g in gs]
        if traits.joint:
            want = formula(want, clipped, kept, t, **values)
        else:
            each = zip(want, clipped, kept, read, strict=True)
            extra = (lambda h: {traits.reads: h}) if traits.reads else (lambda _: {})
            want = [formula(w, g, s, t, **extra(h), **values) for w, g, s, h in each]
        assert_close(ws, want)
        if traits.evaluated:
            assert_close(rule.evaluate(ws, state), [s["x"] for s in kept])
        if traits.watched:
            np.testing.assert_allclose(
                state.arrays[traits.watched][-1], kept[0][traits.watched], rtol=1e-11, atol=1e-13
            )


def assert_close(got: list[Array], want: list[Array]) -> None:
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", [f.__name__ for f, traits in TRAITS.items() if traits.evaluated])
def test_before_any_step_the_weight_is_what_is_evaluated(name: str) -> None:
    rng = np.random.default_rng(1)
    ws = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]
    rule = optgen.load(name)
    for w, x in zip(ws, rule.evaluate(ws, rule.init(ws)), strict=True):
        np.testing.assert_array_equal(w, x)


# dadaptsgd measures gradients in units of the first one that is not 0, which is tiny here.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "dadaptsgd"])
def test_extremes_stay_finite(name: str) -> None:
    """In float32 nothing becomes NaN or infinite: zero weights, zero gradients, tiny and huge ones, empty and single
    tensors."""
    shapes = [(0,), (0, 3), (3, 0), (1,), (1, 1), (), (5, 4), (9,)]
    ws, gs, read = ([np.zeros(shape, np.float32) for shape in shapes] for _ in range(3))
    rule = optgen.load(name)
    step = rule.bind(ws, gs, inputs={i.name: read for i in rule.spec.inputs})
    for scale in (0.0, 0.0, 1e-30, 1e-12, 0.0, 1.0, 1e12, 0.0):
        for g in gs:
            g[...] = scale
            if g.ndim:
                g[0:1] = 0  # a whole row
        step()
        for w in ws:
            assert np.isfinite(w).all(), f"after a gradient of {scale}"


def test_every_spec_of_the_shelf_has_a_formula() -> None:
    assert {*map(name_of, ON_SHELF)} == {*specfiles.available(specfiles.SHELF)}


@pytest.mark.parametrize("name", specfiles.available(specfiles.SHELF))
def test_specs_of_the_shelf_are_specs_like_others(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = specfiles.source(specfiles.spec_path(name))
    assert format_text(source) == source.text and not optgen.load(name).spec.warnings
    assert optgen.load(name).spec.cite and name not in specfiles.all_available()
    with pytest.raises(FileNotFoundError, match=f"did you mean '{name}'"):
        optgen.load(name.rpartition("/")[2])
    assert main(["list", "--family", specfiles.SHELF]) == 0 and name in capsys.readouterr().out
