"""What ranks are told that do not agree, or ask for what cannot be; to FOLDER/RANK.json, by what was done."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import RANK, RANKS

import runtime as mx
from runtime import nd
from runtime.kvstore import create

told: dict[str, str] = {}
folder = Path(sys.argv[1])


def attempt(what: str, function: Callable[[], object]) -> None:
    try:
        function()
        told[what] = "no error"
    except Exception as error:
        told[what] = f"{type(error).__name__}: {error}"


def tell() -> None:
    """Write what was told, all of it at once."""
    (folder / f"{RANK}.part").write_text(json.dumps(told))
    os.replace(folder / f"{RANK}.part", folder / f"{RANK}.json")


def flushed(kv: mx.kvstore.KVStore, *keys: int) -> None:
    kv.push(list(keys), [nd.ones(4)] * len(keys))
    kv.pull(0, out=nd.zeros(4))


store = create("dist_sync")
store.init([0, 1, 2], [nd.zeros(4)] * 3)
attempt("keys", lambda: flushed(store, *([0, 2] if RANK else [0, 1])))
attempt("operations", store.barrier if RANK else lambda: store.init(9, nd.ones(1)))
attempt("shapes", lambda: store.init(9, nd.ones((2, 1 + RANK))))
attempt("types", lambda: store.init(9, nd.ones(2, dtype="float64" if RANK else "float32")))
attempt("lists", lambda: store.init(list(range(20, 40 + RANK)), [nd.ones(1)] * (20 + RANK)))
attempt("int and str", lambda: create("dist_sync").init("1" if RANK else 1, nd.ones(1)))
attempt("twice", lambda: store.init(0, nd.ones(4)))
attempt("unknown", lambda: store.push(9, nd.ones(4)))
attempt("shape", lambda: store.push(0, nd.ones(3)))
attempt("bind_gradient_buffer", lambda: store.bind_gradient_buffer(0, nd.ones(5)))
attempt("no states", lambda: store.save_optimizer_states(folder / "none"))
attempt("timeout", lambda: setattr(store, "timeout", -1))
counting = create("dist_sync")
counting.init("n", nd.zeros(1, dtype="int64"))
counting.push("n", nd.ones(1, dtype="int64"))
attempt("integers", lambda: counting.set_optimizer(mx.optimizer.create("sgd")))
counting.barrier()
store.set_optimizer(mx.optimizer.create("sgd", rescale_grad=0.5 if RANK else 0.25))
attempt("numbers", lambda: flushed(store, 0))
store.set_optimizer(mx.optimizer.create("sgd" if RANK else "adam"))
attempt("optimizers", lambda: flushed(store, 0))
optimizer = mx.optimizer.create("sgd", learning_rate=0.5)
optimizer.set_lr_mult({1: 2.0 + RANK})
store.set_optimizer(optimizer)
attempt("rates", lambda: flushed(store, 0, 1))
if RANK:
    store.set_gradient_compression({"type": "2bit"})
attempt("compression", lambda: flushed(store, 0))
store.set_gradient_compression({"type": "2bit", "threshold": 1.0})
flushed(store, 0)  # nothing that was refused has changed anything, and it goes on
optimizer.rescale_grad = 0.5  # of all ranks: a new size of the batch
flushed(store, 0)
out = nd.zeros(4)
store.pull(0, out=out)
told["value"] = str(out.asnumpy().tolist())
attempt("no file", lambda: store.load_optimizer_states(folder / "nowhere"))
if RANK == 0:
    (folder / "bad").write_bytes(b"something else")
store.barrier()
attempt("no states in it", lambda: store.load_optimizer_states(folder / "bad"))
attempt("no folder", lambda: store.save_optimizer_states(folder / "nowhere" / "states"))
attempt("sparse", lambda: store.push(0, nd.ones(4).tostype("row_sparse")))
attempt("unknown store", lambda: create("dist_synk"))
store.barrier()  # none is late before the one that shall be
store.timeout = 0.5
if RANK == 1:
    tell()
    time.sleep(60)  # the others abort the job at their end
attempt("late", store.barrier)
attempt("afterwards", store.barrier)
tell()
while not all((folder / f"{r}.json").exists() for r in range(RANKS)):
    time.sleep(0.01)
