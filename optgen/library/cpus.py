"""The CPUs that the kernels of a library are made for, and what tells whether one is there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from optgen.backends import target
from optgen.backends.target import CpuTarget

_LEVEL_2 = ("sse3", "ssse3", "cx16", "sse4.1", "sse4.2", "popcnt", "sahf")
_LEVEL_3 = (*_LEVEL_2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_LEVEL_4 = (*_LEVEL_3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_OF_EVERY_X86 = ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2")


@dataclass(frozen=True)
class Architecture:
    """The CPUs of an architecture, by name, and of the features of each those that kernels may use, beyond what all
    have. `features` are those that a library looks for, in the order of the bits of `cpu_features` in features.c.
    `default` are the CPUs that a library has if none are named."""

    cpus: Mapping[str, tuple[str, ...]]
    features: tuple[str, ...]
    default: str


X86 = Architecture(
    {"x86-64": (), "x86-64-v2": _LEVEL_2, "x86-64-v3": _LEVEL_3, "x86-64-v4": _LEVEL_4},
    (*_LEVEL_4, "avx512vbmi"),
    "x86-64,x86-64-v3,x86-64-v4",
)
ARM = Architecture(
    {
        "generic": (),
        "cortex-a72": (),
        "neoverse-n1": ("fullfp16",),
        "neoverse-v1": ("fullfp16", "sha3"),
        "neoverse-v2": ("fullfp16", "sha3"),
        "apple-m1": ("fullfp16", "sha3"),
    },
    ("fullfp16", "sha3"),
    "generic",
)
"""Kernels have vectors of 128 bits, so SVE is no use to them. Of what came after ARMv8.0, LLVM uses these features: in
kernels of bfloat16, and for random draws."""

WASM = Architecture({"generic": (), "simd128": ("simd128",)}, (), "generic")
"""What a module of WebAssembly has, it has everywhere: one with instructions that are not there is not loaded."""


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


def architecture(triple: str) -> Architecture:
    """That of a triple: x86-64, WebAssembly, or else 64-bit Arm."""
    return X86 if triple.startswith("x86_64") else WASM if triple.startswith("wasm32") else ARM


def cpus(names: str | None, triple: str | None = None) -> list[LibraryCpu]:
    """The CPUs of a list with commas, from that with the fewest features on; for None the usual ones. `triple` is one
    of `systems.TRIPLES`, or None for this system. ValueError for what is none."""
    known = architecture(triple or target.host().triple)
    text = names or known.default
    found = [_cpu(name, triple, known) for name in dict.fromkeys(x.strip() for x in text.split(","))]
    if known is WASM and len(found) > 1:
        raise ValueError(f"--cpu {text}: a module of WebAssembly cannot choose between CPUs; name one")
    found.sort(key=lambda cpu: cpu.mask.bit_count())
    for one, other in itertools.pairwise(cpu.mask for cpu in found):
        if one & ~other or one == other:
            raise ValueError(
                f"--cpu {text}: a library chooses between CPUs of which each has all that the one before has, and "
                f"more, of {', '.join(known.cpus)}"
            )
    return found


def _cpu(name: str, triple: str | None, known: Architecture) -> LibraryCpu:
    host = target.host()
    own = triple or host.triple
    if name == "native" and triple is None:
        there, cpu, tune = tuple(x for x in known.features if x in host.required()), host.cpu, ""
    elif name in known.cpus:
        there, cpu, tune = known.cpus[name], name, ""
    else:
        every = [*known.cpus, *(["native"] if triple is None else [])]
        raise ValueError(f"--cpu {name}: for {own} it is one of {', '.join(every)}")
    if known is WASM:
        cpu = "mvp"  # the first version, as other names have features that LLVM adds to over the years
    if known is ARM and cpu != "generic":  # its name would let LLVM use all that it has
        cpu, tune = "generic", cpu
    features = [f"+{x}" for x in there]
    if name == "native" and known is X86:
        features += [f"{'+' if x in _OF_EVERY_X86 else '-'}{x}" for x in host.required() if x not in there]
    mask = sum(1 << k for k, x in enumerate(known.features) if x in there)
    return LibraryCpu(name, CpuTarget(own, cpu, ",".join(features), tune), mask)
