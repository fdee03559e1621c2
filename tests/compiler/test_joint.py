"""Sums over parameters beside products, groups and timings, and over parameters of several variants: updates in
rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.stages.plan import CallStage, KernelStage
from optgen.stages.rounds import rounds

Array = np.ndarray[Any, Any]
MATRICES = [(30, 48), (20, 16), (16, 20)]
ALL = [(30, 48), (7,), (5, 3, 4), (), (0, 4), (16, 20)]


def made(shapes: list[tuple[int, ...]], seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=s)) for s in shapes]


def norm(arrays: list[Array]) -> float:
    return float(np.sqrt(sum((x**2).sum() for x in arrays)))


# ---------------------------------------------------------------- transforms


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("muon", MATRICES),
        ("shampoo", MATRICES),
        ("psgd_kron", MATRICES),
        ("muon otherwise adamw(lr = 0.01)", ALL),
        ("shampoo_adamw", ALL),
        ("muon_batched", [(30, 48), (2, 6, 4)]),
        ("adafactor", [(6, 5), (7,), ()]),  # of two variants
        ("sm3", [(6, 5), (2, 3, 4)]),  # groups
    ],
)
def test_clipping_is_a_factor_on_gradients(spec: str, shapes: list[tuple[int, ...]]) -> None:
    weights, grads = made(shapes), made(shapes)
    others, scaled = [w.copy() for w in weights], [np.zeros_like(g) for g in grads]
    step = optgen.load(f"{spec} with clip_norm(max_norm = 0.5)", "float64").bind(weights, grads)
    other = optgen.load(spec, "float64").bind(others, scaled)
    for k in range(5):
        for g, h, x in zip(grads, scaled, made(shapes, k), strict=True):
            g[...] = x
            h[...] = x * min(1.0, 0.5 / (norm(grads) + 1e-6))
        for h, g in zip(scaled, grads, strict=True):
            h[...] = g * min(1.0, 0.5 / (norm(grads) + 1e-6))
        step()
        other()
        for w, x in zip(weights, others, strict=True):
            np.testing.assert_allclose(w, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("spec", "shapes"), [("muon", MATRICES), ("muon otherwise adamw(lr = 0.01)", ALL)])
def test_sam_goes_up_by_the_norm_of_all(spec: str, shapes: list[tuple[int, ...]]) -> None:
    weights, grads = made(shapes), made(shapes)
    others, given = [w.copy() for w in weights], [np.zeros_like(g) for g in grads]
    step = optgen.load(f"{spec} with sam(rho = 0.1)", "float64").bind(weights, grads)
    other = optgen.load(spec, "float64").bind(others, given)
    for k in range(4):
        start = [w.copy() for w in weights]
        for g, x in zip(grads, made(shapes, k), strict=True):
            g[...] = x
        step.ascend()
        for w, w0, g in zip(weights, start, grads, strict=True):
            np.testing.assert_allclose(w, w0 + 0.1 / (norm(grads) + 1e-12) * g, rtol=1e-12)
        for g, h, x in zip(grads, given, made(shapes, 100 + k), strict=True):
            g[...] = h[...] = x
        step.descend()
        other()
        for w, x in zip(weights, others, strict=True):
            np.testing.assert_allclose(w, x, rtol=1e-9, atol=1e-9)


def test_mechanic_has_one_factor_for_all() -> None:
    """The first updates by the authors' formulas, of which those of shorter memories are left out: all are the same
    function."""
    weights, grads = made(MATRICES), made(MATRICES, 5)
    first, base, given = [w.copy() for w in weights], [w.copy() for w in weights], [g.copy() for g in grads]
    step = optgen.load("muon with mechanic", "float64", lr=1).bind(weights, grads)
    muon = optgen.load("muon", "float64", lr=1).bind(base, given)
    delta = [np.zeros_like(w) for w in weights]
    betas = 1 - 0.1 ** np.arange(1, 7)
    m, v, r, s = np.full(6, 1e-6), np.zeros(6), np.zeros(6), np.zeros(6)
    for k in range(3):
        for g, h, x in zip(grads, given, made(MATRICES, k), strict=True):
            g[...] = h[...] = x
        s = (1e-8 / 6 * m + r) / (np.sqrt(v) + 1e-8)
        delta = [(w - w0) / (s.sum() + 1e-8) for w, w0 in zip(weights, first, strict=True)]
        decay = 0.01 * s.sum() * norm(grads) / (norm(weights) + 1e-8)
        h_all = sum((d * (g + decay * w)).sum() for d, g, w in zip(delta, grads, weights, strict=True))
        m, v, r = np.maximum(betas * m, abs(h_all)), betas**2 * v + h_all**2, np.maximum(betas * r - s * h_all, 0)
        factor = ((1e-8 / 6 * m + r) / (np.sqrt(v) + 1e-8)).sum()
        before = [w.copy() for w in weights]
        for x, w in zip(base, weights, strict=True):
            x[...] = w
        muon()
        step()
        for w, w0, d, x, b in zip(weights, first, delta, base, before, strict=True):
            np.testing.assert_allclose(w, w0 + factor * (d + (x - b)), rtol=1e-8, atol=1e-12)


# ---------------------------------------------------------------- sums of results

AFTER = """optimizer After "one length for the updates of all parameters"
param k: int = 2 in [1, inf)
require rank == 2 "matrices"
state m = 0
state total: shared = 0
update:
  m'     = 0.5*m + g@(g^T@g)
  n      = norm(m', over params)
  total' = total + n
  u      = m'/n
  c      = sum(u@u^T, over params)    every k
  c      = 1                          otherwise
  w'     = w - lr*u*c
"""


def test_sums_of_products() -> None:
    weights, grads = made(MATRICES), made(MATRICES)
    step = optgen.load(optgen.parse(AFTER), "float64", lr=0.5).bind(weights, grads)
    expected, m, total = [w.copy() for w in weights], [np.zeros_like(w) for w in weights], 0.0
    for t in range(1, 6):
        for g, x in zip(grads, made(MATRICES, t), strict=True):
            g[...] = x
        m = [0.5 * x + g @ (g.T @ g) for x, g in zip(m, grads, strict=True)]
        total += norm(m)
        u = [x / norm(m) for x in m]
        c = sum((x @ x.T).sum() for x in u) if t % 2 == 0 else 1.0
        expected = [w - 0.5 * x * c for w, x in zip(expected, u, strict=True)]
        step()
        for w, x in zip(weights, expected, strict=True):
            np.testing.assert_allclose(w, x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(step.state.arrays["total"][0], total, rtol=1e-12)


def test_a_loop_has_all_parameters_in_one_turn() -> None:
    text = """optimizer Turns
require rank == 2 "matrices"
update:
  x = g
  repeat 3:
    y  = x@(x^T@x)
    x' = y/norm(y, over params)
  end
  w' = w - lr*x'
"""
    weights, grads = made(MATRICES), made(MATRICES, 3)
    x = [g.copy() for g in grads]
    for _ in range(3):
        y = [a @ (a.T @ a) for a in x]
        x = [a / norm(y) for a in y]
    expected = [w - 0.1 * a for w, a in zip(weights, x, strict=True)]
    optgen.load(optgen.parse(text), "float64", lr=0.1).bind(weights, grads)()
    for w, a in zip(weights, expected, strict=True):
        np.testing.assert_allclose(w, a, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- memory, failures, parameters without gradients


def plan_of(spec: str, shape: tuple[int, ...]) -> Any:
    rule = optgen.load(spec)
    return pipeline.stages(rule.spec, rule.variant(shape), (), first=False)


@pytest.mark.parametrize("transform", ["clip_norm", "mechanic"])
def test_sums_of_gradients_and_weights_keep_no_elements(transform: str) -> None:
    _, kept = rounds(plan_of(f"muon with {transform}", (768, 3072)))
    assert kept
    assert not [x for x in kept if x.axes]


def test_clipping_adds_one_sweep() -> None:
    """The gradients are read once more, and the numbers of all parameters are added up."""
    alone, clipped = plan_of("muon", (768, 3072)), plan_of("muon with clip_norm", (768, 3072))

    def count(plan: Any, kind: type) -> int:
        return sum(isinstance(x, kind) for x in plan.walk())

    assert count(clipped, CallStage) == count(alone, CallStage)
    assert count(clipped, KernelStage) == count(alone, KernelStage) + 2
    elements = [{b.name for b in x.buffers if b.axes} for x in clipped.walk() if isinstance(x, KernelStage)]
    assert elements[:2] == [{"grad"}, set()]


def test_a_failure_leaves_everything_as_it_was() -> None:
    text = """optimizer Fails
require rank == 2 "matrices"
state m = 0
state total: shared = 0
update:
  m'     = m + g
  n      = norm(g, over params)
  total' = total + n
  w'     = w - lr*solve(g@g^T, m')/n
