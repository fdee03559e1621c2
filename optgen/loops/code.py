"""From LLVM IR to addresses, by the compiler, the cache and the linker of optgen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optgen.backends.target import Passes

# llvmlite is imported when the first kernel is compiled, so that `import runtime` does not wait for it.


def build(text: str, passes: Passes = "all") -> bytes:
    """Object code for this machine, from the cache; compiled, after LLVM's `passes`, and kept there if it is new."""
    from optgen.backends import target
    from optgen.objectcode import cache

    host = target.host()
    name = cache.key("native", passes, text, target.llvm_version(), host.triple, host.cpu, host.features)
    return cache.get(name, lambda: target.compile_ir(text, host, passes).object)


def float_mode(*, flushes: bool = False, triple: str | None = None) -> tuple[str, str, str]:
    """LLVM IR that sets the floating-point mode of kernels, and then the caller's again: declarations, the first lines
    of a function, and the last. `flushes`: the mode that makes zeros of subnormal numbers, where there is one.
    `triple`: for which machine; None is this one."""
    from optgen.backends import target

    register = target.control_register(triple or target.host().triple)
    if register is None:
        return "", "", ""
    word, value = f"i{register.bits}", register.value
    if flushes and register.flushing is not None:
        value = register.flushing
    if not register.by_address:
        declare = f"declare {word} @{register.read}()\ndeclare void @{register.write}({word})\n"
        begin = f"%caller.s = call {word} @{register.read}()\n  call void @{register.write}({word} {value})"
        return declare, begin, f"call void @{register.write}({word} %caller.s)"
    declare = f"declare void @{register.write}(ptr)\ndeclare void @{register.read}(ptr)\n"
    begin = f"""%caller.s = alloca {word}
  %mode = alloca {word}
  store {word} {value}, ptr %mode
  call void @{register.read}(ptr %caller.s)
  call void @{register.write}(ptr %mode)"""
    return declare, begin, f"call void @{register.write}(ptr %caller.s)"


def load(text: str, symbol: str, passes: Passes = "all", imports: Mapping[str, int] | None = None) -> int:
    """The address of the function `symbol` of LLVM IR, compiled after LLVM's `passes`. `imports`: the addresses of
    symbols that it declares and that the process does not have."""
    from optgen.objectcode import link

    return link.link(build(text, passes), symbol, imports=imports)[symbol]
