"""The optimizers with products of matrices: against their papers in NumPy, and Muon against torch.optim.Muon."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch

import optgen
import optgen.torch
from optgen import specfiles
from tests.optimizers import matrices
from tests.optimizers.matrices import LR, WD, Array, Kept
from tests.sweeps import swept

SHAPES = [(6, 5), (5, 6), (4, 4), (1, 7), (40, 70), (70, 40)]
STEPS = 7


def zeropower(x: Array, steps: int = 5) -> Array:
    """The Newton-Schulz iteration, on the wide matrix."""
    tall = x.shape[0] > x.shape[1]
    y = (x.T if tall else x) / max(np.linalg.norm(x), 1e-7)
    for _ in range(steps):
        a = y @ y.T
        y = 3.4445 * y + (-4.775 * a + 2.0315 * a @ a) @ y
    return y.T if tall else y


def muon(
    w: Array, g: Array, s: Kept, t: int, nesterov: bool = True, adjust_lr: str = "original", ns_steps: int = 5
) -> Array:
    s["m"] = 0.95 * s["m"] + 0.05 * g
    d = 0.05 * g + 0.95 * s["m"] if nesterov else s["m"]
    rows, cols = w.shape
    factor = {"original": max(1, rows / cols) ** 0.5, "match_rms_adamw": 0.2 * max(rows, cols) ** 0.5, "none": 1}
    return (1 - LR * WD) * w - LR * factor[adjust_lr] * zeropower(d, ns_steps)


def root(a: Array, p: float) -> Array:
    values, vectors = np.linalg.eigh(a)
    return (vectors * values ** (-1 / p)) @ vectors.T


def shampoo(w: Array, g: Array, s: Kept, t: int, momentum: float = 0, beta: float = 1, every_k: int = 1) -> Array:
    if t == 1:
        s["L"], s["R"] = (1e-4 * np.eye(n) for n in w.shape)
    new = 1 if beta == 1 else 1 - beta
    s["L"], s["R"] = beta * s["L"] + new * g @ g.T, beta * s["R"] + new * g.T @ g
    if (t - 1) % every_k == 0:
        s["P"], s["Q"] = root(s["L"], 4), root(s["R"], 4)
    s["m"] = momentum * s["m"] + s["P"] @ g @ s["Q"]
    return w - LR * (s["m"] + WD * w)


def basis(a: Array) -> Array:
    vectors = np.linalg.eigh(a)[1]
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(len(a))])


def rotated(a: Array) -> Array:
    q, r = np.linalg.qr(a)
    return q * np.where(np.diag(r) < 0, -1, 1)


def soap(w: Array, g: Array, s: Kept, t: int, k: int = 10, correct: bool = True) -> Array:
    if t == 1:
        s["U"], s["V"] = basis(g @ g.T), basis(g.T @ g)
    u, v = s["U"], s["V"]
    s["m"] = 0.95 * s["m"] + 0.05 * g
    s["v"] = 0.95 * s["v"] + 0.05 * (u.T @ g @ v) ** 2
    n = (u.T @ s["m"] @ v) / (np.sqrt(s["v"]) + 1e-8)
    factor = (1 - 0.95**t) ** 0.5 / (1 - 0.95**t) if correct else 1
    s["L"], s["R"] = 0.95 * s["L"] + 0.05 * g @ g.T, 0.95 * s["R"] + 0.05 * g.T @ g
    if t % k == 0:
        s["U"], s["V"] = rotated(s["L"] @ u), rotated(s["R"] @ v)
    return w - LR * (factor * u @ n @ v.T + WD * w)


CASES: list[tuple[Callable[..., Array], dict[str, Any]]] = [
    (muon, {}),
    (muon, {"nesterov": False, "adjust_lr": "match_rms_adamw"}),
    (muon, {"adjust_lr": "none", "ns_steps": 0}),
    (shampoo, {}),
    (shampoo, {"momentum": 0.9, "beta": 0.95, "every_k": 3}),
    (soap, {"k": 3}),
    (soap, {"k": 2, "correct": False}),
]


@pytest.mark.parametrize(("formula", "values"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_spec_is_its_paper(formula: Callable[..., Array], values: dict[str, Any]) -> None:
    # A gradient of fewer rows or columns than the other has a basis that is not unique.
    shapes = [s for s in SHAPES if formula is muon or s[0] == s[1]] + ([(12, 12)] if formula is not muon else [])
    matrices.check(formula, shapes, STEPS, values, wd=WD)


def test_a_gradient_that_is_not_finite_is_named_and_nothing_is_written() -> None:
    rng = np.random.default_rng(0)
    weights, grads = ([rng.normal(size=(5, 4)).astype("f") for _ in range(3)] for _ in range(2))
    step = optgen.load("shampoo").bind(weights, grads)
    step()
    kept = [w.copy() for w in weights], {n: [x.copy() for x in xs] for n, xs in step.state.arrays.items()}
    grads[1][2, 3] = np.nan
    with pytest.raises(ArithmeticError, match=r"^grads\[1\]: it has a NaN or an infinity, and Shampoo factorizes"):
        step()
    assert all(map(np.array_equal, weights, kept[0])) and list(step.state.t) == [1, 1, 1]
    assert all(np.array_equal(x, y) for n, xs in step.state.arrays.items() for x, y in zip(xs, kept[1][n], strict=True))


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    before = optgen.num_threads()
    yield optgen.set_num_threads
    optgen.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["shampoo", "soap"])
def test_a_factorization_that_fails_leaves_all_as_it_was(
    name: str, threads: int, set_threads: Callable[[int], None]
) -> None:
    """Of matrices that others come before and behind, of their size and of others, in the same kernels."""
    set_threads(threads)
    rng = np.random.default_rng(0)
    shapes = [(3, 3), (2, 4), (6, 5), (3, 3), (8, 8), (4, 2)]
    weights, grads = ([rng.normal(size=s).astype("f") for s in shapes] for _ in range(2))
    step = optgen.load(name, **({"k": 1} if name == "soap" else {})).bind(weights, grads)
    step()
    before = [x.copy() for x in (*weights, *itertools.chain(*step.state.arrays.values()))]
    for bad in (3, 5, 0):
        good = grads[bad].copy()
        grads[bad][...] = 1e30  # whose squares are infinite
        with pytest.raises(ArithmeticError, match=rf"^params\[{bad}\]: .* NaN or an infinity; nothing was updated$"):
            step()
        after = [*weights, *itertools.chain(*step.state.arrays.values())]
        assert all(map(np.array_equal, before, after)) and list(step.state.t) == [1] * 6
        grads[bad][...] = good
    step()
    assert list(step.state.t) == [2] * 6 and all(np.isfinite(w).all() for w in weights)


def test_the_number_of_threads_changes_no_bit_of_factorizations(set_threads: Callable[[int], None]) -> None:
    found = []
    for threads in (1, 2, 3):
        set_threads(threads)
        rng = np.random.default_rng(1)
        weights, grads = ([rng.normal(size=s).astype("f") for s in SHAPES] for _ in range(2))
        step = optgen.load("soap", k=2).bind(weights, grads)
        for _ in range(4):
            step()
        found.append(weights)
    assert all(np.array_equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("filters", [True, False])
def test_one_rule_updates_matrices_by_muon_and_the_rest_by_adamw(filters: bool) -> None:
    rng = np.random.default_rng(5)
    shapes = [(6, 5), (5,), (4, 7), (8, 8), (), (3, 2, 3, 3)]
    weights, grads = ([rng.normal(size=s).astype("f") for s in shapes] for _ in range(2))
    copies = [w.copy() for w in weights]
    by_muon = [True, False, True, False, False, filters]
    step = optgen.load("muon_adamw", lr=0.05, adam_lr=0.01, wd=0.1, filters=filters).bind(
        weights, grads, flags={"plain": [False, False, False, True, False, False]}
    )
    assert [x is not None for x in step.state.arrays["muon_m"]] == by_muon
    steps = []
    for name, lr, is_own in (("muon", 0.05, True), ("adamw", 0.01, False)):
        own = [i for i, x in enumerate(by_muon) if x == is_own]
        rule = optgen.load(name, lr=lr, wd=0.1)
        steps.append(rule.bind([copies[i] for i in own], [grads[i] for i in own]))
    for _ in range(3):
        for run in (step, *steps):
            run()
    assert all(map(np.array_equal, weights, copies)) and list(step.state.t) == [3] * 6


OF_FILTERS = [
    name for name in specfiles.available("matrix") if "filters" in {f.name for f in optgen.load(name).spec.flags}
]


@pytest.mark.parametrize("name", swept(OF_FILTERS, ["matrix/normuon", "matrix/soap_adamw"]))
def test_a_filter_is_the_matrix_of_its_rows(name: str) -> None:
    """Of each order of memory, in PyTorch's class; and one of batches of channels alone."""
    rng = np.random.default_rng(6)
    shapes = [(6, 2, 3, 3), (12, 2, 1, 2), (4, 3, 2), (5, 1, 1, 5)]
    weights, grads = ([rng.normal(size=s) for s in shapes] for _ in range(2))
    flat, flat_grads = ([x.reshape(len(x), -1).copy() for x in some] for some in (weights, grads))
    ordered = [torch.from_numpy(w.copy()) for w in weights]
    params = [torch.nn.Parameter(w.to(memory_format=torch.channels_last) if w.dim() == 4 else w) for w in ordered]
    given: dict[str, Any] = {"r": 2} if name in ("matrix/dion", "matrix/galore", "matrix/apollo") else {}
    cls: Any = optgen.torch.optimizer(name)
    rule, optimizer = optgen.load(name, "float64", lr=0.05, **given), cls(params, lr=0.05, **given)
    steps = rule.bind(weights, grads), rule.bind(flat, flat_grads)
    for _ in range(3):
        for g, own, p in zip(grads, flat_grads, params, strict=True):
            g[...] = rng.normal(size=g.shape)
            own[...] = g.reshape(own.shape)
            p.grad = torch.from_numpy(g.copy())
        for step in (*steps, optimizer.step):
            step()
    for w, own, p in zip(weights, flat, params, strict=True):
        assert np.array_equal(w.reshape(own.shape), own) and np.array_equal(p.detach().numpy(), w)
    with pytest.raises(ValueError, match="is for matrices") if "_adamw" not in name else nullcontext():
        optgen.load(name, "float64", **given, filters=False).init(weights[:1])


