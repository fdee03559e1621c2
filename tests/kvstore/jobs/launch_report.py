"""A script for the launcher: says what it was given, and trains a value on servers with a class of this folder.

Then rank 1 fails as it is told by the arguments, one for each attempt, and the others wait.
"""

import json
import os
import signal
import sys
import time
from types import FrameType

from launch_half import Half

import runtime as mx


def asked(number: int, frame: FrameType | None) -> None:
    print("\nasked to end\nno end of line", end="")
    sys.exit(0)


def fail(attempt: int) -> None:
    what = int(sys.argv[1 + attempt])
    os.kill(os.getpid(), -what) if what < 0 else os._exit(what)


signal.signal(signal.SIGTERM, asked)
print("to stderr", file=sys.stderr)
attempt = int(os.environ["RUNTIME_ATTEMPT"])
if attempt:
    print("attempt", attempt)
    sys.stdout.write("no end of line")
    fail(attempt)
kv = mx.kv.create("dist_async")
kv.init("w", mx.nd.ones(3))
kv.set_optimizer(Half())
kv.push("w", mx.nd.ones(3))
kv.barrier()
out = mx.nd.zeros(3)
kv.pull("w", out=out)
report = {
    "name": __name__,
    "argv": sys.argv,
    "folder": os.getcwd(),
    "rank": kv.rank,
    "num_workers": kv.num_workers,
    "value": out.asnumpy().tolist(),
    "environment": dict(os.environ),
}
print("report", json.dumps(report))
for i in range(300):
    sys.stdout.write(f"row {i} ")
    sys.stdout.write("x" * 50 + "\n")
sys.stdout.write("no end of line")
if kv.rank == 1:
    fail(0)
time.sleep(600)
