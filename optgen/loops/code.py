"""From LLVM IR to addresses, through optgen's compiler, cache and linker."""

from __future__ import annotations

# optgen and llvmlite are imported where they are first needed, so that `import runtime` does not wait for a compiler.


def build(text: str) -> bytes:
    """Object code for this machine, from the cache, where it is kept."""
    from optgen.backends import target
    from optgen.objectcode import cache

    host = target.host()
    name = cache.key("native", text, target.llvm_version(), host.triple, host.cpu, host.features)
    return cache.get(name, lambda: target.compile_ir(text, host).object)


def modes() -> tuple[str, str, str]:
    """IR that sets the floating-point mode that all kernels share, and sets back the caller's: declarations, and what
    comes first and last in a function."""
    from optgen.backends.target import FPCR, MXCSR, host, is_arm, is_x86

    triple = host().triple
    if is_x86(triple):
        declare = "".join(f"declare void @llvm.x86.sse.{x}mxcsr(ptr)\n" for x in ("ld", "st"))
        begin = f"""%caller.s = alloca i32
  %mode = alloca i32
  store i32 {MXCSR}, ptr %mode
  call void @llvm.x86.sse.stmxcsr(ptr %caller.s)
  call void @llvm.x86.sse.ldmxcsr(ptr %mode)"""
        return declare, begin, "call void @llvm.x86.sse.ldmxcsr(ptr %caller.s)"
    if is_arm(triple):
        declare = "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)\n"
        begin = f"%caller.s = call i64 @llvm.aarch64.get.fpcr()\n  call void @llvm.aarch64.set.fpcr(i64 {FPCR})"
        return declare, begin, "call void @llvm.aarch64.set.fpcr(i64 %caller.s)"
    return "", "", ""


def load(text: str, symbol: str) -> int:
    """The address of a function in such code."""
    from optgen.objectcode import link

    return link.link(build(text), symbol)[symbol]
