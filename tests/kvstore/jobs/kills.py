"""Kill servers and workers of a run of the launcher at random: `kills.py FOLDER COUNT SEED`.

A server is spared until its shard has two copies again. At the end every push counts once.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from runtime.kvstore.servers import ray_setup

WORKERS, SHARDS = 3, 2
folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
script = Path(__file__).with_name("kills_worker.py")


def variables(pid: int) -> dict[str, str]:
    try:
        content = Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return {}
    return dict(x.split("=", 1) for x in content.split("\0") if "=" in x)


def workers() -> dict[int, dict[str, str]]:
    """The processes of the script, and their environment."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(script) in words and os.fsencode(folder) in words and b"runtime.launch" not in words:
            of = variables(int(place.name))
            if "RUNTIME_RANK" in of:
                found[int(place.name)] = of
    return found


def servers(ray: Any) -> list[int]:
    """Processes of servers that can be killed: of shards that have two copies."""
    found = []
    for entry in ray.util.list_named_actors(all_namespaces=True):
        if not re.match("kvstore server", entry["name"]):
            continue
        try:
            view = ray.get(ray.get_actor(**entry).view.remote(), timeout=5)
        except (ValueError, ray.exceptions.RayError):
            continue
        if view["role"] == "primary" and view["copies"] == 2:
            found.append(entry["name"].split(".")[0])
    pids = []
    for entry in ray.util.list_named_actors(all_namespaces=True):
        if entry["name"].split(".")[0] in found:
            try:
                pids.append(ray.get(ray.get_actor(**entry).view.remote(), timeout=5)["pid"])
            except (ValueError, ray.exceptions.RayError):
                continue
    return pids


def pushes() -> list[int]:
    """The last acknowledged number of each worker."""
    files = [folder / f"acknowledged{r}" for r in range(WORKERS)]
    return [int(f.read_text().split("\n")[-2]) if f.exists() and f.stat().st_size else 0 for f in files]


def until(condition: Any, what: str, seconds: float = 90) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert launcher.poll() is None, f"the launcher ended with {launcher.returncode}"
        assert time.monotonic() < deadline, f"{what} took more than {seconds} s"
        time.sleep(0.02)
    return found


mark = ["--env", "STARTED_BY_TEST"] if "STARTED_BY_TEST" in os.environ else []  # by which tests find all processes
options = [*mark, "-n", WORKERS, "-s", SHARDS, "--max-restarts", 1000]
launcher = subprocess.Popen([sys.executable, "-m", "runtime.launch", *map(str, [*options, script, folder])])
chance, killed = random.Random(seed), {"server": 0, "worker": 0}
run = next(iter(until(lambda: {pid: of for pid, of in workers().items() if "RUNTIME_RAY_ADDRESS" in of}, "a worker")))
of = variables(run)
os.environ |= {name: value for name, value in of.items() if name.startswith("RAY_")}
ray = ray_setup.connect(of["RUNTIME_RAY_ADDRESS"], of["RUNTIME_RUN"])
until(lambda: all(pushes()), "the first pushes")
for number in range(count):
    kind = "worker" if number % 2 else "server"
    pid = chance.choice(until(lambda of=kind: servers(ray) if of == "server" else list(workers()), f"a {kind}"))
    os.kill(pid, signal.SIGKILL)
    killed[kind] += 1
    time.sleep(chance.random() * 0.5)
before = pushes()
until(lambda: all(b > a for a, b in zip(before, pushes(), strict=True)), "a push after the last kill")
until(lambda: sum(pushes()) > 200, "to come near the line")
ray.shutdown()  # before the launcher's Ray ends, which would be waited for
(folder / "stop").touch()
assert launcher.wait(120) == 0
last, end = pushes(), np.load(folder / "end.npz")
for rank in range(WORKERS):
    counter, made = end[f"counter{rank}"], int((folder / f"end{rank}").read_text())
    assert counter.min() == counter.max() == made >= last[rank], (rank, counter.min(), counter.max(), made, last)
distance = float(np.abs(end["weight"] - end["true"]).max())
assert distance < 1e-3, distance
print(f"killed {killed}; pushes {last}, each applied once; the weights are {distance:.1e} from the line's")
