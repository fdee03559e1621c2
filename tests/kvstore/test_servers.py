"""The stores of dist_async: what shards do, alone and cut, and real servers over Ray, which are killed."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime.kvstore import environment
from runtime.kvstore.local import KVStore
from runtime.kvstore.servers import shard_assignment
from tests.kvstore.pairs import Pairs, sgd, store, values
from tests.process import run, started

JOBS = Path(__file__).with_name("jobs")
LARGE = (3, 5_001)


@pytest.fixture(autouse=True)
def _cut_small_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_assignment, "_MIN_CUT_ELEMENTS", 15_000)


class Count(mx.optimizer.Optimizer):
    """An optimizer written by hand, which servers import: it counts in its state, and adds up in the weight."""

    def create_state(self, index: Any, weight: Any) -> Any:
        return mx.nd.zeros(weight.shape)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        state += 1
        grad *= state
        weight += grad


# ---------------------------------------------------------------- shards without processes


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=25), st.integers(0, 2**32), st.integers(1, 3))
def test_pushes_count_once_whatever_fails(pushes: list[tuple[int, bool]], seed: int, shards: int) -> None:
    chance = random.Random(seed)
    pairs = Pairs(shards, lambda: chance.choice((0, 0, 1, 2, 3, 4)))
    shapes = {"a": (2, 3), "b": (5,), "c": (1,)}
    ones = [mx.nd.ones(shape) for shape in shapes.values()]
    stores = [store(pairs, rank) for rank in (0, 1)]
    for kv in stores:
        kv.set_optimizer(Count())
        kv.init(list(shapes), [mx.nd.zeros(shape) for shape in shapes.values()])
    local = KVStore()
    local.init(list(shapes), [mx.nd.zeros(shape) for shape in shapes.values()])
    local.set_optimizer(Count())
    for rank, both in pushes:
        if both:
            out = [mx.nd.zeros(shape) for shape in shapes.values()]
            stores[rank].pushpull(list(shapes), ones, out=out)
        else:
            stores[rank].push(list(shapes), ones)
        local.push(list(shapes), ones)
        if both:
            assert all(np.array_equal(x.asnumpy(), y) for x, y in zip(out, values(local, shapes), strict=True))
    for kv in stores:
        assert kv.acknowledged == sum(rank == kv.rank for rank, _ in pushes)
        assert all(map(np.array_equal, values(kv, shapes), values(local, shapes)))
    pairs.check_replicas()


NAMES = {1: "bias", 3: "embedding", 5: "weight"}
mx.optimizer.register_spec("""\
optimizer ServedRates "numbers of parameters by names, beside elements and beside products"
param eta per param = 1 in [0, inf)
param k: int        = 2 in [1, inf)
flag matrix = rank == 2 and rows < 100
state m = eta
state n: host = eta
update:
  m' = 0.9*m + eta*g
  n' = 0.5*n + eta        every k
  u  = m'@(m'^T@m')       if matrix
  u  = m'                 otherwise
  w' = w - lr*eta*u*n'
