"""The floating-point mode of kernels, which a kernel sets on entry and restores before it returns."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import I32, I64, PTR
from optgen.backends.target import FPCR, MXCSR, is_arm, is_x86

VOID = ll.VoidType()


class FloatMode:
    """The control register of a triple: MXCSR on x86, FPCR on 64-bit Arm; nothing is set on others."""

    def __init__(self, module: ll.Module, triple: str) -> None:
        self.module = module
        self.x86, self.arm = is_x86(triple), is_arm(triple)

    def set(self, b: ll.IRBuilder) -> Any:
        """Set the mode of kernels, whatever the caller's thread has; returns what `restore` needs."""
        if self.arm:
            before = b.call(self._fpcr("get", I64, []), [])
            b.call(self._fpcr("set", VOID, [I64]), [I64(FPCR)])
            return before
        if not self.x86:
            return None
        saved, ours = b.alloca(I32), b.alloca(I32)
        b.store(I32(MXCSR), ours)
        b.call(self._mxcsr("stmxcsr"), [saved])
        b.call(self._mxcsr("ldmxcsr"), [ours])
        return saved

    def restore(self, b: ll.IRBuilder, saved: Any) -> None:
        if self.arm:
            b.call(self._fpcr("set", VOID, [I64]), [saved])
        elif self.x86:
            b.call(self._mxcsr("ldmxcsr"), [saved])

    def _mxcsr(self, which: str) -> Any:
        return self.module.declare_intrinsic(f"llvm.x86.sse.{which}", (), ll.FunctionType(VOID, [PTR]))

    def _fpcr(self, which: str, result: Any, parameters: list[Any]) -> Any:
        return self.module.declare_intrinsic(f"llvm.aarch64.{which}.fpcr", (), ll.FunctionType(result, parameters))
