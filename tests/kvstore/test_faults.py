"""Servers and workers under injected faults: each push that is acknowledged counts once, and no push counts twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("ray")

import runtime as mx
from runtime.kvstore.servers.client import ServerStore
from runtime.kvstore.servers.connection import ServerConnection
from runtime.kvstore.servers.service import Service
from runtime.kvstore.servers.state_transfer import StateTransfer
from tests.kvstore.fake_ray import KINDS, TARGETS, Fault, World, simulated

RUN = "run"
KEYS, SLOTS, PUSHES = ("a", "b", "c"), 96, 6


class Add(mx.optimizer.Optimizer):
    """It adds gradients to the weight."""

    def create_state(self, index: Any, weight: Any) -> None:
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight._data += grad._data


@dataclass
class Push:
    """What a worker pushes: 1 to element `slot` of keys. `joined`: by shard, the last push that it had at its join."""

    rank: int
    number: int
    slot: int
    keys: Sequence[str]
    joined: dict[int, int]
    acknowledged: bool = False


class Watched(ServerConnection):
    """A link that keeps what shards have answered to its worker's join."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.joined: dict[int, int] = {}

    def ask(self, requests: Any, seconds: float | None = None) -> Any:
        answers = super().ask(requests, seconds)
        for shard, (request, _) in requests.items():
            if request["do"] == "join":
                self.joined[shard] = answers[shard][0]["number"]
        return answers


class Training:
    """Workers on `shards`, each of which does its `work`, by default to push, and is started again when it dies."""

    def __init__(self, world: World, shards: int, workers: int, work: Work | None = None) -> None:
        self.world, self.shards, self.workers = world, shards, workers
        self.pushes: list[Push] = []
        self.ended: list[float] = []  # when each of those was done that have done their work
        self.errors: list[str] = []
        self.service: Any = None
        self._work = work or self.push_all
        self._launcher = world.process("launcher", immortal=True)
        world.spawn(self._launcher, self._launch)

    def _launch(self) -> None:
        self.service = Service(self.shards, self.workers, RUN)
        self.service.start()
        self.world.active = True
        for rank in range(self.workers):
            self.world.spawn(self._launcher, lambda rank=rank: self._keep(rank))

    def _keep(self, rank: int) -> None:
        """As the launcher does."""
        done: list[int] = []
        for attempt in range(30):
            process = self.world.process(f"worker {rank}.{attempt}")
            task = self.world.spawn(process, lambda attempt=attempt: self._run(rank, attempt, done))
            self.world.park(lambda task=task: task.done)
            self.world.kill(process)
            if done or self.lost():
                self.ended.append(self.world.now)
                return
            self.world.sleep(self.world.chance.choice((0.01, 0.2, 1)))
        raise AssertionError(f"worker {rank} is started again and again: {self.errors}")

    def _run(self, rank: int, attempt: int, done: list[int]) -> None:
        try:
            store = ServerStore("dist_async", Watched(RUN, self.shards, rank), rank, self.workers, attempt)
            self.world.release()
            store.set_optimizer(Add())
            store.init(list(KEYS), [mx.nd.zeros(SLOTS)] * len(KEYS))
            self._work(store)
            done.append(rank)
        except mx.MXNetError as error:
            self.errors.append(str(error))

    def push_all(self, store: ServerStore) -> None:
        while store.acknowledged < PUSHES:
            self.push(store)
            self.world.sleep(self.world.chance.choice((0, 0.02, 0.1, 0.3)))

    def push(self, store: ServerStore) -> None:
        keys = self.world.chance.sample(KEYS, self.world.chance.randint(1, len(KEYS)))
        push = Push(store.rank, store.acknowledged + 1, len(self.pushes), keys, dict(store._connection.joined))
        self.pushes.append(push)
        store.push(keys, [mx.nd.array(np.arange(SLOTS) == push.slot)] * len(keys))
        push.acknowledged = True

    def lost(self) -> bool:
        """Whether both servers of a shard have died before there was another one: nothing is promised then."""
        return self.service is not None and any(keeper.failure for keeper in self.service._supervisors)

    def run(self) -> None:
        """Until all have done their work, what was on its way has come, and there are two of each server."""
        world = self.world
        world.run(lambda: len(self.ended) == self.workers, 5000)
        world.active = False
        world.release()
        world.run(lambda: self.lost() or (self.service.copies() == [2] * self.shards and world.is_quiet()), 1000)

    def check(self) -> None:
        """Each push has counted as it should, in both servers of each shard."""
        for shard, keeper in enumerate(self.service._supervisors if not self.lost() else ()):
            primary, replica = (made.actor.made._shard._values for made in (keeper._primary, keeper._replica))
            for key, value in primary.items():
                assert np.array_equal(value._data, replica[key]._data), self.world.happened
                self._check_key(shard, key, value._data)

    def _check_key(self, shard: int, key: str, counts: np.ndarray) -> None:
        pushes = [push for push in self.pushes if key in push.keys]
        for push in pushes:
            what = f"{push} counts {counts[push.slot]} times in {key}; {self.world.happened}"
            assert counts[push.slot] <= 1, what
            same = [p.slot for p in pushes if (p.rank, p.number) == (push.rank, push.number) and p.slot < push.slot]
            if push.acknowledged and push.joined[shard] < push.number:
                assert counts[push.slot] == 1 and not counts[same].any(), what
            elif push.acknowledged:  # of its worker's life before the shard may have had this push
                assert counts[push.slot] + counts[same].sum() == 1, what


