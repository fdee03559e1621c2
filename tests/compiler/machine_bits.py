"""Prints a hash of what some steps and products come to, for `test_machine.py`: of as many kinds of code as few specs
have."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import optgen
from optgen import linalg

Array = np.ndarray[Any, Any]
STEPS: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("adam", [(70_001,)], {}),
    ("lamb", [(300, 70), (5000, 3), (90_000,)], {}),
    ("lamb", [(1000,)] * 150, {}),
    ("adafactor", [(5000, 20), (90, 1200)], {}),
    ("adam", [(40_000,)], {"storage": "int8_dynamic"}),
    ("muon", [(40, 60)] * 6 + [(200, 190)], {"matmul": "deterministic"}),
]
"""Specs, the shapes of their parameters, and what they are loaded with."""


def found() -> list[Array]:
    rng = np.random.default_rng(0)
    arrays = []
    for name, shapes, how in STEPS:
        weights, gradients = ([rng.normal(size=x).astype(np.float32) for x in shapes] for _ in range(2))
        step = optgen.load(name, **how).bind(weights, gradients)
        for _ in range(3):
            step()
        arrays += [*weights, *(x for held in step.state.arrays.values() for x in held)]
    index = np.arange(0, 900, 3)
    table, rows = (rng.normal(size=(n, 40)).astype(np.float32) for n in (900, len(index)))
    optgen.load("adam").bind([table], [optgen.RowSparse(index, rows)])()
    arrays.append(table)
    for m, n, k in ((130, 70, 90), (250, 300, 40)):
        a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
        arrays += [linalg.product(a, b, how=how) for how in ("native", "bfloat16", "deterministic")]
        arrays.append(linalg.product(a, a, transpose_b=True, symmetric=True, how="deterministic"))
    return arrays


if __name__ == "__main__":
    print(hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in found())).hexdigest())
