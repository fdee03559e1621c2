"""A script for the launcher: says what it was given, and trains a value on servers with a class of this folder."""

import json
import os
import sys

from launch_half import Half

import runtime as mx

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
    "environment": {k: v for k, v in os.environ.items() if k.startswith("RUNTIME_")} | {"GIVEN": os.environ["GIVEN"]},
}
print("report", json.dumps(report))
for i in range(300):
    sys.stdout.write(f"row {i} ")
    sys.stdout.write("x" * 50 + "\n")
print("to stderr", file=sys.stderr)
sys.stdout.write("no end of line")