"""
    weights, grads = made([(2, 3), (3, 4)]), made([(2, 3), (3, 4)], 1)
    step = optgen.load(optgen.parse(text), "float64").bind(weights, grads)
    step()
    before = (
        [w.copy() for w in weights],
        [x.copy() for x in step.state.arrays["m"]],
        step.state.arrays["total"][0].copy(),
    )
    grads[1][...] = 0
    with pytest.raises(ArithmeticError, match="nothing was updated"):
        step()
    assert all(np.array_equal(w, x) for w, x in zip(weights, before[0], strict=True))
    assert all(np.array_equal(m, x) for m, x in zip(step.state.arrays["m"], before[1], strict=True))
    assert step.state.arrays["total"][0] == before[2]
    assert step.state.t.tolist() == [1, 1]


def test_other_timings_and_a_parameter_without_a_gradient() -> None:
    """`n` is that of the parameters with a gradient, and each parameter has timings of its own."""
    text = """optimizer Apart
require rank == 2 "matrices"
state m = 0
update:
  n  = norm(g, over params)
  m' = 0.5*m + g@(g^T@g)  every 2
  w' = w - lr*(g + m')/n
"""
    torch = pytest.importorskip("torch")
    from optgen.torch import optimizer as optimizer_of

    params = [torch.nn.Parameter(torch.tensor(w)) for w in made([(3, 4), (4, 2)])]
    optimizer = optimizer_of(optgen.parse(text))(params, lr=0.1)
    expected, m, count = made([(3, 4), (4, 2)]), [np.zeros((3, 4)), np.zeros((4, 2))], [0, 0]
    for t, present in enumerate([(0, 1), (0,), (0, 1), (1,), (0, 1)]):
        grads = made([(3, 4), (4, 2)], t)
        for i, p in enumerate(params):
            p.grad = torch.tensor(grads[i]) if i in present else None
        optimizer.step()
        n = norm([grads[i] for i in present])
        for i in present:
            count[i] += 1
            g = grads[i]
            m[i] = 0.5 * m[i] + g @ (g.T @ g) if count[i] % 2 == 0 else m[i]
            expected[i] = expected[i] - 0.1 * (g + m[i]) / n
        for p, x in zip(params, expected, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-9, atol=1e-9)


def test_sums_of_some_parameters_only_are_an_error() -> None:
    text = """optimizer Some
