"""Optimizers with products of matrices that came after Muon and SOAP, against their papers in NumPy.

The iterations of Newton and Schulz are polynomials of singular values here, without a product of the iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import optgen
from tests.optimizers import matrices
from tests.optimizers.matrices import LR, WD, Array, Kept

Coefficients = Sequence[tuple[float, float, float]]
SHAPES = [(6, 5), (5, 6), (4, 4), (7, 1), (20, 33), (33, 20)]
STEPS = 5
QUINTIC = [(3.4445, -4.775, 2.0315)]
EXPRESS = [
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
]
"""The polynomials of the Polar Express, for singular values from 1e-3 to 1; from the next turn on it is Newton's."""


def orthogonal(x: Array, turns: int = 5, coefficients: Coefficients = QUINTIC, safety: float = 1) -> Array:
    """x with other singular values, those of the iteration."""
    u, s, v = np.linalg.svd(x, full_matrices=False)
    s = s / (safety * np.linalg.norm(s) + 1e-7 * (safety > 1))
    for i in range(turns):
        known = i < len(coefficients) and safety > 1
        a, b, c = coefficients[min(i, len(coefficients) - 1)] if known or safety == 1 else (1.875, -1.25, 0.375)
        r = s / safety if known else s
        s = a * r + b * r**3 + c * r**5
    return (u * s) @ v


def scion(w: Array, g: Array, s: Kept, t: int, constrained: bool = True, radius: float = 50) -> Array:
    s["m"] = 0.9 * s["m"] + 0.1 * g
    o = orthogonal(s["m"]) * radius * np.sqrt(w.shape[0] / w.shape[1])
    return (1 - LR) * w - LR * o if constrained else w - LR * o


def to_rms(n: Array, rms: float = 0.2) -> Array:
    return n * rms / np.sqrt(np.mean(n**2))


def normuon(w: Array, g: Array, s: Kept, t: int, beta2: float = 0.95) -> Array:
    s["m"] = 0.95 * s["m"] + 0.05 * g
    o = orthogonal(s["m"])
    s["v"] = beta2 * s["v"] + (1 - beta2) * np.mean(o**2, axis=1, keepdims=True)
    return w - LR * (WD * w + to_rms(o / (np.sqrt(s["v"]) + 1e-8)))


def adamuon(w: Array, g: Array, s: Kept, t: int, beta: float = 0.95, signs: bool = True) -> Array:
    s["m"] = beta * s["m"] + (1 - beta) * g
    o = orthogonal(np.sign(s["m"]) if signs else s["m"])
    s["v"] = beta * s["v"] + (1 - beta) * o**2
    return w - LR * (WD * w + to_rms(o / (np.sqrt(s["v"]) + 1e-8)))


def polar_muon(w: Array, g: Array, s: Kept, t: int, ns_steps: int = 5, nesterov: bool = True) -> Array:
    s["m"] = 0.95 * s["m"] + 0.05 * g
    o = orthogonal(0.05 * g + 0.95 * s["m"] if nesterov else s["m"], ns_steps, EXPRESS, 1.01)
    return w - LR * (WD * w + o * np.sqrt(max(1, w.shape[0] / w.shape[1])))


def basis(a: Array) -> Array:
    return np.linalg.eigh(a)[1]


def splus(w: Array, g: Array, s: Kept, t: int, k: int = 2) -> Array:
    """The signs of eigenvectors do not matter."""
    if t == 1:
        s["U"], s["V"] = (np.eye(n) for n in w.shape)
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["L"], s["R"] = 0.999 * s["L"] + 0.001 * g @ g.T, 0.999 * s["R"] + 0.001 * g.T @ g
    u = s["U"] @ np.sign(s["U"].T @ s["m"] @ s["V"]) @ s["V"].T
    if (t - 1) % k == 0:
        s["U"], s["V"] = basis(s["L"]), basis(s["R"])
    rate = LR * 2 / sum(w.shape)
    return (w - rate * u) * (1 - rate * WD)


