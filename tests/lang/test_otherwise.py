"""`muon otherwise adamw`: a spec, and another one for the parameters that it does not update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import api, pipeline
from optgen.cli import main
from optgen.diagnostics import SpecErrors

SHAPES = [(6, 5), (5,), (4, 2, 3, 3), (3, 4), (), (2, 4)]
PLAIN = [False, False, False, True, False, False]


def check(chain: str, own: str, other: str, by_own: list[bool], rate: str, **values: Any) -> None:
    """Compare a chain bit by bit with both specs alone, each over the parameters that are its own."""
    rng = np.random.default_rng(5)
    weights, grads = ([rng.normal(size=s) for s in SHAPES] for _ in range(2))
    copies = [w.copy() for w in weights]
    steps = [optgen.load(chain, "float64", lr=0.05, wd=0.1, **values).bind(weights, grads, flags={"plain": PLAIN})]
    for name, is_own, more in ((own, True, {"lr": 0.05, **values}), (other, False, {"lr": float(rate)})):
        members = [i for i, x in enumerate(by_own) if x == is_own]
        rule = optgen.load(name, "float64", wd=0.1, **more)
        steps.append(rule.bind([copies[i] for i in members], [grads[i] for i in members], ids=members))
    for _ in range(3):
        for step in steps:
            step()
    assert all(x.tobytes() == y.tobytes() for x, y in zip(weights, copies, strict=True))


def test_each_parameter_is_updated_as_by_its_spec_alone() -> None:
    """A vector, a number, what is `plain`, and what a requirement of the sizes leaves out, go to the second one."""
    matrices = [True, False, True, False, False, True]
    check("normuon otherwise adamw(lr=3e-4)", "normuon", "adamw", matrices, "3e-4", ns_steps=2)
    check("dion otherwise sgd", "dion", "sgd", [True, False, True, False, False, False], "0.01", r=3)
    check("lion otherwise nag(lr = 0.5) as slow", "lion", "nag", [not x for x in PLAIN], "0.5")


def test_params_flags_and_transforms_of_the_whole() -> None:
    """What the second one is given is its default, or, of what both read, a number of its own."""
    spec = pipeline.checked(
        api.read("muon otherwise adamw(lr = 2e-4, wd = 0, beta2 = 0.9, correct_bias = false) with ema")
    )
    params = {p.name: p.default for p in spec.params}
    assert [params[x] for x in ("adamw_lr", "adamw_beta2", "wd", "decay")] == [2e-4, 0.9, 0.1, 0.999]
    assert spec.flag("adamw_correct_bias").default is False and spec.flag("plain").per_param
    assert spec.parts == ("muon", "adamw") and spec.name == "MuonOtherwiseAdamWEMA"
    w, alone, g = np.ones(3), np.ones(3), np.ones(3)
    step = optgen.load(spec, "float64", adamw_lr=0.5).bind([w], [g])
    step(wd=1)  # which the second one does not read
    optgen.load("adamw", "float64", lr=0.5, beta2=0.9, correct_bias=False).bind([alone], [g])()
    assert w.tobytes() == alone.tobytes() and np.allclose(step.evaluate()[0], 0.999 + 0.001 * w)


def test_transforms_of_the_first_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand before `otherwise`, and those of the whole last; a second spec that has changed is read again."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    for factor in (2, 4):
        Path("mine.opt").write_text(f"optimizer Mine\nupdate:\n  w' = w - {factor}*lr*g\n")
        g = [np.zeros(s) for s in ((4, 3), (5,))]
        w = [rng.normal(size=x.shape) for x in g]
        by_hand = [x.copy() for x in w]
        chain = "splus with optax/clip(max_delta = 0.5) otherwise ./mine.opt(lr = 0.5) with lookahead(k = 2)"
        step = optgen.load(chain, "float64", lr=0.1).bind(w, g)
        alone = optgen.load("splus", "float64", lr=0.1).bind(by_hand[:1], clipped := [np.zeros((4, 3))])
        slow = [x.copy() for x in w]
        for t in range(1, 4):
            for x in g:
                x[...] = rng.normal(size=x.shape)
            clipped[0][...] = g[0].clip(-0.5, 0.5)
            step()
            alone()
            by_hand[1][...] -= factor * 0.5 * g[1]
            for x, y in zip(by_hand, slow, strict=True) if t == 2 else ():
                y += 0.5 * (x - y)
                x[...] = y
            assert all(np.allclose(x, y, rtol=1e-9) for x, y in zip(w, by_hand, strict=True))
        assert np.allclose(step.evaluate()[0], alone.evaluate()[0], rtol=1e-9)
        assert step.evaluate()[1].tobytes() == w[1].tobytes()


REFUSED: dict[str, tuple[type[Exception], str]] = {
    "normuon otherwise": (FileNotFoundError, "no spec named"),
    "normuon otherwise adamww": (FileNotFoundError, "did you mean 'adamw'"),
    "normuon otherwise 3": (SpecErrors, "the name of an optimizer is missing"),
    "normuon otherwise lion(beta3=1)": (ValueError, "lion has no param or flag 'beta3'; did you mean 'beta"),
    "normuon otherwise lion(t=3)": (ValueError, "lion has no param or flag 't'"),
    "normuon otherwise sgd(lr=2*lr)": (ValueError, r"sgd: lr = 2 \* lr is no number"),
    "normuon otherwise adamw(correct_bias=2)": (ValueError, "correct_bias = 2 is none of true, false"),
    "normuon otherwise soap": (SpecErrors, "soap does not update all parameters itself"),
    "normuon otherwise adamw, sgd": (SpecErrors, "',' cannot stand behind an optimizer"),
    "normuon otherwise adamw with": (SpecErrors, "the name of a transform is missing"),
    "normuon with ema otherwise adamw with ema": (ValueError, "ema stands there twice"),
    "normuon otherwise adamw with ema otherwise sgd": (SpecErrors, "transforms of the whole stand last"),
    "normuon with optax/normalize otherwise sgd": (ValueError, "normuon shares values between all parameters"),
    "muon_adamw otherwise sgd": (ValueError, "muon_adamw already has a part for other parameters, adam"),
    "normuon otherwise psgd_kron": (ValueError, "psgd_kron already has a part for other parameters"),
    "prodigy otherwise sgd": (ValueError, "prodigy shares values between all parameters"),
    "normuon otherwise prodigy": (ValueError, "prodigy shares values between all parameters"),
    "extragradient otherwise sgd": (ValueError, "extragradient has phases"),
    "own.opt otherwise adamw": (
        SpecErrors,
        "'adamw_lr' is in own, and is needed .*\n.*\n.*\n.*\n.*choose another prefix",
    ),
    "plain.opt otherwise adamw": (SpecErrors, "'plain' is in plain, and is needed for adamw"),
}


@pytest.mark.parametrize("chain", REFUSED)
def test_what_is_refused(chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for word in ("adamw_lr", "plain"):
        name = "own" if word == "adamw_lr" else word
        Path(f"{name}.opt").write_text(f"optimizer Own\nparam {word} = 1\nupdate:\n  w' = w - {word}*g\n")
    error, words = REFUSED[chain]
    with pytest.raises(error, match=words):
        optgen.load(chain)


def test_flags_of_a_used_spec_are_given_values_or_flags() -> None:
    text = "optimizer Own\nflag fast = true\nupdate:\n  w' = use adamw({})\n"
    for value, more in (("false", {"adamw_correct_bias": False}), ("fast", {})):
        spec = optgen.parse(text.format(f"correct_bias = {value}"))
        assert {f.name: f.default for f in spec.flags} == {"fast": True, **more}
    with pytest.raises(SpecErrors, match="correct_bias of adamw is a flag") as caught:
        optgen.parse(text.format("correct_bias = 2"))
    assert "give true, false, or a flag of this spec" in str(caught.value)


def test_files_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of one's own as the second one, which is read again when it has changed."""
    monkeypatch.chdir(tmp_path)
    for factor in (2, 4):
        Path("mine.opt").write_text(f"optimizer Mine\nparam beta = 1\nupdate:\n  w' = w - {factor}*beta*lr*g\n")
        w, g = np.zeros(2), np.ones(2)
        optgen.load("muon otherwise ./mine.opt(lr=0.5)", "float64").bind([w], [g])()
        assert w.tolist() == [-factor / 2] * 2
    assert main(["show", "muon otherwise mine.opt with ema", "--stage", "spec"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("optimizer MuonOtherwiseMineEMA for muon otherwise mine ") and "param mine_beta" in shown
    Path("shown.opt").write_text(shown)
    assert optgen.parse(shown).parts == ("muon", "mine") and main(["check", "shown.opt"]) == 0
    with pytest.raises(SpecErrors, match="there is no flag 'muon'"):
        optgen.parse("optimizer X for muon otherwise adam\nupdate:\n  w' = w - lr*g\n")
    with pytest.raises(SpecErrors, match="'of' cannot stand here"):
        optgen.parse("optimizer X of muon otherwise adam\nupdate:\n  w' = w - lr*g\n")
