"""Measures what limits steps on this machine: its memory, with a kernel that is compiled like any other, and its
products."""

from __future__ import annotations

import statistics
import time

import numpy as np

PROBE = """\
optimizer Probe "four streams read, three of them written, nothing but additions"
state m = 0
state v = 0
update:
  m' = m + grad
  v' = v + grad
  w' = w + grad
"""
ELEMENTS = 1 << 24  # 64 MiB a stream: larger than the caches in all but the largest machines
BYTES_PER_ELEMENT = 7 * 4  # seven streams of float32


SIDE = 1024
"""The rows of the matrices whose product is measured."""


def product_speed() -> float:
    """Operations per second of a float32 product of square matrices, with the threads a step would use; takes about
    0.1 s."""
    from optgen import linalg

    a = np.random.default_rng(0).normal(size=(SIDE, SIDE)).astype(np.float32)
    out = linalg.product(a, a)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        linalg.product(a, a, out)
        times.append(time.perf_counter() - begin)
    return 2 * SIDE**3 / statistics.median(times)


def bandwidth() -> float:
    """Bytes per second of a step over large float32 tensors, with the threads a step would use; takes about 0.5 s."""
    import optgen

    kernel = optgen.load(optgen.parse(PROBE), dtype="float32")
    weight, gradient = (np.zeros(ELEMENTS, np.float32) for _ in range(2))
    weight += 0  # touch every page: reading untouched zeros would measure one page in the cache
    gradient += 0
    step = kernel.bind([weight], [gradient], kernel.init([weight]))
    step()
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return BYTES_PER_ELEMENT * ELEMENTS / statistics.median(times)
