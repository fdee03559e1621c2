"""What is run on MXNet and here, with equal results wanted. `mx` is either library; NumPy is all that is imported."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

STORAGES = (("default", "default"), ("default", "row_sparse"), ("row_sparse", "row_sparse"))
STORES = (None, "local", "device", "teststore")
WANTED = ((None, "1"), (None, "0"), (True, "1"), (False, "1"))
"""Arguments `update_on_kvstore`, and what MXNET_UPDATE_ON_KVSTORE says."""


def trainers(mx: Any) -> dict[str, Any]:
    """By what a Trainer is made with: which store it has, whether that updates, and weights after two steps."""
    return {str(case): _trained(mx, *case) for case in itertools.product(STORAGES, STORES, WANTED, (1, 2))}


def _trained(mx: Any, storage: tuple[str, str], store: Any, wanted: tuple[Any, str], devices: int) -> Any:
    stype, grad_stype = storage
    x = mx.gluon.Parameter("x", shape=(3, 2), stype=stype, grad_stype=grad_stype)
    x.initialize(ctx=[mx.cpu(i) for i in range(devices)], init="ones")
    rows = mx.nd.arange(0, 3)
    arguments = {"learning_rate": 0.5, "momentum": 0.5}
    try:
        with _environment("MXNET_UPDATE_ON_KVSTORE", wanted[1]):
            trainer = mx.gluon.Trainer([x], "sgd", arguments, kvstore=store, update_on_kvstore=wanted[0])
            for _ in range(2):
                weights = x.list_data() if stype == "default" else x.list_row_sparse_data(rows)
                with mx.autograd.record():
                    losses = [((w + 0) * (w + 0) * (i + 1)).sum() for i, w in enumerate(weights)]
                for loss in losses:
                    loss.backward()
                trainer.step(4)
    except Exception:
        return "refused"
    weights = x.list_data() if stype == "default" else x.list_row_sparse_data(rows)
    kind = None if trainer._kvstore is None else trainer._kvstore.type
    return [kind, trainer._update_on_kvstore, [float(w.asnumpy().sum()) for w in weights]]


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def compressed(mx: Any) -> dict[str, list]:
    """By how many contexts there are, the sums of gradients sent in 2 bits: multiples of 1/8, some at the threshold."""
    rng, found = np.random.RandomState(0), {}
    for devices in (1, 2, 3):
        store = mx.kv.create("device")
        store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        store.init("w", mx.nd.zeros((3, 5)))
        sums = []
        for _ in range(4):
            grads = [mx.nd.array(rng.randint(-8, 9, (3, 5)) / 8, mx.cpu(i), "float32") for i in range(devices)]
            out = mx.nd.zeros((3, 5))
            store.push("w", grads)
            store.pull("w", out=out)
            sums.append(out.asnumpy().tolist())
        found[str(devices)] = sums
    return found
