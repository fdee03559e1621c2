"""The buffers of a variant's kernel: weights, gradients, inputs, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from optgen import ir
from optgen.axes import ELEMENTS, sized
from optgen.expressions import Expr, Index, Name, Number, walk
from optgen.ir import Buffer, Variant
from optgen.ir.nonnegative_states import nonnegative_states
from optgen.model import Input, Optimizer, Program, StateDecl


def buffers(optimizer: Optimizer, variant: Variant, program: Program) -> list[Buffer]:
    """The buffers of a variant, in the order of a step; `program` is the variant's. A kernel writes to all buffers that
    are marked `written`, but for a donated gradient, which it only may write to.
    """
    states = [*_states(optimizer, variant, program)]
    states += _entries(program, {b.name: b for b in states})
    if variant.evaluate:
        kept = [replace(b, written=False) for b in states]
        return [Buffer("w", False, storage=variant.weight), *kept, Buffer("out", True, storage=variant.dtype)]
    gradients = map(ir.gradient, range(variant.gradients))
    given = [Buffer(name, variant.donated, storage=variant.dtype) for name in gradients]
    read = {x.id for q in program.equations for x in walk(q.value) if isinstance(x, Name)}
    read |= {x.id for s in program.states for x in walk(s.init) if isinstance(x, Name)}
    given += [_input(variant, i) for i in optimizer.inputs if i.name in read]
    copy = [Buffer("copy", True, storage=variant.dtype)] if variant.master else []
    return [Buffer("w", True, storage=variant.new_weight), *given, *states, *copy]


def _input(variant: Variant, given: Input) -> Buffer:
    if given.axes == ELEMENTS:
        return Buffer(given.name, False, storage=variant.dtype)
    axes = tuple(map(partial(sized, sizes=variant.sizes), given.axes))
    return Buffer(given.name, False, None, axes, "float32" if ir.COMPUTE[variant.dtype] == "f32" else "float64")


def _states(optimizer: Optimizer, variant: Variant, program: Program) -> list[Buffer]:
    """The buffers of the states. Behind a buffer of codes in blocks stands the buffer of their scales."""
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
    if variant.weights == "kahan":
        states.append(Buffer(ir.COMPENSATION, False, 0.0, storage=variant.dtype))
    return states


def _state(optimizer: Optimizer, variant: Variant, state: StateDecl) -> Buffer:
    late = optimizer.start(state) is not None
    if state.axes == ELEMENTS:
        storage = variant.storage.get(state.name, variant.weight)
    else:
        small = state.axes and ir.COMPUTE[variant.dtype] == "f32"
        storage = "float32" if small else "float64"
    axes = tuple(map(partial(sized, sizes=variant.sizes), state.axes))
    init = 0.0 if late else _initial(state.init)
    starts_late = late and (variant.evaluate or optimizer.starts_in(state, variant.flags))
    entries = state.entries if isinstance(state.entries, int) else variant.sizes.get(state.entries, state.entries)
    return Buffer(state.name, True, init, axes, storage, starts_late=starts_late, known=state.known, entries=entries)


def _entries(program: Program, states: Mapping[str, Buffer]) -> list[Buffer]:
    """The entries of histories that the equations read, but for the oldest one: that is the buffer of the state."""
    read = [e for q in program.equations for e in walk(q.value) if isinstance(e, Name) and e.at is not None]
    length = {s.name: s.entries for s in program.states}
    found = dict.fromkeys((name.id, entry(name, length[name.id])) for name in read if name.id in states)
    return [
        replace(states[state], name=key, written=False, init=None, of=state) for state, key in found if key != state
    ]


def entry(name: Name, entries: int | str) -> str:
    """The buffer of an entry."""
    assert name.at is not None
    return name.id if entry_index(name.at, entries) == Index(0) else name.key


def entry_index(at: Index, entries: int | str) -> Index:
    """The index of an entry, modulo the length of the history. The oldest entry, whose place the new one takes, has
    0."""
    terms = tuple((term, k) for term, k in at.terms if term != entries)
    if isinstance(entries, int) and not terms:
        return Index(-(-at.constant % entries))
    return Index(at.constant, terms)


def _initial(init: Expr) -> float | str:
    """What a state is made with: a number, the name of a param, or `w`."""
    match init:
        case Number(value=value):
            return value
        case Name(id=id):
            return id
    raise TypeError(f"not what a state is made with: {init!r}")
