"""The parent of a worker's script, which sees to it that no script outlives its worker.

`python guard.py SECONDS DESCRIPTOR COMMAND...` starts the command in a process group of its own. When it ends, what is
left of the group is killed, and its status, as of `subprocess`, is written to the file descriptor. A byte on standard
input asks for the end: SIGTERM to the group, and SIGKILL after so many seconds. The end of standard input is that of
the worker: SIGKILL at once, for another may have its rank by now. Should the guard itself be killed, the kernel kills
the script.

It is run by its path and imports little: each worker has one for as long as it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main() -> None:
    grace, descriptor, *command = sys.argv[1:]
    if os.fork():
        os._exit(0)  # a dying process of Ray kills its children, and so must not be the guard's parent
    os.setpgrp()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # Ray's processes block SIGINT, and children inherit that
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # of Linux; elsewhere a guard that is killed leaves the script
    script = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=prctl and (lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)),
    )
    threading.Thread(target=_watch, args=(script.pid, float(grace)), daemon=True).start()
    status = script.wait()
    _signal(script.pid, signal.SIGKILL)
    with contextlib.suppress(BrokenPipeError):  # the worker is gone, too
        os.write(int(descriptor), str(status).encode())


def _watch(group: int, grace: float) -> None:
    if os.read(0, 1):
        _signal(group, signal.SIGTERM)
        time.sleep(grace)
    _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    main()
