"""Processes of one thread each, which run trials side by side."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from optgen import children
from optgen.races.protocol import Attempt
from optgen.races.task import described
from optgen.races.trials import Outcome


class TrialJob(NamedTuple):
    """What a process is asked for: a trial of a task, by its place, with the contender of a line."""

    task: str
    contender: str
    attempt: Attempt


class TrialPool:
    """`with TrialPool(2) as pool:` the processes, which end with the block, whatever they are doing."""

    def __init__(self, processes: int, serve: Callable[[Connection], None] | None = None) -> None:
        # Not forked: a lock that another thread holds at that moment would never be released in the child.
        context = multiprocessing.get_context("spawn")
        self._busy: dict[Connection, TrialJob | None] = {}
        self._processes = []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve or _serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()  # so that the end of the process is the end of the pipe
            self._processes.append(process)
            self._busy[ours] = None

    def __enter__(self) -> TrialPool:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for pipe in self._busy:
            pipe.close()

    @property
    def has_room(self) -> bool:
        """Whether a process has nothing to do."""
        return None in self._busy.values()

    def submit(self, job: TrialJob) -> None:
        """Have a process that has nothing to do run a job."""
        pipe = next(pipe for pipe, own in self._busy.items() if own is None)
        pipe.send(job)
        self._busy[pipe] = job

    def finished(self) -> Iterator[tuple[TrialJob, Outcome | str]]:
        """Wait until a job has ended; those that have, with what came of them, or the error as a text.

        Raises ChildProcessError for a process that was killed.
        """
        for pipe in wait([pipe for pipe, job in self._busy.items() if job is not None]):
            assert isinstance(pipe, Connection)
            job = self._busy[pipe]
            assert job is not None
            try:
                found = pipe.recv()
            except EOFError:
                raise ChildProcessError(
                    f"the process that trained {job.task} by {job.contender} was killed; was there enough memory? "
                    "The trials that had ended are kept: the same command goes on"
                ) from None
            self._busy[pipe] = None
            yield job, found


def _serve(pipe: Connection) -> None:
    """Run jobs until the pipe is closed."""
    children.begin()
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before PyTorch is imported
    import torch

    import optgen

    torch.set_num_threads(1)
    optgen.set_num_threads(1)
    warnings.simplefilter("ignore")
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(_outcome(job))


def _outcome(job: TrialJob) -> Outcome | str:
    from optgen.races import trials

    try:
        # Time of this process: what else the machine does is no property of an optimizer.
        return trials.run(_task(job.task), _contender(job.contender), job.attempt, time.process_time)
    except Exception as error:
        return described(error)


@functools.cache
def _task(place: str) -> Any:
    from optgen.races import task

    return task.load(place)


@functools.cache
def _contender(line: str) -> Any:
    from optgen.races import contender

    return contender.read(line)
