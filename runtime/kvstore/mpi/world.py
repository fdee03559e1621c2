"""The ranks of an MPI job: messages that are waited for with a time limit, and an end of the job if one of them fails.

Plain `mpiexec` waits forever for a rank that raised an exception. Here such a rank aborts the job; one that leaves its
script, or catches an error that the others cannot know of, tells them, and whoever waits for it raises MXNetError.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import functools
import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.kvstore import environment

_HELLO, HEADER, TEXT, DATA, _NOTICE = range(32000, 32005)
"""MPI tags, by kind of message. `_HELLO` goes over MPI's world communicator, which user code may also use."""
_SPIN_SECONDS = 0.02
"""Seconds for which a rank that waits for others polls without a pause. After that it sleeps between polls, and reads
notices."""
_ABORT_DELAY_SECONDS = 0.25
"""Seconds between writing an error and the abort of the job: mpiexec drops output that it has not passed on by then."""
_MAX_CPUS = 8192
"""More than Linux has."""

Message = tuple[int, list[Any]]
"""The rank it goes to, or comes from, and the memory as MPI takes it; see `message`."""


def _wait_until_all_ranks_start_mpi() -> ModuleType:
    """mpi4py.MPI, whose import starts MPI, which waits for all ranks to do so.

    That wait cannot be interrupted, so a watch outside of Python ends the process if it takes too long. All that it can
    print is where the process was, hence the name.
    """
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(environment.timeout(), exit=True, file=sys.__stderr__)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is mpi4py, but no libmpi
        from optgen import extras

        raise ImportError(f"the kvstore 'dist_sync' needs MPI: {extras.install('mpi')}; {error}") from None
    finally:
        faulthandler.cancel_dump_traceback_later()
    return MPI


