"""A description of the machine and the software, so that a result can be told from another machine's."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGES = ("optgen", "numpy", "llvmlite", "torch", "deepspeed", "jax", "optax")


def describe(threads: int, packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """CPU, caches, memory, versions, and the load at the moment: another busy program spoils a measurement."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": threads,
        "caches": _caches(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: version for name in packages if (version := _version(name))},
        "load": round(os.getloadavg()[0], 2),
    }


def text(machine: dict[str, Any]) -> str:
    """The description in three lines."""
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads used\n"
        f"{caches}; {machine['memory_gib']} GiB; load {machine['load']} at the start\n"
        f"{machine['system']}, Python {machine['python']}, {packages}"
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                avx512 = " with AVX-512" if "avx512f" in info.read_text() else ""
                return line.partition(":")[2].strip() + avx512
    return platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    """Size of each cache that the first CPU sees: `{"L1d": "32K", ...}`."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except FileNotFoundError:  # a virtual machine may say less
            continue
        if kind != "Instruction":
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = size
    return found


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
