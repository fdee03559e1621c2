"""Constants of threads: when they share work, when they are woken, how long they wait."""

from __future__ import annotations

import functools
import importlib.util
import os
import time
from collections.abc import Callable

import numpy as np

from optgen.tune.case import Case, step

ASLEEP_SECONDS = 0.02
"""After so long, the threads of the pool sleep."""


def min_shared_elements() -> list[Case]:
    """Steps of sgd, one after the other, around the size from which threads share them."""
    return [Case(step("sgd", [(n,)])) for n in (1 << 12, 1 << 13, 1 << 14, 1 << 15)]


def min_team_elements() -> list[Case]:
    """Steps of sgd over PyTorch's tensors after a region of PyTorch's, around the size from which its threads share
    them. Nothing without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return [Case(lambda: None)]
    # Else the team waits for milliseconds, on a core that the next process needs in its turn.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    import torch

    import optgen

    large = torch.ones(1 << 20)

    def case(n: int) -> Case:
        weight, gradient = torch.ones(n), torch.ones(n)
        run = optgen.load("sgd").bind([weight], [gradient])

        def call() -> None:
            large.add_(0.0)
            run()

        return Case(call)

    return [case(n) for n in (1 << 14, 1 << 15, 1 << 16, 1 << 17)]


def min_wake_elements() -> list[Case]:
    """Lone steps of adam, before which threads fall asleep."""
    return [Case(step("adam", [(n,)]), ASLEEP_SECONDS) for n in (1 << 16, 1 << 17, 1 << 18, 1 << 19)]


def min_split_elements() -> list[Case]:
    """Steps of adam over large parameters, whose parts may be smaller than those of the threads."""
    return [Case(step("adam", [(n,)])) for n in (1 << 18, 1 << 19, 1 << 20, 1 << 21)]


def min_shared_work() -> list[Case]:
    """Products of matrices, of about as much work."""
    from optgen import linalg

    rng = np.random.default_rng(0)
    squares = [rng.normal(size=(n, n)).astype(np.float32) for n in (64, 80, 96, 128)]
    return [Case(functools.partial(linalg.product, a, a, np.empty_like(a))) for a in squares]


def spin_microseconds() -> list[Case]:
    """Steps with Python between them, for which threads wait or are woken."""
    run = step("adam", [(1 << 19,)])

    def between(seconds: float) -> Callable[[], None]:
        def call() -> None:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                pass
            run()

        return call

    return [Case(between(microseconds * 1e-6)) for microseconds in (50, 150, 300)]
