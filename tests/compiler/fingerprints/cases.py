"""The variants of specs that have fingerprints."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import optgen
from optgen import pipeline, specfiles
from optgen.backends.target import CpuTarget
from optgen.diagnostics import Source
from optgen.ir import Kernel, Variant
from optgen.model import Flags, Optimizer, flags_text
from tests.floats import ARM

_AVX512 = "+avx2,+avx512bw,+avx512f,+avx512vbmi,+avx512vl,+fma"
MACHINES = {
    "avx2": CpuTarget("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2,+fma"),
    "avx512": CpuTarget("x86_64-unknown-linux-gnu", "icelake-server", _AVX512),
    "arm": ARM,
}
"""CPUs by name, with those features that lowering asks for: texts for them are the same on every machine."""
FORMS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("avx2", {"dtype": "float64"}, {}),
    ("avx512", {"dtype": "bfloat16", "master": True, "storage": "bfloat16_stochastic"}, {}),
    ("avx512", {"storage": "int8_dynamic"}, {}),
    ("arm", {"dtype": "float16", "storage": "int8_linear"}, {"by_row": True}),
    ("avx2", {"dtype": "bfloat16", "storage": "int4_dynamic", "scales_gradient": True}, {"gradients": 2}),
    ("avx512", {}, {"boxes": True}),
    ("avx2", {}, {"donated": True}),
)
"""Every dtype, storages of every size, and every other way in which kernels are built: a CPU that they are lowered for,
how the spec is loaded, and how the variant is chosen."""
MATRIX = (768, 3072)
"""The parameter of default variants."""
MOST = 16
"""Combinations of flags. Of a spec with more, those are taken in which a flag has a value for the first time."""


@dataclass(frozen=True)
class Case:
    """A variant of a spec, and the CPUs that it is lowered for: all of them, if it is the default one."""

    spec: str
    variant: Variant
    machines: tuple[str, ...]

    @property
    def is_default(self) -> bool:
        return len(self.machines) == len(MACHINES)

    @property
    def is_staged(self) -> bool:
        """Whether it is several kernels with calls between them."""
        return not self.variant.evaluate and read(self.spec).is_staged(self.variant.flags)

    @functools.cached_property
    def planned(self) -> Kernel:
        """The planned kernel of a variant that is one."""
        return pipeline.plan(pipeline.build(read(self.spec), self.variant))

    def __str__(self) -> str:
        """`adam | amsgrad=false bfloat16 master`."""
        v = self.variant
        words = [*[flags_text(v.flags)] * bool(v.flags), v.dtype, *dict.fromkeys(v.storage.values())]
        for name in ("master", "evaluate", "scaled", "by_row", "boxes", "donated"):
            words += [name] * getattr(v, name)
        return f"{self.spec} | {' '.join([*words, *[f'sum{v.gradients}'] * (v.gradients > 1)])}"


def all_specs() -> tuple[str, ...]:
    """The specs that come with optgen, and sgd with each of the transforms."""
    return (*specfiles.all_available(), *(f"sgd with {name}" for name in specfiles.transforms()))


@functools.cache
def read(spec: str) -> Optimizer:
    """A spec by its name, which may have transforms."""
    if pipeline.is_chain(spec):
        return pipeline.checked(pipeline.chain(spec))
    return pipeline.checked(Source(spec, specfiles.spec_path(spec).read_text(encoding="utf-8")))


def cases(spec: str) -> Iterator[Case]:
    """The variants of a spec: those of all flags in float32, and the default flags in FORMS."""
    optimizer = read(spec)
    plain = optgen.load(optimizer).variant(MATRIX)
    default, every = default_flags(optimizer, plain.flags), list(optimizer.variants())
    yield Case(spec, replace(plain, flags=default), tuple(MACHINES))
    for flags in every if len(every) <= MOST else covering(every):
        if flags != default:
            yield Case(spec, replace(plain, flags=flags), ("avx512",))
        if optimizer.evaluate:
            yield Case(spec, replace(plain, flags=flags, evaluate=True), ("avx512",))
    for machine, loaded, chosen in FORMS:
        if optimizer.is_staged(default) and chosen.keys() & {"boxes", "donated"}:
            continue  # which are for one kernel
        variant = replace(optgen.load(optimizer, **loaded).variant(MATRIX, **chosen), flags=default)
        if variant != replace(plain, flags=default):  # as without states that could be stored otherwise
            yield Case(spec, variant, (machine,))


def default_flags(optimizer: Optimizer, chosen: Flags) -> Flags:
    """The combination with these values, in the first phase."""
    return next(x for x in optimizer.variants() if all(chosen.get(name, value) == value for name, value in x.items()))


def covering(every: list[Flags]) -> Iterator[Flags]:
    """The combinations in which a flag has a value for the first time."""
    seen = set[tuple[str, Any]]()
    for flags in every:
        if not flags.items() <= seen:
            yield flags
        seen |= flags.items()
