"""Everything but specs and files: rows, optimizers by hand, functions, compression, contexts, adoption, bytes."""

from __future__ import annotations

import gc
import itertools
import json
import sys
import time
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common import RANK, RANKS, SHAPES, STORE, both, pulled, same, started, steps, value

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.core import files
from runtime.kvstore import create

ROWS, WIDTH = 50, 3
folder = Path(sys.argv[1])


class Momentum(mx.optimizer.Optimizer):
    """Written by hand: called for whole tensors, on their owner alone; counts and schedules go on alike everywhere."""

    def create_state(self, index: Any, weight: nd.NDArray) -> nd.NDArray:
        assert weight.shape == SHAPES.get(index, weight.shape)
        return nd.zeros_like(weight)

    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: nd.NDArray) -> None:
        self._update_count(index)
        state[:] = 0.9 * state + self.rescale_grad * grad
        weight[:] = weight - self._get_lr(index) * state


class Together(Momentum):
    aggregate_num = 3

    def update(self, index: list, weight: list, grad: list, state: list) -> None:
        assert 0 < len(index) <= 3
        for row in zip(index, weight, grad, state, strict=True):
            super().update(*row)


class Rows(mx.optimizer.Optimizer):
    def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: None) -> None:
        self._update_count(index)
        weight[:] = weight - 0.1 * grad


def scheduled(kind: type[mx.optimizer.Optimizer]) -> mx.optimizer.Optimizer:
    return kind(lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5), rescale_grad=0.25)


def by_hand() -> None:
    for kind in (Momentum, Together):
        both(lambda store: steps(started(store, scheduled(kind), "float32", SHAPES), range(3), "float32", SHAPES), kind)  # noqa: B023
    store = started("dist_sync", scheduled(Momentum), "float32", SHAPES)
    before = steps(store, range(2), "float32", SHAPES)
    store.save_optimizer_states(folder / "hand", dump_optimizer=True)
    after = steps(store, range(2, 3), "float32", SHAPES)
    again = create("dist_sync")
    again.init(list(SHAPES), [nd.array(x) for x in before])
    again.set_optimizer(scheduled(Momentum))
    again.load_optimizer_states(folder / "hand")
    same(steps(again, range(2, 3), "float32", SHAPES), after, "by hand, loaded")


def functions() -> None:
    def update(key: int, pushed: nd.NDArray, stored: nd.NDArray) -> None:
        assert pushed.shape == stored.shape == SHAPES[key]
        stored[:] = stored * 0.5 + pushed

    def run(kind: str) -> list:
        store = started(kind, None, "float32", SHAPES)
        steps(store, range(1), "float32", SHAPES)  # sums first; then keys are cut in another way
        store.set_updater(update)
        steps(store, range(1, 3), "float32", SHAPES)
        store.set_optimizer(mx.optimizer.create("sgd", momentum=0.5))
        return steps(store, range(3, 5), "float32", SHAPES)

    both(run, "functions")


def compression() -> None:
    for kind, dtype in (("2bit", "float32"), ("1bit", "float32"), ("2bit", "float16"), ("2bit", "float64")):

        def run(store: str) -> list:
            made = started(store, mx.optimizer.create("sgd", learning_rate=0.1), dtype, SHAPES)  # noqa: B023
            made.set_gradient_compression({"type": kind, "threshold": 0.7})  # noqa: B023
            return steps(made, range(4), dtype, SHAPES)  # noqa: B023

        both(run, (kind, dtype), local="device")


def rows() -> None:
    makes = [
        lambda: None,
        lambda: mx.optimizer.create("sgd", momentum=0.9, lazy_update=True),
        lambda: mx.optimizer.create("adam", lazy_update=True),
        lambda: mx.optimizer.create("adam", lazy_update=False),
        lambda: mx.optimizer.create("lamb"),
        lambda: Rows(),
    ]
    for make, stype in itertools.product(makes, ("default", "row_sparse")):
        wanted, found = (row_sparse_steps(kind, make(), stype) for kind in ("local", "dist_sync"))
        np.testing.assert_allclose(found, wanted, 1e-6, 1e-6, err_msg=f"{make()} {stype}")


def row_sparse_steps(kind: str, optimizer: mx.optimizer.Optimizer | None, stype: str) -> np.ndarray:
    store, shape = create(kind), (ROWS, WIDTH)
    store.init(["e", "d"], [value([0], shape, "float32").tostype(stype), nd.ones(4)])
    if optimizer is not None:
        store.set_optimizer(optimizer)
    for t in range(3):
        grads = [_sparse(t, c) for c in (range(RANKS) if kind == "local" else [RANK])]
        store.push("e", grads)
        store.push("d", [nd.ones(4, g.context) for g in grads])
    if stype == "default":
        out = nd.zeros(shape)
        store.pull("e", out=out)
    else:
        out = nd.sparse.zeros("row_sparse", shape)
        store.row_sparse_pull("e", out=out, row_ids=nd.array(range(ROWS)))
    return out.asnumpy()


