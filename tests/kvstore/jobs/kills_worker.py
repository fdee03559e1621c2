"""A worker that fits a line, and counts its pushes in a key of its own, until it finds a file called `stop`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import runtime as mx
from runtime import nd

SIZE, RATE = 300_000, 2.0**-4  # a power of two: a gradient of -1/RATE adds 1 to a counter, exactly
folder = Path(sys.argv[1])
kv = mx.kv.create("dist_async")
names = [f"counter{r}" for r in range(kv.num_workers)]
kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=RATE))
kv.init(["weight", *names], [nd.zeros(20), *(nd.zeros(SIZE) for _ in names)])
true = np.random.default_rng(0).normal(size=20)
weight, count = nd.zeros(20), nd.ones(SIZE) * (-1 / RATE)
kv.pull("weight", out=weight)
acknowledged = os.open(folder / f"acknowledged{kv.rank}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while not (folder / "stop").exists():
    x = np.random.default_rng([kv.rank, kv.acknowledged]).normal(size=(32, 20))
    gradient = x.T @ (x @ (weight.asnumpy() - true)) / 32
    kv.push(["weight", names[kv.rank]], [nd.array(gradient), count])
    os.write(acknowledged, f"{kv.acknowledged}\n".encode())
    kv.pull("weight", out=weight)
kv.barrier()
if kv.rank == 0:
    counters = [nd.zeros(SIZE) for _ in names]
    kv.pull(["weight", *names], out=[weight, *counters])
    arrays = {name: c.asnumpy() for name, c in zip(names, counters, strict=True)}
    np.savez(folder / "end", weight=weight.asnumpy(), true=true, **arrays)
kv.barrier()
(folder / f"end{kv.rank}").write_text(str(kv.acknowledged))
