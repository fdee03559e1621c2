"""Composition: what transforms compute, the text of composed specs, and what is refused."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline, specfiles
from optgen.cli import main
from optgen.diagnostics import Source, SpecErrors
from optgen.lang import format_text
from optgen.lang.compose import flatten
from tests.process import run
from tests.sweeps import swept

HERE = Path(__file__).parent
Array = Any
BASES = ("sgd", "adam", "torch/adamw", "adafactor")
SHAPES = ((6, 5), (7,), (2, 3, 4))
STEPS = 7


def gradients(step: int) -> list[Array]:
    rng = np.random.default_rng(step)
    return [rng.normal(size=s) for s in SHAPES]


class Base:
    """Steps of a base, with weights and gradients of one's choice."""

    def __init__(self, name: str, w: list[Array], **values: Any) -> None:
        self.w, self.g = [x.copy() for x in w], [np.zeros_like(x) for x in w]
        self.step = optgen.load(name, "float64", **values).bind(self.w, self.g)

    def __call__(self, w: list[Array], g: list[Array], **now: float) -> list[Array]:
        for to, new in (*zip(self.w, w, strict=True), *zip(self.g, g, strict=True)):
            to[...] = new
        self.step(**now)
        return [x.copy() for x in self.w]


Update = Callable[[Base, int, list[Array], list[Array], dict[str, Any]], list[Array]]


