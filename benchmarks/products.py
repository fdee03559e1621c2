"""Time products and factorizations of matrices of optgen.linalg, beside those of PyTorch.

examples:
  python benchmarks/products.py
  python benchmarks/products.py --threads 1 2 --sizes 768x768 --only products
  python benchmarks/products.py --json products.json --markdown benchmarks/README.md

A product `X Y` is of X of (m, k) and Y of (k, m); `X X^T` is known to be symmetric; `turn` has the three products of a
turn of Muon, A = X X^T, A A, A X. Speeds count 2*m*n*k operations of a product, also where half of them are left out.
All take turns; medians. PyTorch's bfloat16 products take and give bfloat16, ours take and give float32.
"""

from __future__ import annotations

import argparse
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
    tables, samples = [], {}
    for threads, part in itertools.product(args.threads, args.only):
        use_threads(threads, torch)
        found = products(args.sizes, torch, args.reps) if part == PARTS[0] else factorizations(torch, args.reps)
        samples[f"{part}, {threads} threads"] = found
        shown, unit = (speed, "GFLOP/s") if part == PARTS[0] else (milliseconds, "ms")
        tables.append(cells(found, shown, f"{unit}, {threads} thread{'s' * (threads > 1)}"))
    print("\n\n".join([*map(report.aligned, tables), *absent]))
    if args.json is not None:
        report.replace(args.json, json.dumps({"machine": description, "seconds": samples}, indent=1).encode())
    if args.markdown is not None:
        head = machine.text(description).replace("\n", "  \n")
        report.insert(args.markdown, "products.py", "\n\n".join([head, *map(report.piped, tables), *absent]))
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
        m, k = SIZES[name]
        x, y = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, m)).astype(np.float32)
        cases[f"X Y, {name}"] = 2 * m * m * k, of_two(x, y), torch and of_torch(torch, x, y)
        cases[f"X X^T, {name}"] = 2 * m * m * k, of_one(x), torch and of_torch(torch, x, None)
        if m <= k:
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

    out = np.empty((len(x), len(x)), np.float32)
    shape = ProductShape(1, len(x), len(x), len(y))
    steps: dict[str, Step] = {
        name: lambda how=how: linalg.product(x, y, out, how=how)  # type: ignore[misc]
        for name, how in OURS.items()
    }
    return steps | {"BLAS in blocks": lambda: products.by_blas(x, y, out, shape, False, False, False)}


def of_one(x: np.ndarray) -> dict[str, Step]:
    from optgen import linalg

    out = np.empty((len(x), len(x)), np.float32)
    return {
        name: lambda how=how: linalg.product(x, x, out, transpose_b=True, symmetric=True, how=how)  # type: ignore[misc]
        for name, how in OURS.items()
    }


def of_torch(torch: Any, x: np.ndarray, y: np.ndarray | None) -> dict[str, Step]:
    def step(dtype: Any) -> Step:
        a = torch.from_numpy(x).to(dtype)
        b = a.T if y is None else torch.from_numpy(y).to(dtype)
        out = torch.empty(len(x), len(x), dtype=dtype)
        return lambda: torch.mm(a, b, out=out)

    return {"torch float32": step(torch.float32), "torch bfloat16": step(torch.bfloat16)}


def turns(x: np.ndarray) -> dict[str, Step]:
    from optgen import linalg

    m, a, b, c = len(x), *(np.empty(shape, np.float32) for shape in ((len(x),) * 2, (len(x),) * 2, x.shape))
    x = x / np.linalg.norm(x)

    def turn(how: Any) -> Step:
        def step() -> None:
            linalg.product(x, x, a, transpose_b=True, symmetric=True, how=how)
            linalg.product(a, a, b, symmetric=True, how=how)
            linalg.product(a, x, c, how=how)

        return step

    assert m <= x.shape[1]
    return {name: turn(how) for name, how in OURS.items()}


def turns_of_torch(torch: Any, x: np.ndarray) -> dict[str, Step]:
    def turn(dtype: Any) -> Step:
        y = torch.from_numpy(x / np.linalg.norm(x)).to(dtype)

        def step() -> None:
            a = torch.mm(y, y.T)
            torch.mm(a, a)
            torch.mm(a, y)

        return step

    return {"torch float32": turn(torch.float32), "torch bfloat16": turn(torch.bfloat16)}


# ---------------------------------------------------------------- factorizations


def factorizations(torch: Any, reps: int) -> dict[str, dict[str, Any]]:
    """By factorization: the seconds of each contender."""
    from optgen import linalg

    rows = {}
    for name, edges in tqdm(FACTORED.items(), unit="list", disable=not sys.stderr.isatty()):
        arrays = [rng.normal(size=(n, n)).astype(np.float32) for n in edges]
        squares = [x @ x.T for x in arrays]
        ours: dict[str, Step] = {
            "eigenvectors": lambda squares=squares: linalg.eigenvectors(squares),  # type: ignore[misc]
            "inverse_root": lambda squares=squares: linalg.inverse_root(squares, 4),  # type: ignore[misc]
            "orthonormal": lambda arrays=arrays: linalg.orthonormal(arrays),  # type: ignore[misc]
        }
        theirs = torch and factorizations_of_torch(torch, arrays, squares)
        for what, step in ours.items():
            steps = {"float32": step} | ({"torch float32": theirs[what]} if torch else {})
            rows[f"{what}, {name}"] = {"operations": 0, "seconds": measure.interleave(steps, min(reps, 5))}
    return rows


def factorizations_of_torch(torch: Any, arrays: list[np.ndarray], squares: list[np.ndarray]) -> dict[str, Step]:
    xs, ss = ([torch.from_numpy(x) for x in some] for some in (arrays, squares))

    def roots() -> None:
        for s in ss:
            w, v = torch.linalg.eigh(s)
            _ = (v * w.clamp_min(1e-6 * w[-1]) ** -0.25) @ v.T

    return {
        "eigenvectors": lambda: [torch.linalg.eigh(s) for s in ss],
        "inverse_root": roots,
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
