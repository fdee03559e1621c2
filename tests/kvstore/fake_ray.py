"""Ray in one process: the real Server, Service, ServerConnection and ServerStore run under it, in a simulation.

Calls of one process to an actor come in the order in which they were made, those of different processes in any; each
actor has one thread for calls, as Ray gives it, and answers those of its control group at once. A `Fault` happens at a
call: a process dies or stops for a while; the call fails though it is done, or will be, so that it is made again; it is
not done; or its arguments are lost. What a process has sent may come long after its death.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ray

from runtime.kvstore import environment
from runtime.kvstore.servers import connection, membership, ray_setup, server, service, state_transfer
from tests.kvstore.simulation import Process, Simulation

errors = ray.exceptions

KINDS = ("kill callee", "kill caller", "pause callee", "pause caller", "skipped", "done", "late", "lost")
TARGETS: dict[str, Callable[[Actor, Call], bool]] = {
    "any": lambda _, call: call.method not in ("alive", "view", "seen"),
    "push": lambda _, call: call.method == "call" and call.args[0]["do"] == "push",
    "beat": lambda _, call: call.method == "seen",
    "become_replica": lambda _, call: call.method == "become_replica",
    "adoption": lambda actor, call: actor.is_learner() and call.method in ("load", "follow", "become_replica"),
}
"""Which calls a fault may happen at."""


@dataclass(frozen=True)
class Fault:
    """`kind`, one of KINDS, happens at a call of a target when there were `after` of these, and lasts `seconds`."""

    after: int
    target: str
    kind: str
    seconds: float = 0.0


class Ref:
    """An object: what a call will return, or what `owner` has put into Ray's memory."""

    def __init__(self, owner: Process, put: bool) -> None:
        self.owner, self.put = owner, put
        self.ready = self.lost = False
        self.value: Any = None

    def set(self, value: Any) -> None:
        if not self.ready:
            self.ready, self.value = True, value


@dataclass
class Call:
    caller: Process
    method: str
    args: Sequence[Any]
    answer: Ref
    skipped: bool = False
    lost: bool = False


@dataclass
class Channel:
    """The calls of one process to one actor, which have not come yet."""

    calls: deque[Call] = field(default_factory=deque)
    due: float = 0.0


class Actor:
    """A server process; also what others have as its handle."""

    def __init__(self, world: World, make: Callable[[], Any], name: str, namespace: str) -> None:
        self.world, self.name, self.namespace = world, name, namespace
        self.process = world.process(name)
        self.channels: dict[Process, Channel] = {}
        self.queue: deque[Call] = deque()
        self.open: list[Call] = []  # what has not been answered
        self.made: Any = None
        self._make = make
        world.later(0.05, lambda: None if self.process.dead else world.spawn(self.process, self._serve))

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        return SimpleNamespace(remote=lambda *args: self.world.call(self, method, args))

    def head(self, channel: Channel) -> Call | None:
        """The call that may come now."""
        world = self.world
        if self.made is None or not channel.calls or channel.due > world.now or self.process.paused > world.now:
            return None
        call = channel.calls[0]
        return call if all(world.readable(arg, self.process) for arg in call.args if isinstance(arg, Ref)) else None

    def deliver(self, channel: Channel) -> None:
        call = channel.calls.popleft()
        channel.due = self.world.now + self.world.chance.choice((0, 0, 0.001, 0.01))
        if call.skipped or call.method == "alive":
            return
        if getattr(getattr(type(self.made), call.method), "__ray_concurrency_group__", None):
            self.world.answering = self.process
            self._do(call)
        else:
            self.queue.append(call)

    def _serve(self) -> None:
        self.made = self._make()
        while True:
            self.world.park(lambda: bool(self.queue))
            self._do(self.queue.popleft())

    def _do(self, call: Call) -> None:
        world = self.world
        try:
            if call.lost:
                raise errors.ObjectLostError("00", None, "")
            args = [world.read(arg) if isinstance(arg, Ref) else arg for arg in call.args]
            found = _copied(getattr(self.made, call.method)(*args))
        except Exception as error:
            cause = error.cause if isinstance(error, errors.RayTaskError) else error
            found = errors.RayTaskError(call.method, repr(error), cause).as_instanceof_cause()
        world.later(world.chance.choice((0, 0.001, 0.01)), lambda: self.process.dead or call.answer.set(found))

    def is_learner(self) -> bool:
        return self.made is None or self.made._role in ("new", "learner")

    def die(self) -> None:
        """Whoever waits for an answer hears of it."""
        died = errors.ActorDiedError()
        for call in self.open:
            self.world.later(self.world.chance.choice((0.01, 0.1, 0.5)), lambda c=call: c.answer.set(died))


