"""Weights of 16 bits without a master, rounded at random or with what rounding lost: against float32 rules, whose new
weights are rounded here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute.buffers import numpy_dtype
from optgen.execute.piece import Box
from tests.compiler.harness import Array, same_bits

HALVES = ["float16", "bfloat16"]
SHAPES = ((33, 7), (1,), (130,), (0, 3))


def random(dtype: str, seed: int, scale: float = 1) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [(scale * rng.normal(size=shape)).astype(numpy_dtype(dtype)) for shape in SHAPES]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("adam", "float16"),
        ("lamb", "bfloat16"),
        ("lion with lookahead(k=2)", "bfloat16"),
        ("muon_adamw", "bfloat16"),
        ("schedulefree_adamw", "float16"),
    ],
)
def test_what_rounding_lost_is_added_in_the_next_step(name: str, dtype: str) -> None:
    """The float32 rule is given the weights as they are and states in float32; its result is rounded by NumPy."""
    rule, exact = (optgen.load(name, x, lr=1e-3, **how) for x, how in ((dtype, {"weights": "kahan"}), ("float32", {})))
    states = [s.name for s in rule.spec.states if s.kind.value == "elem"]
    rule = optgen.load(name, dtype, weights="kahan", storage=dict.fromkeys(states, "float32"), lr=1e-3)
    ours, lost = random(dtype, 0), [np.zeros(shape, numpy_dtype(dtype)) for shape in SHAPES]
    theirs = [w.astype(np.float32) for w in ours]
    grads, singles = random(dtype, 1), [g.astype(np.float32) for g in random(dtype, 1)]
    step, reference = rule.bind(ours, grads), exact.bind(theirs, singles)
    for seed in range(4):
        for g, single, new in zip(grads, singles, random(dtype, seed + 2), strict=True):
            g[...] = single[...] = new
        step()
        reference()
        for k, w in enumerate(theirs):
            whole = w + lost[k].astype(np.float32)
            w[...] = whole.astype(numpy_dtype(dtype))
            lost[k] = (whole - w).astype(numpy_dtype(dtype))
            assert same_bits(ours[k], w.astype(numpy_dtype(dtype))), (SHAPES[k], seed)
            assert same_bits(np.asarray(step.state.arrays["compensation"][k]), lost[k])
    if rule.spec.evaluate:
        kept = [np.asarray(x) for x in step.state.arrays["compensation"]]
        step.evaluate()
        assert all(map(same_bits, kept, lost))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("weights", "error"), [(None, 0.1), ("stochastic", 2e-3), ("kahan", 4e-3)])
def test_small_updates_add_up(dtype: str, weights: str | None, error: float) -> None:
    """1000 updates of 1e-4, each less than half of the distance of two numbers."""
    w, g = np.full(20_000, 1.0, numpy_dtype(dtype)), np.full(20_000, 1, numpy_dtype(dtype))
    step = optgen.load("sgd", dtype, weights=weights, lr=1e-4).bind([w], [g])
    for _ in range(1000):
        step()
    found = abs(w.astype(np.float64).mean() - 0.9)
    assert found <= error and (weights or found > 0.04)


@pytest.mark.parametrize("dtype", HALVES)
def test_random_rounding_has_the_right_mean_and_is_repeated(dtype: str) -> None:
    """By seed, parameter, count and element; in pieces as in one."""
    n = 1 << 16
    up, down = np.float32(1) + np.float32(2.0 ** (-10 if dtype == "float16" else -7)), np.float32(1)
    share = np.float32(0.3)
    rule = optgen.load("sgd", dtype, weights="stochastic", lr=float((up - down) * share))

    def stepped(seed: int, cuts: tuple[int, ...] = (0, 256)) -> Array:
        w = np.full((256, n // 256), 1, numpy_dtype(dtype))
        boxes = [Box.of_rows(w.shape, cuts, k) for k in range(len(cuts) - 1)]
        for box, begin, end in zip(boxes, cuts, cuts[1:], strict=False):
            g = np.full((end - begin, w.shape[1]), -1, w.dtype)
            step = rule.bind([w[begin:end]], [g], pieces=None if len(boxes) == 1 else [box])
            step.seed = seed
            step()
        return w

    first = stepped(1)
    assert set(np.unique(first.astype(np.float32))) == {down, up}
    ups = float((first.astype(np.float32) == up).mean())
    assert abs(ups - 0.3) < 5 * (0.21 / n) ** 0.5
    assert same_bits(first, stepped(1)) and same_bits(first, stepped(1, (0, 3, 100, 256)))
    assert not same_bits(first, stepped(2))


def test_phases_before_the_last_leave_the_compensation_alone() -> None:
    """SAM moves weights there and back: weight and compensation together stay near those of float32."""
    text = "sgd with sam(rho=0.5)"
    (w,), exact = (np.linspace(0.5, 2, 3000).astype(numpy_dtype("bfloat16")) for _ in range(1)), None
    exact = w.astype(np.float32)
    g, single = w.copy(), exact.copy()
    ours = optgen.load(text, "bfloat16", weights="kahan", lr=1e-4).bind([w], [g])
    theirs = optgen.load(text, lr=1e-4).bind([exact], [single])
    for _ in range(200):
        for phase in ("ascend", "descend"):
            before = np.array(ours.state.arrays["compensation"][0])
            g[...], single[...] = w, exact
            getattr(ours, phase)()
            getattr(theirs, phase)()
            if phase == "ascend":
                assert same_bits(before, np.asarray(ours.state.arrays["compensation"][0]))
    whole = w.astype(np.float32) + np.asarray(ours.state.arrays["compensation"][0]).astype(np.float32)
    assert np.abs(whole - exact).max() < 1e-3
    assert np.abs(w.astype(np.float32) - exact).max() > 1e-3, "which the weight alone cannot be"


KAHAN = """\
optimizer Kahan
param lr = 0.01
state c = 0
update:
  whole = w - lr*g + c
  w'    = stored(whole)
  c'    = whole - w'
