"""What `kvstore.py` times, in the processes that it starts: `python kvstore_workers.py sync|async|local ROUNDS FILE`.

The first of the processes writes the samples to the file: `[{"what": ..., "seconds": {contender: [...]}}, ...]`.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ceiling
import measure
import numpy as np
import workloads

import runtime as mx
from runtime import kvstore
from runtime.ndarray import NDArray

SHAPE = workloads.SHAPES["tensor"][1][0]
"""25 million parameters."""
SMALL, CALLS = (1024,), 500
"""4 KB of float32, and how many calls make a sample."""
CONTEXTS = 4
STORE, ALLREDUCE, ONE_KEY, CEILING = "kvstore", "MPI.Allreduce", "in one key", "ceiling"

Step = Callable[[], object]
Samples = dict[str, list[float]]


def main(engine: str, rounds: int, file: str) -> None:
    measured = {"sync": sync, "async": asynchronous, "local": local}[engine](rounds)
    if measured is not None:
        rows = [{"what": what, "seconds": seconds} for what, seconds in measured.items()]
        Path(file).write_text(json.dumps(rows))


def sync(rounds: int) -> dict[str, Samples] | None:
    """A rank of `mpiexec -n 2`: the store beside the bare collective of the same bytes."""
    store, plain = kvstore.create("dist_sync"), kvstore.create("dist_sync")
    store.set_optimizer(mx.optimizer.create("adam"))
    from mpi4py import MPI

    world = MPI.COMM_WORLD

    def reduced(shape: tuple[int, ...]) -> Step:
        sent = workloads.make([shape]).grads[0]
        return functools.partial(world.Allreduce, sent, np.empty_like(sent))

    large = {STORE: exchange(store, "large", [SHAPE]), ALLREDUCE: reduced(SHAPE)}
    small = {STORE: exchange(plain, "small", [SMALL]), ALLREDUCE: reduced(SMALL)}
    updated = {STORE: exchange(store, "small", [SMALL]), ALLREDUCE: small[ALLREDUCE]}
    samples = {
        "25M float32: push, adam, pull": turns(large, rounds, world.Barrier),
        "4 KB: push, pull": turns(small, rounds, world.Barrier, CALLS),
        "4 KB: push, adam, pull": turns(updated, rounds, world.Barrier, CALLS),
    }
    for contenders in samples.values():  # a round takes as long as its slowest rank
        for name, seconds in contenders.items():
            contenders[name] = np.max(world.allgather(seconds), axis=0).tolist()
    return samples if world.rank == 0 else None


def asynchronous(rounds: int) -> dict[str, Samples] | None:
    """A worker of the launcher, which pushes while the others do; the samples are those of worker 0."""
    store = kvstore.create("dist_async")
    store.set_optimizer(mx.optimizer.create("adam"))
    network = workloads.resnet50()
    steps = {
        "25M": exchange(store, "tensor", [SHAPE]),
        STORE: exchange(store, "network", network),
        ONE_KEY: exchange(store, "all", [(sum(map(math.prod, network)),)]),
    }
    seconds = turns(steps, rounds, store.barrier)
    samples = {
        "25M float32: push, adam, pull": {STORE: seconds.pop("25M")},
        "ResNet-50, 161 keys in one call: push, adam, pull": seconds,
    }
    return samples if store.rank == 0 else None


def local(rounds: int) -> dict[str, Samples]:
    """One process: the sum over contexts and the update, beside the streams that these need."""
    store = kvstore.create("device")
    store.set_optimizer(mx.optimizer.create("adam"))
    weight, gradient = values([SHAPE])
    store.init("w", weight[0])
    gradients = [gradient[0].as_in_context(mx.cpu(k)) for k in range(CONTEXTS)]
    name = f"{CONTEXTS} contexts of 25M float32: push, adam"
    return {name: measure.interleave({CEILING: streams(), STORE: lambda: store.push("w", gradients)}, rounds)}


def streams() -> Step:
    """What adam reads and writes where it sums the gradients of all contexts itself, in arrays of its own."""
    rule = workloads.Rule("adam")
    updated, more = ("w", "m", "v"), [f"grad{k}" for k in range(1, CONTEXTS)]
    names = (*updated, "grad", *more)
    found = ceiling.Streams(dict.fromkeys(names, 32), frozenset(names), frozenset(updated))
    return ceiling.bind(rule, found, [SHAPE])


def exchange(store: kvstore.KVStoreBase, name: str, shapes: Sequence[tuple[int, ...]]) -> Step:
    """A push of constant gradients and a pull of the weights, all keys in one call, as a Trainer makes it."""
    weights, gradients = values(shapes)
    keys = [f"{name}{k}" for k in range(len(shapes))]
    store.init(keys, weights)
    if hasattr(store, "bind_gradient_buffer"):
        for key, gradient in zip(keys, gradients, strict=True):
            store.bind_gradient_buffer(key, gradient)
    return functools.partial(store.pushpull, keys, gradients, out=weights)


def values(shapes: Sequence[tuple[int, ...]]) -> tuple[list[NDArray], list[NDArray]]:
    tensors = workloads.make(shapes)
    weights, gradients = ([mx.nd.array(x) for x in arrays] for arrays in (tensors.weights, tensors.grads))
    return weights, gradients


def turns(steps: Mapping[str, Step], rounds: int, barrier: Step, calls: int = 1) -> Samples:
    """Seconds of a call, by name, taken in turns; all processes begin each sample together."""
    seconds: Samples = {name: [] for name in steps}
    gc.collect()
    gc.disable()
    for k in range(rounds + 2):
        for name, step in steps.items():
            barrier()
            begin = time.perf_counter()
            for _ in range(calls):
                step()
            if k >= 2:  # the first two warm up
                seconds[name].append((time.perf_counter() - begin) / calls)
    gc.enable()
    return seconds


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