class World(Simulation):
    """Processes, some of which are actors, and what they have sent. Faults happen while it is `active`."""

    def __init__(self, seed: int, faults: Sequence[Fault]) -> None:
        super().__init__(seed)
        self.actors: list[Actor] = []
        self.calls: list[tuple[Process, Actor, Call]] = []  # all that were made
        self.active = False
        self.answering: Process | None = None  # the last actor whose control group did
        self._faults = list(faults)
        self._met: Counter[str] = Counter()  # how many calls of each target there were
        self._outlived: set[Process] = set()  # whose memory can be read though they are dead

    def me(self) -> Process:
        return super().me() if self.current is not None or self.answering is None else self.answering

    def moves(self) -> list[Callable[[], object]]:
        """Calls that may come."""
        return [
            functools.partial(a.deliver, c) for a in self.actors for c in a.channels.values() if a.head(c) is not None
        ]

    def moments(self) -> list[float]:
        waiting = [(a, c) for a in self.actors for c in a.channels.values() if c.calls]
        return [x for a, c in waiting for x in (c.due, a.process.paused)]

    def died(self, process: Process) -> None:
        """What it has sent may still come, later, and others hear of its death."""
        late = self.chance.choice((0, 0.1, 3, math.inf))
        if self.chance.random() < 0.5:
            self._outlived.add(process)
        for actor in self.actors:
            if actor.process is process:
                actor.die()
            elif process in actor.channels:
                actor.channels[process].due = max(actor.channels[process].due, self.now) + late

    def release(self) -> None:
        """What dead processes have sent comes now, or soon."""
        for actor in self.actors:
            for process, channel in actor.channels.items():
                if process.dead:
                    channel.due = min(channel.due, self.now + self.chance.choice((0, 0.01, 0.03, 0.1)))

    def is_quiet(self) -> bool:
        """Whether nothing is on its way to a server, and none is at work."""
        living = [a for a in self.actors if not a.process.dead]
        coming = any(c.calls for a in living for c in a.channels.values())
        return not coming and all(c.answer.ready for a in living for c in a.open if c.method != "alive")

    def call(self, actor: Actor, method: str, args: Sequence[Any]) -> Ref:
        caller = self.me()
        answer = Ref(caller, False)
        call = Call(caller, method, [_copied(arg) for arg in args], answer)
        self.calls.append((caller, actor, call))
        if actor.process.dead:
            self.later(0.01, lambda: answer.set(errors.ActorDiedError()))
            return answer
        channel = actor.channels.setdefault(caller, Channel())
        loads = self.active and method == "load"  # takes long, so that there are changes meanwhile
        delay = self.chance.choice((0.01, 0.3, 1) if loads else (0, 0.001, 0.01))
        channel.due = max(channel.due, self.now + delay)
        channel.calls.append(call)
        actor.open = [c for c in actor.open if not c.answer.ready]
        actor.open.append(call)
        if self.active:
            of = {name for name, matches in TARGETS.items() if matches(actor, call)}
            due = [f for f in self._faults if f.target in of and self._met[f.target] >= f.after]
            self._met.update(of)
            if due:
                self._faults.remove(due[0])
                self._happen(due[0], call, actor, channel)
        return answer

    def _happen(self, fault: Fault, call: Call, actor: Actor, channel: Channel) -> None:
        self.happened.append(f"{self.now:.3f}: {fault.kind} {fault.seconds} at {call.method} of {call.caller}")
        process = actor.process if fault.kind.endswith("callee") else call.caller
        match fault.kind:
            case "kill callee" | "kill caller":
                if not process.immortal:
                    self.kill(process)
            case "pause callee" | "pause caller":
                if not process.immortal:
                    process.paused = self.now + fault.seconds
            case "skipped" | "done" | "late":
                call.skipped = fault.kind == "skipped"
                channel.due += fault.seconds if fault.kind == "late" else 0
                self.later(0.01, lambda: call.answer.set(errors.ActorUnavailableError("out of reach", None)))
            case "lost":
                refs = [x for arg in call.args for x in (arg if isinstance(arg, list) else [arg]) if isinstance(x, Ref)]
                call.lost = not refs
                for ref in refs:
                    ref.lost = True

    def put(self, value: Any) -> Ref:
        found = Ref(self.me(), True)
        found.set(_copied(value))
        return found

    def readable(self, ref: Ref, reader: Process) -> bool:
        """Whether reading it would give the value, or an error, at once."""
        own = ref.owner is reader or not ref.put or ref.lost or ref.owner.dead
        return ref.ready and (own or ref.owner.paused <= self.now)

    def read(self, ref: Ref) -> Any:
        gone = ref.owner.dead and ref.owner not in self._outlived
        if ref.put and ref.owner is not self.me() and (ref.lost or gone):
            raise errors.OwnerDiedError("00", None, "") if gone else errors.ObjectLostError("00", None, "")
        if isinstance(ref.value, BaseException):
            raise ref.value
        return ref.value

    def get(self, ref: Ref, timeout: float | None = None) -> Any:
        reader = self.me()
        if not self.readable(ref, reader) and not self.park(lambda: self.readable(ref, reader), timeout):
            raise errors.GetTimeoutError
        return self.read(ref)

    def wait(self, refs: Sequence[Ref], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Ref], list]:
        self.park(lambda: sum(ref.ready for ref in refs) >= num_returns, timeout)
        ready = [ref for ref in refs if ref.ready][:num_returns]
        return ready, [ref for ref in refs if ref not in ready]

    def exit(self, _: int) -> None:
        self.kill(self.me())


