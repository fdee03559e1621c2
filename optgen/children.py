"""Processes that work for the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


def begin() -> None:
    """Let this process ignore Ctrl-C, and end with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
