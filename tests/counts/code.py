"""What the compiler makes of a dozen variants: lines of LLVM IR, and instructions before and after LLVM's passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm

import optgen
from optgen import pipeline
from optgen.backends import target
from optgen.backends.target import CpuTarget

AVX2 = CpuTarget("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt")
AVX512 = CpuTarget(AVX2.triple, "skylake-avx512", f"{AVX2.features},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl")
ARM = CpuTarget("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+fp-armv8")
"""Named CPUs: the counts do not depend on the one that counts."""
SHAPE = (768, 768)

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd, momentum": ("sgd", {"momentum": 0.9}),
    "adam": ("adam", {}),
    "adam, amsgrad": ("adam", {"amsgrad": True}),
    "adam, float64": ("adam", {"dtype": "float64"}),
    "adam, bfloat16, master": ("adam", {"dtype": "bfloat16", "master": True}),
    "adam, int8_dynamic": ("adam", {"storage": "int8_dynamic"}),
    "adam, int4_dynamic": ("adam", {"storage": "int4_dynamic"}),
    "lamb": ("lamb", {}),
    "lion": ("lion", {}),
    "adafactor": ("adafactor", {}),
    "prodigy": ("prodigy", {}),
    "torch/adamw": ("torch/adamw", {}),
}
"""Specs and the arguments of `optgen.load`: elementwise ones, reductions over tensors, rows, columns and parameters,
and every kind of storage."""


def rows() -> Iterator[tuple[str, dict[str, int]]]:
    """Every variant for one CPU, and one of them for the others."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for name in VARIANTS:
        yield f"{name}, AVX2", counts(name, AVX2)
    yield "adam, AVX-512", counts("adam", AVX512)
    yield "adam, Arm", counts("adam", ARM)


def counts(name: str, machine: CpuTarget) -> dict[str, int]:
    spec, arguments = VARIANTS[name]
    rule = optgen.load(spec, **arguments)
    kernel = pipeline.plan(pipeline.build(rule.spec, rule.variant(SHAPE, {})))
    text = pipeline.lower(kernel, "step", machine)
    optimized = target.compile_ir(text, machine).llvm
    return {"lines": text.count("\n"), "instructions": instructions(text), "optimized": instructions(optimized)}


def instructions(text: str) -> int:
    """The instructions of all functions of a module."""
    functions = llvm.parse_assembly(text).functions
    return sum(1 for function in functions for block in function.blocks for _ in block.instructions)


if __name__ == "__main__":
    print(json.dumps(dict(rows())))
