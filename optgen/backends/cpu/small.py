"""Phases that go over no elements: once for all tensors, once for each, or over its rows or its columns."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.module import HYPER, VOID, Env, Lines, Module, Step, T, Tables
from optgen.backends.layout import narrowed, widened
from optgen.backends.llvm import F64, I64, IDENTITY, PTR, TYPES, at, fold, integer, load, loop
from optgen.ir import Instr, Phase
from optgen.model import Kind


def host(m: Module, phase: Phase, name: str) -> ll.Function:
    """Advance the counts and compute the host values of every tensor."""
    body, b = m.function(f"{name}.body", ll.FunctionType(VOID, [I64, PTR, PTR, PTR, PTR]))
    body.attributes.add("noinline")
    # Keeps the vectoriser away: a few hundred tensors at most, and hundreds of instructions where there is a pow.
    body.attributes.add("noimplicitfloat")
    for arg in body.args[1:]:
        arg.add_attribute("noalias")
    n, t, hyper, scalars, buffers = body.args
    s = Tables(n, buffers, None, scalars)
    with loop(b, integer(0), n) as i:
        count = load(b, t, i, I64)
        if m.kernel.advances:
            count = b.add(count, integer(1))
            b.store(count, at(b, t, i, I64))
        env: Env = {}
        for instr in phase.instrs:
            match instr.op:
                case ir.Hyper(name=h) if instr.result is not None:
                    row = b.mul(n, integer(m.kernel.hyper.index(h)))
                    env[instr.result] = load(b, hyper, b.add(row, i), F64)
                case ir.Count() if instr.result is not None:
                    env[instr.result] = b.sitofp(count, F64)
                case _:
                    one(m, b, s, instr, env, i)
            if instr.result is not None:
                m.keep(b, s, instr.result, env, i)
    b.ret_void()
    f, b = m.driver(name, ll.FunctionType(VOID, [PTR]))
    step = Step(b, f.args[0], m.layout)
    b.call(body, [step.n, step.pointer(T), step.pointer(HYPER), step.scalars, step.buffers])
    b.ret_void()
    return f


def scalar(m: Module, phase: Phase, name: str) -> ll.Function:
    """One number for each tensor."""
    f, b = m.driver(name, ll.FunctionType(VOID, [PTR]))
    s = Step(b, f.args[0], m.layout)
    with loop(b, integer(0), s.n) as i:
        _straight(m, b, s, phase.instrs, phase, i)
    b.ret_void()
    return f


def shared(m: Module, phase: Phase, name: str) -> ll.Function:
    """One number for all tensors; what is uniform is taken from the first."""
    f, b = m.driver(name, ll.FunctionType(VOID, [PTR]))
    s = Step(b, f.args[0], m.layout)
    with b.if_then(b.icmp_signed(">", s.n, integer(0))):
        _straight(m, b, s, phase.instrs, phase, integer(0))
    b.ret_void()
    return f


def _straight(m: Module, b: ll.IRBuilder, s: Step, instrs: tuple[Instr, ...], phase: Phase, i: Any) -> None:
    env: Env = {}
    m.fetch(b, s, phase, env, i)
    for instr in instrs:
        one(m, b, s, instr, env, i)
        if instr.result is not None:
            m.keep(b, s, instr.result, env, i)


def one(m: Module, b: ll.IRBuilder, s: Tables, instr: Instr, env: Env, i: Any) -> None:
    """An instruction on numbers, for tensor i."""
    match instr.op:
        case ir.Load(buffer=state):
            assert instr.result is not None
            env[instr.result] = b.load(m.pointer(b, s, i, state), typ=F64)
        case ir.Store(buffer=state, value=v):
            b.store(env[v] if v in env else m.constant(b, v), m.pointer(b, s, i, state))
        case ir.ReduceOverParams(op=op, x=x):
            assert instr.result is not None
            total = m.cell(b, ll.Constant(F64, IDENTITY[op]))
            with loop(b, integer(0), s.n) as k:
                place = m.place(b, s, x, k)
                here = b.load(place, typ=F64) if place is not None else m.constant(b, x)
                b.store(fold(b, op, b.load(total, typ=F64), here), total)
            env[instr.result] = b.load(total, typ=F64)
        case _:
            m.define(b, instr, env)


def lines(m: Module, phase: Phase, name: str) -> ll.Function:
    """One number for each row, or for each column, of every tensor; then what reduces them."""
    f, b = m.function(name, ll.FunctionType(VOID, [PTR]))
    f.attributes.add("noinline")
    s = Step(b, f.args[0], m.layout)
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    with m.tensors(b, s) as (i, extent, region):
        places = m.layout.region(b, extent)
        arrays = (m.row_lines if kind is Kind.ROW else m.col_lines)(b, region, places, extent)
        env: Env = {}
        m.fetch(b, s, phase, env, i)
        states = [x.op.buffer for x in phase.instrs if isinstance(x.op, ir.Load | ir.Store)]
        pointers = {name: m.pointer(b, s, i, name) for name in states}
        with loop(b, integer(0), arrays.count) as r:
            at_row = m.row_number(b, s, i, r) if kind is Kind.ROW and m.kernel.rows_independent else r
            _line(m, b, phase, dict(env), arrays, pointers, r, at_row)
        scratch = at(b, region, places.tree, F64)
        for instr in phase.instrs:
            if isinstance(instr.op, ir.Reduce) and instr.result is not None:
                total = b.call(m.tree(instr.op.op), [arrays.of(b, instr.op.x), arrays.count, scratch])
                m.keep(b, s, instr.result, {instr.result: total}, i)
    b.ret_void()
    return f


def _line(
    m: Module, b: ll.IRBuilder, phase: Phase, env: Env, arrays: Lines, pointers: dict[str, Any], r: Any, at_row: Any
) -> None:
    """Row (or column) r; states are addressed by its number in the whole tensor."""
    stored = TYPES["f32" if m.kernel.compute == "f32" else "f64"]
    here = {x.result for x in phase.instrs}
    for instr in phase.instrs:
        for v in ir.operands(instr.op):
            if v not in env and v not in here and v in arrays.slots:
                env[v] = narrowed(b, load(b, arrays.of(b, v), r, F64), v)
        match instr.op:
            case ir.Load(buffer=state):
                assert instr.result is not None
                x = load(b, pointers[state], at_row, stored)
                env[instr.result] = b.fpext(x, F64) if stored == TYPES["f32"] else x
            case ir.Store(buffer=state, value=v):
                x = env[v] if v in env else m.constant(b, v)
                b.store(b.fptrunc(x, stored) if stored == TYPES["f32"] else x, at(b, pointers[state], at_row, stored))
            case ir.Reduce():
                continue
            case _:
                m.define(b, instr, env)
        if instr.result is not None and instr.result in arrays.slots:
            b.store(widened(b, env[instr.result], instr.result), at(b, arrays.of(b, instr.result), r, F64))
