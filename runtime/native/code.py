"""From LLVM IR to addresses, through optgen's compiler, cache and linker."""

from __future__ import annotations

# optgen and llvmlite are imported where they are first needed, so that `import runtime` does not wait for a compiler.


def build(text: str) -> bytes:
    """Object code for this machine, from the cache, where it is kept."""
    from optgen.backends import target
    from optgen.execute import cache

    host = target.host()
    name = cache.key("native", text, target.llvm_version(), host.triple, host.cpu, host.features)
    return cache.get(name, lambda: target.compile_ir(text, host).object)


def load(text: str, symbol: str) -> int:
    """The address of a function in such code."""
    from optgen.execute import jit

    return jit.link(build(text), symbol)[symbol]