def swan(w: Array, g: Array, s: Kept, t: int) -> Array:
    n = (g - g.mean(axis=1, keepdims=True)) / (g.std(axis=1, keepdims=True) + 1e-8)
    u, _, v = np.linalg.svd(n, full_matrices=False)
    o = u @ v
    return w - LR * (WD * w + np.linalg.norm(n) / np.linalg.norm(o) * o)


def muonclip(w: Array, g: Array, s: Kept, t: int, max_logit: float = 0, power: float = 0.5) -> Array:
    s["m"] = 0.95 * s["m"] + g
    moved = w - LR * (WD * w + 0.2 * np.sqrt(max(w.shape)) * orthogonal(s["m"]))
    return moved * min(1, 100 / max(max_logit, 1e-30)) ** power


CASES: list[tuple[Callable[..., Array], dict[str, Any]]] = [
    (scion, {}),
    (scion, {"constrained": False, "radius": 2.0}),
    (normuon, {"beta2": 0.5}),
    (adamuon, {}),
    (adamuon, {"signs": False, "beta": 0.5}),
    (polar_muon, {}),
    (polar_muon, {"ns_steps": 9, "nesterov": False}),
    (splus, {"k": 2}),
    (swan, {}),
    (muonclip, {}),
    (muonclip, {"max_logit": 250.0, "power": 1.0}),
]


@pytest.mark.parametrize(("formula", "values"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_spec_is_its_paper(formula: Callable[..., Array], values: dict[str, Any]) -> None:
    # A basis of a gradient of lower rank is not unique. Rows that are centered have a rank less than their length.
    shapes = {splus: [(4, 4), (12, 12)], swan: [(5, 6), (20, 33), (3, 9)]}.get(formula, SHAPES)
    matrices.check(formula, shapes, STEPS, values, **({} if formula is scion else {"wd": WD}))


def test_polar_express_makes_singular_values_one_that_differ_by_a_factor_of_1000() -> None:
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(n, 30)))[0] for n in (30, 50))
    w, g = np.zeros((30, 50)), (u * np.geomspace(1, 1e-3, 30)) @ v.T
    optgen.load("polar_muon", dtype="float64", lr=1, wd=0, ns_steps=9).bind([w], [g])()
    np.testing.assert_allclose(np.linalg.svd(w)[1], 1, atol=1e-3)


def test_weights_of_splus_to_evaluate_with_are_a_corrected_mean() -> None:
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=(4, 4)), np.zeros((4, 4))
    step = optgen.load("splus", dtype="float64", lr=LR, ema_rate=0.9, wd=0).bind([w], [g])
    mean = 0
    for t in range(1, 4):
        g[...] = rng.normal(size=g.shape)
        step()
        mean = 0.9 * mean + 0.1 * w
        np.testing.assert_allclose(step.evaluate()[0], mean / (1 - 0.9**t), rtol=1e-12)


def test_muonclip_takes_the_logits_of_each_parameter() -> None:
    weights = [np.ones((3, 4)), np.ones((3, 4))]
    step = optgen.load("muonclip", dtype="float64", lr=0).bind(weights, [np.ones((3, 4)), np.ones((3, 4))])
    step(max_logit=[50, 400])
    assert (weights[0] == 1).all()
    np.testing.assert_allclose(weights[1], 0.5, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 8, 5), (2, 2, 4, 9), (4, 6), (0, 3, 4)], ids=str)
def test_muon_of_a_batch_is_muon_of_each_matrix(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    w, g = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    expected = w.copy()
    matrices, grads = (list(x.reshape(-1, *shape[-2:])) for x in (expected, g))
    step, steps = optgen.load("muon_batched").bind([w], [g]), optgen.load("muon").bind(matrices, grads)
    for _ in range(3):
        g[...] = rng.normal(size=shape)
        step()
        steps()
    np.testing.assert_array_equal(w, expected)
