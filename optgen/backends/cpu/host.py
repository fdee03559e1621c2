"""The host phase: update counts advance, and each tensor gets the values that follow from its count and its
hyper-parameters.

Most steps have one count and one set of hyper-parameters for all tensors: values are then computed once, and copied.
Otherwise what takes long, such as powers, is computed where the count, or a hyper-parameter that it follows from, is
not that of the tensor before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.cpu.step import StepFunction, TensorFunction
from optgen.backends.llvm import at, integer, load, splat
from optgen.backends.llvm_types import F64, I64, PTR, TYPES, vector
from optgen.backends.module_builder import Env
from optgen.ir import Instr, Phase, Value

WORDS = 8
"""What is copied or compared at once."""
FEW = 8
"""Instructions. What follows from a hyper-parameter by so few is computed for each tensor."""


def host(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Advance the counts and compute the host values of all tensors."""
    body = _host_body(m, phase, f"{name}.body")
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    b.call(body, [s.n, s.field("t"), s.field("hyper"), s.tensor_values, s.buffers])
    b.ret_void()
    return f


def calls_math(phase: Phase) -> bool:
    """Whether a phase calls elementary functions, and does not have them inline: the host phase, if its values are
    computed once for all tensors."""
    return phase.kind == "host" and not _has_states(phase)


def _has_states(phase: Phase) -> bool:
    """Whether each tensor has values of its own, computed in each step."""
    return any(isinstance(x.op, ir.Load | ir.Store) for x in phase.instrs)