def _sparse(t: int, c: int) -> nd.NDArray:
    rng = np.random.default_rng([t, c])
    there = rng.random((ROWS, 1)) < 0.3
    return nd.array(rng.normal(size=(ROWS, WIDTH)) * there, mx.cpu(c)).tostype("row_sparse")


def programs() -> None:
    """Random programs: any keys in any groups, one or several contexts, pulls here and there; types may differ."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shapes = {k: SHAPES[int(rng.integers(len(SHAPES)))] for k in range(5)}
        types = {k: ["float32", "float64"][int(rng.integers(2))] for k in shapes}
        optimizer = [None, "adam", "lamb"][seed % 3]
        local, store = create("local"), create("dist_device_sync")
        for kv in (local, store):
            kv.init([0, 1, 2], [value([k], shapes[k], types[k]) for k in (0, 1, 2)])
            if optimizer:
                kv.set_optimizer(mx.optimizer.create(optimizer))
        for t in range(8):
            if t == 3:
                for kv in (local, store):
                    kv.init([3, 4], [value([k], shapes[k], types[k]) for k in (3, 4)])
            keys = rng.permutation(5 if t >= 3 else 3)[: int(rng.integers(1, 4))].tolist()
            count = int(rng.integers(1, 3))  # contexts of each rank
            grads = {k: [value([t, c, k], shapes[k], types[k], c) for c in range(count * RANKS)] for k in keys}
            local.push(keys, list(grads.values()))
            own = slice(count * RANK, count * (RANK + 1))
            store.push(keys, [g[own] for g in grads.values()])
            if rng.random() < 0.5:
                for k in keys:
                    outs = [nd.empty(shapes[k], dtype=types[k]) for _ in range(2)]
                    local.pull(k, out=outs[0])
                    store.pull(k, out=outs[1])
                    np.testing.assert_allclose(outs[1].asnumpy(), outs[0].asnumpy(), 1e-5, 1e-6, err_msg=f"{seed} {t}")
        store.barrier()


def orders() -> None:
    """Each rank may push in an order of its own; without an optimizer, dense and row-sparse values may alternate."""
    shapes = {0: (4, 2), 1: (6, 2), 2: (9, 2), 3: (5000, 1)}
    types = {0: "float32", 1: "float64", 2: "float32", 3: "float32"}
    keys = list(shapes) if RANK % 2 else list(reversed(shapes))
    for optimizer in (None, "sgd"):
        store = create("dist_sync")
        store.init(list(shapes), [nd.full(shapes[k], 0, dtype=types[k]) for k in shapes])
        if optimizer:
            store.set_optimizer(mx.optimizer.create(optimizer, learning_rate=1))
        for stype in ("row_sparse",) if optimizer else ("default", "row_sparse", "default"):
            ones = [nd.ones(shapes[k], dtype=types[k]).tostype(stype if k != 3 else "default") for k in keys]
            store.push(keys, ones)
            for k, shape in shapes.items():
                out = nd.empty(shape, dtype=types[k])
                store.pull(k, out=out)
                assert (out.asnumpy() == (-RANKS if optimizer else RANKS)).all(), (k, stype, optimizer)
        if optimizer:
            assert all((x.asnumpy() == -RANKS).all() for x in store.evaluated(list(shapes)))


def optimizers() -> None:
    """One optimizer may be that of several stores; numbers may be NumPy's."""
    optimizer = mx.optimizer.create("lamb", learning_rate=np.float32(0.25), wd=0.01)
    optimizer.set_lr_mult({5: np.float32(2)})
    optimizer.lr_scheduler = lambda t: np.float32(0.25)
    stores = [create(kind) for kind in ("dist_sync", "local", "dist_sync", "device")]
    for store in stores:
        store.init([1, 5], [nd.ones(SHAPES[k]) for k in (1, 5)])
        store.set_optimizer(optimizer)
    for t in range(2):
        found = []
        for store in stores:
            optimizer._index_update_count.update({1: t, 5: t})  # it counts for all of them
            shares = range(RANKS) if store.type in ("local", "device") else [RANK]
            store.push([1, 5], [[value([t, c, k], SHAPES[k], "float32", c) for c in shares] for k in (1, 5)])
            found.append(pulled(store, "float32", {k: SHAPES[k] for k in (1, 5)}))
        for other in found[1:]:
            same(other, found[0], t)


