"""Time a step of a library in C, which `optgen build` makes, beside the same step of Python's `bind`.

examples:
  python benchmarks/c_library.py
  python benchmarks/c_library.py --spec lamb --elements 1000000 --runs 21

Both update one parameter of their own with one thread and with two, in turns, with states of their own. A cell is the
median time, and in brackets the median of the ratios to Python's step in the same turn.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import machine
import measure
import numpy as np
import report

import optgen
from optgen.cli import main as command
from optgen.execute import buffers

ADDRESS, COUNT = ctypes.c_void_p, ctypes.c_int64


class Tensor(ctypes.Structure):
    """A tensor of a spec without inputs."""

    _fields_ = (("data", ADDRESS), ("grad", ADDRESS), ("shape", ADDRESS), ("rank", COUNT))


def library_step(spec: str, folder: Path, elements: int, threads: int) -> Callable[[], object]:
    """A step of a context; its options say the ABI, the dtype float32 and the number of threads."""
    code = ctypes.CDLL(str(folder / f"lib{spec}.so"))
    arrays = make(elements)
    shape = (COUNT * 1)(elements)
    tensor = Tensor(arrays[0].ctypes.data, arrays[1].ctypes.data, ctypes.addressof(shape), 1)
    manifest = json.loads((folder / f"{spec}.json").read_text())
    options = (ctypes.c_uint32 * 64)(manifest["specs"][0]["abi"], 0, threads)
    defaults = [entry["default"] for entry in manifest["specs"][0]["hyper"]]
    values = [np.nan if x is None else float(x) for x in defaults]
    hyper = (ctypes.c_double * len(values))(*values)
    context = ADDRESS()
    status = code[f"{spec}_create"](ctypes.byref(context), ctypes.byref(tensor), COUNT(1), options, hyper)
    if status:
        raise RuntimeError(f"{spec}_create: status {status}")
    step, kept = code[f"{spec}_step"], (arrays, shape, tensor)
    step.argtypes = (ADDRESS, ADDRESS)

    def call() -> None:
        _ = kept
        step(context, hyper)

    return call


def python_step(spec: str, elements: int, threads: int) -> Callable[[], object]:
    optgen.set_num_threads(threads)
    weights, grads = make(elements)
    step = optgen.load(spec).bind([weights], [grads])
    step()
    return step


def make(elements: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """A weight and a gradient, which begin with pages."""
    rng = np.random.default_rng(0)
    weights, grads = (buffers.aligned((elements,), "float32") for _ in range(2))
    weights[:], grads[:] = rng.normal(size=elements), rng.normal(size=elements)
    return weights, grads


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", default="adam", help="one without inputs (default: %(default)s)")
    parser.add_argument("--elements", type=int, default=25_000_000, help="of the parameter (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=15, help="turns (default: %(default)s)")
    args = parser.parse_args()
    print(machine.text(machine.describe(2)), end="\n\n", flush=True)
    rows = [["threads", "bind", "library"]]
    with tempfile.TemporaryDirectory() as folder:
        command(["build", args.spec, "-o", folder])
        for threads in (1, 2):
            steps = {
                "bind": python_step(args.spec, args.elements, threads),
                "library": library_step(args.spec, Path(folder), args.elements, threads),
            }
            seconds = measure.interleave(steps, args.runs)
            times = {name: report.duration(statistics.median(x)) for name, x in seconds.items()}
            ratio = statistics.median(b / a for a, b in zip(seconds["bind"], seconds["library"], strict=True))
            rows.append([str(threads), times["bind"], f"{times['library']} ({ratio:.3f})"])
    print(report.aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
