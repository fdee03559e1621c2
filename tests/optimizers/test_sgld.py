"""SGLD's draws: a normal distribution of variance `lr`, independent, and the same for the same seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import optgen

Array = Any
LR, WD = 0.25, 0.5


def walked(seed: int, grad: float = 0.0, w: float = 0.0, steps: int = 1, size: int = 400_000) -> Array:
    """Where two tensors that start at `w` are after some steps: shape (2, size)."""
    ws = [np.full(size, w), np.full(size, w)]
    rule = optgen.load("sgld", dtype="float64", lr=LR, wd=WD)
    step = rule.bind(ws, [np.full(size, grad)] * 2, rule.init(ws))
    step.seed = seed
    for _ in range(steps):
        step()
    return np.array(ws)


def test_the_noise_is_normal_with_variance_lr() -> None:
    z = walked(3) / math.sqrt(LR)
    spread = 1 / math.sqrt(z.size)  # of the mean of as many independent draws
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):  # of the powers of a normal draw
        assert abs(np.mean(z**power) - mean) < 5 * math.sqrt(variance) * spread


def test_draws_are_independent_over_elements_tensors_steps_and_seeds() -> None:
    first = walked(3)
    second = walked(3, steps=2) - (1 - LR / 2 * WD) * first
    for a, b in ((first[:, 1:], first[:, :-1]), (first[0], first[1]), (first, second), (first, walked(4))):
        assert abs(np.mean(a * b)) / LR < 5 / math.sqrt(a.size)


def test_it_walks_down_the_gradient() -> None:
    np.testing.assert_allclose(walked(3, grad=2.0, w=1.0) - walked(3), 1 - LR / 2 * (2 + WD), rtol=1e-12)


def test_equal_seeds_draw_equal_noise() -> None:
    np.testing.assert_array_equal(walked(3, steps=3, size=1001), walked(3, steps=3, size=1001))
