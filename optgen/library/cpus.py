"""The CPUs that the kernels of a library are made for, and what tells whether one is there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from optgen.backends import target
from optgen.backends.target import CpuTarget

_LEVEL_2 = ("sse3", "ssse3", "cx16", "sse4.1", "sse4.2", "popcnt", "sahf")
_LEVEL_3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_LEVEL_4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
FEATURES = (*_LEVEL_2, *_LEVEL_3, *_LEVEL_4, "avx512vbmi")
"""The features that a library looks for, in the order of the bits in `feature_places` of cpu.c."""
LEVELS = {
    "x86-64": (),
    "x86-64-v2": _LEVEL_2,
    "x86-64-v3": (*_LEVEL_2, *_LEVEL_3),
    "x86-64-v4": (*_LEVEL_2, *_LEVEL_3, *_LEVEL_4),
}
"""The levels of x86-64, from the oldest on, and the features that each has."""
ARMS = ("generic", "apple-m1", "cortex-a72", "neoverse-n1", "neoverse-v1", "neoverse-v2")
"""The 64-bit Arms that kernels are made for. A library has those of one, which all later ones of its kind can run."""


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


def cpus(names: str | None, triple: str | None = None) -> list[LibraryCpu]:
    """The CPUs of a list with commas, from that with the fewest features on; for None three levels of x86-64, or a
    generic Arm. `triple` is one of `systems.TRIPLES`, or None for this system. ValueError for what is none."""
    is_x86 = (triple or target.host().triple).startswith("x86_64")
    text = names or ("x86-64,x86-64-v3,x86-64-v4" if is_x86 else "generic")
    found = [_cpu(name, triple, is_x86=is_x86) for name in dict.fromkeys(x.strip() for x in text.split(","))]
    found.sort(key=lambda cpu: cpu.mask.bit_count())
    for one, other in itertools.pairwise(cpu.mask for cpu in found):
        if one & ~other or one == other:
            raise ValueError(
                f"--cpu {text}: a library chooses between CPUs of which each has all that the one before has, and "
                f"more, as {', '.join(LEVELS)}"
            )
    return found


def _cpu(name: str, triple: str | None, *, is_x86: bool) -> LibraryCpu:
    own = triple or target.host().triple
    if name == "native" and triple is None:
        return LibraryCpu(name, _checked(target.host()), _mask(target.host().required()))
    if name in LEVELS and is_x86:
        return LibraryCpu(name, CpuTarget(own, name, ",".join(f"+{x}" for x in LEVELS[name])), _mask(LEVELS[name]))
    if name in ARMS and not is_x86:
        return LibraryCpu(name, CpuTarget(own, name, ""), 0)
    known = [*(LEVELS if is_x86 else ARMS), *(["native"] if triple is None else [])]
    raise ValueError(f"--cpu {name}: for {own} it is one of {', '.join(known)}")


def _checked(host: CpuTarget) -> CpuTarget:
    """This machine without the features that a library does not look for, beyond those of every x86-64."""
    if not host.triple.startswith("x86_64"):
        return host
    kept = {*FEATURES, "64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"}
    return CpuTarget(host.triple, host.cpu, ",".join(f"{'+' if x in kept else '-'}{x}" for x in host.required()))


def _mask(features: Sequence[str]) -> int:
    return sum(1 << k for k, name in enumerate(FEATURES) if name in features)
