"""The buffers of a variant's kernel: weights, gradients, inputs, states."""

from __future__ import annotations

from dataclasses import replace

from optgen import ir
from optgen.expressions import Expr, Name, Number
from optgen.ir import Buffer, Variant
from optgen.ir.nonnegative_states import nonnegative_states
from optgen.model import Kind, Optimizer, Program, StateDecl


def buffers(optimizer: Optimizer, variant: Variant, program: Program) -> list[Buffer]:
    """In the order in which a step has them; `program` is that of the variant.

    Of a gradient that is given away, `written` says that a kernel may write to it; the others are written.
    """
    states = _states(optimizer, variant, program)
    if variant.evaluate:
        kept = [replace(b, written=False) for b in states]
        return [Buffer("w", False, storage=variant.weight), *kept, Buffer("out", True, storage=variant.dtype)]
    gradients = map(ir.gradient, range(variant.gradients))
    given = [Buffer(name, variant.donated, storage=variant.dtype) for name in gradients]
    given += [Buffer(i.name, False, storage=variant.dtype) for i in optimizer.inputs]
    copy = [Buffer("copy", True, storage=variant.dtype)] if variant.master else []
    return [Buffer("w", True, storage=variant.weight), *given, *states, *copy]


def _states(optimizer: Optimizer, variant: Variant, program: Program) -> list[Buffer]:
    """Those of the states; behind one of codes in blocks that of its scales."""
    found = [_state(optimizer, variant, s) for s in program.states]
    # Bounds take longer than all the rest.
    asks = any(b.is_quantized and b.format.unsigned is not None for b in found)
    nonnegative = nonnegative_states(optimizer, variant.flags) if asks else frozenset()
    states: list[Buffer] = []
    for buffer in found:
        if buffer.is_quantized:
            unsigned = buffer.format.unsigned is not None and buffer.name in nonnegative
            states += [replace(buffer, nonnegative=unsigned), buffer.scales]
        else:
            states.append(buffer)
    return states


def _state(optimizer: Optimizer, variant: Variant, state: StateDecl) -> Buffer:
    late = optimizer.start(state) is not None
    if state.kind is Kind.ELEM:
        storage = variant.storage.get(state.name, variant.weight)
    else:
        small = state.kind in (Kind.ROW, Kind.COL, Kind.MATRIX) and ir.COMPUTE[variant.dtype] == "f32"
        storage = "float32" if small else "float64"
    dims = tuple(str(variant.sizes.get(axis, axis)) for axis in state.dims)
    init = 0.0 if late else _initial(state.init)
    starts_late = late and (variant.evaluate or optimizer.starts_in(state, variant.flags))
    return Buffer(state.name, True, init, state.kind, storage, starts_late=starts_late, dims=dims)


def _initial(init: Expr) -> float | str:
    """What a state is made with: a number, the name of a param, or `w`."""
    match init:
        case Number(value=value):
            return value
        case Name(id=id):
            return id
    raise TypeError(f"not what a state is made with: {init!r}")
