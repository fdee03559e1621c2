"""The servers of a run: made, supervised and replaced."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore import environment
from runtime.kvstore.servers import start

_PATIENCE = 60.0
"""Seconds in which a server must say how it is. One that does not is ended, as if it had died."""


class Service:
    """Two server processes for each of `num_servers` shards, for `num_workers` workers.

    It is used in a process that is connected to Ray, which owns the servers: they end with it. `namespace` is where
    workers find them; None: that of this process's connection. `modules` have optimizers written by hand, which servers
    may import.
    """

    def __init__(
        self, num_servers: int, num_workers: int, namespace: str | None = None, modules: Sequence[str] = ()
    ) -> None:
        ray = start.load()
        self._stopping = threading.Event()
        run = _Run(ray, namespace or ray.get_runtime_context().namespace, num_servers, num_workers, tuple(modules))
        self._keepers = [_Keeper(shard, run, self._stopping) for shard in range(num_servers)]
        self._threads = [threading.Thread(target=k.run, name=f"server {k.shard}", daemon=True) for k in self._keepers]

    def start(self) -> None:
        """Start all servers, and wait until there are two of each shard.

        MXNetError where there are not in time.
        """
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + environment.timeout()
        for keeper in self._keepers:
            while keeper.copies < 2:
                if keeper.failure or time.monotonic() > deadline:
                    self.stop()
                    raise MXNetError(
                        f"server {keeper.shard} could not be started: {keeper.failure or 'it takes too long'}"
                    )
                time.sleep(0.01)

    def copies(self) -> list[int]:
        """How many servers have all of each shard: 2, or 1 while one is replaced, or 0 where both died at once."""
        return [keeper.copies for keeper in self._keepers]

    def stop(self) -> None:
        """End all servers. What they hold is gone."""
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=10)
        for keeper in self._keepers:
            keeper.end()


@dataclass(frozen=True)
class _Run:
    """What the servers of a run have in common."""

    ray: Any
    namespace: str
    servers: int
    workers: int
    modules: tuple[str, ...]


class _Keeper:
    """Keeps two servers of one shard."""

    def __init__(self, shard: int, run: _Run, stopping: threading.Event) -> None:
        self.shard = shard
        self.copies = 0
        self.failure = ""  # why there are no servers, and will not be
        self._run, self._ray, self._stopping = run, run.ray, stopping
        self._made = itertools.count()
        self._epoch = 0
        self._primary: _Made | None = None
        self._replica: _Made | None = None
        self._replica_to_be: _Made | None = None

    def run(self) -> None:
        """Keep two servers until the service stops."""
        try:
            self._primary = self._make(other_than=None)
            self._replica_to_be = self._make(other_than=self._primary)
            if not self._tell(self._primary, "lead", self._next_epoch()):
                raise MXNetError("its first process died")
            while not self._is_over() and not self.failure:
                if self._replica is None:
                    self._replace()
                else:
                    self._watch()
        except Exception as error:
            if not self._is_over():
                self.failure = f"{type(error).__name__}: {error}"
            self._lose()

    def end(self) -> None:
        for made in (self._primary, self._replica, self._replica_to_be):
            self._kill(made)

    def _is_over(self) -> bool:
        """Whether the service stops, or Ray was shut down: what is asked of it then would start another one."""
        return self._stopping.is_set() or not self._ray.is_initialized()

    # ------------------------------------------------------------ what happens to servers

    def _watch(self) -> None:
        """Wait until one dies, or is silent for too long; then the other goes on alone."""
        assert self._primary is not None and self._replica is not None
        self.copies = 2
        dead = self._first_dead([self._primary, self._replica])
        if dead is None:
            return
        self.copies = 1
        survivor = self._replica if dead is self._primary else self._primary
        self._kill(dead)
        self._primary, self._replica = survivor, None
        if not self._tell(survivor, "lead", self._next_epoch()):
            self._lose()

    def _replace(self) -> None:
        """Give the primary, which is alone, a replica."""
        assert self._primary is not None
        made = self._replica_to_be or self._make(other_than=self._primary)
        self._replica_to_be = made
        if self._adopted(self._primary, made):
            self._replica, self._replica_to_be = made, None
            return
        # The new one never leads from here on, so that the primary may go on alone, as it may already do when it dies.
        self._kill(made)
        self._replica_to_be = None
        if not self._tell(self._primary, "lead", self._next_epoch()):
            self._lose()
        self._stopping.wait(0.2)

    def _adopted(self, primary: _Made, made: _Made) -> bool:
        """Whether the new server came to have all that the primary has, and the primary to rely on it."""
        epoch = self._next_epoch()
        while not self._done(made.actor.view.remote(), 1.0):
            if self._is_over() or not self._lives(primary):
                return False
        asked, watch = primary.actor.adopt.remote(epoch, made.actor), _Watch(self._ray, [made])
        try:
            while not watch.dead(0) and not self._is_over():
                if not self._done(asked, 0.5):
                    continue
                if self._ray.get(asked):
                    return True
                self._stopping.wait(0.02)
                asked = primary.actor.adopted.remote()
        except self._ray.exceptions.RayError:
            return self._has_settled(made)
        return False

    def _has_settled(self, made: _Made) -> bool:
        """Whether a server is a replica: the primary may have told it so, and not have come to say it."""
        try:
            return self._ray.get(made.actor.view.remote(), timeout=_PATIENCE)["role"] == "replica"
        except self._ray.exceptions.RayError:
            return False

    def _lose(self) -> None:
        """Both died at once: have a server that says so to workers."""
        if self._is_over():
            return
        self.copies = 0
        self.failure = self.failure or "both of its processes died before one could be replaced"
        self.end()
        self._primary = self._make(other_than=None)
        self._tell(self._primary, "mourn")

    # ------------------------------------------------------------ servers

    def _make(self, other_than: _Made | None) -> _Made:
        return _Made(self._run, self.shard, next(self._made), other_than)

    def _next_epoch(self) -> int:
        self._epoch += 1
        return self._epoch

    def _tell(self, made: _Made, method: str, *args: Any) -> bool:
        """Whether a server did as it was told. One that cannot be reached is told again, as long as it lives."""
        errors = self._ray.exceptions
        while not self._is_over():
            try:
                return self._ray.get(getattr(made.actor, method).remote(*args), timeout=_PATIENCE) is not False
            except (errors.GetTimeoutError, errors.ActorUnavailableError):
                if not self._lives(made):
                    break
                self._stopping.wait(0.2)
            except errors.RayError:
                break
        return False

    def _first_dead(self, servers: list[_Made]) -> _Made | None:
        """The first of these that dies, or is silent for too long; None when the service stops."""
        watch, dead = _Watch(self._ray, servers), None
        while dead is None and not self._is_over():
            dead = watch.dead(0.5)
        return dead

    def _done(self, reference: Any, timeout: float) -> bool:
        return bool(self._ray.wait([reference], timeout=timeout)[0])

    def _lives(self, made: _Made) -> bool:
        return not self._done(made.life, 0)

    def _kill(self, made: _Made | None) -> None:
        if made is not None and self._ray.is_initialized():
            self._ray.kill(made.actor)


class _Made:
    """A server that was made: the actor, and a reference that becomes ready only when it dies."""

    def __init__(self, run: _Run, shard: int, number: int, other_than: _Made | None) -> None:
        from runtime.kvstore.servers.server import Server

        ray = run.ray
        nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
        free = [node for node in nodes if other_than is None or node != other_than.node] or nodes
        self.node = free[(shard + number) % len(free)]
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(self.node, soft=True)
        self.actor = (
            ray.remote(concurrency_groups={"control": 8})(Server)
            .options(
                name=name_of(shard, number),
                namespace=run.namespace,
                num_cpus=0,
                max_restarts=0,
                scheduling_strategy=near,
            )
            .remote(shard, run.workers, -(-2 * run.servers // len(nodes)), run.modules)
        )
        self.life = self.actor.alive.remote()


class _Watch:
    """Servers that are asked how they are, again and again."""

    def __init__(self, ray: Any, servers: list[_Made]) -> None:
        self._ray, self._servers = ray, servers
        self._asked, self._views = time.monotonic(), dict[_Made, Any]()

    def dead(self, seconds: float) -> _Made | None:
        """The first that has died, or has been silent for too long, if there is one within so many seconds."""
        ready, _ = self._ray.wait([made.life for made in self._servers], timeout=seconds)
        if ready:
            return next(made for made in self._servers if made.life in ready)
        waited = time.monotonic() - self._asked
        silent = [made for made, view in self._views.items() if not self._ray.wait([view], timeout=0)[0]]
        if silent and waited > _PATIENCE:
            return silent[0]
        if not silent and waited >= 0.5:
            self._asked = time.monotonic()
            self._views = {made: made.actor.view.remote() for made in self._servers}
        return None


def name_of(shard: int, number: int | str) -> str:
    """What a server is called in the namespace of its run: the number is new for each that is made."""
    return f"kvstore server {shard}.{number}"
