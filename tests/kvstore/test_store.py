"""The store of one process: sums, updates, keys, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime as mx
from runtime import MXNetError, autograd, kvstore, nd, optimizer
from runtime.core.binding import Binding
from tests.kvstore.peers import scenarios

PEERS = json.loads((Path(__file__).parent / "peers" / "data" / "mxnet.json").read_text())


def device(i: int) -> mx.Context:
    """Context i of the CPU or, with --on-gpu, of two GPUs."""
    ctx = mx.current_context()
    return mx.Context(ctx.device_type, i if ctx.on_cpu else i % 2)


def random_values(
    shape: tuple[int, ...], count: int, dtype: str = "float32", stype: str = "default"
) -> list[nd.NDArray]:
    rng = np.random.default_rng(count)
    values = (rng.normal(size=shape) * (rng.random((shape[0], *[1] * (len(shape) - 1))) < 0.6) for _ in range(count))
    return [nd.array(v, device(i), "float32").astype(dtype).tostype(stype) for i, v in enumerate(values)]


def pulled(store: kvstore.KVStore, key: Any, shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    out = nd.zeros(shape, dtype=dtype)
    store.pull(key, out=out)
    return out.asnumpy()


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums(count: int, dtype: str, stype: str) -> None:
    """In the order of contexts; of 16-bit types in float32, rounded once (of rows, in pairs)."""
    store, values = kvstore.create("device"), random_values((4, 3), count, dtype, stype)
    store.init("w", nd.zeros((4, 3), dtype=dtype))
    for _ in range(2):  # the memory of the first sum is used again
        store.push("w", values)
    arrays = [v.asnumpy() for v in values]
    wide = [a.astype(np.float32) if a.dtype.itemsize == 2 else a for a in arrays]
    found, exact = pulled(store, "w", (4, 3), dtype), sum(wide[1:], wide[0]).astype(arrays[0].dtype)
    if stype == "default":
        np.testing.assert_array_equal(found, exact)
    else:
        np.testing.assert_allclose(found.astype(float), exact.astype(float), rtol=1e-6 if dtype[-2:] != "16" else 2e-2)


def test_a_pushed_sum_is_a_copy_and_is_converted() -> None:
    store, pushed = kvstore.create(), nd.ones((2, 2))
    store.init(3, nd.zeros((2, 2), dtype="float64"))
    store.push(3, pushed)
    pushed[:] = 5
    out = nd.zeros((2, 2), dtype="float16")
    store.pull(3, out=out)
    assert (out.asnumpy() == 1).all()
    out[:] = 7
    assert (pulled(store, 3, (2, 2)) == 1).all()


keys = st.lists(st.integers(0, 3), min_size=1, max_size=8)


@given(keys, st.integers(1, 3))
def test_values_of_a_key_that_comes_several_times_are_added(numbers: list[int], contexts: int) -> None:
    store = kvstore.create()
    store.init([0, 1, 2, 3], [nd.zeros(2)] * 4)
    store.push(numbers, [[nd.ones(2, device(c)) * (i + 1) for c in range(contexts)] for i in range(len(numbers))])
    for k in range(4):
        wanted = contexts * sum(i + 1 for i, number in enumerate(numbers) if number == k)
        assert pulled(store, k, (2,)).tolist() == [wanted, wanted]


def test_pushpull_and_broadcast() -> None:
    store = kvstore.create("device")
    outs = [nd.zeros(2, device(i)) for i in range(2)]
    store.broadcast(["a", "b"], [nd.ones(2), nd.ones(2) * 2], out=[outs, nd.zeros(2)])
    assert [o.asnumpy().tolist() for o in outs] == [[1, 1], [1, 1]]
    values = [nd.ones(2, device(i)) * (i + 1) for i in range(2)]
    store.pushpull("a", values, out=outs)
    assert [o.asnumpy().tolist() for o in outs] == [[3, 3], [3, 3]]
    assert values[0].asnumpy().tolist() == [1, 1]
    store.pushpull("a", values, priority=-1)
    assert [v.asnumpy().tolist() for v in values] == [[3, 3], [3, 3]]


def test_row_sparse_values() -> None:
    store, dense = kvstore.create(), np.arange(12, dtype=np.float32).reshape(4, 3)
    store.init("e", nd.array(dense).tostype("row_sparse"))
    outs = [nd.sparse.zeros("row_sparse", (4, 3), device(i)) for i in range(2)]
    store.pull("e", out=outs)  # row-sparse arrays are left alone
    assert not outs[0].asnumpy().any()
    store.row_sparse_pull("e", out=outs, row_ids=[nd.array([[3, 1], [1, 3]]), nd.array([0])])
    assert outs[0].indices.asnumpy().tolist() == [1, 3]
    np.testing.assert_array_equal(outs[0].asnumpy(), dense * [[0], [1], [0], [1]])
    assert outs[1].indices.asnumpy().tolist() == [0]
    store.row_sparse_pull("e", out=outs, row_ids=nd.array([2]))
    assert [o.indices.asnumpy().tolist() for o in outs] == [[2], [2]]
    store.pull("e", out=outs[0], ignore_sparse=False)
    np.testing.assert_array_equal(outs[0].asnumpy(), dense)
    with pytest.raises(MXNetError, match=r"row_sparse_pull: key 'e': row 9 is none of the rows 0 to 3"):
        store.row_sparse_pull("e", out=outs, row_ids=nd.array([9]))


def test_a_store_leaves_the_graph_alone() -> None:
    store, x = kvstore.create(), nd.ones(2)
    x.attach_grad()
    with autograd.record():
        store.init(0, x)
        y = x * 3
        store.pushpull(0, y, out=(out := nd.zeros(2)))
        z = y * out
    z.backward()
    assert x.grad.asnumpy().tolist() == [9, 9]


# ---------------------------------------------------------------- updates


def test_the_optimizer_updates_all_keys_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, call = [], Binding.__call__
    monkeypatch.setattr(Binding, "__call__", lambda self, *a: (calls.append(len(a[0])), call(self, *a))[1])
    store = kvstore.create("device")
    store.set_optimizer(optimizer.SGD(learning_rate=0.5, momentum=0.5))
    weight, grads = np.ones((3, 2), np.float32), random_values((3, 2), 3)
    store.init(["a", "b"], [nd.array(weight)] * 2)
    velocity, total = 0, sum(g.asnumpy() for g in grads)
    for _ in range(3):
        store.push(["a", "b"], [grads, grads])
        velocity = 0.5 * velocity - 0.5 * total
        weight = weight + velocity
    for key in "ab":
        np.testing.assert_allclose(pulled(store, key, (3, 2)), weight, rtol=1e-5, atol=1e-6)
    assert calls == [2, 2, 2]


def test_an_updater_of_the_users_own() -> None:
    store, seen = kvstore.create(), []

    def update(key: Any, pushed: nd.NDArray, value: nd.NDArray) -> None:
        seen.append(key)
        value += pushed * 2

    store._set_updater(update)
    store.init([5, 7], [nd.ones(2), nd.ones(2)])
    store.push([7, 5], [[nd.ones(2, device(1)), nd.ones(2, device(2))], nd.ones(2)])
    assert seen == [7, 5]
    assert (pulled(store, 5, (2,))[0], pulled(store, 7, (2,))[0]) == (3, 5)
    with pytest.raises(MXNetError, match="no states to save: this kvstore has no optimizer"):
        store.save_optimizer_states("never")


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_states_in_a_file(tmp_path: Path, stype: str) -> None:
    def made() -> kvstore.KVStore:
        store = kvstore.create()
        store.set_optimizer(optimizer.Adam(learning_rate=0.1))
        store.init(0, nd.ones((4, 3)).tostype(stype))
        return store

    first, second, grad = made(), made(), random_values((4, 3), 2, stype=stype)
    for _ in range(3):
        first.push(0, grad)
    first.save_optimizer_states(tmp_path / "states", dump_optimizer=True)
    weight = nd.zeros((4, 3)).tostype(stype)
    first.pull(0, out=weight, ignore_sparse=False)
    second._values[0][:] = weight
    second.load_optimizer_states(tmp_path / "states")
    for store in (first, second):
        store.push(0, grad)
    np.testing.assert_array_equal(pulled(first, 0, (4, 3)), pulled(second, 0, (4, 3)))
    with pytest.raises(MXNetError, match=r"states': the file holds states of Adam, and this is SGD"):
        second.set_optimizer(optimizer.SGD())
        second.load_optimizer_states(tmp_path / "states")


# ---------------------------------------------------------------- compression


def test_two_bits_as_mxnet() -> None:
    assert scenarios.compressed(mx) == PEERS["compressed"]


def test_one_bit_keeps_what_it_loses() -> None:
    store, rng = kvstore.create("device"), np.random.default_rng(0)
    store.set_gradient_compression({"type": "1bit", "threshold": 0.25})
    store.init("w", nd.zeros(64))
    given, sent, residual = 0, 0, np.zeros(64, np.float32)
    for _ in range(20):
        grad = rng.uniform(-0.9, 0.9, 64).astype(np.float32)
        store.push("w", nd.array(grad))
        arrived = pulled(store, "w", (64,))
        np.testing.assert_array_equal(arrived, np.where(residual + grad > 0.25, 1, -1))
        residual = residual + grad - arrived
        given, sent = given + grad, sent + arrived
    assert np.abs(given - sent).max() < 2.3  # nothing is lost for good: |residual| stays bounded


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("2bit", "takes a dict with a 'type'"),
        ({"threshold": 1}, "takes a dict with a 'type'"),
        ({"type": "3bit"}, "unknown gradient compression '3bit'; did you mean '"),
        ({"type": "2bit", "threshold": 0}, "threshold of 2bit gradient compression cannot be 0.0"),
        ({"type": "2bit", "threshold": "much"}, "is a number, not 'much'"),
        ({"type": "2bit", "treshold": 1}, "no parameter 'treshold'"),
    ],
)
def test_compression_refused(params: Any, words: str) -> None:
    with pytest.raises(MXNetError) as caught:
        kvstore.create("device").set_gradient_compression(params)
    assert words in str(caught.value)
    with pytest.raises(MXNetError, match="a 'local' kvstore does not compress"):
        kvstore.create("local").set_gradient_compression({"type": "2bit"})


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.init(3, nd.zeros(2)), "init: key 3 is initialized twice"),
        (lambda s: s.init(8, [nd.zeros(2), nd.zeros(2)]), "init: key 8 is initialized twice"),
        (lambda s: s.init("a", nd.zeros(2)), "the keys of this kvstore are numbers, such as 3, and key 'a' is none"),
        (lambda s: s.init([8, "a"], [nd.zeros(2)] * 2), "keys must be all numbers or all names"),
        (lambda s: s.init(1.5, nd.zeros(2)), "init: a key is an int or a str, not float: 1.5"),
        (lambda s: s.init([8, 9], [nd.zeros(2)]), "init: 2 keys [8, 9], but 1 of values"),
        (lambda s: s.init(8, np.zeros(2)), "init: the value of key 8 is no NDArray, but ndarray"),
        (lambda s: s.push(8, nd.zeros(2)), "push: key 8 is not initialized"),
        (lambda s: s.push(3, nd.zeros(4)), "push: key 3 has shape (2, 2), and an array shape (4,)"),
        (lambda s: s.push([5, 3], [nd.ones((2, 2)), nd.zeros(4)]), "push: key 3 has shape (2, 2)"),
        (lambda s: s.push(3, [nd.ones((2, 2)), nd.ones((2, 2), dtype="int32")]), "the values of key 3 differ: one is"),
        (lambda s: s.pull(8, out=nd.zeros(2)), "pull: key 8 is not initialized"),
        (lambda s: s.pull(3), "pull needs out"),
        (lambda s: s.pull(3, out=nd.zeros(4)), "pull: key 3 has shape (2, 2), and an array shape (4,)"),
        (lambda s: s.pushpull(3, nd.ones((2, 2)), out=nd.zeros(4)), "pushpull: key 3 has shape (2, 2)"),
        (
            lambda s: s.row_sparse_pull(3, out=nd.zeros((2, 2)), row_ids=nd.array([0])),
            "the value of key 3 is 'default'",
        ),
        (lambda s: s.row_sparse_pull(3, out=nd.zeros((2, 2))), "row_sparse_pull needs row_ids"),
    ],
)
def test_errors_change_nothing(call: Callable[[kvstore.KVStore], None], words: str) -> None:
    store = kvstore.create()
    store.init([3, 5], [nd.zeros((2, 2)), nd.zeros((2, 2))])
    with pytest.raises(MXNetError) as caught:
        call(store)
    assert words in str(caught.value)
    assert set(store._values) == {3, 5}
    assert not pulled(store, 3, (2, 2)).any()
    assert not pulled(store, 5, (2, 2)).any()


def test_names() -> None:
    for name in ("local", "device", "local_allreduce_cpu", "local_allreduce_device", "local_update_cpu", "LOCAL"):
        store = kvstore.create(name)
        assert (store.type, store.rank, store.num_workers) == (name.lower(), 0, 1)
        assert store.is_capable("optimizer")
    if not mx.num_gpus():
        with pytest.raises(MXNetError, match="kvstore 'nccl' sums gradients between GPUs"):
            kvstore.create("nccl")
    with pytest.raises(ValueError, match="unknown kvstore 'devise'; did you mean 'device'"):
        kvstore.create("devise")
    with pytest.raises(TypeError, match="not 3"):
        kvstore.create(3)
    with pytest.raises(ValueError, match="unknown capability 'speed'"):
        kvstore.create().is_capable("speed")


def test_stores_of_others() -> None:
    class Mine(kvstore.KVStoreBase):
        """A store that can do nothing."""

    assert kvstore.KVStoreBase.register(Mine) is Mine
    store = kvstore.create("MINE")
    assert type(store) is Mine
    with pytest.warns(UserWarning, match=r"Mine replaces .*Mine"):
        kvstore.KVStoreBase.register(type("Mine", (kvstore.KVStoreBase,), {}))
    for call in (
        lambda: store.type,
        lambda: store.broadcast(0, nd.ones(1), out=nd.ones(1)),
        lambda: kvstore.create("teststore").set_optimizer(optimizer.SGD()),
        lambda: kvstore.create("teststore").set_gradient_compression({"type": "2bit"}),
    ):
        with pytest.raises(NotImplementedError, match=r"Mine|TestStore"):
            call()
