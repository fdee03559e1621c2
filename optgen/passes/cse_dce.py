"""Common subexpression elimination, then dead code elimination."""

from __future__ import annotations

import struct
from dataclasses import replace

from optgen import ir
from optgen.ir import Instr, Kernel, Op, Phase, Type, Value


def cse_dce(kernel: Kernel) -> Kernel:
    """[update] -> [update]. Nothing is overwritten within that phase, so equal operations have equal values."""
    (phase,) = kernel.phases
    first: dict[tuple[Op | bytes, Type], Value] = {}
    same: dict[Value, Value] = {}
    kept: list[Instr] = []
    for instr in phase.instrs:
        op = ir.with_operands(instr.op, lambda v: same.get(v, v))
        if instr.result is None:
            kept.append(Instr(None, op, instr.span))
            continue
        # Python compares 0.0 and -0.0 as equal, but they are two constants.
        key: Op | bytes = struct.pack("<d", op.value) if isinstance(op, ir.Const) else op
        earlier = first.setdefault((key, instr.result.type), instr.result)
        if earlier is instr.result:
            kept.append(Instr(instr.result, op, instr.span))
        else:
            same[instr.result] = earlier
    return replace(kernel, phases=(Phase("update", ir.live(tuple(kept))),))