Work = Callable[[ServerStore], object]
FAULTS = st.builds(
    Fault,
    after=st.integers(0, 8),
    target=st.sampled_from(list(TARGETS)),
    kind=st.sampled_from(KINDS),
    seconds=st.sampled_from((0.05, 0.3, 1.0, 5.0, 20.0, 100.0)),
)
SCHEDULES = given(
    seed=st.integers(0, 2**32),
    shards=st.integers(1, 2),
    workers=st.integers(1, 2),
    inline=st.sampled_from((0, 1 << 16)),
    room=st.sampled_from((0, 1 << 16)),
    faults=st.lists(FAULTS, max_size=6),
)


def check_schedule(seed: int, shards: int, workers: int, inline: int, room: int, faults: Sequence[Fault]) -> Training:
    world = World(seed, faults)
    with simulated(world, inline, room=room):
        training = Training(world, shards, workers)
        training.run()
        training.check()
    return training


@settings(max_examples=100, deadline=None)
@SCHEDULES
def test_acknowledged_pushes_count_once(**schedule: Any) -> None:
    check_schedule(**schedule)


@pytest.mark.stress
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@SCHEDULES
def test_acknowledged_pushes_count_once_in_many_schedules(**schedule: Any) -> None:
    check_schedule(**schedule)


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(2, "push", "kill callee"), Fault(1, "adoption", "lost")],
        [Fault(1, "push", "kill callee"), Fault(0, "become_replica", "done"), Fault(6, "push", "kill callee")],
        [Fault(1, "push", "kill caller"), Fault(2, "push", "kill caller")],
    ],
    ids=["a change that a new server misses", "a new server that is not known to be ready", "a push of a dead worker"],
)
def test_known_ways_to_lose_a_push(faults: Sequence[Fault]) -> None:
    for seed in range(25):
        assert check_schedule(seed, 1, 1, 1 << 16, 0, faults).world.happened


@pytest.mark.parametrize("pushes", [0, 10])
def test_a_worker_that_is_alive_is_waited_for(pushes: int) -> None:
    """However often Ray fails to say so; a push says it, too. Who waits for a barrier asks about once a second."""
    world = World(0, [Fault(0, "beat", "lost")] * (1000 if pushes else 3))
    arrived, passed = [], []

    def work(store: ServerStore) -> None:
        if store.rank == 0:
            for _ in range(max(pushes, 1)):
                world.sleep(100 / max(pushes, 1))
                if pushes:
                    store.push(KEYS, [mx.nd.ones(SLOTS)] * len(KEYS))
            arrived.append(world.now)
        store.barrier()
        passed.append(world.now)

    with simulated(world, timeout=600):
        training = Training(world, 2, 2, work)
        training.run()
    assert arrived[0] > 90 and min(passed) > arrived[0] and max(passed) < arrived[0] + 2
    asked = [call.method for caller, _, call in world.calls if caller.name == "worker 1.0" and call.args]
    assert asked.count("waiting") < 150 and asked.count("call") < 30


def test_a_worker_that_stands_still_keeps_nobody_waiting() -> None:
    """What it has put into Ray's memory cannot be read meanwhile."""
    for seed in range(5):
        world = World(seed, [Fault(0, "push", "pause caller", 300)])
        with simulated(world, timeout=600):
            training = Training(world, 1, 2)
            training.run()
            training.check()
        assert training.ended[0] < 60 and training.ended[1] > 300


def test_arrays_that_ray_loses_are_sent_again() -> None:
    world = World(0, [Fault(n, "push", "lost") for n in (0, 2, 5)])
    with simulated(world):
        training = Training(world, 2, 2)
        training.run()
        training.check()
    assert training.errors == [] and max(training.ended) < 10


@pytest.mark.parametrize("kind", ["late", "pause callee", "kill callee"])
def test_what_is_kept_for_a_new_server_is_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it loads, or stands still, or until it has died, pushes of more than fits wait."""
    kept = []
    keep = StateTransfer.keep

    def watched(adoption: StateTransfer, *change: Any) -> None:
        keep(adoption, *change)
        kept.append(adoption._bytes)

    monkeypatch.setattr(StateTransfer, "keep", watched)
    for seed in range(5):
        world = World(seed, [Fault(0, "push", "kill callee"), Fault(0, "adoption", kind, 100)])
        with simulated(world, timeout=600):
            training = Training(world, 1, 2)
            training.run()
            training.check()
            assert not training.lost()
    room, change = (len(KEYS) * SLOTS * 4,) * 2
    assert room < max(kept) <= room + 2 * (change + 1024)
