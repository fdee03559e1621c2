"""What transforms compute: composed specs, beside their bases alone and the transforms in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.diagnostics import SpecErrors
from optgen.expressions import walk
from optgen.functions.table import is_draw
from optgen.model import Optimizer
from tests.sweeps import swept

Array = Any
BASES = ("sgd", "adam", "torch/adamw", "adafactor")
SHAPES = ((6, 5), (7,), (2, 3, 4))
STEPS = 7


WIDE = ((5, 6),)
"""A matrix whose rows stay independent when their means are subtracted: roots and eigenvectors are then well known."""


def gradients(step: int, shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[Array]:
    rng = np.random.default_rng(step)
    return [rng.normal(size=s) for s in shapes]


class Base:
    """Steps of a base, with weights and gradients of one's choice."""

    def __init__(self, name: str | Optimizer, w: list[Array], **values: Any) -> None:
        self.w, self.g = [x.copy() for x in w], [np.zeros_like(x) for x in w]
        self.step = optgen.load(name, "float64", **values).bind(self.w, self.g)

    def __call__(self, w: list[Array], g: list[Array], **now: float) -> list[Array]:
        for to, new in (*zip(self.w, w, strict=True), *zip(self.g, g, strict=True)):
            to[...] = new
        self.step(**now)
        return [x.copy() for x in self.w]

    def evaluated(self, w: list[Array]) -> list[Array]:
        """What a model is evaluated with, if these are the weights."""
        for to, new in zip(self.w, w, strict=True):
            to[...] = new
        return [np.asarray(x) for x in self.step.evaluate()]


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


