"""Two workers of two shards, of which each has two server processes, which are killed while the workers push."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import runtime as mx
from runtime.kvstore.servers import ray_setup
from runtime.kvstore.servers.client import ServerStore
from runtime.kvstore.servers.connection import ServerConnection
from runtime.kvstore.servers.service import Service, name_of

SHAPES = {"w": (300_000,), "v": (3, 5), "u": (7,)}
KILLS = ("primary", "replica")


def pids(shard: int) -> dict[str, int]:
    """The processes of a shard by role."""
    found = {}
    for name in ray.util.list_named_actors(all_namespaces=True):
        if name["name"].startswith(name_of(shard, "")):
            with contextlib.suppress(ValueError, ray.exceptions.RayError):  # it dies
                view = ray.get(ray.get_actor(**name).view.remote())
                found[view["role"]] = view["pid"]
    return found


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def both(work: Callable[[ServerStore], None]) -> None:
    """What both workers do at once."""
    failed = []

    def run(store: ServerStore) -> None:
        try:
            work(store)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def check(pushes: int) -> None:
    """Every push has counted once, on every element."""
    out = [mx.nd.zeros(shape) for shape in SHAPES.values()]
    for store in stores:
        store.pull(list(SHAPES), out=out)
        for array in out:
            assert array.asnumpy().min() == array.asnumpy().max() == pushes, (pushes, array)


def begin(store: ServerStore) -> None:
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1, rescale_grad=-1))
    store.init(list(SHAPES), [mx.nd.zeros(shape) for shape in SHAPES.values()])
    store.barrier()


def push_all(store: ServerStore) -> None:
    store.push(list(SHAPES), ones)


def listening() -> list[str]:
    """The local addresses of the sockets that processes of this session listen on, as hexadecimal numbers."""
    session = os.getsid(0)
    inodes = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session:
                links = [os.readlink(fd) for fd in (place / "fd").iterdir()]
                inodes |= {inode for link in links for inode in re.findall(r"socket:\[(\d+)\]", link)}
        except OSError:
            continue  # it ended meanwhile
    rows = [
        row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/net/{table}").read_text().split("\n")[1:-1]
    ]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes]


def killed_while_pushing() -> int:
    """Kill servers while workers push; how many pushes there were."""
    chance, stopping, counts = random.Random(5), threading.Event(), [0, 0]

    def work(store: ServerStore) -> None:
        while not stopping.is_set():
            push_all(store)
            counts[store.rank] += 1

    def kill() -> None:
        for shard, role in enumerate(KILLS):
            until(lambda: service.copies() == [2, 2])
            os.kill(pids(shard)[role], signal.SIGKILL)
            until(lambda of=shard: service.copies()[of] < 2)
            time.sleep(chance.random() * 0.2)
        until(lambda: service.copies() == [2, 2])
        stopping.set()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    both(work)
    assert [store.acknowledged for store in stores] == [count + 10 for count in counts]
    return sum(counts)


def slow_primary() -> None:
    """A primary that was replaced while it was stopped acknowledges nothing alone, and ends."""
    old = pids(0)["primary"]
    os.kill(old, signal.SIGSTOP)
    keeper = service._supervisors[0]
    pushing = threading.Thread(target=both, args=(push_all,))
    pushing.start()
    time.sleep(0.2)
    assert keeper._tell(keeper._replica, "become_primary", keeper._next_epoch())
    os.kill(old, signal.SIGCONT)
    pushing.join(20)
    assert not pushing.is_alive()
    until(lambda: old not in (now := pids(0)).values() and len(now) == 2 and service.copies() == [2, 2])


ray = ray_setup.connect(None, "test")
service = Service(2, 2)
service.start()
addresses = listening()
assert addresses
assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}, addresses
stores = [ServerStore("dist_async", ServerConnection("test", 2, rank), rank, 2) for rank in (0, 1)]
ones = [mx.nd.ones(shape) for shape in SHAPES.values()]

both(begin)
both(lambda store: [push_all(store) for _ in range(10)])
check(20)
pushes = 20 + killed_while_pushing()
check(pushes)
slow_primary()
check(pushes + 2)
os.kill(pids(1)["primary"], signal.SIGKILL)  # between pushes
both(push_all)
check(pushes + 4)
until(lambda: service.copies() == [2, 2])

# One, and the other before there is a new one, which must not lead with nothing.
os.kill(pids(0)["replica"], signal.SIGKILL)
until(lambda: service.copies() == [1, 2])
os.kill(pids(0)["primary"], signal.SIGKILL)
try:
    push_all(stores[0])
    raise AssertionError("what is lost cannot be pushed to")
except mx.MXNetError as error:
    assert "server 0 is lost" in str(error), error
assert service.copies() == [0, 2]
service.stop()
ray.shutdown()
try:
    push_all(stores[1])
    raise AssertionError("Ray was started again")
except mx.MXNetError as error:
    assert "Ray was shut down" in str(error), error
print("pushes:", pushes)
