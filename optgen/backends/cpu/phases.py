"""Phases that visit no elements: once for all tensors, once for each, or over its rows or its columns."""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu import fold
from optgen.backends.cpu.box import CpuBox
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.cpu.step import StepFunction, TensorFunction, TensorRegion
from optgen.backends.layout import Extent, reductions
from optgen.backends.llvm import at, integer, load
from optgen.backends.llvm_types import F64, I64, PTR
from optgen.backends.module_builder import Env
from optgen.ir import Instr, Phase
from optgen.model import Kind


def host(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Advance the counts and compute the host values of all tensors, once for equal counts and hyper-parameters."""
    body = _host_body(m, phase, f"{name}.body")
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    b.call(body, [s.n, s.field("t"), s.field("hyper"), s.tensor_values, s.buffers])
    b.ret_void()
    return f


def _host_body(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """f(n, t, hyper, scalars, buffers), none of which overlap: what `host` does."""
    body, b = m.function(name, ll.FunctionType(VOID, [I64, PTR, PTR, PTR, PTR]))
    body.attributes.add("noinline")
    # This keeps the vectoriser away: there are a few hundred tensors at most, and a pow is hundreds of instructions.
    body.attributes.add("noimplicitfloat")
    for arg in body.args[1:]:
        arg.add_attribute("noalias")
    n, t, hyper, scalars, buffers = body.args
    f = TensorFunction(m, b, n, buffers, None, scalars)
    last = variable(b, integer(0))  # the tensor whose values were computed last
    with loop(b, integer(0), n) as i:
        before = load(b, t, i, I64)
        count = b.add(before, integer(1)) if m.kernel.advances else before
        known = b.load(last, typ=I64)
        if _has_states(phase):
            _compute_values(f, phase, hyper, i, count)
        else:
            alike = _is_alike(m, b, phase, body.args, count, i, known)
            with b.if_else(alike) as (copied, computed):
                with copied:
                    _copy_values(f, phase, known, i)
                with computed:
                    _compute_values(f, phase, hyper, i, count)
                    b.store(i, last)
        if m.kernel.advances:
            b.store(count, at(b, t, i, I64))
    b.ret_void()
    return body


def _hyper_index(m: CpuModuleBuilder, b: ll.IRBuilder, n: Any, name: str, i: Any) -> Any:
    """The number of a hyper-parameter of tensor i among all of them."""
    return b.add(b.mul(n, integer(m.kernel.hyper.index(name))), i)


def _has_states(phase: Phase) -> bool:
    return any(isinstance(x.op, ir.Load | ir.Store) for x in phase.instrs)


def _is_alike(m: CpuModuleBuilder, b: ll.IRBuilder, phase: Phase, args: Any, count: Any, i: Any, known: Any) -> Any:
    """Whether the host values of tensor i are those of an earlier one, `known`: it has the count, which has advanced,
    and the bits of all hyper-parameters."""
    n, t, hyper, *_ = args
    different = b.or_(
        b.zext(b.icmp_signed("==", i, integer(0)), I64),
        b.xor(load(b, t, known, I64), count),
    )
    for name in dict.fromkeys(x.op.name for x in phase.instrs if isinstance(x.op, ir.Hyper)):
        own, other = (load(b, hyper, _hyper_index(m, b, n, name, k), I64) for k in (i, known))
        different = b.or_(different, b.xor(own, other))
    return b.icmp_signed("==", different, integer(0))


def _compute_values(f: TensorFunction, phase: Phase, hyper: Any, i: Any, count: Any) -> None:
    """Compute the host values of tensor i, which has this count."""
    f.host(phase, i, count, lambda name: load(f.b, hyper, _hyper_index(f.m, f.b, f.n, name, i), F64))


def _copy_values(f: TensorFunction, phase: Phase, known: Any, i: Any) -> None:
    """Have the host values of one tensor for another."""
    for instr in phase.instrs:
        if instr.result is None or (to := f.slot(instr.result, i)) is None:
            continue
        f.b.store(f.b.load(f.slot(instr.result, known), typ=F64), to)


def scalar(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """One number for each tensor."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with loop(b, integer(0), s.n) as i:
        s.scalars(phase, i)
    b.ret_void()
    return f


def shared(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """One number for all tensors; values that all tensors have in common are taken from the first."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with b.if_then(b.icmp_signed(">", s.n, integer(0))):
        s.scalars(phase, integer(0))
    b.ret_void()
    return f


def lines(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """One number for each row, or for each column, of every tensor; then the reductions of these.

    Those of boxes are left for the exchange, and `fold_lines`.
    """
    f, b = m.function(name, ll.FunctionType(VOID, [PTR]))
    f.attributes.add("noinline")
    s = StepFunction(m, b, f.args[0])
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        arrays = tensor.line_arrays(kind)
        env: Env = {}
        s.fetch(phase, env, i)
        states = [x.op.buffer for x in phase.instrs if isinstance(x.op, ir.Load | ir.Store)]
        pointers = {name: s.pointer(name, i) for name in states}
        with loop(b, integer(0), arrays.count) as r:
            number = s.row_number(i, r) if kind is Kind.ROW and m.kernel.rows_independent else r

            def state(name: str, type: ll.Type, number: Any = number) -> Any:
                return at(b, pointers[name], number, type)

            s.line(phase, dict(env), arrays.slots, partial(arrays.load, b, r), partial(arrays.keep, b, r), state)
        for k, instr in enumerate(_reductions(phase)):
            assert isinstance(instr.op, ir.Reduce)
            values = arrays.array(b, instr.op.x)
            if m.kernel.boxes:
                box = CpuBox(tensor)
                box.copy(values, arrays.count, box.values(k, box.count(kind)))
            else:
                scratch = tensor.tree() if instr.op.scope == "all" else None
                _fold(tensor, kind, instr, values, arrays.count, _own_length(extent, kind), scratch)
    b.ret_void()
    return f


def fold_lines(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """The reductions of the row or column values of all boxes of every tensor."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        box = CpuBox(tensor)
        count, scratch = box.count(kind), box.area("scratch", integer(0))
        for k, instr in enumerate(_reductions(phase)):
            _fold(tensor, kind, instr, box.values(k, count), count, box.length(kind), scratch)
    b.ret_void()
    return f


def _reductions(phase: Phase) -> list[Instr]:
    """The reductions of row or column values."""
    return [*reductions(phase, "all"), *reductions(phase, "matrix")]


def _own_length(extent: Extent, kind: Kind) -> Any:
    """How many rows, or columns, of a matrix a step visits."""
    return extent.height if kind is Kind.ROW else extent.cols


def _fold(tensor: TensorRegion, kind: Kind, instr: Instr, values: Any, count: Any, length: Any, scratch: Any) -> None:
    """A reduction of `count` row or column values: over all of them, or over the `length` ones of each matrix."""
    s, b, m = tensor.s, tensor.s.b, tensor.s.m
    assert instr.result is not None and isinstance(instr.op, ir.Reduce)
    if instr.op.scope == "all":
        s.keep(instr.result, b.call(fold.tree(m, instr.op.op), [values, count, scratch]), tensor.i)
        return
    matrices, own = tensor.extent.matrices, _own_length(tensor.extent, kind)
    b.call(fold.matrices(m, instr.op.op), [values, matrices, length, own, tensor.line_array(instr.result)])
