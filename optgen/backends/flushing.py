"""Which values a machine in its flushing mode flushes by itself, since only arithmetic reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from optgen import ir
from optgen.ir import Instr, Op, Value


def read_as_they_are(instrs: Sequence[Instr], consts: Mapping[Value, Op], also: Iterable[Value] = ()) -> set[Value]:
    """The values of which some reader takes the bits: each but a sum, product or quotient, or a conversion to double
    that only such read. `also` are those that others read so.

    Beside 0, 1 and -1 arithmetic counts as such a reader too, as LLVM takes x*1 for x.
    """
    neutral = {v for v, op in consts.items() if isinstance(op, ir.Const) and abs(op.value) in (0.0, 1.0)}
    found = set(also)
    for instr in reversed(instrs):
        args = set(ir.operands(instr.op))
        match instr.op:
            case ir.Add() | ir.Sub() | ir.Mul() | ir.Div() if not args & neutral:
                continue
            case ir.Reduce():
                continue
            case ir.Convert() if instr.result not in found:
                continue
        found |= args
    return found
