"""The CPUs that the kernels of a library are made for, and what tells whether one is there."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from optgen.backends import target
from optgen.backends.target import CpuTarget

_LEVEL_2 = ("sse3", "ssse3", "cx16", "sse4.1", "sse4.2", "popcnt", "sahf")
_LEVEL_3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_LEVEL_4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
FEATURES = (*_LEVEL_2, *_LEVEL_3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vbmi")
"""The features that a library looks for, in the order of the bits in `feature_places` of support.c."""
LEVELS = {
    "x86-64": (),
    "x86-64-v2": _LEVEL_2,
    "x86-64-v3": (*_LEVEL_2, *_LEVEL_3),
    "x86-64-v4": (*_LEVEL_2, *_LEVEL_3, *_LEVEL_4),
}
"""The levels of x86-64, from the oldest on, and the features that each has."""
DEFAULT = {"x86_64": "x86-64,x86-64-v3,x86-64-v4", "aarch64": "generic", "arm64": "generic"}


@dataclass(frozen=True)
class LibraryCpu:
    """A CPU that kernels are made for. `mask` are the bits of the features that it must have. `suffix` is what the
    names of its kernels end with."""

    name: str
    target: CpuTarget
    mask: int

    @property
    def suffix(self) -> str:
        return "".join(c if c.isalnum() else "_" for c in self.name)


def cpus(names: str | None) -> list[LibraryCpu]:
    """The CPUs of a list with commas, from that with the fewest features on; all levels of this architecture for None.
    ValueError for a name that is none."""
    text = names or DEFAULT.get(platform.machine(), "native")
    found = [_cpu(name) for name in dict.fromkeys(x.strip() for x in text.split(","))]
    found.sort(key=lambda cpu: cpu.mask.bit_count())
    masks = [cpu.mask for cpu in found]
    for one, other in itertools.pairwise(masks):
        if one & ~other or one == other:
            raise ValueError(
                f"--cpu {text}: a library chooses between CPUs of which each has all that the one before has, and "
                f"more, as {', '.join(LEVELS)}"
            )
    return found


def _cpu(name: str) -> LibraryCpu:
    host = target.host()
    if name in LEVELS and host.triple.startswith("x86_64"):
        features = ",".join(f"+{x}" for x in LEVELS[name])
        return LibraryCpu(name, CpuTarget(host.triple, name, features), _mask(LEVELS[name]))
    if name == "generic" and not host.triple.startswith("x86_64"):
        return LibraryCpu(name, CpuTarget(host.triple, name, ""), 0)
    if name == "native":
        return LibraryCpu(name, host, _mask(host.required()))
    known = (*(LEVELS if host.triple.startswith("x86_64") else ("generic",)), "native")
    raise ValueError(f"--cpu {name}: it is one of {', '.join(known)}")


def _mask(features: Sequence[str]) -> int:
    return sum(1 << k for k, name in enumerate(FEATURES) if name in features)
