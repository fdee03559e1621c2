"""The floating-point mode of the calling thread, on x86-64, and code for 64-bit Arm, where none runs."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest

from optgen.backends import target
from optgen.backends.target import CpuTarget
from optgen.objectcode import link

_EXCHANGE = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define i32 @exchange_mxcsr(i32 %new) {
  %cell = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %cell)
  %old = load i32, ptr %cell
  store i32 %new, ptr %cell
  call void @llvm.x86.sse.ldmxcsr(ptr %cell)
  ret i32 %old
}
"""
FLUSH_DOWNWARD = 0x1F80 | 0x8000 | 0x0040 | 0x2000
"""Flush to zero, denormals are zero, round down."""
x86_only = pytest.mark.skipif(not target.host().triple.startswith("x86_64"), reason="is about x86-64")

ARM = CpuTarget("aarch64-unknown-linux-gnu", "generic", "+neon")


@functools.cache
def exchange_mxcsr() -> Callable[[int], int]:
    """A function that sets MXCSR and returns what it was."""
    code = target.compile_ir(_EXCHANGE, target.host()).object
    return ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(link.link(code, "exchange_mxcsr")["exchange_mxcsr"])


def arm_functions(text: str) -> dict[str, list[str]]:
    """The instructions of each function of LLVM IR text, compiled for Arm, as `mrs x21, FPCR`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found: dict[str, list[str]] = {}
    for line in target.compile_ir(text, ARM).assembly.splitlines():
        if (label := re.match(r"([\w.]+):", line)) and not label[1].startswith("."):
            found[label[1]] = []
        elif found and re.match(r"\t\w", line):
            list(found.values())[-1].append(" ".join(line.split("//")[0].split()))
    return found
