"""How many CPUs a process may use, from made-up trees of /proc and of control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from optgen.threads import cpus, pool

V2 = "31 23 0:28 {top} {mount} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 {top} {mount} rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct"
OTHERS = (
    "22 1 8:1 / / rw,relatime - ext4 /dev/root rw",
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    "a line that makes no sense",
)


def tree(root: Path, group: str, mounts: str, files: Mapping[str, str]) -> Path:
    """A folder with /proc/self, as the system would show it, and control groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    (root / "proc/self/mountinfo").write_text("\n".join((*OTHERS, mounts)) + "\n")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def v2(path: str, files: Mapping[str, str], top: str = "/") -> tuple[str, str, dict[str, str]]:
    mount = V2.format(top=top, mount="/sys/fs/cgroup")
    return f"0::{path}\n", mount, {f"sys/fs/cgroup/{k}/cpu.max": v for k, v in files.items()}


def v1(path: str, files: Mapping[str, tuple[int, int]], top: str = "/") -> tuple[str, str, dict[str, str]]:
    mount = V1.format(top=top, mount="/sys/fs/cgroup/cpu\\040acct")  # with a space
    found = {}
    for folder, (quota, period) in files.items():
        for name, number in (("quota", quota), ("period", period)):
            found[f"sys/fs/cgroup/cpu acct/{folder}/cpu.cfs_{name}_us"] = f"{number}\n"
    return f"9:memory:/elsewhere\n4:cpu,cpuacct:{path}\n0::/\n", mount, found


TREES = {
    "no quota": (v2("/", {}), math.inf),
    "max": (v2("/a", {"a": "max 100000\n"}), math.inf),
    "a container's own root": (v2("/", {".": "150000 100000\n"}), 1.5),
    "a group": (v2("/user/a b", {"user/a b": "300000 100000\n"}), 3),
    "a group above is tighter": (v2("/a/b/c", {"a": "500 1000", "a/b": "max 1000", "a/b/c": "4000 500"}), 0.5),
    "not another's group": (v2("/a/b", {"c": "1000 1000", "a/bc": "1000 1000", "a/b/c": "100 1000"}), math.inf),
    "part of the tree mounted": (v2("/docker/1/x", {"x": "200000 100000"}, top="/docker/1"), 2),
    "exactly what is mounted": (v2("/docker/1", {".": "200000 100000"}, top="/docker/1"), 2),
    "outside what is mounted": (v2("/../other", {".": "200000 100000", "other": "100 100000"}), 2),
    "a group that is gone": (v2("/a/b", {".": "250000 100000"}), 2.5),
    "senseless": (v2("/a", {"a": "0 0", ".": "x y z"}), math.inf),
    "v1": (v1("/a", {"a": (350_000, 100_000), ".": (-1, 100_000)}), 3.5),
    "v1, above": (v1("/a/b", {"a": (100_000, 100_000), "a/b": (-1, 100_000)}), 1),
    "v1, a container": (v1("/docker/1", {".": (700_000, 100_000)}, top="/docker/1"), 7),
    "v1, none": (v1("/a", {"a": (-1, 100_000)}), math.inf),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), TREES.values(), ids=TREES)
def test_quota(files: tuple[str, str, dict[str, str]], expected: float, tmp_path: Path) -> None:
    assert cpus.quota(tree(tmp_path, *files)) == expected


def test_both_versions_at_once(tmp_path: Path) -> None:
    (_, mount, old), (_, other, new) = v1("/a", {"a": (300_000, 100_000)}), v2("/b", {"b": "200000 100000"})
    new = {k.replace("sys/fs/cgroup", "unified"): v for k, v in new.items()}
    other = other.replace("/sys/fs/cgroup", "/unified")
    assert cpus.quota(tree(tmp_path, "4:cpu:/a\n0::/b\n", f"{mount}\n{other}", {**old, **new})) == 2


def test_without_proc(tmp_path: Path) -> None:
    assert cpus.quota(tmp_path) == math.inf


@pytest.mark.parametrize(
    ("affinity", "quota", "expected"),
    [(8, "1500 1000", 2), (8, "100 1000", 1), (2, "3000 1000", 2), (5, "max 1000", 5), (1, "1001 1000", 1)],
)
def test_threads_by_default(
    affinity: int, quota: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(tmp_path, *v2("/", {".": quota}))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)))
    assert cpus.available(root) == expected
    monkeypatch.setattr(cpus.available, "__defaults__", (root,))
    monkeypatch.delenv("OPTGEN_NUM_THREADS", raising=False)
    assert pool.default_threads() == (expected if pool.supported() else 1)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cpus.available(root) == 1