class World:
    """The ranks of this job, over a communicator of our own; see `world`.

    What is sent and received are contiguous arrays of bytes. Everything that waits raises MXNetError, naming the ranks
    it has waited for, when `timeout` seconds are over; from then on everything does.
    """

    def __init__(self) -> None:
        self.timeout = environment.timeout()
        self.broken: str | None = None  # why nothing can be exchanged any more
        self._mpi = _wait_until_all_ranks_start_mpi()
        self._testall: Callable[[list[Any]], bool] = self._mpi.Request.Testall
        self.tags = itertools.count(_NOTICE + 1)  # for messages of another kind, each tag of which is used once
        self._unfinished_requests: list[Any] = []  # what was given up; its memory must stay
        self._notices: dict[int, str] = {}  # what ranks have told that will not come, by rank
        self._pid = os.getpid()
        comm = self._mpi.COMM_WORLD
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self.others = [r for r in range(self.size) if r != self.rank]
        self._comm = comm
        if self.size > 1:
            self._install_exit_hooks()
            # MPI ends when Python has freed its objects. The memory of unfinished requests must be there until then.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
            hello = [(r, self.message(np.zeros(1, np.uint8))) for r in self.others]
            self.exchange(hello, [(r, self.message(np.zeros(1, np.uint8))) for r in self.others], _HELLO, "create")
            self._comm = comm.Dup()
        self._divide_cpus(comm.Split_type(self._mpi.COMM_TYPE_SHARED))

    def _divide_cpus(self, local: Any) -> None:
        """Use the CPUs of this process, those that ranks have in common divided among them."""
        import optgen
        from optgen.threads import cpus

        mine = np.zeros(_MAX_CPUS, np.int32)
        mine[list(cpus.numbers())] = 1
        all_ = np.empty_like(mine)
        local.Allreduce(mine, all_)
        quota = cpus.quota() / local.Get_size()  # of one control group, as a container's ranks have it
        local.Free()
        if "OPTGEN_NUM_THREADS" not in os.environ and self.size > 1:
            share = min(float((mine / np.maximum(all_, 1)).sum()), quota)
            optgen.set_num_threads(min(max(int(share + 1e-6), 1), optgen.num_threads()))

    # ------------------------------------------------------------ messages

    def message(self, array: np.ndarray) -> list[Any]:
        """Contiguous memory as MPI takes it."""
        return [array.reshape(-1).view(np.uint8), self._mpi.BYTE]

    def exchange(self, sends: Iterable[Message], receives: Iterable[Message], tag: int, doing: str) -> None:
        """Send and receive these, and return when all of it is done.

        Between two ranks messages come in the order in which they are sent. `doing` is what errors say it was for.
        """
        requests, peers = self.start(sends, receives, tag)
        self.finish(requests, peers, tag, doing)

    def start(self, sends: Iterable[Message], receives: Iterable[Message], tag: int) -> tuple[list[Any], list[int]]:
        """Begin to send and receive these: requests and the ranks they are for, for `finish`."""
        self.check()
        peers, requests = [], []
        comm = self._comm
        try:
            for rank, memory in receives:
                requests.append(comm.Irecv(memory, rank, tag))
                peers.append(rank)
            for rank, memory in sends:
                requests.append(comm.Isend(memory, rank, tag))
                peers.append(rank)
        except BaseException as error:
            raise self._failed(error, "messages", requests) from None
        return requests, peers

    def finish(self, requests: list[Any], peers: Sequence[int], tag: int, doing: str) -> None:
        """Return when all of these are done."""
        self.check()
        try:
            if requests and not self._testall(requests):
                self._wait(requests, peers, tag, doing)
        except BaseException as error:
            raise self._failed(error, doing, requests) from None

    def keep(self, requests: Any) -> None:
        """Keep an object that holds requests, and so their memory, until MPI has ended: a store may go before."""
        self._unfinished_requests.append(requests)

    def progress(self, requests: Iterable[Any]) -> None:
        """Let MPI go on with these."""
        self._testall(list(requests))

    def broadcast(self, arrays: Sequence[np.ndarray], doing: str) -> None:
        """Copy the arrays of rank 0 to those of all ranks, which are contiguous and alike everywhere."""
        messages = [self.message(a) for a in arrays if a.size]
        if self.rank == 0:
            self.exchange([(r, m) for r in self.others for m in messages], [], DATA, doing)
        else:
            self.exchange([], [(0, m) for m in messages], DATA, doing)

    def allgather(self, parts: Sequence[np.ndarray], doing: str) -> None:
        """Copy `parts[r]` of each rank r to `parts[r]` of all other ranks."""
        self.exchange(
            [(r, self.message(parts[self.rank])) for r in self.others if parts[self.rank].size],
            [(r, self.message(parts[r])) for r in self.others if parts[r].size],
            DATA,
            doing,
        )

    def bcast_bytes(self, content: bytes, doing: str) -> bytes:
        """The content that rank 0 gave, on every rank."""
        size = np.array([len(content)], np.int64)
        self.broadcast([size], doing)
        memory = np.frombuffer(content, np.uint8).copy() if self.rank == 0 else np.empty(int(size[0]), np.uint8)
        self.broadcast([memory], doing)
        return content if self.rank == 0 else memory.tobytes()

    def gather_bytes(self, content: bytes, to: Sequence[int], doing: str) -> list[bytes]:
        """The contents of all ranks, by rank, on the ranks `to`; an empty list on the others."""
        mine = np.frombuffer(content, np.uint8)
        sizes = {r: np.zeros(1, np.int64) for r in self.others if self.rank in to}
        send = [r for r in to if r != self.rank]
        own = self.message(np.array([mine.size], np.int64))
        self.exchange([(r, own) for r in send], [(r, self.message(s)) for r, s in sizes.items()], TEXT, doing)
        found = {r: np.empty(int(s[0]), np.uint8) for r, s in sizes.items()}
        memory = self.message(mine) if mine.size else None
        self.exchange(
            [(r, memory) for r in send if memory],
            [(r, self.message(a)) for r, a in found.items() if a.size],
            TEXT,
            doing,
        )
        if self.rank not in to:
            return []
        return [content if r == self.rank else found[r].tobytes() for r in range(self.size)]

    def _wait(self, requests: list[Any], peers: Sequence[int], tag: int, doing: str) -> None:
        """Poll until all is done, and leave the CPU to others meanwhile: there may be more ranks than CPUs."""
        begin = time.monotonic()
        rest = _SPIN_SECONDS if tag in (_HELLO, HEADER) else 1.0  # data flows only while it is looked after
        while not self._testall(requests):
            waited = time.monotonic() - begin
            if waited < rest:
                os.sched_yield()
                continue
            self._read_notices()  # first, as what a rank sent before its notice is here then
            missing = sorted({r for r, request in zip(peers, requests, strict=True) if not request.Test()})
            if not missing:
                return
            told = next((r for r in missing if r in self._notices), None)
            if told is not None:
                raise self._give_up(f"{doing}: rank {told} is waited for, which {self._notices[told]}", requests)
            if waited > self.timeout:
                raise self._give_up(
                    f"{doing}: {ranks(missing)} did not come within {self.timeout:g} s. All ranks must make the same "
                    f"calls of the kvstore in the same order; {environment.TIMEOUT} or store.timeout, in seconds, "
                    "says how long to wait",
                    requests,
                )
            time.sleep(min(waited / 100, 0.002))

    def check(self) -> None:
        """MXNetError if ranks have lost each other."""
        if self.broken is not None:
            raise MXNetError(f"this kvstore cannot go on, as an earlier operation failed: {self.broken}")

    def _give_up(self, text: str, requests: list[Any]) -> MXNetError:
        self.broken = text
        self._unfinished_requests += requests
        return MXNetError(text)

    def _failed(self, error: BaseException, doing: str, requests: list[Any]) -> BaseException:
        """What to raise for an error that has left messages on their way."""
        if isinstance(error, self._mpi.Exception):
            return self._give_up(f"{doing}: MPI reports: {error}", requests)
        if self.broken is None:  # from outside, as Ctrl-C is
            self._give_up(f"{doing}: interrupted by {type(error).__name__}", requests)
            self._notify(f"failed in {self.broken}")
        return error

    # ------------------------------------------------------------ failures and ends

    @contextlib.contextmanager
    def report_failures(self, doing: str) -> Iterator[None]:
        """Report an error in this block to the other ranks, which could not know of it, and raise it."""
        try:
            yield
        except BaseException as error:
            if self.broken is None:
                self.broken = f"{doing}: {type(error).__name__}: {error}"
                self._notify(f"failed in {self.broken}")
            raise

    def _notify(self, text: str) -> None:
        if self._comm == self._mpi.COMM_WORLD:  # there is none of our own yet
            return
        content = np.frombuffer(text.encode()[:4000], np.uint8)
        self._unfinished_requests += [self._comm.Isend(self.message(content), r, _NOTICE) for r in self.others]

    def _read_notices(self) -> None:
        """Receive the notices of ranks that failed or left their script."""
        status = self._mpi.Status()
        for rank in self.others if self._comm != self._mpi.COMM_WORLD else ():
            if rank not in self._notices and self._comm.Iprobe(rank, _NOTICE, status):
                content = np.empty(status.Get_count(), np.uint8)
                self._comm.Recv(self.message(content), rank, _NOTICE)
                self._notices[rank] = content.tobytes().decode(errors="replace")

    def _install_exit_hooks(self) -> None:
        """Let an uncaught exception abort the job, and tell the other ranks when the script ends."""
        sys.excepthook = functools.partial(self._abort_with, sys.excepthook)
        atexit.register(self._leave)

    def _abort_with(
        self,
        before: Callable[..., Any],
        kind: type[BaseException],
        error: BaseException,
        where: TracebackType | None,
    ) -> None:
        if os.getpid() != self._pid:  # a child of this process
            before(kind, error, where)
            return
        text = "".join(traceback.format_exception(kind, error, where))
        self._abort("".join(f"[rank {self.rank}] {line}\n" for line in text.splitlines()))

    def _abort(self, text: str) -> None:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(Exception):
            sys.stderr.write(text)
            sys.stderr.flush()
        time.sleep(_ABORT_DELAY_SECONDS)
        self._mpi.COMM_WORLD.Abort(1)
        os._exit(1)  # Abort can return

    def _leave(self) -> None:
        """At the end of the script. MPI then waits for the other ranks to end theirs."""
        if os.getpid() != self._pid or self._mpi.Is_finalized():
            return
        if self.broken is not None:  # MPI would wait for what will never come
            self._abort(
                f"[rank {self.rank}] the job is aborted, as an operation of its kvstore failed: {self.broken}\n"
            )
        self._notify("has left its script")


@functools.cache
def world() -> World:
    """The ranks of this job, of which all must ask for it: `mpiexec -n 4 python train.py` has four, a process alone
    is rank 0 of 1.

    Sets the default number of threads to this rank's share of the CPUs. With several ranks, an exception that nothing
    catches is printed with its rank and ends the job from then on.
    """
    return World()


def ranks(numbers: Sequence[int]) -> str:
    """Ranks in words."""
    *first, last = map(str, numbers)
    return f"ranks {', '.join(first)} and {last}" if first else f"rank {last}"