def _copied(value: Any) -> Any:
    """What a process gets of what another one sends: no memory in common, and arrays that are read-only."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    elif isinstance(value, dict):
        value = {name: _copied(x) for name, x in value.items()}
    elif isinstance(value, list | tuple):
        value = type(value)(_copied(x) for x in value)
    return value


# ---------------------------------------------------------------- in place of modules


class _Event:
    def __init__(self, world: World) -> None:
        self._world, self._set = world, False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        return self._world.park(self.is_set, timeout)


class _Condition:
    """Nothing else runs within its block, as nothing there waits but for it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def notify_all(self) -> None: ...

    def wait_for(self, ready: Callable[[], bool], timeout: float | None = None) -> bool:
        return self._world.park(ready, timeout)


class _Thread:
    ident = None

    def __init__(self, world: World, target: Callable[..., Any], args: Sequence[Any] = (), **_: Any) -> None:
        self._world, self._target, self._args = world, target, args

    def start(self) -> None:
        self._world.spawn(self._world.me(), lambda: self._target(*self._args))


def _ray(world: World) -> Any:
    def remote(**_: Any) -> Any:
        def of(cls: type) -> Any:
            def options(name: str, namespace: str, **_: Any) -> Any:
                def make(*args: Any) -> Actor:
                    world.actors.append(Actor(world, lambda: cls(*args), name, namespace))
                    return world.actors[-1]

                return SimpleNamespace(remote=make)

            return SimpleNamespace(options=options)

        return of

    def living() -> list[Actor]:
        return [actor for actor in world.actors if not actor.process.dead]

    def get_actor(name: str, namespace: str) -> Actor:
        found = [actor for actor in living() if (actor.name, actor.namespace) == (name, namespace)]
        if not found:
            raise ValueError(name)
        return found[0]

    def list_named_actors(all_namespaces: bool) -> list[dict[str, str]]:
        return [{"name": actor.name, "namespace": actor.namespace} for actor in living()]

    near = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: None)
    return SimpleNamespace(
        ObjectRef=Ref,
        exceptions=errors,
        get=world.get,
        get_actor=get_actor,
        is_initialized=lambda: True,
        kill=lambda actor: world.later(world.chance.choice((0.001, 0.05)), lambda: world.kill(actor.process)),
        nodes=lambda: [{"NodeID": node, "Alive": True} for node in "ab"],
        put=world.put,
        remote=remote,
        util=SimpleNamespace(list_named_actors=list_named_actors, scheduling_strategies=near),
        wait=world.wait,
    )


@contextlib.contextmanager
def simulated(world: World, inline: int = 0, timeout: float = 30.0, room: int = 0) -> Iterator[None]:
    """Within the block kvstores run in that world; messages of up to `inline` bytes travel in calls, and a primary
    keeps `room` bytes of changes for a new server, or as many as that loads."""
    fake = _ray(world)
    time = SimpleNamespace(monotonic=lambda: world.now, sleep=world.sleep)
    threads = SimpleNamespace(
        Event=lambda: _Event(world),
        Condition=lambda: _Condition(world),
        Thread=lambda target, args=(), **_: _Thread(world, target, args),
    )
    system = SimpleNamespace(
        environ={}, sched_getaffinity=lambda _: {0}, getpid=lambda: world.me().number, _exit=world.exit
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(environment.TIMEOUT, str(timeout))
        patch.setattr(ray_setup, "load", lambda: fake)
        patch.setattr(connection, "_MAX_INLINE_BYTES", inline)
        patch.setattr(state_transfer, "ray", fake)
        patch.setattr(state_transfer, "_MAX_BACKLOG_BYTES", room)
        patch.setattr(server, "ray", fake)
        patch.setattr(server, "os", system)
        for module in (connection, membership, server, service):
            patch.setattr(module, "time", time)
        for module in (membership, server, service):
            patch.setattr(module, "threading", threads)
        try:
            yield
        finally:
            world.end()
