"""The floating-point mode of kernels, which a kernel sets on entry and restores before it returns."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm_types import PTR
from optgen.backends.target import control_register

VOID = ll.VoidType()


class FloatMode:
    """The control register of a triple: MXCSR on x86, FPCR on 64-bit Arm; nothing is set on others."""

    def __init__(self, module: ll.Module, triple: str) -> None:
        self._module = module
        self._register = control_register(triple)

    @property
    def can_flush(self) -> bool:
        return self._register is not None and self._register.flushing is not None

    def set(self, b: ll.IRBuilder, *, flushing: bool = False) -> Any:
        """Set the mode of kernels, or the flushing one, whatever the caller's thread has; returns what `restore`
        needs."""
        register = self._register
        if register is None:
            return None
        word, value = ll.IntType(register.bits), register.flushing if flushing else register.value
        if not register.by_address:
            before = b.call(self._intrinsic(register.read, word, []), [])
            b.call(self._intrinsic(register.write, VOID, [word]), [word(value)])
            return before
        saved, ours = b.alloca(word), b.alloca(word)
        b.store(word(value), ours)
        b.call(self._intrinsic(register.read, VOID, [PTR]), [saved])
        b.call(self._intrinsic(register.write, VOID, [PTR]), [ours])
        return saved

    def restore(self, b: ll.IRBuilder, saved: Any) -> None:
        if self._register is not None:
            b.call(self._intrinsic(self._register.write, VOID, [saved.type]), [saved])

    def _intrinsic(self, name: str, result: Any, parameters: list[Any]) -> Any:
        return self._module.declare_intrinsic(name, (), ll.FunctionType(result, parameters))