""")
OPTIMIZERS = {
    "rates by names": lambda: mx.optimizer.create(
        "servedrates", eta={"bias": 0.5, "embedding": 3}, param_idx2name=NAMES
    ),
    "momentum": lambda: mx.optimizer.create("sgd", momentum=0.9, wd=0.01),
    "adam": lambda: mx.optimizer.create("adam", lr_scheduler=mx.lr_scheduler.FactorScheduler(1, 0.7)),
    "adam in 8 bits": lambda: mx.optimizer.create("adam", storage="int8_dynamic"),
    "adam in 4 bits": lambda: mx.optimizer.create("adam", storage="int4_dynamic"),
    "nadam": lambda: mx.optimizer.create("nadam"),
    "lamb": lambda: mx.optimizer.create("lamb"),
    "muon": lambda: mx.optimizer.create("muon_adamw"),
    "any schedule": lambda: mx.optimizer.create("adagrad", lr_scheduler=lambda n: 0.1 / n),
}


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float32") for name in OPTIMIZERS), ("adam", "float16"), ("nadam", "bfloat16")]
)
def test_shards_are_one_store(name: str, dtype: str, tmp_path: Path) -> None:
    """Three shards, and two that go on from what these saved, give what one process gives, to the last bit."""
    make = OPTIMIZERS[name]
    rng = np.random.default_rng(0)
    shapes = {3: LARGE, 5: (4, 2), 1: (7,)}
    first = {k: mx.nd.array(rng.normal(size=s), dtype=dtype) for k, s in shapes.items()}
    grads = [[mx.nd.array(rng.normal(size=s), dtype=dtype) for s in shapes.values()] for _ in range(4)]
    local, cut = KVStore(), store(Pairs(3))
    for kv in (local, cut):
        optimizer = make()
        optimizer.multi_precision = dtype != "float32"
        kv.set_optimizer(optimizer)
        kv.init(list(shapes), list(first.values()))

    def step(kv: KVStore, i: int) -> list[np.ndarray]:
        out = [mx.nd.zeros(shape, dtype=dtype) for shape in shapes.values()]
        kv.pushpull(list(shapes), grads[i], out=out)
        return [array.asnumpy() for array in out]

    for i in (0, 1):
        assert all(map(np.array_equal, step(local, i), step(cut, i)))
    snapshot = cut.snapshot()
    cut.save_optimizer_states(tmp_path / "cut", dump_optimizer=True)
    local.save_optimizer_states(tmp_path / "local", dump_optimizer=True)
    cut.load_optimizer_states(tmp_path / "local")
    local.load_optimizer_states(tmp_path / "cut")
    expected = step(local, 2)
    assert all(map(np.array_equal, expected, step(cut, 2)))

    other = store(Pairs(2))
    other.restore(*snapshot)
    optimizer = make()
    optimizer.multi_precision = dtype != "float32"
    other.set_optimizer(optimizer)
    other.init(list(shapes), [mx.nd.zeros(shape, dtype=dtype) for shape in shapes.values()])
    assert other.acknowledged == 2
    assert all(map(np.array_equal, expected, step(other, 2)))
    assert all(map(np.array_equal, step(local, 3), step(other, 3)))


def test_values_are_replaced_and_evaluated() -> None:
    shapes = {0: LARGE, 1: (2,)}
    rng = np.random.default_rng(2)
    new = [mx.nd.array(rng.normal(size=s)) for s in shapes.values()]
    pairs = Pairs(2)
    stores = [KVStore(), store(pairs)]
    found = []
    for kv in stores:
        kv.set_optimizer(mx.optimizer.create("schedulefree_sgd"))
        kv.init(list(shapes), [mx.nd.zeros(s) for s in shapes.values()])
        kv.push(list(shapes), new)
        kv.assign(list(shapes), new)
        kv.push(list(shapes), new)
        kv.push(list(shapes), new)
        found.append([*values(kv, shapes), *(a.asnumpy() for a in kv.evaluated(list(shapes)))])
    assert all(map(np.array_equal, *found))
    assert not np.array_equal(found[0][0], found[0][2])
    again = store(pairs, attempt=1)
    again.init(list(shapes), new)
    again.assign(list(shapes), new)  # it was done before the restart
    assert np.array_equal(values(again, shapes)[0], found[0][0])
    pairs.check_replicas()


def test_pieces_are_cut_among_the_shards() -> None:
    pairs = Pairs(3)
    kv = store(pairs)
    kv.init("early", mx.nd.zeros(LARGE))
    kv.set_optimizer(sgd())
    kv.init(["late", "small"], [mx.nd.zeros(LARGE), mx.nd.zeros(3)])
    held = [{k: v.shape for k, v in primary._values.items()} for primary, _ in pairs.pairs]
    assert held[0]["early"] == LARGE
    assert all(3_000 < shape[0] < 9_000 for shape in (found["late"] for found in held))
    assert sum("small" in found for found in held) == 1


def test_row_sparse_values_and_gradients() -> None:
    shapes = {"w": (6, 2), "e": (5, 3)}
    stores = [KVStore(), store(Pairs(2))]
    rows = mx.nd.sparse.row_sparse_array(([[1.0, 2, 3], [4, 5, 6]], [1, 4]), shape=(5, 3))
    dense = mx.nd.sparse.row_sparse_array(([[1.0, 2]], [3]), shape=(6, 2))
    found = []
    for kv in stores:
        kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.5, lazy_update=True))
        kv.init("w", mx.nd.ones(shapes["w"]))
        kv.init("e", mx.nd.ones(shapes["e"]).tostype("row_sparse"))
        for _ in range(3):
            kv.push(["w", "e"], [dense, [rows, rows]])
        out, some = mx.nd.zeros(shapes["w"]), mx.nd.sparse.zeros("row_sparse", shapes["e"])
        kv.pull("w", out=out)
        kv.row_sparse_pull("e", out=some, row_ids=mx.nd.array([4, 0, 4]))
        assert some.indices.asnumpy().tolist() == [0, 4]
        whole = mx.nd.sparse.zeros("row_sparse", shapes["e"])
        kv.pull("e", out=whole, ignore_sparse=False)
        found.append([a.asnumpy() for a in (out, some, whole)])
    assert all(map(np.array_equal, *found))
    with pytest.raises(mx.MXNetError, match="key 'e' has 5 rows, not one 9"):
        stores[1].row_sparse_pull("e", out=some, row_ids=mx.nd.array([9]))


@pytest.mark.parametrize("kind", ["2bit", "1bit"])
def test_compressed_gradients(kind: str) -> None:
    rng = np.random.default_rng(1)
    shapes = {0: LARGE, 1: (5,)}
    stores = [KVStore("device"), store(Pairs(3))]
    grads = [[mx.nd.array(rng.normal(size=s)) for s in shapes.values()] for _ in range(3)]
    for kv in stores:
        kv.set_gradient_compression({"type": kind, "threshold": 0.5})
        kv.set_optimizer(sgd())
        kv.init(list(shapes), [mx.nd.zeros(s) for s in shapes.values()])
        for grad in grads:
            kv.push(list(shapes), grad)
    assert all(map(np.array_equal, *(values(kv, shapes) for kv in stores)))


def test_dcasgd_compensates_for_each_worker() -> None:
    """Zheng et al. 2017, algorithm 2: w_bak(m) is what worker m pulled."""
    chance = random.Random(3)
    pairs = Pairs(2, lambda: chance.choice((0, 1, 2, 3, 4)))
    stores = [store(pairs, rank) for rank in (0, 1)]
    lr, lamda = 0.1, 0.5
    for kv in stores:
        kv.set_optimizer(mx.optimizer.create("dcasgd", learning_rate=lr, lamda=lamda))
        kv.init("w", mx.nd.array([1.0, 2.0]))
    w = np.array([1, 2], np.float32)
    backup = [w, w]
    for rank, pulls in ((0, True), (0, True), (1, False), (1, True), (0, False), (1, True), (0, True)):
        g = np.array([chance.random(), -1], np.float32)
        out = mx.nd.zeros(2)
        stores[rank].push("w", mx.nd.array(g))
        w = w - np.float32(lr) * (g + np.float32(lamda) * g * g * (w - backup[rank]))
        if pulls:
            stores[rank].pull("w", out=out)
            backup[rank] = w
            np.testing.assert_allclose(out.asnumpy(), w, rtol=1e-6)
    pairs.check_replicas()
    alone = [store(Pairs(1), rank) for rank in (0, 1)]
    alone[1]._connection = alone[0]._connection
    for kv in alone:
        kv.restore(*stores[0].snapshot())
        kv.set_optimizer(mx.optimizer.create("dcasgd"))
        kv.init("w", mx.nd.zeros(2))
        kv.push("w", mx.nd.array([0.5, 2]))
        stores[kv.rank].push("w", mx.nd.array([0.5, 2]))
    assert np.array_equal(*(values(kv, {"w": (2,)})[0] for kv in (stores[0], alone[0])))


def test_hyper_parameters_travel_with_pushes() -> None:
    pairs = Pairs(2)
    stores = [store(pairs, rank) for rank in (0, 1)]
    optimizers = [mx.optimizer.create("sgd", learning_rate=1.0) for _ in stores]
    for kv, optimizer in zip(stores, optimizers, strict=True):
        kv.set_optimizer(optimizer)
        kv.init("w", mx.nd.zeros(1))

    def push(rank: int) -> float:
        out = mx.nd.zeros(1)
        stores[rank].pushpull("w", mx.nd.ones(1), out=out)
        return out.asscalar()

    assert push(0) == -1
    optimizers[0].set_learning_rate(0.5)
    assert push(1) == -2  # nothing has been pushed since
    assert push(0) == -2.5
    assert push(1) == -3  # it holds for all
    optimizers[1].rescale_grad = 4
    assert push(1) == -5
    assert push(0) == -5.5  # but for rescale_grad: batches may differ
    assert optimizers[1].num_update == 5 and optimizers[0].num_update == 6


def test_barriers_and_bounded_staleness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.TIMEOUT, "0.2")
    pairs = Pairs(1)
    stores = [store(pairs, rank) for rank in (0, 1)]
    with pytest.raises(
        mx.MXNetError, match=r"barrier 1: worker 0 has waited 0.2 s \(RUNTIME_KVSTORE_TIMEOUT\) for worker 1"
    ):
        stores[0].barrier()
    stores[1].barrier()
    for kv in stores:
        kv.set_optimizer(sgd())
        kv.init("w", mx.nd.zeros(1))
    stores[0].set_staleness(1)
    stores[0].push("w", mx.nd.ones(1))
    stores[0].push("w", mx.nd.ones(1))
    with pytest.raises(mx.MXNetError, match=r"push 3 \(staleness 1\): worker 0 has waited .* for worker 1"):
        stores[0].push("w", mx.nd.ones(1))
    stores[1].push("w", mx.nd.ones(1))
    stores[0].push("w", mx.nd.ones(1))
    assert values(stores[1], {"w": (1,)})[0] == 4
    again = store(pairs, 1, attempt=1)
    again.barrier()  # the first one, which was passed
    pairs.silent = [1]  # or one that has died
    stores[0].push("w", mx.nd.ones(1))
    stores[0].barrier()
    pairs.silent = []
    again.close()
    stores[0].push("w", mx.nd.ones(1))
    stores[0].barrier()


def test_errors() -> None:
    pairs = Pairs(2)
    kv, other = store(pairs), store(pairs, 1)
    kv.init("w", mx.nd.zeros((2, 3)))
    with pytest.raises(mx.MXNetError, match="key 'w' is initialized twice"):
        kv.init("w", mx.nd.zeros((2, 3)))
    with pytest.raises(
        mx.MXNetError, match=r"key 'w' is 'default' of shape \(3, 2\) and type float32 on worker 1, and .*\(2, 3\)"
    ):
        other.init("w", mx.nd.zeros((3, 2)))
    with pytest.raises(mx.MXNetError, match="key 'v' is not initialized"):
        kv.push("v", mx.nd.zeros(1))
    with pytest.raises(mx.MXNetError, match=r"shape \(2, 3\), and an array shape \(1,\)"):
        kv.push("w", mx.nd.zeros(1))
    with pytest.raises(mx.MXNetError, match="cannot call a function of this process: use set_optimizer"):
        kv.set_updater(lambda key, pushed, value: None)
    with pytest.raises(mx.MXNetError, match="no optimizer"):
        kv.save_optimizer_states("unused")
    with pytest.raises(mx.MXNetError, match="number of pushes, 0 or more"):
        kv.set_staleness(-1)
    kv.set_optimizer(sgd())
    kv.init("large", mx.nd.zeros(LARGE))
    with pytest.raises(
        mx.MXNetError, match=r"LAMB updates whole keys, and key 'large' is on servers \[0, 1\] .* before init"
    ):
        kv.set_optimizer(mx.optimizer.create("lamb"))
    with pytest.raises(mx.MXNetError, match="servers know no request 'fetch'"):
        kv._ask_one(0, {"do": "fetch"})


# ---------------------------------------------------------------- real servers


def test_servers_that_die() -> None:
    """Counters are exact while primaries and replicas are killed, and all sockets are those of 127.0.0.1."""
    pytest.importorskip("ray")
    done = run([sys.executable, JOBS / "servers.py"], timeout=150, grace=5)
    assert done.returncode == 0, done.stderr
    assert "pushes: " in done.stdout


def test_a_store_of_its_own() -> None:
    """Outside of the launcher the store is one worker's, and its servers end with that."""
    pytest.importorskip("ray")
    with started([sys.executable, JOBS / "alone.py"], timeout=120, grace=10) as program:
        program.line("ready")
        assert len(program.pids("ray::Server")) == 2
        program.signal(signal.SIGINT)
        assert program.wait().returncode == 1
