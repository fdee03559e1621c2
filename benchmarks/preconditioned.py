"""Time steps of Shampoo and SOAP, beside their products and factorizations alone.

    python benchmarks/preconditioned.py [--reps N]

`calls` makes the same calls of optgen.linalg on arrays of the same sizes, and nothing else: no sum, no square, no root.
Shampoo computes roots in each update; SOAP has ten updates, the last of which computes new bases. Times are of one
update, the smallest of some repetitions, which take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import optgen
from optgen import linalg

Array = np.ndarray[Any, Any]
SIZES = {"1 of 768 x 768": [(768, 768)], "4 of 256 x 512": [(256, 512)] * 4, "1 of 256 x 1024": [(256, 1024)]}
TURNS = {"shampoo": 1, "soap": 10}
"""The updates that are timed together."""
memory: dict[tuple[int, ...], Array] = {}
"""Results of products, by shape and operands."""


def random(m: int, n: int) -> Array:
    """The same matrix for each shape, as the times of factorizations depend on the numbers."""
    return np.random.default_rng(0).normal(size=(m, n)).astype(np.float32)


def product(a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """A product in memory that is used again, as a step's is."""
    shape = (a.shape[1 if transpose_a else 0], b.shape[0 if transpose_b else 1])
    out = memory.setdefault((*shape, id(a), id(b)), np.empty(shape, np.float32))
    symmetric = a is b
    return linalg.product(a, b, out, transpose_a=transpose_a, transpose_b=transpose_b, symmetric=symmetric)


def grams(grads: list[Array]) -> tuple[list[Array], list[Array]]:
    """g g^T and g^T g of each gradient."""
    left = [product(g, g, transpose_b=True) for g in grads]
    return left, [product(g, g, transpose_a=True) for g in grads]


def shampoo(shapes: list[tuple[int, int]]) -> Callable[[], object]:
    """The calls of an update."""
    grads = [random(*s) for s in shapes]
    left, right = grams(grads)
    damped = [x + 1e-4 * np.eye(len(x), dtype=np.float32) for x in (*left, *right)]
    roots = [np.empty_like(x) for x in damped]

    def run() -> None:
        grams(grads)
        linalg.inverse_root(damped, 4, roots)
        for g, p, q in zip(grads, roots[: len(grads)], roots[len(grads) :], strict=True):
            product(product(p, g), q)

    return run


def soap(shapes: list[tuple[int, int]]) -> Callable[[], object]:
    """The calls of ten updates: to the basis and back, for the gradient, its mean and the direction."""
    grads = [random(*s) for s in shapes]
    left, right = grams(grads)
    u, v = linalg.eigenvectors(left), linalg.eigenvectors(right)
    bases = [np.empty_like(x) for x in (*u, *v)]

    def run() -> None:
        for _ in range(TURNS["soap"]):
            for g, a, b in zip(grads, u, v, strict=True):
                for x in (g, g):
                    product(product(a, x, transpose_a=True), b)
                product(product(a, g), b, transpose_b=True)
            grams(grads)
        moved = [product(x, a) for x, a in zip((*left, *right), (*u, *v), strict=True)]
        linalg.orthonormal(moved, bases)

    return run


def step(name: str, shapes: list[tuple[int, int]]) -> Callable[[], object]:
    """As many updates as are timed together."""
    bound = optgen.load(name).bind([random(*s) for s in shapes], [random(*s) for s in shapes])

    def run() -> None:
        for _ in range(TURNS[name]):
            bound()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=optgen.num_threads())
    args = parser.parse_args()
    optgen.set_num_threads(args.threads)
    print(
        f"{args.threads} threads\n\n| optimizer | matrices | calls, ms | step, ms | step/calls |\n|---|---|---|---|---|"
    )
    for name, calls in (("shampoo", shampoo), ("soap", soap)):
        for label, shapes in SIZES.items():
            timed = (calls(shapes), step(name, shapes))
            best = [float("inf")] * 2
            for rep in range(args.reps + 1):
                for k, run in enumerate(timed):
                    begin = time.perf_counter()
                    run()
                    if rep:
                        best[k] = min(best[k], 1e3 * (time.perf_counter() - begin) / TURNS[name])
            print(f"| {name} | {label} | {best[0]:.1f} | {best[1]:.1f} | {best[1] / best[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
