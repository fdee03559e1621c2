"""The number of CPUs that this process may use, by its affinity and by the quotas of its control groups.

A container's quota is time, and not cores. Threads beyond it spin until the system stops all of them for the rest of a
period.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def available(root: Path = ROOT) -> int:
    """The CPUs of this process, with quotas rounded up; at least 1. `root` is the root of the file system."""
    return max(1, math.ceil(min(len(numbers()), quota(root))))


def numbers() -> set[int]:
    """The numbers of the CPUs that this process may run on; of all, where the system does not tell."""
    try:
        return os.sched_getaffinity(0)
    except AttributeError:
        return set(range(os.cpu_count() or 1))


def quota(root: Path = ROOT) -> float:
    """The CPUs that the control groups of this process may use: the smallest quota, infinite if none has one."""
    return min((x for folder in _groups(root) for x in _quotas(folder)), default=math.inf)


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the process's CPU control groups and of their parents, for both versions of control groups."""
    paths = {}
    for line in _lines(root / "proc/self/cgroup"):
        controllers, _, path = line.partition(":")[2].partition(":")
        for name in controllers.split(","):  # "" is version 2
            paths[name] = path
    for line in _lines(root / "proc/self/mountinfo"):
        place, _, kind = (part.split() for part in line.partition(" - "))
        version2 = kind[:1] == ["cgroup2"]
        if len(place) < 5 or not (version2 or (kind[:1] == ["cgroup"] and "cpu" in kind[-1].split(","))):
            continue
        top, mount = (_unescaped(x).strip("/") for x in place[3:5])
        path = paths.get("" if version2 else "cpu", "").strip("/")
        # The mount may begin below the root of the hierarchy: then the process does not see what is above.
        inside = path == top or not top or path.startswith(f"{top}/")
        parts = [x for x in path[len(top) :].split("/") if x] if inside and ".." not in path.split("/") else []
        for n in range(len(parts) + 1):
            yield Path(root, mount, *parts[:n])


def _quotas(group: Path) -> Iterator[float]:
    """The quota of one group in CPUs, if it has one."""
    both = " ".join(_lines(group / "cpu.max"))  # "max 100000" or "150000 100000", in microseconds
    if not both:
        both = " ".join(line for name in ("quota", "period") for line in _lines(group / f"cpu.cfs_{name}_us"))
    with contextlib.suppress(ValueError):  # "max"
        limit, period = map(int, both.split())
        if limit > 0 and period > 0:
            yield limit / period


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []


def _unescaped(text: str) -> str:
    """A path of mountinfo, which has spaces and the like as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