flag matrix = rank >= 2
update:
  d  = g/norm(g, over params)  if matrix
  d  = g                       otherwise
  w' = w - lr*d
"""
    weights = made([(3, 4), (4,)])
    with pytest.raises(ValueError, match=r"another way for params\[0\] than for params\[1\]: matrix is True and False"):
        optgen.load(optgen.parse(text), "float64").bind(weights, made([(3, 4), (4,)]))()


def test_bits_do_not_depend_on_threads() -> None:
    found = []
    before = optgen.num_threads()
    try:
        for threads in (1, 2):
            optgen.set_num_threads(threads)
            weights = [w.astype(np.float32) for w in made([(130, 120), *MATRICES])]
            grads = [np.zeros_like(w) for w in weights]
            precision = optgen.Precision(matmul="deterministic")
            step = optgen.load("muon with mechanic, clip_norm", precision, lr=1).bind(weights, grads)
            for k in range(3):
                for g, x in zip(grads, made([w.shape for w in weights], k), strict=True):
                    g[...] = x
                step()
            found.append(b"".join(w.tobytes() for w in weights))
    finally:
        optgen.set_num_threads(before)
    assert found[0] == found[1]


def test_a_sum_over_variants_that_read_other_loops() -> None:
    spec = optgen.parse("""\
optimizer Turned "what is summed comes from another loop, of other turns, in each variant"
param lr  = 1
flag  big = rows > 20
update:
  X = g
  Z = g
  repeat 3:
    X' = (X@X^T)@X   if big
    X' = X@(X^T@X)   otherwise
  end
  repeat 2:
    Z' = (Z@Z^T)@Z
  end
  Y  = X'   if big
  Y  = Z'   otherwise
  s  = norm(Y, over params)
  w' = w - lr*Y/s
""")
    weights, grads = made([(24, 4), (6, 4)]), [0.1 * x for x in made([(24, 4), (6, 4)], 1)]
    before = [w.copy() for w in weights]
    optgen.load(spec, "float64").bind(weights, grads)()
    steps = []
    for x, turns in zip(grads, (3, 2), strict=True):
        for _ in range(turns):
            x = x @ x.T @ x
        steps.append(x)
    for w, x, y in zip(weights, before, steps, strict=True):
        np.testing.assert_allclose(w, x - y / norm(steps), rtol=1e-9, atol=1e-12)
