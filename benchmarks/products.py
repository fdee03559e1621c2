"""Time products and factorizations of matrices of optgen.linalg, beside those of PyTorch.

examples:
  python benchmarks/products.py
  python benchmarks/products.py --threads 1 2 --sizes 768x768 --only products
  python benchmarks/products.py --json products.json --markdown benchmarks/README.md

X X^T, or X^T X of a tall X, is known to be symmetric. A is square. `turn` has the three products of a turn of Muon:
A = X X^T, A A, A X. Speeds count 2*m*n*k operations of a product, also where half of them are left out. All take turns;
medians. PyTorch's bfloat16 products take and give bfloat16, ours take and give float32.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import machine
import measure
import numpy as np
import report
import step as step_script
from peers.absent import Absent, require
from tqdm import tqdm

Step = Callable[[], object]
SIZES = {"768x768": (768, 768), "768x2304": (768, 2304), "768x3072": (768, 3072), "2304x768": (2304, 768),
         "3072x768": (3072, 768)}  # fmt: skip
"""Those of GPT-2 small, as (m, k)."""
FACTORED = {"4 of 256": [256] * 4, "4 of 768": [768] * 4, "1 of 768": [768]}
PARTS = ("products", "factorizations")
rng = np.random.default_rng(0)


def main() -> int:
    args = arguments()
    step_script.limit_threads(max(args.threads))
    description = machine.describe(max(args.threads))
    print(machine.text(description), end="\n\n", flush=True)
    torch, absent = None, []
    try:
        torch = require("torch", "torch")
    except Absent as reason:
        absent.append(f"Absent. PyTorch: {reason}.")
    tables: dict[str, list[list[list[str]]]] = {part: [] for part in args.only}
    samples = {}
    for part, threads in itertools.product(args.only, args.threads):
        use_threads(threads, torch)
        found = products(args.sizes, torch, args.reps) if part == PARTS[0] else factorizations(torch, args.reps)
        samples[f"{part}, {threads} threads"] = found
        shown, unit = (speed, "GFLOP/s") if part == PARTS[0] else (milliseconds, "ms")
        tables[part].append(cells(found, shown, f"{unit}, {threads} thread{'s' * (threads > 1)}"))
    print("\n\n".join([*map(report.aligned, itertools.chain(*tables.values())), *absent]))
    if args.json is not None:
        report.replace(args.json, json.dumps({"machine": description, "seconds": samples}, indent=1).encode())
    if args.markdown is not None:
        head = machine.text(description).replace("\n", "  \n")
        for part, of_part in tables.items():
            text = "\n\n".join([head, *map(report.piped, of_part), *absent])
            report.insert(args.markdown, f"products.py --only {part}", text)
    for path in filter(None, (args.json, args.markdown)):
        print(f"wrote {path}")
    return 0


def use_threads(threads: int, torch: Any) -> None:
    import optgen

    optgen.set_num_threads(threads)
    if torch is not None:
        torch.set_num_threads(threads)


# ---------------------------------------------------------------- products


def products(sizes: list[str], torch: Any, reps: int) -> dict[str, dict[str, Any]]:
    """By product: its operations, and the seconds of each contender."""
    cases = {}
    for name in sizes:
        x = rng.normal(size=SIZES[name]).astype(np.float32)
        m, k = sorted(x.shape)
        a, tall = rng.normal(size=(m, m)).astype(np.float32), len(x) > m
        one, two = ("X^T X", "X A") if tall else ("X X^T", "A X")
        cases[f"{one}, {name}"] = 2 * m * m * k, of_one(x, tall), torch and of_torch(torch, x.T if tall else x, None)
        pair = (x, a) if tall else (a, x)
        cases[f"{two}, {name}"] = 2 * m * m * k, of_two(*pair), torch and of_torch(torch, *pair)
        if not tall:
            cases[f"turn, {name}"] = 4 * m * m * k + 2 * m**3, turns(x), torch and turns_of_torch(torch, x)
    rows = {}
    with tqdm(cases.items(), unit="product", disable=not sys.stderr.isatty()) as bar:
        for name, (operations, ours, theirs) in bar:
            rows[name] = {"operations": operations, "seconds": measure.interleave({**ours, **(theirs or {})}, reps)}
    return rows


OURS = {"float32": "native", "bfloat16": "bfloat16", "deterministic": "deterministic"}


def of_two(x: np.ndarray, y: np.ndarray) -> dict[str, Step]:
    from optgen import linalg
    from optgen.linalg import products
    from optgen.linalg.matrices import ProductShape

    out = np.empty((len(x), y.shape[1]), np.float32)
    shape = ProductShape(1, *out.shape, len(y))
    steps = {name: functools.partial(linalg.product, x, y, out, how=how) for name, how in OURS.items()}
    return steps | {"BLAS in blocks": lambda: products.by_blas(x, y, out, shape, False, False, False)}


def of_one(x: np.ndarray, tall: bool) -> dict[str, Step]:
    from optgen import linalg

    out = np.empty((min(x.shape),) * 2, np.float32)
    options: Any = {"transpose_a": tall, "transpose_b": not tall, "symmetric": True}
    return {name: functools.partial(linalg.product, x, x, out, **options, how=how) for name, how in OURS.items()}


def of_torch(torch: Any, x: np.ndarray, y: np.ndarray | None) -> dict[str, Step]:
    def step(dtype: Any) -> Step:
        a = torch.from_numpy(x).to(dtype)
        b = a.T if y is None else torch.from_numpy(y).to(dtype)
        return functools.partial(torch.mm, a, b, out=torch.empty(a.shape[0], b.shape[1], dtype=dtype))

    return {"torch float32": step(torch.float32), "torch bfloat16": step(torch.bfloat16)}


def turns(x: np.ndarray) -> dict[str, Step]:
    from optgen import linalg

    x = x / np.linalg.norm(x)
    a, b, c = (np.empty(shape, np.float32) for shape in ((len(x),) * 2, (len(x),) * 2, x.shape))

    def turn(how: Any) -> None:
        linalg.product(x, x, a, transpose_b=True, symmetric=True, how=how)
        linalg.product(a, a, b, symmetric=True, how=how)
        linalg.product(a, x, c, how=how)

    return {name: functools.partial(turn, how) for name, how in OURS.items()}


def turns_of_torch(torch: Any, x: np.ndarray) -> dict[str, Step]:
    def turn(y: Any) -> None:
        a = torch.mm(y, y.T)
        torch.mm(a, a)
        torch.mm(a, y)

    y = torch.from_numpy(x / np.linalg.norm(x))
    return {f"torch {dtype}": functools.partial(turn, y.to(getattr(torch, dtype))) for dtype in ("float32", "bfloat16")}


# ---------------------------------------------------------------- factorizations


def factorizations(torch: Any, reps: int) -> dict[str, dict[str, Any]]:
    """By factorization: the seconds of each contender."""
    from optgen import linalg

    rows: dict[str, dict[str, Any]] = {}
    for name, edges in tqdm(FACTORED.items(), unit="list", disable=not sys.stderr.isatty()):
        arrays = [rng.normal(size=(n, n)).astype(np.float32) for n in edges]
        squares = [x @ x.T for x in arrays]
        ours: dict[str, Step] = {
            "eigenvectors": functools.partial(linalg.eigenvectors, squares),
            "inverse_root": functools.partial(linalg.inverse_root, squares, 4),
            "orthonormal": functools.partial(linalg.orthonormal, arrays),
        }
        theirs = factorizations_of_torch(torch, arrays, squares) if torch else {}
        for what, step in ours.items():
            steps = {"float32": step} | ({"torch float32": theirs[what]} if torch else {})
            rows[f"{what}, {name}"] = {"seconds": measure.interleave(steps, reps)}
    return rows


def factorizations_of_torch(torch: Any, arrays: list[np.ndarray], squares: list[np.ndarray]) -> dict[str, Step]:
    xs, ss = ([torch.from_numpy(x) for x in some] for some in (arrays, squares))

    def root(s: Any) -> Any:
        w, v = torch.linalg.eigh(s)
        return (v * w.clamp_min(1e-6 * w[-1]) ** -0.25) @ v.T

    return {
        "eigenvectors": lambda: [torch.linalg.eigh(s) for s in ss],
        "inverse_root": lambda: [root(s) for s in ss],
        "orthonormal": lambda: [torch.linalg.qr(x) for x in xs],
    }


# ---------------------------------------------------------------- reporting


def speed(row: Mapping[str, Any], seconds: float) -> str:
    return f"{row['operations'] / seconds / 1e9:.0f}"


def milliseconds(row: Mapping[str, Any], seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"


def cells(rows: Mapping[str, Mapping[str, Any]], shown: Callable[..., str], unit: str) -> list[list[str]]:
    """A heading and a line for each row; the cell of a contender that a row does not have is a dash."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row["seconds"]))
    table = [[unit, *names]]
    for name, row in rows.items():
        medians = {key: statistics.median(seconds) for key, seconds in row["seconds"].items()}
        table.append([name, *(shown(row, medians[key]) if key in medians else "-" for key in names)])
    return table


def arguments() -> argparse.Namespace:
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), metavar="S", help=", ".join(SIZES))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="P", help=", ".join(PARTS))
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[available], metavar="N", help=f"threads (default {available})"
    )
    parser.add_argument("--reps", type=int, default=9, help="repetitions (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample, in seconds, and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of a file")
    args = parser.parse_args()
    if not all(1 <= n <= available for n in args.threads):
        parser.error(f"--threads must be from 1 to {available}")
    if args.reps < 1:
        parser.error("--reps must be at least 1")
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
