"""Time products of square matrices of optgen.linalg beside those of an OpenBLAS, which may be newer than NumPy's.

examples:
  python benchmarks/openblas.py libscipy_openblas.so
  python benchmarks/openblas.py libscipy_openblas.so --threads 1 2 --sizes 512 1024 --markdown docs/linalg.md

The library is that of the package scipy-openblas32. A cell is the speed of OpenBLAS, as GFLOP/s of 2 n^3 operations,
or how many times as fast a product of ours is: the median of the ratios of runs that follow each other. `native` is
what `linalg.product` takes on this CPU, and `own` is fused code of our own. Products of two matrices stand beside gemm;
X X^T, of which half is computed, beside syrk, which leaves the other half of its result unwritten.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import machine
import measure
import numpy as np
import report
import step as step_script
from tqdm import tqdm

SIZES = (256, 512, 1024, 2048)
ROW_MAJOR, NO_TRANS, TRANS, LOWER = 101, 111, 112, 122
"""Values of CBLAS."""
Step = Callable[[], object]
rng = np.random.default_rng(0)


class Case(NamedTuple):
    """A routine of OpenBLAS, and the products of ours beside it."""

    routine: str
    dtype: type
    ours: tuple[str, ...]


SINGLE, DOUBLE = ("native", "own", "bfloat16", "deterministic"), ("native", "own", "deterministic")
CASES = (
    Case("sgemm", np.float32, SINGLE),
    Case("dgemm", np.float64, DOUBLE),
    Case("ssyrk", np.float32, SINGLE),
    Case("dsyrk", np.float64, DOUBLE),
)


class OpenBlas:
    """The products of a shared library."""

    def __init__(self, path: Path) -> None:
        self._library = library = ctypes.CDLL(str(path.resolve()))
        library.scipy_openblas_get_config.restype = ctypes.c_char_p
        library.scipy_openblas_get_corename.restype = ctypes.c_char_p
        version = " ".join(library.scipy_openblas_get_config().decode().split()[:2])
        self.name = f"{version}, kernels for {library.scipy_openblas_get_corename().decode()}"

    def set_num_threads(self, threads: int) -> None:
        self._library.scipy_openblas_set_num_threads(threads)

    def step(self, routine: str, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> Step:
        """`gemm`: out = a @ b. `syrk`: the lower triangle of a @ a^T. The arrays are square and C-contiguous."""
        n, scalar = len(a), {np.float32: ctypes.c_float, np.float64: ctypes.c_double}[a.dtype.type]
        one, zero = scalar(1), scalar(0)
        x, y, z = (m.ctypes.data_as(ctypes.c_void_p) for m in (a, b, out))  # which keep the arrays alive
        function = getattr(self._library, f"scipy_cblas_{routine}")
        if routine.endswith("syrk"):
            arguments = (ROW_MAJOR, LOWER, NO_TRANS, n, n, one, x, n, zero, z, n)
        else:
            arguments = (ROW_MAJOR, NO_TRANS, NO_TRANS, n, n, n, one, x, n, y, n, zero, z, n)
        return functools.partial(function, *arguments)


def steps(blas: OpenBlas, case: Case, n: int) -> dict[str, Step]:
    """OpenBLAS and ours by name, over the same operands. Their results are compared before anything is timed."""
    a, b = (rng.normal(size=(n, n)).astype(case.dtype) for _ in range(2))
    symmetric = case.routine.endswith("syrk")
    theirs = np.zeros((n, n), case.dtype)
    found: dict[str, Step] = {case.routine: blas.step(case.routine, a, b, theirs)}
    found[case.routine]()
    for name in case.ours:
        out = np.empty((n, n), case.dtype)
        found[name] = of_ours(name, a, a if symmetric else b, out, symmetric)
        found[name]()
        tolerance = 0.05 * n**0.5 if name == "bfloat16" else 1e-5 * n
        if not np.abs(np.tril(out - theirs) if symmetric else out - theirs).max() < tolerance:
            raise SystemExit(f"{name} and {case.routine} differ for n = {n}")
    return found


def of_ours(name: str, a: np.ndarray, b: np.ndarray, out: np.ndarray, symmetric: bool) -> Step:
    """`native`, `bfloat16` or `deterministic` as `linalg.product` has it; `own` is fused code of our own, also where
    `native` is BLAS."""
    from optgen import linalg
    from optgen.linalg.matrices import ProductShape
    from optgen.linalg.own import multiply

    if name != "own":
        how: Any = name
        return functools.partial(linalg.product, a, b, out, transpose_b=symmetric, symmetric=symmetric, how=how)
    code = multiply.load("float64" if a.dtype == np.float64 else "float32", True)
    shape = ProductShape(1, *[len(a)] * 3)
    return functools.partial(multiply.multiply, code, a, b, out, shape, False, symmetric, symmetric, None)


def row(case: Case, n: int, seconds: dict[str, list[float]]) -> list[str]:
    """The speed of OpenBLAS, and ratios."""
    theirs = seconds[case.routine]
    speed = 2 * n**3 / statistics.median(theirs) / 1e9
    ratios = [statistics.median(t / o for t, o in zip(theirs, seconds[x], strict=True)) for x in case.ours]
    return [str(n), f"{speed:.0f}", *(f"{ratio:.2f}" for ratio in ratios)]


def main() -> int:
    args = arguments()
    step_script.limit_threads(max(args.threads))
    import optgen

    blas = OpenBlas(args.library)
    description = machine.describe(max(args.threads), ("optgen", "numpy", "llvmlite")) | {"blas": blas.name}
    head = f"{machine.text(description)}\n{blas.name}"
    print(head, end="\n\n", flush=True)
    tables, samples = [], {}
    bar = tqdm(total=len(args.threads) * len(CASES) * len(args.sizes), disable=not sys.stderr.isatty())
    for threads in args.threads:
        optgen.set_num_threads(threads)
        blas.set_num_threads(threads)
        for case in CASES:
            of = f"{case.routine}, {threads} thread{'s' * (threads > 1)}"
            tables.append([["n", of, *case.ours]])
            for n in args.sizes:
                seconds = samples[f"{of}, n = {n}"] = measure.interleave(steps(blas, case, n), args.reps)
                tables[-1].append(row(case, n, seconds))
                bar.update()
    bar.close()
    print("\n\n".join(map(report.aligned, tables)))
    if args.json is not None:
        report.replace(args.json, json.dumps({"machine": description, "seconds": samples}, indent=1).encode())
    if args.markdown is not None:
        text = "\n\n".join([head.replace("\n", "  \n"), *map(report.piped, tables)])
        report.insert(args.markdown, "openblas.py", text)
    return 0


def arguments() -> argparse.Namespace:
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, help="the shared library of OpenBLAS")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N", help="rows and columns")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[available], metavar="N", help=f"threads (default {available})"
    )
    parser.add_argument("--reps", type=int, default=9, help="repetitions (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample, in seconds, and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of a file")
    args = parser.parse_args()
    if not all(1 <= n <= available for n in args.threads):
        parser.error(f"--threads must be from 1 to {available}")
    if args.reps < 1 or min(args.sizes) < 1:
        parser.error("--reps and --sizes must be at least 1")
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
