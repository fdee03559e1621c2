"""Which subnormals the flushing mode of a machine turns into zeros, so that no instruction has to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from optgen import ir
from optgen.ir import Instr, Op, Value


def read_bitwise(instrs: Sequence[Instr], consts: Mapping[Value, Op], also: Iterable[Value] = ()) -> set[Value]:
    """The values of which some reader takes the bits, also those of a subnormal. Others read `also` so.

    Sums, products and quotients do not: the mode flushes their operands. An integer part does not: it is 0. A
    conversion to double does not, if it has only such readers. With 0, 1 or -1 as the other operand, arithmetic does,
    as LLVM takes x*1 for x; also with a choice that may be such a number, as y - (c ? 0 : x) is c ? y : y - x.
    """
    neutral = {v for v, op in consts.items() if isinstance(op, ir.Const) and abs(op.value) in (0.0, 1.0)}
    for instr in instrs:
        if isinstance(instr.op, ir.Select) and instr.result and neutral & {instr.op.a, instr.op.b}:
            neutral.add(instr.result)
    found = set(also)
    for instr in reversed(instrs):
        args = set(ir.operands(instr.op))
        match instr.op:
            case ir.Add() | ir.Sub() | ir.Mul() | ir.Div() if not args & neutral:
                continue
            case ir.Reduce() | ir.ToInt():
                continue
            case ir.Convert() if instr.result not in found:
                continue
        found |= args
    return found


def flushed_by_mode(instr: Instr, bitwise: Collection[Value | None]) -> bool:
    """Whether the mode sees to the result of an instruction: where arithmetic computes it, or wherever it is read.

    `bitwise` are the values of `read_bitwise`. Loads and bits are as they are until arithmetic reads them.
    """
    return instr.result not in bitwise or not isinstance(instr.op, ir.Load | ir.FromBits)
