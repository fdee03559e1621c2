"""Processes and their threads, simulated: one thread at a time runs, which a seed says, until it waits for something.

Time is a number, which grows when nothing can go on.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
import threading
from collections.abc import Callable


class Died(BaseException):
    """Ends the threads of a process that has died."""


class Process:
    def __init__(self, number: int, name: str, immortal: bool) -> None:
        self.number, self.name, self.immortal = number, name, immortal
        self.dead = False
        self.paused = 0.0  # until when

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Task:
    """A thread of a process, which runs while all others wait."""

    def __init__(self, world: Simulation, process: Process, work: Callable[[], object]) -> None:
        self.world, self.process = world, process
        self.ready: Callable[[], bool] = lambda: True
        self.deadline = math.inf
        self.done = False
        self._work = work
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        threading.Thread(target=self._run, daemon=True).start()

    def can_run(self) -> bool:
        return self.ready() or self.deadline <= self.world.now

    def resume(self) -> None:
        """Run until it parks or ends."""
        before, self.world.current = self.world.current, self
        self._go.release()
        self._back.acquire()
        self.world.current = before

    def park(self, ready: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait; whether it is ready and not just the time over."""
        assert self.world.current is self
        self.ready = ready
        self.deadline = math.inf if timeout is None else self.world.now + max(timeout, 0)
        if not self.process.dead:
            self._back.release()
            self._go.acquire()
        if self.process.dead:
            raise Died
        return ready()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.process.dead:
                self._work()
        except Died:
            pass
        except BaseException as error:
            self.world.failed = self.world.failed or error
        self.done = True
        self._back.release()


class Simulation:
    """All threads, and what time it is. What else may happen, subclasses say."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.current: Task | None = None
        self.failed: BaseException | None = None
        self.happened: list[str] = []
        self._tasks: list[Task] = []
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count(1)

    def process(self, name: str, immortal: bool = False) -> Process:
        return Process(next(self._numbers), name, immortal)

    def spawn(self, process: Process, work: Callable[[], object]) -> Task:
        """A new thread of a process."""
        task = Task(self, process, work)
        self._tasks.append(task)
        return task

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        bisect.insort(self._timers, (self.now + seconds, next(self._numbers), what))

    def me(self) -> Process:
        """The process of the thread that runs."""
        assert self.current is not None
        return self.current.process

    def park(self, ready: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait, in a thread; whether it is ready and not just the time over."""
        assert self.current is not None, "what is answered at once does not wait"
        return self.current.park(ready, timeout)

    def sleep(self, seconds: float) -> None:
        self.park(lambda: False, seconds)

    def run(self, until: Callable[[], bool], seconds: float) -> None:
        """Go on until that is so: AssertionError if it takes longer, or what a thread has raised."""
        end = self.now + seconds
        while not until():
            self._step()
            if self.failed is not None:
                raise self.failed
            assert self.now < end, f"it takes more than {seconds} s; {self.happened}"

    def _step(self) -> None:
        while self._timers and self._timers[0][0] <= self.now:
            self._timers.pop(0)[2]()
        self._tasks = [t for t in self._tasks if not t.done]
        able = [t.resume for t in self._tasks if t.process.paused <= self.now and t.can_run()] + self.moves()
        if able:
            able[self.chance.randrange(len(able))]()
            return
        moments = [x for t in self._tasks for x in (t.deadline, t.process.paused)] + self.moments()
        coming = [x for x in [*moments, *(when for when, *_ in self._timers[:1])] if x > self.now]
        assert coming and min(coming) < math.inf, f"nothing will happen any more; {self.happened}"
        self.now = min(coming)

    def moves(self) -> list[Callable[[], object]]:
        """What may happen now, beside what threads do."""
        return []

    def moments(self) -> list[float]:
        """When there may be more of these."""
        return []

    def kill(self, process: Process) -> None:
        """A process dies."""
        if process.dead:
            return
        process.dead = True
        for task in self._tasks:
            if task.process is process and task is not self.current and not task.done:
                task.resume()
        self.died(process)
        if self.current is not None and self.current.process is process:
            raise Died

    def died(self, process: Process) -> None:
        """What comes of a death."""

    def end(self) -> None:
        """Unwind all threads."""
        for task in self._tasks:
            task.process.dead = True
        for task in self._tasks:
            if not task.done:
                task.resume()
