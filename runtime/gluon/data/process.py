"""A worker process of a DataLoader, on both sides: what starts and asks it, and what runs in it.

A worker ends when it is let go of, and with the process that started it: the latter holds the writing end of a pipe,
`_life`, which the system closes when it ends in whichever way, and each worker has a thread that waits for this. (The
signal that Linux sends for a parent's death is that of the thread that forked, which may end long before the process.)
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import threading
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from runtime import random as mx_random
from runtime.base import MXNetError
from runtime.context import Context, cpu
from runtime.gluon.data.transfer import Batch, receive, received, send, send_batch, send_error

Make = Callable[[list[Any]], Any]
"""Makes the batch of a list of sample numbers."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that a worker has handlers of its own for."""


class WorkerEnded(MXNetError):
    """A worker process that ended before its batch was made."""


class Process:
    """A process that makes batches, one at a time, each asked for by one thread."""

    def __init__(self, make: Make) -> None:
        """Start it, as `multiprocessing` is set to. MXNetError if what must be pickled for this cannot be."""
        global _life
        with _starting:  # so that no other worker has this one's end of the socket
            _life = _life or multiprocessing.Pipe(duplex=False)
            self._link, link = socket.socketpair()
            # What is left of daemons is ended when the program ends.
            self._process = multiprocessing.Process(target=_work, args=(link, _life[0], make), daemon=True)
            _processes.add(self)
            with link:
                self._start()

    def _start(self) -> None:
        method = multiprocessing.get_start_method()
        # Until the worker has handlers of its own. A server that forks would keep the mask, for others too.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS if method != "forkserver" else ())
        try:
            self._process.start()
        except Exception as error:
            self._link.close()
            if method == "fork":
                raise
            raise MXNetError(
                f"DataLoader: data set and batchify_fn are pickled for processes that are started by '{method}', and "
                f"cannot be: {error}. Define functions and classes at the top of a module, make locks and open files "
                "where they are first used, or have threads, thread_pool=True"
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def make(self, seed: int, number: int, samples: list[Any]) -> Batch:
        """Batch `number`; an error of the worker is raised here, WorkerEnded if there is no answer."""
        job = ForkingPickler.dumps((seed, number, samples))
        try:
            send(self._link, job)
            answer = receive(self._link)
        except (EOFError, OSError):
            raise WorkerEnded(f"DataLoader: a worker ended before its batch was made {self._end()}") from None
        return received(*answer)

    def _end(self) -> str:
        """How the process ended."""
        self._process.join()
        code = self._process.exitcode
        if code == -signal.SIGKILL:
            return "(out of memory?): it was killed"
        return f"(status {code}; what it wrote to the standard error may say more)"

    def close(self) -> None:
        """Let go of the process, which ends as soon as it is done with its batch, and wait until it has ended."""
        with contextlib.suppress(OSError), self._link:  # it has ended already
            self._link.shutdown(socket.SHUT_RDWR)  # for closing is not enough: forked processes may have copies
        self._process.join()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()


# ---------------------------------------------------------------- processes that are forked

_starting = threading.Lock()
_life: tuple[Connection, Connection] | None = None
_processes: weakref.WeakSet[Process] = weakref.WeakSet()


def _forked() -> None:
    """Close, in a forked child, the parent's ends of its sockets and of its pipe: workers see them closed only once no
    process has them open."""
    global _starting, _life
    for process in _processes:
        process._link.close()
        # Else multiprocessing would end the worker when this process exits, though its parent still uses it.
        multiprocessing.process._children.discard(process._process)
    if _life is not None:
        _life[1].close()
    _starting, _life = threading.Lock(), None
    _processes.clear()


os.register_at_fork(after_in_child=_forked)

# ---------------------------------------------------------------- in a worker process


def _work(link: socket.socket, life: Connection, make: Make) -> None:
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    multiprocessing.current_process().daemon = False  # a data set may have workers of its own
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # not as the training process, which may save its work
    signal.signal(signal.SIGINT, _ignore)  # Ctrl-C goes to all processes; what is to be done is for the first to say
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    Context.default_ctx = cpu()  # whatever it is where the process was forked, as CUDA does not work in forked ones
    try:
        while True:
            job, _ = receive(link)
            _answer(link, make, *ForkingPickler.loads(job))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # it is let go of


def _end_with(life: Connection) -> None:
    life.poll(None)
    os._exit(1)


def _ignore(*_: Any) -> None:
    """Unlike SIG_IGN, this is not handed on to programs that the worker starts."""


def _answer(link: socket.socket, make: Make, seed: int, number: int, samples: list[Any]) -> None:
    """Send batch number `number`; what is drawn for it follows from that and the seed alone."""
    drawn = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
    random.seed(drawn)
    np.random.seed(drawn)
    mx_random.seed(drawn)
    try:
        send_batch(link, make(samples))
    except BaseException as error:
        send_error(link, error)