"""


@pytest.mark.parametrize("dtype", [*HALVES, "float32", "float64"])
def test_a_spec_can_do_it_itself(dtype: str) -> None:
    """With `stored`, which leaves weights of 32 and 64 bits as they are."""
    w, g = random(dtype, 0), random(dtype, 1)
    v = [x.copy() for x in w]
    step = optgen.load(optgen.parse(KAHAN), dtype).bind(w, g)
    how: dict[str, Any] = {"weights": "kahan"} if dtype in HALVES else {}
    other = optgen.load("sgd", dtype, lr=0.01, **how).bind(v, g)
    for _ in range(5):
        step()
        other()
    assert all(map(same_bits, w, v))
    if dtype not in HALVES:
        assert not any(np.asarray(c).any() for c in step.state.arrays["c"])


def test_wrong_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="weights must be 'stochastic' or 'kahan', or None, not 'up'"):
        optgen.load("adam", "bfloat16", weights="up")
    with pytest.raises(
        ValueError, match="weights='kahan' is for float16 and bfloat16 parameters; float32 ones are not"
    ):
        optgen.load("adam", weights="kahan")
    with pytest.raises(ValueError, match="weights='stochastic' with a master, which loses nothing"):
        optgen.load("adam", "float16", weights="stochastic", master=True)
    spec = optgen.parse("optimizer Own\nstate compensation = 0\nupdate:\n  compensation' = g\n  w' = w - lr*g\n")
    with pytest.raises(
        ValueError, match="Own has a 'compensation' of its own, and weights='kahan' keeps a state of that"
    ):
        optgen.load(spec, "bfloat16", weights="kahan")
    assert "weights='kahan'" in repr(optgen.load("adam", "bfloat16", weights="kahan"))
