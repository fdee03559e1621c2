"""Times of Muon's step on the matrices of a GPT-2 small, beside torch.optim.Muon and the same products by torch.mm.

    python benchmarks/muon.py [--layers N] [--reps N] [--matrices COUNTxROWSxCOLS]

All run on as many threads. Times are the smallest of some repetitions, which take turns. `products` are the products of
a step alone: five turns of three for each matrix, by `torch.mm`. `--matrices` takes so many equal matrices instead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import optgen

MATRICES = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
"""Those of one layer."""
TURNS = 5


def products(shapes: list[tuple[int, int]]) -> Callable[[], None]:
    """The products of a step, in float32."""
    wide = [torch.randn(min(s), max(s)) for s in shapes]

    def run() -> None:
        for x in wide:
            for _ in range(TURNS):
                a = x @ x.T
                torch.mm(a, a)
                torch.mm(a, x)

    return run


def flops(shapes: list[tuple[int, int]]) -> int:
    """Operations of these products."""
    return sum(TURNS * (4 * min(s) ** 2 * max(s) + 2 * min(s) ** 3) for s in shapes)


def steps(shapes: list[tuple[int, int]]) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    found: dict[str, Callable[[], object]] = {"products, torch.mm": products(shapes)}
    params = [torch.randn(s) for s in shapes]
    for p in params:
        p.grad = torch.randn(p.shape)
    found["torch.optim.Muon"] = torch.optim.Muon(params, lr=1e-3).step
    for matmul in ("float32", "bfloat16"):
        weights = [p.clone() for p in params]
        grads = [p.grad.clone() for p in params]
        found[f"optgen, {matmul}"] = optgen.load("muon", matmul=matmul).bind(weights, grads)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--matrices", help="as 100x16x16")
    parser.add_argument("--threads", type=int, default=optgen.num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    optgen.set_num_threads(args.threads)
    shapes = MATRICES * args.layers
    if args.matrices:
        count, rows, cols = map(int, args.matrices.split("x"))
        shapes = [(rows, cols)] * count
    timed = steps(shapes)
    best = dict.fromkeys(timed, float("inf"))
    with torch.no_grad():
        for rep in range(args.reps + 1):
            for name, run in timed.items():
                begin = time.perf_counter()
                run()
                if rep:
                    best[name] = min(best[name], time.perf_counter() - begin)
    print(f"{len(shapes)} matrices, {args.threads} threads, {flops(shapes) / 1e9:.3g} GFLOP of products")
    for name, seconds in best.items():
        of_mm, of_muon = (seconds / best[x] for x in ("products, torch.mm", "torch.optim.Muon"))
        print(f"{name:20} {seconds * 1e3:7.2f} ms, {of_mm:.2f} of the products, {of_muon:.2f} of torch.optim.Muon")


if __name__ == "__main__":
    main()
