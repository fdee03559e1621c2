"""The servers of a run: started, watched and replaced."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore import environment
from runtime.kvstore.servers import ray_setup

_UNRESPONSIVE_SECONDS = 60.0
"""Seconds in which a server must answer. One that does not is killed, as if it had died."""


class Service:
    """Two server processes for each of `num_servers` shards, for `num_workers` workers.

    It is used in a process that is connected to Ray, which owns the servers: they end with it. `namespace` is where
    workers find them; None: that of this process's connection. `modules` have optimizers written by hand, which servers
    may import.
    """

    def __init__(
        self, num_servers: int, num_workers: int, namespace: str | None = None, modules: Sequence[str] = ()
    ) -> None:
        ray = ray_setup.load()
        self._stopping = threading.Event()
        namespace = namespace or ray.get_runtime_context().namespace
        run = _RunSettings(ray, namespace, num_servers, num_workers, tuple(modules))
        self._supervisors = [ShardSupervisor(shard, run, self._stopping) for shard in range(num_servers)]
        self._threads = [
            threading.Thread(target=s.run, name=f"server {s.shard}", daemon=True) for s in self._supervisors
        ]

    def start(self) -> None:
        """Start all servers, and wait until there are two of each shard.

        MXNetError where there are not in time.
        """
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + environment.timeout()
        for supervisor in self._supervisors:
            while supervisor.copies < 2:
                if supervisor.failure or time.monotonic() > deadline:
                    self.stop()
                    raise MXNetError(
                        f"server {supervisor.shard} could not be started: {supervisor.failure or 'it takes too long'}"
                    )
                time.sleep(0.01)

    def copies(self) -> list[int]:
        """How many servers have all of each shard: 2, or 1 while one is replaced, or 0 where both died at once."""
        return [supervisor.copies for supervisor in self._supervisors]

    def stop(self) -> None:
        """End all servers. What they hold is gone."""
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=10)
        for supervisor in self._supervisors:
            supervisor.end()


@dataclass(frozen=True)
class _RunSettings:
    """What the servers of a run have in common."""

    ray: Any
    namespace: str
    servers: int
    workers: int
    modules: tuple[str, ...]


class ShardSupervisor:
    """Keeps two servers of one shard running."""

    def __init__(self, shard: int, run: _RunSettings, stopping: threading.Event) -> None:
        self.shard = shard
        self.copies = 0
        self.failure = ""  # why there are no servers, and will not be
        self._run, self._ray, self._stopping = run, run.ray, stopping
        self._server_numbers = itertools.count()
        self._epoch = 0
        self._primary: ServerHandle | None = None
        self._replica: ServerHandle | None = None
        self._replica_to_be: ServerHandle | None = None

    def run(self) -> None:
        """Keep two servers until the service stops."""
        try:
            self._primary = self._make(other_than=None)
            self._replica_to_be = self._make(other_than=self._primary)
            if not self._tell(self._primary, "become_primary", self._next_epoch()):
                raise MXNetError("its first process died")
            while not self._is_over() and not self.failure:
                if self._replica is None:
                    self._replace()
                else:
                    self._watch()
        except Exception as error:
            if not self._is_over():
                self.failure = f"{type(error).__name__}: {error}"
            self._mark_lost()

    def end(self) -> None:
        for handle in (self._primary, self._replica, self._replica_to_be):
            self._kill(handle)

    def _is_over(self) -> bool:
        """Whether the service stops, or Ray was shut down: what is asked of it then would start another one."""
        return self._stopping.is_set() or not self._ray.is_initialized()

    # ------------------------------------------------------------ what happens to servers

    def _watch(self) -> None:
        """Wait until one of the two dies, or is silent for too long. The other goes on alone."""
        assert self._primary is not None and self._replica is not None
        self.copies = 2
        dead = self._first_dead([self._primary, self._replica])
        if dead is None:
            return
        self.copies = 1
        survivor = self._replica if dead is self._primary else self._primary
        self._kill(dead)
        self._primary, self._replica = survivor, None
        if not self._tell(survivor, "become_primary", self._next_epoch()):
            self._mark_lost()

    def _replace(self) -> None:
        """Give the primary, which is alone, a new replica."""
        assert self._primary is not None
        handle = self._replica_to_be or self._make(other_than=self._primary)
        self._replica_to_be = handle
        if self._transferred(self._primary, handle):
            self._replica, self._replica_to_be = handle, None
            return
        # The new one never leads from here on, so that the primary may go on alone, as it may already do when it dies.
        self._kill(handle)
        self._replica_to_be = None
        if not self._tell(self._primary, "become_primary", self._next_epoch()):
            self._mark_lost()
        self._stopping.wait(0.2)

    def _transferred(self, primary: ServerHandle, handle: ServerHandle) -> bool:
        """Transfer the shard from the primary to a new server. Whether that server is the replica now."""
        epoch = self._next_epoch()
        while not self._done(handle.actor.view.remote(), 1.0):
            if self._is_over() or not self._is_alive(primary):
                return False
        asked, watch = primary.actor.begin_transfer.remote(epoch, handle.actor), _LivenessProbe(self._ray, [handle])
        try:
            while not watch.dead(0) and not self._is_over():
                if not self._done(asked, 0.5):
                    continue
                if self._ray.get(asked):
                    return True
                self._stopping.wait(0.02)
                asked = primary.actor.finish_transfer.remote()
        except self._ray.exceptions.RayError:
            return self._is_replica(handle)
        return False

    def _is_replica(self, handle: ServerHandle) -> bool:
        """Whether a server is a replica. The primary may have made it one, and died before it could report that."""
        try:
            return self._ray.get(handle.actor.view.remote(), timeout=_UNRESPONSIVE_SECONDS)["role"] == "replica"
        except self._ray.exceptions.RayError:
            return False

    def _mark_lost(self) -> None:
        """Both servers died: start one that says so to workers."""
        if self._is_over():
            return
        self.copies = 0
        self.failure = self.failure or "both of its processes died before one could be replaced"
        self.end()
        self._primary = self._make(other_than=None)
        self._tell(self._primary, "mark_lost")

    # ------------------------------------------------------------ servers

    def _make(self, other_than: ServerHandle | None) -> ServerHandle:
        return ServerHandle(self._run, self.shard, next(self._server_numbers), other_than)

    def _next_epoch(self) -> int:
        self._epoch += 1
        return self._epoch

    def _tell(self, handle: ServerHandle, method: str, *args: Any) -> bool:
        """Whether a server did as it was told. One that cannot be reached is told again, as long as it lives."""
        errors = self._ray.exceptions
        while not self._is_over():
            try:
                reference = getattr(handle.actor, method).remote(*args)
                return self._ray.get(reference, timeout=_UNRESPONSIVE_SECONDS) is not False
            except (errors.GetTimeoutError, errors.ActorUnavailableError):
                if not self._is_alive(handle):
                    break
                self._stopping.wait(0.2)
            except errors.RayError:
                break
        return False

    def _first_dead(self, servers: list[ServerHandle]) -> ServerHandle | None:
        """The first of these that dies, or is silent for too long; None when the service stops."""
        watch, dead = _LivenessProbe(self._ray, servers), None
        while dead is None and not self._is_over():
            dead = watch.dead(0.5)
        return dead

    def _done(self, reference: Any, timeout: float) -> bool:
        return bool(self._ray.wait([reference], timeout=timeout)[0])

    def _is_alive(self, handle: ServerHandle) -> bool:
        return not self._done(handle.life, 0)

    def _kill(self, handle: ServerHandle | None) -> None:
        if handle is not None and self._ray.is_initialized():
            self._ray.kill(handle.actor)


class ServerHandle:
    """A server process: its actor, and a reference that becomes ready only when it dies."""

    def __init__(self, run: _RunSettings, shard: int, number: int, other_than: ServerHandle | None) -> None:
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


class _LivenessProbe:
    """Asks servers for their `view`, again and again, and finds those that died or do not answer."""

    def __init__(self, ray: Any, servers: list[ServerHandle]) -> None:
        self._ray, self._servers = ray, servers
        self._asked, self._views = time.monotonic(), dict[ServerHandle, Any]()

    def dead(self, seconds: float) -> ServerHandle | None:
        """The first that has died, or has been silent for too long, if there is one within so many seconds."""
        ready, _ = self._ray.wait([handle.life for handle in self._servers], timeout=seconds)
        if ready:
            return next(handle for handle in self._servers if handle.life in ready)
        waited = time.monotonic() - self._asked
        silent = [handle for handle, view in self._views.items() if not self._ray.wait([view], timeout=0)[0]]
        if silent and waited > _UNRESPONSIVE_SECONDS:
            return silent[0]
        if not silent and waited >= 0.5:
            self._asked = time.monotonic()
            self._views = {handle: handle.actor.view.remote() for handle in self._servers}
        return None


def name_of(shard: int, number: int | str) -> str:
    """What a server is called in the namespace of its run: each process has a number of its own."""
    return f"kvstore server {shard}.{number}"
