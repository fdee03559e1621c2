"""Composition: the text of composed specs, and what is refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import api, pipeline, specfiles
from optgen.cli import main
from optgen.diagnostics import Source, SpecErrors
from optgen.lang import format_text
from optgen.lang.compose import flatten
from tests.process import run

HERE = Path(__file__).parent

COMPOSED = {
    "uses.opt": """optimizer Two
flag warm = true
update:
  a  = use sgd(momentum = 0.9, grad = 2*g)
  b  = use adam(beta1 = 0.8, lr = lr/2) as other   if warm
  b  = w                                          otherwise
  w' = (a + b)/2
""",
    "otherwise.opt": """optimizer Mixed for matrix "signs for matrices"
param adam_lr = 0.001
flag plain per param = false
flag matrix = rank == 2 and not plain
state m = 0
otherwise use schedulefree_adamw(lr = adam_lr) as adam
update:
  m' = 0.9*m + g
  w' = w - lr*sign(m')
""",
}


CHAINS = ("adam with lookahead(k = 3, alpha = 0.25), ema", "galore otherwise adamw(lr = 3e-4) as adam with ema")


@pytest.mark.parametrize("name", [*COMPOSED, *CHAINS])
def test_the_composed_text(name: str, golden: Callable[[Path, str], None]) -> None:
    source = flatten(Source(name, COMPOSED[name])).source if name in COMPOSED else pipeline.chain(name)
    text = format_text(source)
    golden(HERE / "composed" / f"{name.partition(' (')[0].split('(')[0].strip().replace(' ', '_')}.txt", text)
    assert flatten(source).source is source
    optgen.parse(text)


def test_otherwise_is_the_other_optimizer() -> None:
    rng = np.random.default_rng(3)
    w = [rng.normal(size=s).astype(np.float32) for s in ((5, 3), (4,), (3, 3))]
    g = [rng.normal(size=x.shape).astype(np.float32) for x in w]
    text = COMPOSED["otherwise.opt"].replace("schedulefree_adamw", "adamw")
    others = [x.copy() for x in w[1:]]
    step = optgen.load(optgen.parse(text), lr=0.02).bind(w, g, flags={"plain": [False, False, True]})
    other = optgen.load("adamw", lr=0.001).bind(others, g[1:])
    first = w[0].copy()
    for _ in range(3):
        step()
        other()
    assert [x.tobytes() for x in w[1:]] == [x.tobytes() for x in others]
    assert np.allclose(first - w[0], 0.06 * np.sign(g[0]), atol=1e-5)
    assert sorted(step.state.arrays) == ["adam_m", "adam_v", "m"]


def test_a_use_in_some_updates() -> None:
    """The states of what is used stay as they are in the others."""
    text = "optimizer Slow\nupdate:\n  w' = use adam(t = t/2) every 2\n  w' = w otherwise\n"
    grads = np.random.default_rng(3).normal(size=(6, 5))
    w, g, alone, now = np.ones(5), np.zeros(5), np.ones(5), np.zeros(5)
    step = optgen.load(optgen.parse(text), "float64").bind([w], [g])
    other = optgen.load("adam", "float64", lr=0.01).bind([alone], [now])
    for k, grad in enumerate(grads, 1):
        g[:] = now[:] = grad
        step()
        if k % 2 == 0:
            other()
        assert w.tobytes() == alone.tobytes()


def test_a_rate_that_is_a_number() -> None:
    """It takes the place of the rate, though the spec that is used has a default of its own."""
    w, g = np.zeros(2), np.ones(2)
    text = "optimizer Fixed\nupdate:\n  w' = use optax/sgd(lr = 0.25)\n"
    optgen.load(optgen.parse(text), "float64").bind([w], [g])()
    assert w.tolist() == [-0.25] * 2


def test_transforms_of_one_name_and_several_of_gradients() -> None:
    w, g = np.zeros(3), np.array([3.0, np.nan, -0.25])
    chain = "optax/sgd with optax/ema(decay = 0.5, debias = false), ema(decay = 0.25), optax/clip, optax/zero_nans"
    step = optgen.load(chain, "float64", lr=1).bind([w], [g])
    step()
    assert w.tolist() == [-0.5, 0, 0.125]
    assert step.evaluate()[0].tolist() == [-0.375, 0, 0.09375]


def test_flags_of_a_transform() -> None:
    for chain, values in (
        ("adam with decoupled(decay = 'cautious')", {"decay": "cautious"}),
        ("sgd with optax/trace(decay = 0.5, nesterov = true)", {"decay": 0.5, "nesterov": True}),
    ):
        paths = []
        for name, given in ((chain, {}), (chain.partition("(")[0], values)):
            w, g = np.linspace(-1, 1, 7), np.linspace(2, -1, 7)
            step = optgen.load(name, "float64", **given).bind([w], [g])
            step()
            step(wd=0.1) if "decoupled" in name else step()
            paths.append(w.tobytes())
        assert paths[0] == paths[1]


WRONG = {
    "w' = use base()": "'base' in an optimizer",
    "w' = use adam(beta9 = 1)": "adam takes no 'beta9'",
    "w' = use adam(beta1 = 0.5, beta1 = 0.6)": "'beta1' is given twice",
    "w' = use adam(0.5)": "'0.5' is no argument of a use",
    "a = use adam()\n  b = use adam()\n  w' = a + b": "is in adam, and here as well",
    "w' = use adam() + 1": "'+' behind a use",
    "a = use schedulefree_sgd()\n  w' = a": "has 'eval:', which cannot be kept here",
    "w' = use adam(g = sign(g))": "adam reads grad, not only g",
    "w' = use ema()": "no spec named 'ema'",
    "w' = use adam(beta1 = 2)": "the default 2 is outside",
    "w' = use adam() every 2": "w' has no value in the other updates",
    "w' = use soap() every 2\n  w' = w otherwise": "soap has 'every' in its own equations",
}


def test_what_stands_behind_the_use_for_other_parameters_is_refused() -> None:
    with pytest.raises(SpecErrors, match=r"'\+' behind a use"):
        optgen.parse(COMPOSED["otherwise.opt"].replace(" as adam", " + 1"))


def test_a_batch_of_matrices_is_one_in_a_chain_too() -> None:
    """`axes last two` of the base comes along."""
    ends = []
    for name in ("torch/adafactor", "torch/adafactor with ema"):
        w, g = (np.random.default_rng(seed).normal(size=(2, 3, 4)) for seed in (1, 2))
        optgen.load(name, "float64").bind([w], [g])()
        ends.append(w.tobytes())
    assert ends[0] == ends[1]


def test_a_version_rises_with_that_of_each_part(tmp_path: Path) -> None:
    """Of specs that are used, of a base, and of transforms, in a chain as well."""
    used = "optimizer A\nversion 4\nstate m = 0\nupdate:\n  m' = m + g\n  w' = w - lr*m'\n"
    (tmp_path / "a.opt").write_text(used)
    (tmp_path / "b.opt").write_text("optimizer B\nversion 2\nupdate:\n  s = use a(lr = 2)\n  w' = s - lr*w\n")
    (tmp_path / "t.opt").write_text("transform T\nversion 7\nupdate:\n  w' = use base()\n")
    assert optgen.parse(used).version == 4
    assert pipeline.checked(api.read(tmp_path / "b.opt")).version == 2 + 3
    assert pipeline.checked(api.read(f"{tmp_path / 'b.opt'} with {tmp_path / 't.opt'}, cautious")).version == 2 + 3 + 6
    assert pipeline.checked(api.read("adam with cautious")).version == 1
    for wrong in ("2.5", "0", "x", "", "9" * 5000):
        (tmp_path / "b.opt").write_text(f"optimizer B\nversion {wrong}\nupdate:\n  w' = use a()\n")
        with pytest.raises(SpecErrors, match=r"error\[E105\]: this is no version\n --> .*b.opt:2:"):
            pipeline.checked(api.read(tmp_path / "b.opt"))
    (tmp_path / "a.opt").write_text(used.replace("version 4", "version 1000000"))
    (tmp_path / "b.opt").write_text("optimizer B\nversion 2\nupdate:\n  w' = use a()\n")
    with pytest.raises(SpecErrors, match=r"with a, the version is 1000001\n --> .*b.opt:4:"):
        pipeline.checked(api.read(tmp_path / "b.opt"))


@pytest.mark.parametrize("lines", WRONG)
def test_what_is_refused(lines: str) -> None:
    with pytest.raises(SpecErrors, match="error") as caught:
        optgen.parse(f"optimizer X\nupdate:\n  {lines}\n")
    assert WRONG[lines] in str(caught.value)
    assert all(3 <= d.span.line <= 5 for d in caught.value.diagnostics)


def test_cycles_and_chains_that_make_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.opt").write_text("optimizer A\nupdate:\n  w' = use b()\n")
    (tmp_path / "b.opt").write_text("optimizer B\nupdate:\n  w' = use a()\n")
    with pytest.raises(SpecErrors, match="a uses itself"):
        optgen.load(tmp_path / "a.opt")
    for chain, error, words in (
        ("adam with ema, ema", ValueError, "ema stands there twice"),
        ("adam with emma", FileNotFoundError, "did you mean 'ema'"),
        ("adma with ema", FileNotFoundError, "did you mean 'adam'"),
        ("adam with ema(beta = 1)", ValueError, "ema has no param or flag 'beta'"),
        ("adam with decoupled(decay = 'fast')", ValueError, "is none of 'scaled', 'independent', 'cautious'"),
        ("soap with optax/multi_steps", SpecErrors, "'U' of the base starts from the gradient in the first update"),
        ("extra_adam with ema", SpecErrors, "the base has phases"),
        ("muon_adamw with optax/multi_steps", SpecErrors, "the base has parts, each with a w' of its own"),
        ("adam with optax/ema(debias = 0)", ValueError, "debias = 0 is none of true, false"),
        ("adam with ema(decay = lr)", ValueError, "is no number"),
        ("adam with ema(decay = 2)", SpecErrors, "outside"),
        ("adam with", FileNotFoundError, "no spec named"),
        ("adam with ema ema", SpecErrors, "cannot stand behind a transform"),
    ):
        with pytest.raises(error, match=words):
            optgen.load(chain)


def test_a_transform_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half.opt").write_text(
        "transform Half\nparam share = 0.5\nupdate:\n  x = use base()\n  w' = w + share*(x - w)\n"
    )
    w, g = np.zeros(3), np.ones(3)
    optgen.load("sgd with half(share = 0.25)", "float64", lr=1).bind([w], [g])()
    assert w.tolist() == [-0.25] * 3
    (tmp_path / "specs").mkdir()
    path = (tmp_path / "half.opt").rename(tmp_path / "specs" / "my-half.opt")
    for written in ("specs/my-half.opt", "./specs/my-half.opt(share = 0.25)", f"centralize, {path}(share=0.25)"):
        optgen.load(f"sgd with {written}", "float64", lr=1)
    assert [x.name for x in optgen.api.pipeline.checked(optgen.api.read(f"sgd with {path}")).params][-1] == "share"
    w = np.zeros(3)
    optgen.load(f"sgd with {path}(share = 0.25)", "float64", lr=1).bind([w], [g])()
    assert w.tolist() == [-0.25] * 3
    with pytest.raises(FileNotFoundError, match=r"there is no file ./half.opt \(in "):
        optgen.load("sgd with ./half.opt")
    with pytest.raises(ValueError, match="my_half stands there twice"):
        optgen.load("sgd with specs/my-half.opt, specs/my-half.opt")
    path.rename(tmp_path / "half.opt")
    assert main(["check", "half.opt", "sgd with half"]) == 0
    assert main(["show", "sgd with half", "--stage", "spec"]) == 0
    assert "w'   = w + share*(x - w)" in capsys.readouterr().out
    assert main(["fmt", "half.opt"]) == 0
    with pytest.raises(SpecErrors, match="a transform is no optimizer by itself"):
        optgen.load("half.opt")


def test_a_file_that_is_used_is_part_of_the_cache_key(tmp_path: Path) -> None:
    (tmp_path / "inner.opt").write_text("optimizer Inner\nupdate:\n  w' = w - lr*g\n")
    (tmp_path / "outer.opt").write_text("optimizer Outer\nupdate:\n  w' = use inner()\n")
    for factor in (1, 2):
        w, g = np.zeros(2), np.ones(2)
        optgen.load(tmp_path / "outer.opt", "float64", lr=1).bind([w], [g])()
        assert w.tolist() == [-factor] * 2
        (tmp_path / "inner.opt").write_text("optimizer Inner\nupdate:\n  w' = w - 2*lr*g\n")


def test_a_transform_that_has_changed_is_applied_anew(tmp_path: Path) -> None:
    """In the place of what the cache has of the same words."""
    (tmp_path / "inner.opt").write_text("optimizer Inner\nupdate:\n  w' = w - lr*g\n")
    for factor in (0.5, 0.25):
        (tmp_path / "slow.opt").write_text(f"transform Slow\nupdate:\n  x  = use base()\n  w' = w + {factor}*(x - w)\n")
        for named in ("slow", tmp_path / "slow.opt"):
            w, g = np.zeros(2), np.ones(2)
            optgen.load(f"{tmp_path / 'inner.opt'} with {named}", "float64", lr=1).bind([w], [g])()
            assert w.tolist() == [-factor] * 2


def test_what_is_in_the_cache_is_not_composed_again() -> None:
    names = ("adam with lookahead(k = 4), centralize", "muon_adamw", "optax/adam with optax/multi_steps")
    for name in names:
        optgen.load(name)
    shown = "[m for m in sys.modules if m.startswith('optgen.lang')]"
    code = f"import sys, optgen\nfor name in {names}: optgen.load(name)\nprint(*{shown})"
    done = run([sys.executable, "-c", code], timeout=60)
    assert done.stdout.strip() == done.stderr == ""


def test_chains_in_pytorch() -> None:
    import torch

    import optgen.torch

    p = torch.nn.Parameter(torch.ones(4, 3))
    opt = optgen.torch.optimizer("sgd with ema(decay=0.5)")([p], lr=1.0)
    p.grad = torch.ones(4, 3)
    opt.step()
    assert p.unique().item() == 0.0 and opt.state[p]["average"].unique().item() == 0.5


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ("  w' = w - lr*g", "Odd does not use the base"),
        ("  a  = use base()\n  b  = use base()\n  w' = (a + b)/2", "the base is used twice"),
    ],
)
def test_a_transform_uses_its_base_once(update: str, words: str) -> None:
    with pytest.raises(SpecErrors, match=words):
        pipeline.with_base("adam", Source("odd.opt", f"transform Odd\nupdate:\n{update}\n"))


def test_errors_of_a_transform_have_their_places_in_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "slow.opt"
    lines = ["transform Slow", "param k = 5", "update:", "  w' = use base()", "  w' = w + rate every k"]
    path.write_text("\n".join(lines))
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().err
    for place, what in (
        (":5:3", "the one on line 4 takes"),
        (":5:12", "unknown name 'rate'"),
        (":5:23", "'k' need not"),
    ):
        assert f"slow.opt{place}\n" in shown and what in shown


def test_the_word_between_dimensions_is_no_name(tmp_path: Path) -> None:
    update = "  P  = normal(rows x r)\n  x  = P@identity(r x cols)\n  w' = w - lr*x\n"
    (tmp_path / "inner.opt").write_text(f"optimizer Inner\nparam r: int = 2 in [1, inf)\nupdate:\n{update}")
    (tmp_path / "outer.opt").write_text("optimizer Outer\nupdate:\n  w' = use inner() as a\n")
    w, g = np.zeros((4, 3), np.float32), np.ones((4, 3), np.float32)
    optgen.load(tmp_path / "outer.opt", lr=1).bind([w], [g])()
    assert np.linalg.matrix_rank(w) == 2


def own_decay(name: str) -> str | None:
    """The default that a spec gives wd."""
    found = re.search(r"^param wd\s*= (\S+)", specfiles.spec_path(name).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found and float(found[1]) else None


@pytest.mark.parametrize("name", [name for name in specfiles.all_available() if own_decay(name)])
def test_a_base_keeps_its_default_where_a_transform_reads_it(name: str) -> None:
    """`use base(wd = 0)` gives the base another value; the transform decays by the base's own."""
    try:
        text = pipeline.chain(f"{name} with decoupled").text
    except SpecErrors as errors:  # it has weights to evaluate with, or a flag of the transform's name
        pytest.skip(str(errors).split("\n")[0])
    assert re.findall(r"^param wd\s*= (\S+)", text, re.MULTILINE) == [own_decay(name)]