def _host_body(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """f(n, t, hyper, scalars, buffers), none of which overlap: what `host` does."""
    body, b = m.function(name, ll.FunctionType(VOID, [I64, PTR, PTR, PTR, PTR]))
    body.attributes.add("noinline")
    # What is computed once for all tensors is not worth the time to optimise it. With states it is computed for each,
    # by code that is optimised, but not for vectors: a pow is hundreds of instructions.
    body.attributes.add("noimplicitfloat" if _has_states(phase) else "optnone")
    for arg in body.args[1:]:
        arg.add_attribute("noalias")
    n, t, hyper, scalars, buffers = body.args
    values = _HostValues(TensorFunction(m, b, n, buffers, None, scalars), phase, t, hyper)
    if _has_states(phase):
        with loop(b, integer(0), n) as i:
            env: Env = {}
            values.compute(phase.instrs, env, i)
            values.keep(env, i)
            values.advance(i)
    else:
        _from_counts(values, f"{name}.is_even", f"{name}.fill")
    b.ret_void()
    return body


@dataclass(frozen=True)
class _HostValues:
    """The host values that `f` computes, from counts `t` and from `hyper`: [hyper-parameter][tensor]."""

    f: TensorFunction
    phase: Phase
    t: Any
    hyper: Any

    def row(self, name: str) -> Any:
        """A hyper-parameter of all tensors."""
        b, m = self.f.b, self.f.m
        return at(b, self.hyper, b.mul(self.f.n, integer(m.kernel.hyper.index(name))), F64)

    def count(self, i: Any) -> Any:
        """That of tensor i, in the step."""
        before = load(self.f.b, self.t, i, I64)
        return self.f.b.add(before, integer(1)) if self.f.m.kernel.advances else before

    def advance(self, i: Any) -> None:
        if self.f.m.kernel.advances:
            self.f.b.store(self.count(i), at(self.f.b, self.t, i, I64))

    def compute(self, instrs: Iterable[Instr], env: Env, i: Any) -> None:
        """Compute values of tensor i."""
        count = self.count(i)
        for instr in self.f.m.in_lines(self.f.b, instrs):
            self.f.host_value(instr, env, i, count, lambda name: load(self.f.b, self.row(name), i, F64))

    def keep(self, env: Env, i: Any) -> None:
        """Keep the values of tensor i that later phases read."""
        for v, x in env.items():
            self.f.keep(v, x, i)

    @property
    def names(self) -> list[str]:
        """The hyper-parameters that are read."""
        return list(dict.fromkeys(x.op.name for x in self.phase.instrs if isinstance(x.op, ir.Hyper)))

    def kept(self) -> Iterator[Value]:
        """The values that later phases read."""
        for instr in self.phase.instrs:
            if instr.result is not None and instr.result in self.f.m.layout.slots:
                yield instr.result


def _from_counts(values: _HostValues, is_even: str, fill: str) -> None:
    """Compute the values of all tensors: of the first one, if they are the same for all."""
    f, b = values.f, values.f.b
    m, n = f.m, f.n
    even = variable(b, TYPES["b1"](0))
    with b.if_then(b.icmp_signed(">", n, integer(1))):
        rows, compare = [values.t, *map(values.row, values.names)], _is_even(m, is_even)
        bits = [b.call(compare, [row, n]) for row in rows]
        different = bits[0]
        for x in bits[1:]:
            different = b.or_(different, x)
        b.store(b.icmp_signed("==", different, integer(0)), even)
    same = b.load(even, typ=TYPES["b1"])
    _each(values, b.select(same, integer(1), n))
    with b.if_then(same):
        copy = _fill(m, fill)
        for v in values.kept():
            b.call(copy, [f.slot(v, integer(0)), n])
        if m.kernel.advances:
            b.call(copy, [values.t, n])


def _each(values: _HostValues, n: Any) -> None:
    """Compute the values of the first n tensors."""
    f, b = values.f, values.f.b
    slow, quick, names = _split(values.phase)
    read = {v for x in quick for v in ir.operands(x.op)} | set(values.kept())
    kept = [x.result for x in slow if x.result in read and x.result not in f.m.consts]
    last = {v: variable(b, ll.Constant(TYPES[v.type.dtype], 0)) for v in kept if v is not None}
    with loop(b, integer(0), n) as i:
        # Counts advance, so the one before is still to be compared with the advanced one.
        before, count = b.sub(i, integer(1)), values.count(i)
        first = b.icmp_signed("==", i, integer(0))
        known = b.select(first, i, before)
        different = b.or_(b.zext(first, I64), b.xor(load(b, values.t, known, I64), count))
        for name in names:
            own, other = (load(b, values.row(name), k, I64) for k in (i, known))
            different = b.or_(different, b.xor(own, other))
        if kept:
            with b.if_then(b.icmp_signed("!=", different, integer(0))):
                new: Env = {}
                values.compute(slow, new, i)
                for v, place in last.items():
                    b.store(new[v], place)
        env = {v: b.load(place, typ=TYPES[v.type.dtype]) for v, place in last.items()}
        values.compute(quick, env, i)
        values.keep(env, i)
        values.advance(i)


def _split(phase: Phase) -> tuple[list[Instr], list[Instr], list[str]]:
    """The instructions of a phase that follow from counts, and from hyper-parameters by more than a few others; the
    rest; the names of these hyper-parameters."""
    causes: list[frozenset[str]] = []
    of: dict[Value | None, frozenset[str]] = {}
    for instr in phase.instrs:
        found = frozenset[str]().union(*(of.get(v, frozenset()) for v in ir.operands(instr.op)))
        of[instr.result] = frozenset([instr.op.name]) if isinstance(instr.op, ir.Hyper) else found
        causes.append(of[instr.result])
    uses = Counter[str]()
    for instr, names in zip(phase.instrs, causes, strict=True):
        uses.update(dict.fromkeys(names, FEW + 1 if isinstance(instr.op, ir.Math) else 1))
    many = {name for name, count in uses.items() if count > FEW}
    slow = [x for x, names in zip(phase.instrs, causes, strict=True) if names <= many]
    quick = [x for x, names in zip(phase.instrs, causes, strict=True) if not names <= many]
    return slow, quick, sorted(many)


def _is_even(m: CpuModuleBuilder, name: str) -> ll.Function:
    """f(row, n): 0 if all of n words, of 64 bits, have the bits of the first."""
    f, b = m.function(name, ll.FunctionType(I64, [PTR, I64]))
    f.attributes.add("noinline")
    row, n = f.args
    many = vector(I64, WORDS)
    first, different = load(b, row, integer(0), I64), variable(b, integer(0))
    firsts, differents = splat(b, first, WORDS), variable(b, ll.Constant(many, None))
    whole = b.and_(n, integer(-WORDS))
    with loop(b, integer(0), whole, WORDS) as i:
        here = b.load(at(b, row, i, I64), typ=many, align=8)
        b.store(b.or_(b.load(differents, typ=many), b.xor(here, firsts)), differents)
    with loop(b, whole, n, lanes=1) as i:
        b.store(b.or_(b.load(different, typ=I64), b.xor(load(b, row, i, I64), first)), different)
    found = b.load(differents, typ=many)
    joined = b.call(
        m.module.declare_intrinsic(f"llvm.vector.reduce.or.v{WORDS}i64", (), ll.FunctionType(I64, [many])), [found]
    )
    b.ret(b.or_(joined, b.load(different, typ=I64)))
    return f


def _fill(m: CpuModuleBuilder, name: str) -> ll.Function:
    """f(row, n): give n words, of 64 bits, the bits of the first."""
    f, b = m.function(name, ll.FunctionType(VOID, [PTR, I64]))
    f.attributes.add("noinline")
    row, n = f.args
    first = load(b, row, integer(0), I64)
    firsts, whole = splat(b, first, WORDS), b.and_(n, integer(-WORDS))
    with loop(b, integer(0), whole, WORDS) as i:
        b.store(firsts, at(b, row, i, I64), align=8)
    with loop(b, whole, n, lanes=1) as i:
        b.store(first, at(b, row, i, I64))
    b.ret_void()
    return f
