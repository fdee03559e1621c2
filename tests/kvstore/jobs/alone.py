"""A store without the launcher, until a signal comes."""

from __future__ import annotations

import time

import runtime as mx

kv = mx.kvstore.create("dist_async")
assert (kv.type, kv.rank, kv.num_workers, kv.is_capable("optimizer")) == ("dist_async", 0, 1, True)
kv.init("w", mx.nd.ones(3))
kv.push("w", mx.nd.ones(3) * 4)
out = mx.nd.zeros(3)
kv.pull("w", out=out)
assert out.asnumpy().tolist() == [4, 4, 4]
other = mx.kvstore.create("dist_device_async")
other.broadcast("w", mx.nd.ones(2), out=mx.nd.zeros(2))
other.close()
kv.barrier()
print("ready", flush=True)
while True:
    time.sleep(0.1)  # Python sees a signal between two sleeps, though a thread of Ray was given it
