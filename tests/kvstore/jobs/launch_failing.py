"""A script for the launcher: it has a child, and waits."""

import os
import signal
import subprocess
import sys
import time


def end(number: int, frame: object) -> None:
    print("asked to end", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
rank, attempt = int(os.environ["RUNTIME_RANK"]), int(os.environ["RUNTIME_ATTEMPT"])
child = subprocess.Popen(["sleep", "600"])
print(f"rank {rank} attempt {attempt} pids {os.getpid()} {child.pid}", flush=True)
time.sleep(600)
