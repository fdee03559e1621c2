"""A script for the launcher: rank 1 fails as it is told by the arguments, one for each attempt; all others wait."""

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
if rank == 1 and attempt < len(sys.argv) - 1:
    print("trouble ahead", file=sys.stderr)
    sys.stdout.write("cut off")
    sys.stdout.flush()
    what = int(sys.argv[1 + attempt])
    os.kill(os.getpid(), -what) if what < 0 else os._exit(what)
time.sleep(600)
