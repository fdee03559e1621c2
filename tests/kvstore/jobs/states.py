"""`states.py FOLDER write` trains, writes states and goes on; `states.py FOLDER read` goes on from there, on any number
of ranks, to the same bits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from common import RANK, RANKS, SHAPES, STORE, pulled, same

import runtime as mx
from runtime import nd
from runtime.kvstore import KVStore, create

CASES = [
    ("adam", {}, "float32"),
    ("adafactor", {}, "float32"),
    ("prodigy", {}, "float32"),
    ("sgld", {}, "float32"),
    ("schedulefree_adamw", {}, "float32"),
    ("lamb", {"storage": "int8_dynamic", "multi_precision": True}, "float16"),
    ("adam", {"storage": {"m": "int4_dynamic", "v": "int8_linear"}}, "float32"),
]
KEYS = list(SHAPES)
folder, action = Path(sys.argv[1]), sys.argv[2]


def go(store: KVStore, times: range, dtype: str) -> list[np.ndarray]:
    """Updates; all but the first rank add zeros, so that any number of ranks has the same sums."""
    for t in times:
        grads = [np.random.default_rng([t, k]).normal(size=SHAPES[k]) * (store.rank == 0) for k in KEYS]
        store.push(KEYS, [nd.array(g, dtype=dtype) for g in grads])
    return pulled(store, dtype, SHAPES)


def made(kind: str, name: str, arguments: dict, values: list[np.ndarray], dtype: str) -> KVStore:
    store = create(kind)
    store.init(KEYS, [nd.array(v, dtype=dtype) for v in values])
    store.set_optimizer(mx.optimizer.create(name, **arguments))
    return store


def evaluated(store: KVStore) -> list[np.ndarray]:
    if store.type != "local":
        return [x.asnumpy() for x in store.evaluated(KEYS)]
    return [x.asnumpy() for x in store._updater.evaluate(KEYS, [store._values[k] for k in KEYS])]


def start() -> list[np.ndarray]:
    return [np.random.default_rng(k).normal(size=shape) for k, shape in SHAPES.items()]


if action == "write":
    for name, arguments, dtype in CASES[RANK::RANKS]:  # each rank compiles some of the kernels, for all
        store = made("local", name, arguments, start(), dtype)
        go(store, range(2), dtype)
        evaluated(store)
STORE.barrier()
for number, (name, arguments, dtype) in enumerate(CASES):
    file, results = folder / f"{number}-{name}", folder / f"{number}-{name}.npz"
    if action == "write":
        store = made("dist_sync", name, arguments, start(), dtype)
        weights = go(store, range(2), dtype)
        store.save_optimizer_states(file, dump_optimizer=True)
        looks = evaluated(store)
        arrays = [*weights, *looks, *go(store, range(2, 4), dtype)]
        if RANK == 0:
            np.savez(results, *arrays)
        continue
    with np.load(results) as saved:
        arrays = list(saved.values())
    weights, looks, after = (arrays[i : i + len(KEYS)] for i in range(0, len(arrays), len(KEYS)))
    for kind in ("dist_sync", "local") if RANKS == 1 else ("dist_sync",):
        store = made(kind, name, arguments, weights, dtype)
        store.load_optimizer_states(file)
        if RANKS == 2:  # written again before it is used, or where this has begun
            store.save_optimizer_states(folder / "again", dump_optimizer=True)
            store.load_optimizer_states(folder / "again")
        if RANKS == 1 or number % 2:  # or they are first used for an update
            same(evaluated(store), looks, (name, kind, "evaluated"))
        same(go(store, range(2, 4), dtype), after, (name, kind))
STORE.barrier()
