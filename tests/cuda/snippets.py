"""Small kernels in PTX by hand, for the tests of the interpreter."""

from __future__ import annotations

import numpy as np

from tests.cuda.ptx import Memory, Module

DECLARED = "".join(
    f".reg .{type} {name}<20>;\n" for type, name in (("pred", "%p"), ("b16", "%h"), ("b32", "%r"), ("b64", "%d"))
)


def kernel(body: str, parameters: int = 1, name: str = "k", before: str = "") -> str:
    """An entry with registers %p, %h, %r, %d of 1, 16, 32 and 64 bits; %d0 the first parameter, %r0 the thread."""
    given = ", ".join(f".param .u64 {name}_{i}" for i in range(parameters))
    loads = "".join(f"ld.param.b64 %d{i}, [{name}_{i}];\n" for i in range(parameters))
    index = "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r0, %r1, %r2, %r0;\n"
    return f"{before}.visible .entry {name}({given})\n{{\n{DECLARED}{loads}{index}{body}\nret;\n}}\n"


HEADER = ".version 8.6\n.target sm_75\n.address_size 64\n"


def execute(text: str, arrays: list[np.ndarray], grid: int = 1, block: int = 32, **options: object) -> None:
    memory = Memory()
    addresses = [memory.register(array) for array in arrays]
    (name,) = (module := Module(text)).entries
    module.launch(name, grid, block, addresses, memory, **options)  # type: ignore[arg-type]
