"""Time a step whose numbers fade, beside one with ordinary numbers: gradients, states or weights that are subnormal or
zero, all of them or a tenth, and gradients of 1e-20.

examples:
  python benchmarks/values.py
  python benchmarks/values.py --optimizers adam lamb --dtypes float32
  python benchmarks/values.py --rows rows.json --markdown benchmarks/README.md   goes on with a run that was interrupted

A number of the tables is a step's time divided by that of a step with ordinary numbers in the same round, as the median
over the rounds; the largest one of all ways in which these arrays can fade. Arrays are filled anew before each step.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import machine
import measure
import ml_dtypes
import numpy as np
import report
import workloads
from tqdm import tqdm
from workloads import OPTIMIZERS, Array, Rule

import optgen
from optgen import specfiles

SHAPE = (1000, 1000)
DTYPES = ("float32", "bfloat16", "float16", "float64")
WARM_UP = 3
"""Steps after which states have ordinary values."""
CASES = OPTIMIZERS | {name: Rule(name) for family in ("torch", "optax") for name in specfiles.available(family)}
Fill = Callable[[Array, np.random.Generator], Array]


def tiny(like: Array, rng: np.random.Generator) -> Array:
    """Subnormal numbers of the dtype."""
    info = ml_dtypes.finfo(like.dtype)  # type: ignore[no-untyped-call]
    return np.array(
        rng.uniform(0.1, 0.9, like.shape) * float(info.tiny) * rng.choice([1, 3e-3], like.shape), like.dtype
    )


def nothing(like: Array, rng: np.random.Generator) -> Array:
    return np.zeros_like(like)


def small(like: Array, rng: np.random.Generator) -> Array:
    return np.full_like(like, 1e-20)


WAYS: Mapping[str, Sequence[tuple[str, Fill, float]]] = {
    "gradients": (
        ("subnormal", tiny, 1), ("a tenth subnormal", tiny, 0.1), ("0", nothing, 1), ("a tenth 0", nothing, 0.1),
        ("1e-20", small, 1), ("a tenth 1e-20", small, 0.1),
    ),
    "states": (("subnormal", tiny, 1), ("a tenth subnormal", tiny, 0.1), ("0", nothing, 1)),
    "weights": (("subnormal", tiny, 1), ("a tenth subnormal", tiny, 0.1), ("0", nothing, 1)),
}  # fmt: skip
"""What fades: names of ways, the numbers, and which part of all becomes such numbers."""


class Case:
    """A step of one optimizer. `arrays` are what can fade; of 8-bit states, that is the scales."""

    def __init__(self, rule: Rule) -> None:
        rng = np.random.default_rng(0)
        tensors = workloads.make([SHAPE], rule.dtype)
        for x in (*tensors.weights, *tensors.grads):
            x[...] = 0.1 * rng.standard_normal(x.shape, dtype=np.float32)
        self.step = measure.bind(rule, tensors)
        for _ in range(WARM_UP):
            self.step()
        held = [x for arrays in self.step.state.arrays.values() for x in arrays if x is not None]
        states = [x for x in held if x.size > 1 and x.dtype != np.uint8]
        self.arrays = {"gradients": tensors.grads, "states": states, "weights": tensors.weights}
        self._all = [*held, *tensors.grads, *tensors.weights]
        self._ordinary = [x.copy() for x in self._all]

    def contents(self, what: str, fill: Fill, part: float) -> list[Array]:
        """What all arrays hold where a part of some fades."""
        rng = np.random.default_rng(1)
        fading = set(map(id, self.arrays[what]))
        return [
            np.where(rng.random(x.shape) < part, fill(x, rng), x) if id(array) in fading else x
            for array, x in zip(self._all, self._ordinary, strict=True)
        ]

    def seconds(self, contents: list[Array] | None = None) -> float:
        """The time of a step from these contents, or from ordinary ones."""
        for x, values in zip(self._all, contents or self._ordinary, strict=True):
            x[...] = values
        begin = time.perf_counter()
        self.step()
        return time.perf_counter() - begin


def ratios(rule: Rule, rounds: int) -> tuple[float, dict[str, tuple[float, str]]]:
    """Seconds of an ordinary step, and for each kind of array the largest ratio with the way that it belongs to."""
    case, worst, ordinary = Case(rule), {}, []
    for what, ways in WAYS.items():
        found = []
        for name, fill, part in ways if case.arrays[what] else ():
            contents = case.contents(what, fill, part)
            pairs = [(case.seconds(), case.seconds(contents)) for _ in range(rounds)]
            ordinary += [usual for usual, _ in pairs]
            found.append((statistics.median(faded / usual for usual, faded in pairs), name))
        worst |= {what: max(found)} if found else {}
    return statistics.median(ordinary), worst


def rules(optimizers: Sequence[str], dtypes: Sequence[str]) -> dict[tuple[str, str], Rule]:
    """What is measured, by the names of optimizer and dtype; rules with a storage of their own have a dtype, too."""
    found = {}
    for name in optimizers:
        rule = CASES[name]
        own = [rule.dtype] if rule != rule.in_float32 else dtypes
        found |= {(name, d): replace(rule, dtype=d) for d in own}
    return found


def table(optimizers: Sequence[str], dtypes: Sequence[str], rounds: int, kept: Path | None) -> list[list[str]]:
    """A heading, and a row for each optimizer and dtype: one of those that are kept, or else a new one, which is kept
    then."""
    rows = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    cases = rules(optimizers, dtypes)
    for (optimizer, dtype), rule in tqdm(cases.items(), unit="case", disable=not sys.stderr.isatty()):
        key = f"{optimizer} {dtype}"
        if key in rows:
            continue
        seconds, worst = ratios(rule, rounds)
        cells = ("{:.2f} ({})".format(*worst[what]) if what in worst else "-" for what in WAYS)
        rows[key] = [optimizer, dtype, report.duration(seconds), *cells]
        if kept is not None:
            report.replace(kept, json.dumps(rows, indent=1).encode())
    return [["optimizer", "dtype", "ordinary", *WAYS], *(rows[f"{o} {d}"] for o, d in cases)]


def main() -> int:
    args = arguments()
    description = machine.describe(optgen.num_threads())
    print(machine.text(description), end="\n\n", flush=True)
    gc.disable()
    found = table(args.optimizers, args.dtypes, args.rounds, args.rows)
    print(report.aligned(found))
    if args.markdown is not None:
        text = machine.text(description).replace("\n", "  \n")
        report.insert(args.markdown, "values.py", f"{text}\n\n{report.piped(found)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--optimizers", nargs="+", choices=CASES, default=list(CASES), metavar="O", help=", ".join(CASES)
    )
    parser.add_argument(
        "--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES), metavar="D", help=", ".join(DTYPES)
    )
    parser.add_argument("--rounds", type=int, default=11, help="paired steps (default %(default)s)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep each row; rows in it are not measured again")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    report.check_folders(parser, args.rows, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