def hyperball(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    fast, new = base(w, g), []
    radii = kept.setdefault("radii", [np.linalg.norm(x) for x in w])
    for x, f, r in zip(w, fast, radii, strict=True):
        if x.ndim < 2:
            new.append(f)
            continue
        u = x - f
        moved = x - 0.01 * r * u / max(np.linalg.norm(u), 1e-30)
        new.append(moved * r / max(np.linalg.norm(moved), 1e-30))
    return new


def ema(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    new = base(w, g)
    old = kept.get("eval", w)
    kept["eval"] = [0.999 * a + 0.001 * x for a, x in zip(old, new, strict=True)]
    return new


def _mean(of: Sequence[list[Array]]) -> list[Array]:
    return [np.mean(x, 0) for x in zip(*of, strict=True)]


def swa(
    base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any], start: int = 2, k: int = 2
) -> list[Array]:
    seen = kept.setdefault("all", [w])
    seen.append(base(w, g))
    kept["eval"] = _mean(seen[start::k]) if t >= start else seen[-1]
    return list(seen[-1])


def lawa(
    base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any], k: int = 2, h: int = 3
) -> list[Array]:
    seen = kept.setdefault("all", [w])
    seen.append(base(w, g))
    # Checkpoint n enters in the first update after it in which a history writes the entry n.
    entered = [n for n in range(1, t // h + 1) if any((u - 1) % k == n % k for u in range(n * h, t + 1))]
    kept["eval"] = _mean([seen[n * h] for n in entered[-k:]]) if entered else seen[-1]
    return list(seen[-1])


def _gamma(sigma: float) -> float:
    """The power of a profile of this relative width, as the authors' code finds it."""
    return float(np.roots([1, 7, 16 - sigma**-2, 12 - sigma**-2]).real.max())


def posthoc_ema(
    base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any], sigma: float = 0.07
) -> list[Array]:
    """Weighted sums of all weights, mixed by least squares over sampled profiles."""
    seen = kept.setdefault("all", [])
    seen.append(base(w, g))
    powers = [_gamma(x) for x in (0.05, 0.1, sigma)]
    averages = []
    for gamma in powers[:2]:
        betas = (1 - 1 / np.arange(1, t + 1)) ** (gamma + 1)
        shares = [(1 - betas[i]) * np.prod(betas[i + 1 :]) for i in range(t)]
        averages.append([sum(s * x for s, x in zip(shares, xs, strict=True)) for xs in zip(*seen, strict=True)])
    nodes, areas = np.polynomial.legendre.leggauss(200)
    narrow, wide, wanted = ((gamma + 1) * ((nodes + 1) / 2) ** gamma for gamma in powers)
    share = (areas * (wanted - wide) * (narrow - wide)).sum() / (areas * (narrow - wide) ** 2).sum()
    kept["eval"] = [share * a + (1 - share) * b for a, b in zip(*averages, strict=True)]
    return list(seen[-1])


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


def outer(rate: float, momentum: float) -> Update:
    """After each third step of the base, one of SGD with Nesterov's momentum, whose gradient is the way back."""

    def update(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
        slow, fast = kept.setdefault("slow", [x.copy() for x in w]), base(w, g)
        if t % 3:
            return fast
        back = [s - f for s, f in zip(slow, fast, strict=True)]
        old = kept.get("velocity", [0.0] * len(w))
        kept["velocity"] = [momentum * v + d for v, d in zip(old, back, strict=True)]
        ahead = [d + momentum * v for d, v in zip(back, kept["velocity"], strict=True)]
        kept["slow"] = [s - rate * a for s, a in zip(slow, ahead, strict=True)]
        return list(kept["slow"])

    return update


def private(base: Base, t: int, w: list[Array], g: list[Array], kept: dict[str, Any]) -> list[Array]:
    draw = kept.setdefault("draw", Base(optgen.parse("optimizer Z\nupdate:\n  z = normal()\n  w' = z"), w))
    noisy = [x + 1.5 * 0.2 * z for x, z in zip(g, draw(w, g), strict=True)]
    return base(w, [x / 8 for x in noisy])


TRANSFORMS: dict[str, tuple[str, Update]] = {
    call.partition("(")[0].strip(): (call, f)
    for call, f in (
        ("lookahead(k = 3)", lookahead),
        ("centralize", centralize),
        ("clip_norm", clip_norm),
        ("grokfast", grokfast),
        ("grokfast_ma(window = 3)", grokfast_ma),
        ("cautious", cautious),
        ("decoupled", decoupled),
        ("ema", ema),
        ("hyperball", hyperball),
        ("swa(start = 2, k = 2)", swa),
        ("lawa(k = 2, h = 3)", lawa),
        ("posthoc_ema(sigma_rel = 0.07)", posthoc_ema),
        ("schedule_free", schedule_free),
        ("mechanic(s_init = 0.001, s_decay = 0.5)", mechanic),
        ("diloco(h = 3, outer_lr = 0.6, outer_momentum = 0.8)", outer(0.6, 0.8)),
        ("snoo(k = 3, outer_lr = 0.9, outer_momentum = 0.4)", outer(0.9, 0.4)),
        ("private(noise = 1.5, clip = 0.2, batch = 8)", private),
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
    rate = {"lr": 0.01} if base.startswith("torch/") else {"lr": 0.01, "wd": 0.1}
    compare(transform, base, SHAPES, rate)


@pytest.mark.parametrize(
    ("transform", "base"),
    swept(
        itertools.product(TRANSFORMS, ("matrix/splus", "asgd", "schedulefree_adamw", "matrix/soap")),
        [("lookahead", "matrix/splus"), ("ema", "matrix/splus"), ("cautious", "asgd"), ("grokfast", "matrix/soap")],
    ),
)
def test_bases_with_weights_to_evaluate_with_and_with_late_starts(transform: str, base: str) -> None:
    compare(transform, base, WIDE, {"lr": 0.01, "wd": 0.1})


OWN = """optimizer Own
param beta    = 0.75
state m       = beta*grad
state scale: tensor = 1 + norm(w)
state average = w
update:
  m'       = beta*m + g
  scale'   = scale
  w'       = w - lr*m'/scale
  average' = 0.5*average + 0.5*w'
eval:
  w' = average + 0.125*w
"""


@pytest.mark.parametrize(
    "chain",
    [
        "own.opt with centralize",
        "own.opt with clip_norm(max_norm = 0.5), lookahead(k = 2)",
        "own.opt with grokfast, ema(decay = 0.25), swa(k = 3)",
        "own.opt with grokfast, centralize, sam(rho = 0.25)",
    ],
)
def test_a_base_in_numpy(chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All in NumPy: what states start from, and the weights to evaluate with."""
    monkeypatch.chdir(tmp_path)
    Path("own.opt").write_text(OWN)
    w, g = [np.linspace(-1, 2, 12).reshape(4, 3)], [np.zeros((4, 3))]
    step = optgen.load(chain, "float64", lr=0.5, rescale_grad=2).bind(w, g)
    x, z = w[0].copy(), np.array(0.0)
    m, slow, average, all_weights = z, x.copy(), x.copy(), [x.copy()]
    scale, mean = 1 + np.linalg.norm(x), 0.0
    for t in range(1, 8):
        d = g[0][...] = np.random.default_rng(t).normal(size=(4, 3))
        if "sam" in chain:
            step.ascend()
            assert np.allclose(w[0], x + 0.25 * d / np.linalg.norm(d), rtol=1e-9)
            d = g[0][...] = np.random.default_rng(-t % 100).normal(size=(4, 3))
            step.descend()
        else:
            step()
        if "centralize" in chain:  # the last one comes first
            d = d - d.mean(1, keepdims=True)
        if "grokfast" in chain:
            mean = 0.98 * mean + 0.02 * d
            d = d + 2 * mean
        if "clip_norm" in chain:
            d = d * min(1, 0.5 / (2 * np.linalg.norm(d) + 1e-6))
        m = 0.75 * (0.75 * d if t == 1 else m) + 2 * d
        x = x - 0.5 * m / scale
        average = 0.5 * average + 0.5 * x
        if "lookahead" in chain and t % 2 == 0:
            slow = slow + 0.5 * (x - slow)
            x = slow.copy()
        all_weights.append(x)
        assert np.allclose(w[0], x, rtol=1e-9)
        evaluated = np.mean(all_weights[::3], 0) if "swa" in chain else average + 0.125 * x
        assert np.allclose(step.evaluate()[0], evaluated, rtol=1e-9)


def compare(transform: str, base: str, shapes: Sequence[tuple[int, ...]], values: dict[str, float]) -> None:
    """Some steps of a composed spec, beside the base alone and the transform in NumPy. Bases of eigenvectors have less
    exact numbers."""
    rtol = 1e-6 if "soap" in base else 1e-9
    call, update = TRANSFORMS[transform]
    rng = np.random.default_rng(11)
    start = [rng.normal(size=s) for s in shapes]
    w, g = [x.copy() for x in start], gradients(0, shapes)
    rule = optgen.load(f"{base} with {call}", "float64", **values)
    step = rule.bind(w, g)
    by_hand, kept = [x.copy() for x in start], dict[str, Any]()
    alone = Base(base, start, **values)
    for t in range(1, STEPS + 1):
        for to, new in zip(g, gradients(t, shapes), strict=True):
            to[...] = new
        step()
        by_hand = update(alone, t, by_hand, [x.copy() for x in g], kept)
        for got, want in zip(w, by_hand, strict=True):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-3 * rtol)
    if rule.spec.evaluate:  # of the transform, or else of the base
        own = kept["eval"] if "eval" in kept else alone.evaluated(by_hand)
        for got, want in zip(step.evaluate(), own, strict=True):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-2 * rtol)


@pytest.mark.parametrize(
    ("call", "update", "options"),
    [
        ("swa", swa, {"start": 0, "k": 1}),
        ("swa", swa, {"start": 5, "k": 3}),
        ("lawa", lawa, {"k": 1, "h": 1}),
        ("lawa", lawa, {"k": 4, "h": 6}),
        ("lawa", lawa, {"k": 5, "h": 5}),
        ("posthoc_ema", posthoc_ema, {"sigma_rel": 0.05}),
        ("posthoc_ema", posthoc_ema, {"sigma_rel": 0.2}),
    ],
)
def test_averages_after_each_update(call: str, update: Any, options: dict[str, Any]) -> None:
    start, shapes = [np.ones((2, 3))], ((2, 3),)
    w, g = [x.copy() for x in start], gradients(0, shapes)
    values = ", ".join(f"{name} = {x}" for name, x in options.items())
    step = optgen.load(f"sgd with {call}({values})", "float64").bind(w, g)
    alone, by_hand, kept = Base("sgd", start), [x.copy() for x in start], dict[str, Any]()
    for t in range(1, 32):
        g[0][...] = gradients(t, shapes)[0]
        step()
        by_hand = update(alone, t, by_hand, [x.copy() for x in g], kept, *options.values())
        np.testing.assert_allclose(step.evaluate()[0], kept["eval"][0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(w[0], by_hand[0], rtol=1e-12)


def is_plain(base: str) -> bool:
    """Whether a spec takes one gradient, and nothing else."""
    spec = optgen.load(base).spec
    return not (spec.phases or spec.inputs or spec.given)


@pytest.mark.stress
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("base", specfiles.all_available())
def test_every_spec_with_every_transform(transform: str, base: str) -> None:
    if not is_plain(base):
        pytest.skip("it is not the base of a transform in NumPy")
    spec = optgen.load(base).spec
    if transform == "private" and any(is_draw(e) for line in spec.update for e in walk(line.value)):
        pytest.skip("its draws are others behind that of the transform")
    reads = spec.reads
    values = {"lr": 0.01} | ({"wd": 0.1} if "wd" in reads else {}) | ({"r": 2} if "r" in spec.all_params else {})
    if transform == "decoupled" and "wd" not in reads:
        with pytest.raises(SpecErrors, match="the base reads no 'wd'"):
            optgen.load(f"{base} with {transform}")
        return
    try:
        compare(transform, base, WIDE, values)
    except SpecErrors as error:
        assert {d.code for d in error.diagnostics} == {"E114"}, error  # a use that has no meaning