def test_a_state_of_a_large_embedding_says_how_large_it_is() -> None:
    embedding = np.zeros((1_000_000, 4), np.float32)
    with pytest.raises(
        ValueError, match=r"'L' is rows x rows, which is 1000000 x 1000000 and takes 4,000,000,000,000 byt"
    ):
        optgen.load("shampoo").init([embedding])


def test_a_param_that_is_a_dimension_stays() -> None:
    spec = optgen.parse("""\
optimizer LowRank
param r: int = 3 in [1, inf)
state Q: cols x r = 0.5
update:
  Q' = orthonormal(g^T@(g@Q) + Q)
  w' = w - lr*(g@Q')@Q'^T
""")
    weights, grads = ([np.random.default_rng(k).normal(size=(5, 4))] for k in range(2))
    step = optgen.load(spec, dtype="float64", r=2).bind(weights, grads)
    step(lr=0.5)
    q = step.state.arrays["Q"][0]
    assert q.shape == (4, 2)
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-12)
    with pytest.raises(ValueError, match="'r' is a dimension of states"):
        step(r=3)


@pytest.mark.parametrize("name", ["muon", "shampoo", "soap"])
def test_a_class_of_pytorch_and_its_state_dict(name: str) -> None:
    torch.manual_seed(0)
    params = [torch.nn.Parameter(x) for x in (torch.randn(6, 5), torch.randn(5, 6).T, torch.randn(40, 30))]
    weights = [p.detach().numpy().copy(order="C") for p in params]
    grads = [np.zeros_like(w) for w in weights]
    step, optimizer = optgen.load(name, lr=0.1).bind(weights, grads), optgen.torch.optimizer(name)(params, lr=0.1)
    for t in range(3):
        for p, g in zip(params, grads, strict=True):
            p.grad = torch.randn(p.shape)
            g[...] = p.grad.numpy()
        if t == 2:
            kept = optimizer.state_dict()
            optimizer = optgen.torch.optimizer(name)(params, lr=0.1)
            optimizer.load_state_dict(kept)
        optimizer.step()
        step()
    assert all(np.array_equal(w, p.detach().numpy()) for w, p in zip(weights, params, strict=True))
