"""Rank 1 of a job fails, in the way that is named in the arguments."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time

how = sys.argv[1]
rank = int(os.environ["PMI_RANK"])
if how == "never starts MPI" and rank == 1:
    time.sleep(600)

if how == "never creates the store" and rank == 1:
    from mpi4py import MPI  # noqa: F401

    time.sleep(600)

import runtime as mx  # noqa: E402
from runtime import nd  # noqa: E402

store = mx.kv.create("dist_sync")
store.init([0, 1], [nd.zeros(10000), nd.zeros(10000)])
if rank == 1:
    match how:
        case "raises":
            raise ValueError("something of my own")
        case "ends with a status":
            sys.exit(3)
        case "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs":
            time.sleep(600)
        case "is interrupted":
            threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
            with contextlib.suppress(KeyboardInterrupt):
                store.barrier()
            time.sleep(600)  # a script that goes on all the same
if how == "is interrupted":
    time.sleep(0.5)


def update(key: int, pushed: nd.NDArray, value: nd.NDArray) -> None:
    if rank == 1 and how == "fails in the update":
        raise ValueError("something of my own")


if how == "hangs":
    store.timeout = 1
store.set_updater(update)
store.push([0, 1], [nd.ones(10000)] * 2)
try:
    store.barrier()
except (ValueError, RuntimeError):
    if how != "fails in the update" or rank == 0:
        raise
    time.sleep(600)  # a script that goes on all the same