def goes_with_its_last_user() -> None:
    store = started("dist_sync", mx.optimizer.create("lamb"), "float32", SHAPES)
    steps(store, range(1), "float32", SHAPES)
    gone = weakref.ref(store)
    gc.disable()
    del store
    assert gone() is None
    gc.enable()


def a_slow_disk() -> None:
    """Rank 0 needs longer for the file than the others look for news without a break."""
    store = started("dist_sync", mx.optimizer.create("sgd", momentum=0.9), "float32", SHAPES)
    steps(store, range(1), "float32", SHAPES)
    write = files.write
    with mock.patch.object(files, "write", lambda *args: (time.sleep(1.3), write(*args))):
        store.save_optimizer_states(folder / "slow")


def values_and_copies() -> None:
    store = create("dist")
    assert store.type == "dist"
    assert store.is_capable("optimizer")
    outs = [nd.zeros(2, dtype="float64"), nd.zeros(2)]
    store.broadcast("a", nd.ones(2) * (RANK + 1), out=outs)
    assert [o.asnumpy().tolist() for o in outs] == [[1, 1], [1, 1]]
    pushed = nd.ones(2)
    store.push("a", pushed)
    pushed[:] = 5  # what is recorded is a copy
    store.pushpull("a", nd.ones(2) * 2, out=outs)  # the second push of a key flushes the first
    assert outs[0].asnumpy().tolist() == [2 * RANKS] * 2
    store.pushpull("a", pushed)
    assert pushed.asnumpy().tolist() == [5 * RANKS] * 2
    store.bind_gradient_buffer("a", pushed)
    pushed[:] = 3
    store.push("a", pushed)
    store.pull("a", out=outs)
    assert pushed.asnumpy().tolist() == [3, 3]
    assert outs[1].asnumpy().tolist() == [3 * RANKS] * 2
    outs[0][:] = 9  # and so is what is pulled
    assert pulled(store, "float32", {"a": (2,)})[0].tolist() == [3 * RANKS] * 2


def trainers() -> None:
    """A network on all ranks, each with its part of the batch, is that of one process with as many contexts."""
    for on_store, name in ((True, "lamb"), (False, "adam"), (None, "schedulefree_adamw")):
        same(network("dist_sync", on_store, name), network("device", on_store, name), (on_store, name))


def draws() -> None:
    """Ranks that each update values of their own draw alike: all have the values of rank 0."""
    found = network("dist_sync", False, "sgld")
    store = create("dist_sync")
    store.init(list(range(len(found))), [nd.array(x) for x in found])
    same(pulled(store, "float32", {k: x.shape for k, x in enumerate(found)}), found, "draws")


def network(kind: str, on_store: bool | None, name: str) -> list[np.ndarray]:
    mx.random.seed(RANK if kind == "dist_sync" else 0)  # values are those of rank 0
    contexts = [mx.cpu(0)] if kind == "dist_sync" else [mx.cpu(c) for c in range(RANKS)]
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(100, activation="relu"), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=contexts)
    alone = kind == "device" and RANKS == 1
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.01}, None if alone else kind,
                            update_on_kvstore=None if alone else on_store)  # fmt: skip
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for t in range(4):
        rng = np.random.default_rng(t)
        data, label = rng.normal(size=(RANKS, 8, 70)), rng.integers(0, 3, size=(RANKS, 8))
        own = [RANK] if kind == "dist_sync" else range(RANKS)
        parts = [(nd.array(data[r], ctx), nd.array(label[r], ctx)) for r, ctx in zip(own, contexts, strict=True)]
        with autograd.record():
            losses = [loss(net(x), y) for x, y in parts]
        for each in losses:
            each.backward()
        trainer.step(8 * RANKS)
        if t == 2 and kind == "dist_sync" and on_store is not False:
            trainer.save_states(folder / "trainer")
            trainer.load_states(folder / "trainer")
    with trainer.evaluating():
        return [p.data(contexts[0]).asnumpy() for p in net.collect_params().values()]


def sent() -> dict[str, int]:
    """Bytes that this rank sends for a step of 2^18 float32 parameters."""
    found = {}
    for name, parameters in (("float32", None), ("2bit", {"type": "2bit"})):
        store = create("dist_sync")
        store.init(0, nd.zeros(1 << 18))
        store.set_optimizer(mx.optimizer.create("sgd"))
        if parameters:
            store.set_gradient_compression(parameters)
        store.pushpull(0, nd.ones(1 << 18))
        found[name] = store.bytes_sent
    return found


by_hand()
functions()
compression()
rows()
programs()
orders()
optimizers()
goes_with_its_last_user()
a_slow_disk()
values_and_copies()
trainers()
draws()
(folder / f"sent{RANK}.json").write_text(json.dumps(sent()))
STORE.barrier()
