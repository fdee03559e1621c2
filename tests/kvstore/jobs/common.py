"""What the jobs share: keys, gradients that every rank can make for every other, and steps with them.

A rank of the job compares its store with a 'local' one that is given the gradients of all ranks as those of contexts.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import runtime as mx
from runtime import nd
from runtime.kvstore import KVStore, create
from tests.compile_once import compile_once

warnings.filterwarnings("ignore", message="states of float16 lose")
compile_once()
os.sched_yield = lambda: time.sleep(2e-4)  # ranks that wait leave the CPUs to the others, of which there are more

SHAPES = {0: (3, 4), 1: (130, 70), 2: (0, 3), 3: (5000,), 4: (1,), 5: (2, 64, 96)}
"""Small and empty tensors, and some that are cut, not all at a multiple of what they are stored in."""
MATRICES = {0: (3, 4), 1: (130, 70), 5: (90, 50)}

STORE = create("dist_sync")
RANK, RANKS = STORE.rank, STORE.num_workers
Shapes = dict[int, tuple[int, ...]]


def value(seed: Sequence[int], shape: tuple[int, ...], dtype: str, context: int = 0) -> nd.NDArray:
    return nd.array(np.random.default_rng(seed).normal(size=shape), mx.cpu(context), dtype)


def started(kind: str, optimizer: mx.optimizer.Optimizer | None, dtype: str, shapes: Shapes) -> KVStore:
    """A store with values; those of other ranks than the first are not to be taken."""
    store = create(kind)
    seed = RANK if "dist" in kind else 0
    store.init(list(shapes), [value([seed, 1000 + k], shape, dtype) for k, shape in shapes.items()])
    if optimizer is not None:
        for x in getattr(optimizer, "spec", mx.optimizer.SGD.spec).inputs:
            optimizer.set_input(x.name, {k: value([7, k], shape, dtype) ** 2 for k, shape in shapes.items()})
        store.set_optimizer(optimizer)
    return store


def steps(store: KVStore, times: Sequence[int], dtype: str, shapes: Shapes) -> list[np.ndarray]:
    """Some updates, and what the values then are."""
    contexts = [RANK] if "dist" in store.type else range(RANKS)
    for t in times:
        store.push(list(shapes), [[value([t, c, k], shape, dtype, c) for c in contexts] for k, shape in shapes.items()])
    return pulled(store, dtype, shapes)


def pulled(store: KVStore, dtype: str, shapes: Shapes) -> list[np.ndarray]:
    outs = [nd.empty(shape, dtype=dtype) for shape in shapes.values()]
    store.pull(list(shapes), out=outs)
    return [out.asnumpy() for out in outs]


def same(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], what: Any) -> None:
    """Bit for bit."""
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert a.dtype == b.dtype, what
        assert np.array_equal(a, b, equal_nan=True), f"{what}: array {k}: {np.nanmax(np.abs(a - b))}"


def both(run: Callable[[str], list[np.ndarray]], what: Any, local: str = "local") -> None:
    """The same with one process and with all ranks."""
    mx.random.seed(3)
    wanted = run(local)
    mx.random.seed(3)
    same(run("dist_sync"), wanted, what)
