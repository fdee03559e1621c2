"""Time what is not memory: imports, a spec on its way to a running kernel, and the call of a small step.

examples:
  python benchmarks/latency.py
  python benchmarks/latency.py --runs 21 --json latency.json

Imports and first steps are timed in fresh processes with warm file caches: the median of several, each from the first
line it runs. `cold` has an empty folder of compiled kernels, `cached` one with the kernel in it; both count from after
`import optgen` to the end of the first step. With PyTorch, `import optgen.torch` counts from after `import torch`, and
first steps from there to their ends, `import optgen.torch` included.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ceiling
import machine
import measure
import numpy as np
import workloads
from tqdm import tqdm

import optgen
import runtime as mx
from runtime import autograd, gluon

ROOT = Path(__file__).resolve().parent.parent
SPECS = ("adam", "lamb")

IMPORT = """\
import time
begin = time.perf_counter()
import {module}
print(time.perf_counter() - begin)
"""
FIRST_STEP = """\
import time
import numpy as np
import optgen
w, g = [np.ones((128, 64), np.float32)], [np.ones((128, 64), np.float32)]
begin = time.perf_counter()
rule = optgen.load({spec!r})
step = rule.bind(w, g, rule.init(w))
step(lr=1e-3)
print(time.perf_counter() - begin)
"""
IMPORT_TORCH = """\
import time
import torch
begin = time.perf_counter()
import optgen.torch
print(time.perf_counter() - begin)
"""
FIRST_TORCH_STEP = """\
import time
import torch
net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
net(torch.ones(1, 784)).sum().backward()
begin = time.perf_counter()
{make}
optimizer.step()
print(time.perf_counter() - begin)
"""
TORCH_OPTIMIZERS = {
    "optgen.torch.AdamW": "import optgen.torch\noptimizer = optgen.torch.AdamW(net.parameters())",
    "optgen.torch.MuonAdamW": "import optgen.torch\noptimizer = optgen.torch.MuonAdamW(net.parameters())",
    "torch.optim.AdamW(fused=True)": "optimizer = torch.optim.AdamW(net.parameters(), fused=True)",
}
"""What makes an optimizer of a network `net`."""
CALLS = 2000
TRAINED, BATCH = ("adam", "sgd"), 64
ADAM, TABLE, ROWS = workloads.Rule("adam"), (1_000_000, 64), 4096
LR, WD = 1e-6, 1e-4
"""So small that no weight comes to where its decay cancels its gradient, in as many steps as are timed."""


def main() -> int:
    args = arguments()
    description = machine.describe(optgen.num_threads())
    print(machine.text(description), end="\n\n", flush=True)
    parts = (fresh, perceptron, many_tensors, table_rows, trainers)
    rows = {name: row for part in parts for name, row in part(args.runs).items()}
    for name, (value, unit) in rows.items():
        print(f"{name:55} {value:10.2f} {unit}")
    if args.json is not None:
        result = {"machine": description, "results": {name: {"value": v, "unit": u} for name, (v, u) in rows.items()}}
        args.json.write_text(json.dumps(result, indent=1))
        print(f"wrote {args.json}")
    return 0


def fresh(runs: int) -> dict[str, tuple[float, str]]:
    """Medians over fresh processes."""
    rows = {}
    imports = {f"import {module}": IMPORT.format(module=module) for module in ("optgen", "runtime")}
    steps = {f"{spec}: spec to first step": FIRST_STEP.format(spec=spec) for spec in SPECS}
    if importlib.util.find_spec("torch"):
        imports["import optgen.torch"] = IMPORT_TORCH
        steps |= {f"{x}: to first step": FIRST_TORCH_STEP.format(make=make) for x, make in TORCH_OPTIMIZERS.items()}
    with tqdm(total=runs * (len(imports) + 2 * len(steps)), unit="process", disable=not sys.stderr.isatty()) as bar:
        for name, code in imports.items():
            rows[name] = median(lambda c=code: child(c), runs, bar)
        for name, code in steps.items():
            rows[f"{name}, cold"] = median(lambda c=code: with_empty_cache(c), runs, bar)
            with tempfile.TemporaryDirectory() as folder:
                child(code, folder)
                rows[f"{name}, cached"] = median(lambda c=code, f=folder: child(c, f), runs, bar)
    return {name: (seconds * 1e3, "ms") for name, seconds in rows.items()}


def perceptron(runs: int) -> dict[str, tuple[float, str]]:
    """Adam on the small network: a step, the same with hyper-parameters given, and what of it is not arithmetic."""
    tensors = workloads.make(workloads.SHAPES["mlp"][1])
    step = bind(tensors.weights, gradients())
    one = np.ones(1, np.float32)
    tiny = bind([one], [one.copy()])
    steps: dict[str, Callable[[], object]] = {
        "MLP adam: step()": step,
        "MLP adam: step(lr=..., wd=..., rescale_grad=...)": lambda: step(lr=LR, wd=WD, rescale_grad=1 / 64),
        "one element, adam: step(), which is the cost of a call": tiny,
    }
    seconds = measure.interleave(steps, runs)
    rows = {name: (statistics.median(s) * 1e6, "us") for name, s in seconds.items()}
    rows["MLP adam: bytes of Python objects allocated by a step"] = (allocated(step), "bytes")
    rows[f"MLP adam: page faults in {CALLS} steps"] = (page_faults(step), "")
    return rows


def many_tensors(runs: int) -> dict[str, tuple[float, str]]:
    """Adam on tensors so small that what a step does for each of them shows."""
    step = measure.bind(ADAM, workloads.make([(100,)] * 1000))
    return medians({"1,000 tensors of 100 elements, adam: step()": step}, runs)


def table_rows(runs: int) -> dict[str, tuple[float, str]]:
    """Adam on rows of a table: the same at each step, and other ones, as training has them. Beside it additions alone,
    on the rows of as many arrays: what the memory allows."""
    random = np.random.default_rng(0)
    batches = [batch(random) for _ in range(16)]
    name = f"{ROWS:,} rows of a table of {TABLE[0]:,} x {TABLE[1]}"
    steps: dict[str, Callable[[], object]] = {}
    additions = optgen.load(optgen.parse(ceiling.spec((), ("m", "v"))))
    for label, rule in (("adam", ADAM.load()), ("additions", additions)):
        step = rule.bind(workloads.make([TABLE]).weights, [batches[0]])
        steps[f"{name}, {label}: step(), the same rows"] = step
        steps[f"{name}, {label}: rebind() and step(), new rows"] = with_new_rows(step, batches)
    steps[f"{name}: rebind()"] = lambda: step.rebind([batches[0]])
    return medians(steps, runs)


def with_new_rows(step: optgen.BoundStep, batches: list[optgen.RowSparse]) -> Callable[[], object]:
    """A step on the rows of the next batch."""
    following = itertools.cycle(batches)

    def call() -> None:
        step.rebind([next(following)])
        step()

    return call


def batch(random: np.random.Generator) -> optgen.RowSparse:
    """Random gradients of random rows of the table, in order."""
    numbers = np.sort(random.choice(TABLE[0], ROWS, replace=False))
    return optgen.RowSparse(numbers, random.standard_normal((ROWS, TABLE[1]), np.float32))


def medians(steps: dict[str, Callable[[], object]], runs: int) -> dict[str, tuple[float, str]]:
    """Microseconds of a call of each, measured in turns."""
    return {name: (statistics.median(s) * 1e6, "us") for name, s in measure.interleave(steps, runs).items()}


def trainers(runs: int) -> dict[str, tuple[float, str]]:
    """Trainer.step on the same network: again and again, and after the passes that give the gradients of a batch."""
    steps: dict[str, Callable[[], object]] = {}
    after: dict[str, list[float]] = {}
    for name in TRAINED:
        net = network()
        trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": LR, "wd": WD})
        row = f"MLP {name}: trainer.step({BATCH})"
        after[f"{row}, after a batch"] = train(net, trainer, 20 * runs)
        steps[row] = again(net, trainer)
    seconds = measure.interleave(steps, runs) | after
    return {row: (statistics.median(seconds[row]) * 1e6, "us") for row in sorted(seconds)}


def network() -> gluon.nn.HybridSequential:
    """The network of `workloads.perceptron`."""
    net = gluon.nn.HybridSequential()
    net.add(*(gluon.nn.Dense(n, activation=a) for n, a in ((128, "relu"), (64, "relu"), (10, None))))
    net.initialize(mx.init.Xavier())
    return net


def train(net: gluon.Block, trainer: gluon.Trainer, batches: int) -> list[float]:
    """Seconds of each step."""
    pixels, labels = mx.nd.random.normal(shape=(BATCH, 784)), mx.nd.array(np.arange(BATCH) % 10)
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()
    seconds = []
    for _ in range(batches):
        with autograd.record():
            loss = criterion(net(pixels), labels)
        loss.backward()
        begin = time.perf_counter()
        trainer.step(BATCH)
        seconds.append(time.perf_counter() - begin)
    return seconds


def again(net: gluon.Block, trainer: gluon.Trainer) -> Callable[[], object]:
    """A step with gradients that stay the same; a Trainer takes them for stale unless told otherwise."""
    params = list(net.collect_params().values())
    for param, grad in zip(params, gradients(), strict=True):
        param.grad()[:] = mx.nd.array(BATCH * grad)
    variables = [param.data()._node for param in params]

    def step() -> None:
        for variable in variables:
            variable.fresh = True
        trainer.step(BATCH)

    return step


def gradients() -> list[workloads.Array]:
    """Those of the small network, normal as training has them."""
    rng = np.random.default_rng(0)
    grads = workloads.zeros(workloads.perceptron(), "float32")
    for g in grads:
        g[...] = 0.01 * rng.standard_normal(g.shape, dtype=np.float32)
    return grads


def bind(weights: list[Any], grads: list[Any]) -> optgen.BoundStep:
    rule = optgen.load("adam", lr=LR, wd=WD)
    return rule.bind(weights, grads, rule.init(weights))


def allocated(step: Callable[[], object]) -> int:
    """Bytes of Python's heap that a step takes on top of what is there, at its peak."""
    tracemalloc.start()
    try:
        step()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def page_faults(step: Callable[[], object]) -> int:
    """New pages that the system handed out during many steps: memory taken and given back would show here."""
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def median(run: Callable[[], float], runs: int, bar: Any) -> float:
    run()  # brings files into the system's cache
    times = []
    for _ in range(runs):
        times.append(run())
        bar.update()
    return statistics.median(times)


def with_empty_cache(code: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return child(code, folder)


def child(code: str, cache: str | None = None) -> float:
    """Run code in a fresh interpreter; the seconds it prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}  # as they are where people train
    if cache is not None:
        env["OPTGEN_CACHE_DIR"] = cache
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"this code failed in a fresh process:\n{code}\n{done.stderr}")
    return float(done.stdout)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11, help="repetitions, and fresh processes (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results and the machine")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs must be at least 1")
    return args


if __name__ == "__main__":
    sys.exit(main())
