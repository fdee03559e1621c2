"""Time what a call of an operator costs, on tiny arrays: outside of `record`, inside, and with its gradient.

examples:
  python benchmarks/operators.py
  python benchmarks/operators.py --only softmax "x + y" --reps 31
  python benchmarks/operators.py --json operators.json --markdown benchmarks/README.md

The same is timed in NumPy, which records nothing, and in PyTorch if it is installed. All take turns, on one thread;
medians. "gradient" is the whole of it: recording, the call, and the walk back to all inputs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import machine
import measure
import operator_calls
import report
from peers.absent import Absent, require
from tqdm import tqdm

from runtime import autograd, nd

BUDGET = 5e-6
"""Seconds that a recorded call of a simple operator may take."""
BUNDLE = 20
"""So many calls are made in one `record`."""
COLUMNS = ("call", "recorded", "with gradient")
NUMPY, OURS, TORCH = "NumPy", "runtime", "PyTorch"

Step = Callable[[], object]


def main() -> int:
    args = arguments()
    description = machine.describe(1)
    print(machine.text(description), end="\n\n", flush=True)
    rows, absent = run(args.only, args.reps)
    print(text(rows))
    for reason in absent:
        print(reason)
    if args.json is not None:
        report.replace(args.json, json.dumps({"machine": description, "seconds": rows}, indent=1).encode())
    if args.markdown is not None:
        report.insert(args.markdown, "operators.py", "\n\n".join([markdown(rows, description), *absent]))
    for path in filter(None, (args.json, args.markdown)):
        print(f"wrote {path}")
    return 0


# ---------------------------------------------------------------- measuring


def run(only: Sequence[str], reps: int) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Median seconds of a call, by operator and then by `library: column`; and which library is absent, and why."""
    given = operator_calls.inputs()
    ours = steps_of_ours(operator_calls.of_runtime(given))
    theirs, absent = {}, []
    try:
        theirs = steps_of_torch(require("torch", "torch"), operator_calls.of_torch(given))
    except Absent as reason:
        absent.append(f"Absent. {TORCH}: {reason}.")
    numpy = operator_calls.of_numpy(given)
    rows = {}
    with tqdm(only or ours, unit="operator", disable=not sys.stderr.isatty()) as bar:
        for name in bar:
            steps = {f"{OURS}: {column}": step for column, step in ours[name].items()}
            if name in numpy:
                steps[f"{NUMPY}: call"] = bundled(numpy[name])
            steps |= {f"{TORCH}: {column}": step for column, step in theirs.get(name, {}).items()}
            samples = measure.interleave(steps, reps)
            rows[name] = {key: statistics.median(seconds) / calls_in(key) for key, seconds in samples.items()}
    return rows, absent


def calls_in(key: str) -> int:
    return 1 if key.endswith(COLUMNS[2]) else BUNDLE


def bundled(call: Step, scope: Callable[[], AbstractContextManager] | None = None) -> Step:
    """Several calls, in one scope."""

    def step() -> None:
        for _ in itertools.repeat(None, BUNDLE):
            call()

    def scoped() -> None:
        with scope():
            step()

    return step if scope is None else scoped


def steps_of_ours(calls: operator_calls.Calls) -> dict[str, dict[str, Step]]:
    def differentiated(call: Step) -> Step:
        heads = listed(call())
        flows = [nd.ones(y.shape) for y in heads]

        def step() -> None:
            with autograd.record():
                y = call()
            autograd.backward(listed(y), flows)

        return step

    return {name: steps(call, autograd.pause, autograd.record, differentiated) for name, call in calls.items()}


def steps_of_torch(torch: Any, calls: operator_calls.Calls) -> dict[str, dict[str, Step]]:
    def differentiated(call: Step) -> Step | None:
        heads = listed(call())
        flows = [torch.ones(y.shape) for y in heads]

        def step() -> None:
            torch.autograd.backward(listed(call()), flows)

        return step if heads[0].requires_grad else None

    return {name: steps(call, torch.no_grad, torch.enable_grad, differentiated) for name, call in calls.items()}


def steps(call: Step, pause: Any, record: Any, differentiated: Callable[[Step], Step | None]) -> dict[str, Step]:
    gradient = differentiated(call)
    found = {COLUMNS[0]: bundled(call, pause), COLUMNS[1]: bundled(call, record), COLUMNS[2]: gradient}
    return {column: step for column, step in found.items() if step is not None}


def listed(y: Any) -> list:
    return list(y) if isinstance(y, (list, tuple)) else [y]


# ---------------------------------------------------------------- reporting


def cells(rows: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """A heading and a row for each operator, in microseconds; a recorded call of ours over the budget has a mark."""
    keys = [f"{NUMPY}: call", *(f"{library}: {column}" for library in (OURS, TORCH) for column in COLUMNS)]
    keys = [key for key in keys if any(key in row for row in rows.values())]
    table = [["operator", *keys]]
    for name, row in rows.items():
        line = [f"{row[key] * 1e6:.2f}" if key in row else "-" for key in keys]
        marked = keys.index(f"{OURS}: recorded")
        line[marked] += "*" if row[keys[marked]] > BUDGET else ""
        table.append([name, *line])
    return table


LEGEND = f"Microseconds. *: more than {BUDGET * 1e6:.0f}."


def text(rows: Mapping[str, Mapping[str, float]]) -> str:
    return f"{LEGEND}\n{report.aligned(cells(rows))}"


def markdown(rows: Mapping[str, Mapping[str, float]], description: dict[str, Any]) -> str:
    return "\n\n".join(
        [machine.text(description).replace("\n", "  \n"), LEGEND.replace("*", "\\*"), report.piped(cells(rows))]
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = list(operator_calls.of_runtime(operator_calls.inputs()))
    parser.add_argument(
        "--only", nargs="+", choices=known, default=[], metavar="O", help=f"some of: {', '.join(known)}"
    )
    parser.add_argument("--reps", type=int, default=15, help="repetitions (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the medians, in seconds, and the machine")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table between the marks of a file")
    args = parser.parse_args()
    if args.reps < 1:
        parser.error("--reps must be at least 1")
    report.check_folders(parser, args.json, args.markdown)
    return args


if __name__ == "__main__":
    sys.exit(main())
