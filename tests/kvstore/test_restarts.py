"""Workers of dist_async that are started again: what they sent before counts once, and they go on where they were."""

from __future__ import annotations

from typing import Any

import pytest

import runtime as mx
from tests.kvstore.pairs import Pairs, sgd, store, values


class Broken:
    """A link that breaks after the first shard was asked."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, self.shards = pairs, pairs.shards

    def ask(self, requests: Any, seconds: float | None = None) -> Any:
        self._pairs.ask({0: requests[0]})
        raise ConnectionError


def test_a_restarted_worker_goes_on() -> None:
    pairs = Pairs(2)
    stores = [store(pairs, rank) for rank in (0, 1)]
    for kv in stores:
        kv.set_optimizer(sgd())
        kv.init(["w", "v"], [mx.nd.ones(2), mx.nd.ones(3)])
        kv.push(["w", "v"], [mx.nd.ones(2), mx.nd.ones(3)])
    # It dies when one shard has its second push.
    stores[0]._connection = Broken(pairs)
    with pytest.raises(ConnectionError):
        stores[0].push(["w", "v"], [mx.nd.ones(2), mx.nd.ones(3)])
    again = store(pairs, 0, attempt=1)
    again.set_optimizer(sgd(momentum=0.9))  # the servers have theirs
    again.init(["w", "v"], [mx.nd.zeros(2), mx.nd.zeros(3)])
    assert again.acknowledged == 1
    again.push(["w", "v"], [mx.nd.ones(2), mx.nd.ones(3)])
    assert [x.tolist() for x in values(again, {"w": (2,), "v": (3,)})] == [[4, 4], [4, 4, 4]]


def test_a_restarted_worker_may_push_other_keys() -> None:
    """What had reached one shard of a push that the worker died in is no reason to lose other keys of that number."""
    pairs = Pairs(2)
    kv = store(pairs)
    kv.set_optimizer(sgd())
    kv.init(["w", "v", "u"], [mx.nd.zeros(2), mx.nd.zeros(2), mx.nd.zeros(2)])
    first, second = ([k for k in "wvu" if k in shard._values] for shard, _ in pairs.pairs)
    assert (first, second) == (["w", "u"], ["v"])
    kv._connection = Broken(pairs)
    with pytest.raises(ConnectionError):
        kv.push(["w", "v"], [mx.nd.ones(2), mx.nd.ones(2)])
    again = store(pairs, attempt=1)
    again.set_optimizer(sgd())
    again.init(["w", "v", "u"], [mx.nd.zeros(2), mx.nd.zeros(2), mx.nd.zeros(2)])
    again.push(["u", "w"], [mx.nd.ones(2), mx.nd.ones(2)])
    again.count_from(0, 0)
    again.push(["u", "v"], [mx.nd.ones(2), mx.nd.ones(2)])  # it has the number of the one before
    assert [x.tolist() for x in values(again, {"w": (2,), "v": (2,), "u": (2,)})] == [[1, 1]] * 3
    pairs.check_replicas()


def test_a_push_goes_to_the_shards_of_its_keys() -> None:
    pairs = Pairs(2)
    stores = [store(pairs, rank) for rank in (0, 1)]
    optimizers = [sgd(), sgd()]
    for kv, optimizer in zip(stores, optimizers, strict=True):
        kv.set_optimizer(optimizer)
        kv.init(["w", "v"], [mx.nd.zeros(2), mx.nd.zeros(2)])  # of which each shard has one
    kv, other = stores
    one, out = mx.nd.ones(2), mx.nd.zeros(2)
    kv.push(["w", "v"], [one, one])
    kv.push("w", one)
    assert pairs.asked == [0]
    kv.push("v", one)
    assert pairs.asked == [1]
    kv.pushpull("v", one, out=out)
    assert pairs.asked == [1] and out.asnumpy().tolist() == [3, 3]
    optimizers[0].set_learning_rate(0.5)  # holds for all keys from the next push on
    kv.push("v", one)
    assert pairs.asked == [0, 1]
    other.set_staleness(0)
    for _ in range(3):
        other.push("w", one)
    kv.push("v", one)
    for _ in range(3):  # though the first shard has not seen the last push of the other worker
        other.push("w", one)
    shapes = {"w": (2,), "v": (2,)}
    assert [x.tolist() for x in values(kv, shapes)] == [[5, 5], [4, 4]]
    again = store(pairs, attempt=1)
    again.set_optimizer(sgd())
    again.init(["w", "v"], [one, one])
    assert again.acknowledged == 6
    again.count_from(3, 0)
    again.pushpull("w", one, out=out)  # the fourth: it was made before, of another key
    assert out.asnumpy().tolist() == [5, 5]
    again.count_from(6, 0)
    again.push("w", one)
    assert [x.tolist() for x in values(again, shapes)] == [[5.5, 5.5], [4, 4]]
    pairs.check_replicas()


def test_all_workers_are_told_of_a_restart_and_count_it(caplog: pytest.LogCaptureFixture) -> None:
    pairs = Pairs(2)
    stores = [store(pairs, rank) for rank in (0, 1)]
    for kv in stores:
        kv.init("w", mx.nd.zeros(1))
    assert [kv.restarts for kv in stores] == [{}, {}] and not caplog.messages
    for attempt in (1, 3):  # the second died before it made its store
        again = store(pairs, 1, attempt=attempt)
        stores[0].push("w", mx.nd.ones(1))
        stores[0].push("w", mx.nd.ones(1))
        assert stores[0].restarts == again.restarts == {1: attempt}
        told = f"worker 1 died, and was started again ({attempt} so far)"
        assert caplog.messages == [told, told]  # by each once
        caplog.clear()
    first = store(pairs, 0, attempt=1)
    first._ask_one(0, {"do": "arrive", "number": 1})
    again.barrier()
    assert again.restarts == {0: 1, 1: 3}
    pairs.check_replicas()


def test_what_a_worker_sent_before_its_restart_is_refused() -> None:
    pairs = Pairs(1)
    old = store(pairs)
    old.set_optimizer(sgd())
    old.init("w", mx.nd.zeros(1))
    old.push("w", mx.nd.ones(1))
    for attempt in (0, 1):  # of the same process, as after close(), and of another one
        again = store(pairs, attempt=attempt)
        again.set_optimizer(sgd())
        again.init("w", mx.nd.zeros(1))
        requests = [old.barrier, old.close, lambda store=old: store.push("w", mx.nd.ones(1) * 10)]
        for request in requests:
            with pytest.raises(mx.MXNetError, match="worker 0 was started again since it requested this"):
                request()
        again.push("w", mx.nd.ones(1))
        old = again
    assert values(again, {"w": (1,)})[0] == 3
    pairs.check_replicas()