def lookahead(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    slow, fast = kept.setdefault("slow", [x.copy() for x in w]), base(w, g)
    if t % 3:
        return fast
    kept["slow"] = [s + 0.5 * (f - s) for s, f in zip(slow, fast, strict=True)]
    return list(kept["slow"])


def centralize(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    means = [x.reshape(x.shape[0], -1).mean(1).reshape(-1, *[1] * (x.ndim - 1)) if x.ndim > 1 else 0.0 for x in g]
    return base(w, [x - m for x, m in zip(g, means, strict=True)])


def clip_norm(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    norm = np.sqrt(sum((x**2).sum() for x in g))
    return base(w, [x * min(1.0, 1.0 / (norm + 1e-6)) for x in g])


def grokfast(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    old = kept.get("slow", [0.0] * len(w))
    kept["slow"] = [0.98 * s + 0.02 * x for s, x in zip(old, g, strict=True)]
    return base(w, [x + 2 * s for x, s in zip(g, kept["slow"], strict=True)])


def grokfast_ma(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    kept["past"] = [*kept.get("past", []), g][-3:]
    slow = [sum(x) / 3 if t >= 3 else 0 * y for *x, y in zip(*kept["past"], g, strict=True)]
    return base(w, [x + 5 * s for x, s in zip(g, slow, strict=True)])


def cautious(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    u = [x - f for x, f in zip(w, base(w, g), strict=True)]
    mask = [(x * y > 0).astype(float) for x, y in zip(u, g, strict=True)]
    return [x - y * m / max(m.mean(), 1e-3) for x, y, m in zip(w, u, mask, strict=True)]


def decoupled(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    return [f - 0.01 * 0.1 * x for f, x in zip(base(w, g, wd=0.0), w, strict=True)]


def ema(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    new = base(w, g)
    old = kept.get("eval", w)
    kept["eval"] = [0.999 * a + 0.001 * x for a, x in zip(old, new, strict=True)]
    return new


def schedule_free(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    z, x = kept.get("z", w), kept.get("eval", w)
    z = [a + f - y for a, f, y in zip(z, base(w, g), w, strict=True)]
    x = [(1 - 1 / t) * b + a / t for a, b in zip(z, x, strict=True)]
    kept.update(z=z, eval=x)
    return [0.1 * a + 0.9 * b for a, b in zip(z, x, strict=True)]


def mechanic(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    betas, x0 = 1 - 0.1 ** np.arange(1, 7), kept.setdefault("x0", w)
    m, v, r = kept.get("m", np.full(6, 1e-6)), kept.get("v", np.zeros(6)), kept.get("r", np.zeros(6))
    s = (1e-3 / 6 * m + r) / (np.sqrt(v) + 1e-8)
    delta = [(x - y) / (s.sum() + 1e-8) for x, y in zip(w, x0, strict=True)]
    norms = [np.sqrt(sum((x**2).sum() for x in xs)) for xs in (g, w)]
    decay = 0.5 * s.sum() * norms[0] / (norms[1] + 1e-8)
    h = sum((d * (x + decay * y)).sum() for d, x, y in zip(delta, g, w, strict=True))
    m, v, r = np.maximum(betas * m, abs(h)), betas**2 * v + h**2, np.maximum(betas * r - s * h, 0)
    kept.update(m=m, v=v, r=r)
    s_new = ((1e-3 / 6 * m + r) / (np.sqrt(v) + 1e-8)).sum()
    return [a + s_new * (d + f - x) for a, d, f, x in zip(x0, delta, base(w, g), w, strict=True)]


TRANSFORMS: dict[str, tuple[str, Update]] = {
    f.__name__: (call, f)
    for call, f in (
        ("lookahead(k = 3)", lookahead),
        ("centralize", centralize),
        ("clip_norm", clip_norm),
        ("grokfast", grokfast),
        ("grokfast_ma(window = 3)", grokfast_ma),
        ("cautious", cautious),
        ("decoupled", decoupled),
        ("ema", ema),
        ("schedule_free", schedule_free),
        ("mechanic(s_init = 0.001, s_decay = 0.5)", mechanic),
    )
}


def test_every_transform_is_compared() -> None:
    """tests/lang/test_phases.py has sam, and tests/optimizers/peers has those of optax."""
    own = [name for name in specfiles.transforms() if not name.startswith("optax/")]
    assert sorted([*TRANSFORMS, "sam"]) == own


@pytest.mark.parametrize(
    ("transform", "base"),
    swept(
        itertools.product(TRANSFORMS, BASES),
        lambda x: (
            x[1] in ("sgd", "adam") or x[0] in ("lookahead", "schedule_free") or x == ("decoupled", "torch/adamw")
        ),
    ),
)
def test_a_transform_is_the_base_in_its_hands(transform: str, base: str) -> None:
    """The composed spec, beside the base alone and the transform in NumPy."""
    if (transform, base) == ("decoupled", "torch/adamw"):
        with pytest.raises(SpecErrors, match="the base reads no 'wd'"):
            optgen.load(f"{base} with {transform}")
        return
    if transform in ("clip_norm", "mechanic") and base == "adafactor":
        pytest.skip("vectors and matrices need kernels of their own, and a sum over all parameters needs one")
    rate = {"lr": 0.01} if base.startswith("torch/") else {"lr": 0.01, "wd": 0.1}
    compare(transform, base, SHAPES, rate)


def compare(transform: str, base: str, shapes: Sequence[tuple[int, ...]], values: dict[str, float]) -> None:
    """Some steps of a composed spec, beside the base alone and the transform in NumPy."""
    call, update = TRANSFORMS[transform]
    rng = np.random.default_rng(11)
    start = [rng.normal(size=s) for s in shapes]
    w, g = [x.copy() for x in start], gradients(0)[: len(shapes)]
    rule = optgen.load(f"{base} with {call}", "float64", **values)
    step = rule.bind(w, g)
    by_hand, kept = [x.copy() for x in start], dict[str, Any]()
    alone = Base(base, start, **values)
    for t in range(1, STEPS + 1):
        for to, new in zip(g, gradients(t), strict=False):
            to[...] = new
        step()
        by_hand = update(alone, t, by_hand, [x.copy() for x in g], kept)
        for got, want in zip(w, by_hand, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    if "eval" in kept:
        for got, want in zip(step.evaluate(), kept["eval"], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def is_plain(base: str) -> bool:
    """Whether a spec takes one gradient, and nothing else."""
    spec = optgen.load(base).spec
    return not (spec.phases or spec.inputs or spec.given)


SHIPPED = [name for family in ("", "torch") for name in specfiles.available(family)]


@pytest.mark.stress
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("base", SHIPPED)
def test_every_spec_with_every_transform(transform: str, base: str) -> None:
    if not is_plain(base):
        pytest.skip("it is not the base of a transform in NumPy")
    reads = optgen.load(base).spec.reads
    values = {"lr": 0.01} | ({"wd": 0.1} if "wd" in reads else {})
    if transform == "decoupled" and "wd" not in reads:
        with pytest.raises(SpecErrors, match="the base reads no 'wd'"):
            optgen.load(f"{base} with {transform}")
        return
    try:
        compare(transform, base, SHAPES[:1], values)
    except SpecErrors as error:
        # which say why they do not go together: a use that is refused, and sums over params beside products
        assert {d.code for d in error.diagnostics} <= {"E114", "E303"}, error


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


@pytest.mark.parametrize("transform", ["cautious", "centralize"])
def test_shampoo_has_a_flag_by_the_name_of_a_function(transform: str) -> None:
    assert optgen.load(f"shampoo with {transform}").spec.flag("mean")


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


@pytest.mark.parametrize("name", [*COMPOSED, "adam with lookahead(k = 3, alpha = 0.25), ema"])
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
        ("soap with centralize", SpecErrors, "'U' of the base starts from the gradient"),
        ("muon_adamw with optax/multi_steps", SpecErrors, "the base has parts, each with a w' of its own"),
        ("adam with optax/ema(debias = 0)", ValueError, "debias = 0 is none of true, false"),
        ("adam with ema(decay = lr)", ValueError, "is no number"),
        ("adam with ema(decay = 2)", SpecErrors, "outside"),
        ("adam with", FileNotFoundError, "no spec named"),
        ("adam with ema ema", SpecErrors, "cannot stand behind a transform"),
        ("schedulefree_sgd with ema", SpecErrors, "has 'eval:'"),
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
