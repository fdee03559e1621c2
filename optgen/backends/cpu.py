"""A planned kernel as an LLVM module for the CPU: one exported call updates all tensors of a step.

    void NAME(const optgen_step *step);                          all phases; advances step->t
    int64_t NAME_workspace(int64_t n, const int64_t *size);      doubles that step->workspace must hold

    struct optgen_step {
        int64_t n;                tensors
        const int64_t *size;      n element counts
        void *const *buffers;     n x (number of buffers) pointers, a tensor's buffers together, in the kernel's order
        int64_t *t;               n update counts, advanced by the call
        const double *hyper;      (number of hyper-parameters) x n values, in the kernel's order; NaN: unset
        double *workspace;        scalars[slot][tensor], then partials[block][reduction]
        parallel_for parallel;    NULL: everything on the calling thread
        void *pool;               its first argument
    };
    typedef void (*task)(const void *step, int64_t part, int64_t parts);
    typedef void (*parallel_for)(void *pool, task, const void *step, int64_t elements);

A sweep is a task: part p of P takes an even share of all elements. With reductions it is cut at blocks of their tree,
so the result depends on neither P nor the vector width. What a sweep does with the elements of one tensor is in
`sweep.py` and `reduce.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import (
    F64,
    I32,
    I64,
    PTR,
    TYPES,
    at,
    fold,
    halving,
    integer,
    is_const,
    load,
    loop,
    lower,
    smaller,
    text,
)
from optgen.backends.reduce import reduce_blocks
from optgen.backends.sweep import Body, for_elements
from optgen.ir import nodes as ir
from optgen.ir.nodes import BLOCK, LANES, Instr, Kernel, Phase, Value
from optgen.model import Kind

VOID = ll.VoidType()
TASK = ll.FunctionType(VOID, [PTR, I64, I64])
PARALLEL = ll.FunctionType(VOID, [PTR, PTR, PTR, I64])
N, SIZE, BUFFERS, T, HYPER, WORKSPACE, RUN, POOL = range(8)
"""The fields of optgen_step, eight bytes each."""
MXCSR = 0x1F80
"""All exceptions masked, round to nearest, denormals kept."""


def emit(kernel: Kernel, symbol: str, triple: str) -> str:
    """The LLVM IR text of a planned kernel, exported as `symbol`."""
    return text(_Module(kernel, symbol, triple).build())


@dataclass(frozen=True)
class Step:
    """The loaded fields of optgen_step, and what follows from them."""

    n: Any
    size: Any
    buffers: Any
    t: Any
    hyper: Any
    workspace: Any
    partials: Any


class _Module:
    def __init__(self, kernel: Kernel, symbol: str, triple: str) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.x86 = triple.startswith(("x86_64", "i386", "i686"))
        self.module = ll.Module(name=kernel.name)
        self.module.triple = triple
        self.consts = {i.result: i.op for i in kernel.instrs() if i.result is not None and is_const(i)}
        self.slots = {v: k for k, v in enumerate(self.crossing())}
        self.reductions = max(len(self.reductions_of(p)) for p in kernel.phases)

    def reductions_of(self, phase: Phase) -> list[Instr]:
        return [i for i in phase.instrs if isinstance(i.op, ir.Reduce)]

    def crossing(self) -> list[Value]:
        """The values that a phase hands to a later one: each has a slot in the table of scalars."""
        found: dict[Value, None] = {}
        for phase in self.kernel.phases:
            here = {i.result for i in phase.instrs if not isinstance(i.op, ir.Reduce)}
            for instr in phase.instrs:
                for v in ir.operands(instr.op):
                    if v not in here and v not in self.consts:
                        found[v] = None
            found |= {i.result: None for i in phase.instrs if isinstance(i.op, ir.Reduce) and i.result is not None}
        return list(found)

    def function(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        f = ll.Function(self.module, type, name)
        f.linkage = "internal" if "." in name else "external"
        f.attributes.add("nounwind")
        return f, ll.IRBuilder(f.append_basic_block("entry"))

    def driver(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        """A function that runs once per sweep and part: optimising it would only cost compile time."""
        f, b = self.function(name, type)
        f.attributes.add("noinline")
        f.attributes.add("optnone")
        return f, b

    # ------------------------------------------------------------ the exported calls

    def build(self) -> ll.Module:
        calls: list[ll.Function] = []
        sweep: Phase | None = None
        for k, phase in enumerate(self.kernel.phases):
            name = f"{self.symbol}.{k}.{phase.kind}"
            if phase.kind == "host":
                calls.append(self.host(phase, name))
            elif phase.kind == "sweep":
                calls.append(self.sweep_task(phase, name))
                sweep = phase
            else:
                assert sweep is not None
                calls.append(self.scalar(phase, sweep, name))
        self.workspace_size()
        self.entry(calls)
        return self.module

    def entry(self, calls: list[ll.Function]) -> None:
        _, b = self.driver(self.symbol, ll.FunctionType(VOID, [PTR]))
        (step,) = b.function.args
        saved = self.strict_floats(b)
        fields = self.fields(b, step)
        parallel, pool = load(b, step, integer(RUN), PTR), load(b, step, integer(POOL), PTR)
        elements = self.sum(b, fields.n, fields.size, lambda size: size)
        for call in calls:
            if call.ftype == TASK:
                with b.if_else(b.icmp_unsigned("==", parallel, ll.Constant(PTR, None))) as (alone, together):
                    with alone:
                        b.call(call, [step, integer(0), integer(1)])
                    with together:
                        b.call(_Callee(parallel, PARALLEL), [pool, call, step, elements])
            else:
                b.call(call, [step])
        self.restore_floats(b, saved)
        b.ret_void()

    def workspace_size(self) -> None:
        f, b = self.driver(f"{self.symbol}_workspace", ll.FunctionType(I64, [I64, PTR]))
        n, size = f.args
        blocks = self.sum(b, n, size, lambda size: self.blocks(b, size))
        # One more than there are: the fold of an empty tensor, which nothing uses, reads where its block would be.
        partials = b.mul(b.add(blocks, integer(1)), integer(self.reductions))
        b.ret(b.add(b.mul(n, integer(len(self.slots))), partials))

    def sum(self, b: ll.IRBuilder, n: Any, size: Any, of: Callable[[Any], Any]) -> Any:
        """The sum of `of(size)` over all tensors."""
        total = b.alloca(I64)
        b.store(integer(0), total)
        with loop(b, integer(0), n) as i:
            b.store(b.add(b.load(total, typ=I64), of(load(b, size, i, I64))), total)
        return b.load(total, typ=I64)

    def strict_floats(self, b: ll.IRBuilder) -> Any:
        """Set MXCSR, whatever the caller's thread has; returns where the old value is kept."""
        if not self.x86:
            return None
        saved, ours = b.alloca(I32), b.alloca(I32)
        b.store(I32(MXCSR), ours)
        b.call(self.mxcsr("stmxcsr"), [saved])
        b.call(self.mxcsr("ldmxcsr"), [ours])
        return saved

    def restore_floats(self, b: ll.IRBuilder, saved: Any) -> None:
        if saved is not None:
            b.call(self.mxcsr("ldmxcsr"), [saved])

    def mxcsr(self, which: str) -> Any:
        return self.module.declare_intrinsic(f"llvm.x86.sse.{which}", (), ll.FunctionType(VOID, [PTR]))

    def fields(self, b: ll.IRBuilder, step: Any) -> Step:
        n = load(b, step, integer(N), I64)
        size, buffers, t, hyper, workspace = (load(b, step, integer(f), PTR) for f in range(SIZE, RUN))
        partials = at(b, workspace, b.mul(n, integer(len(self.slots))), F64)
        return Step(n, size, buffers, t, hyper, workspace, partials)

    def blocks(self, b: ll.IRBuilder, size: Any) -> Any:
        return b.lshr(b.add(size, integer(BLOCK - 1)), integer(BLOCK.bit_length() - 1))

    # ------------------------------------------------------------ scalars

    def host(self, phase: Phase, name: str) -> ll.Function:
        """Advance the counts and compute the host values of every tensor."""
        body, b = self.function(f"{name}.body", ll.FunctionType(VOID, [I64, PTR, PTR, PTR, PTR]))
        body.attributes.add("noinline")
        # Keeps the vectoriser away: a few hundred tensors at most, and hundreds of instructions where there is a pow.
        body.attributes.add("noimplicitfloat")
        for arg in body.args[1:]:
            arg.add_attribute("noalias")
        n, size, t, hyper, scalars = body.args
        with loop(b, integer(0), n) as i:
            count = b.add(load(b, t, i, I64), integer(1))
            b.store(count, at(b, t, i, I64))
            env = dict[Value, Any]()
            for instr in phase.instrs:
                assert instr.result is not None
                match instr.op:
                    case ir.Hyper(name=h):
                        row = b.mul(n, integer(self.kernel.hyper.index(h)))
                        env[instr.result] = load(b, hyper, b.add(row, i), F64)
                    case ir.Count():
                        env[instr.result] = b.sitofp(count, F64)
                    case ir.Size():
                        env[instr.result] = b.sitofp(load(b, size, i, I64), F64)
                    case _:
                        self.define(b, instr, env)
                self.keep(b, instr.result, env, scalars, n, i)
        b.ret_void()
        f, b = self.driver(name, ll.FunctionType(VOID, [PTR]))
        s = self.fields(b, f.args[0])
        b.call(body, [s.n, s.size, s.t, s.hyper, s.workspace])
        b.ret_void()
        return f

    def scalar(self, phase: Phase, sweep: Phase, name: str) -> ll.Function:
        """Fold the partials of the sweep before, block by block pairwise, and compute what depends on them."""
        f, b = self.driver(name, ll.FunctionType(VOID, [PTR]))
        s = self.fields(b, f.args[0])
        first = b.alloca(I64)
        b.store(integer(0), first)
        reductions = self.reductions_of(sweep)
        with loop(b, integer(0), s.n) as i:
            blocks = self.blocks(b, load(b, s.size, i, I64))
            begin = b.load(first, typ=I64)
            b.store(b.add(begin, blocks), first)
            env: dict[Value, Any] = {}
            for r, instr in enumerate(reductions):
                assert instr.result is not None and isinstance(instr.op, ir.Reduce)
                base = at(b, s.partials, b.add(b.mul(begin, integer(self.reductions)), integer(r)), F64)
                env[instr.result] = b.call(self.pairwise(instr.op.op), [base, blocks])
                self.keep(b, instr.result, env, s.workspace, s.n, i)
            for instr in phase.instrs:
                assert instr.result is not None
                self.fetch(b, instr, env, s.workspace, s.n, i)
                self.define(b, instr, env)
                self.keep(b, instr.result, env, s.workspace, s.n, i)
        b.ret_void()
        return f

    def pairwise(self, op: ir.ReduceOp) -> ll.Function:
        """f(base, count): fold partials `reductions` apart, in place: neighbours first, an odd one moves up."""
        name = f"{self.symbol}.pairwise.{op}"
        if name in self.module.globals:
            return self.module.globals[name]
        f, b = self.function(name, ll.FunctionType(F64, [PTR, I64]))
        base, blocks = f.args
        stride = integer(self.reductions)
        with halving(b, blocks) as (count, shrink):
            half = b.lshr(count, integer(1))
            with loop(b, integer(0), half) as i:
                left = at(b, base, b.mul(b.shl(i, integer(1)), stride), F64)
                total = fold(b, op, b.load(left, typ=F64), load(b, left, stride, F64))
                b.store(total, at(b, base, b.mul(i, stride), F64))
            odd = b.and_(count, integer(1))
            with b.if_then(b.icmp_signed("==", odd, integer(1))):
                last = load(b, base, b.mul(b.sub(count, integer(1)), stride), F64)
                b.store(last, at(b, base, b.mul(half, stride), F64))
            shrink(b.add(half, odd))
        b.ret(b.load(base, typ=F64))
        return f

    def define(self, b: ll.IRBuilder, instr: Instr, env: dict[Value, Any]) -> None:
        assert instr.result is not None
        args = [env[v] if v in env else self.constant(b, v) for v in ir.operands(instr.op)]
        env[instr.result] = lower(b, instr.op, args, instr.result)

    def constant(self, b: ll.IRBuilder, v: Value) -> Any:
        return lower(b, self.consts[v], [], v)

    def keep(self, b: ll.IRBuilder, v: Value, env: dict[Value, Any], scalars: Any, n: Any, i: Any) -> None:
        """Write a value that a later phase reads to its slot, whatever its dtype as the bits of one double."""
        if v not in self.slots:
            return
        x = env[v]
        match v.type.dtype:
            case "f32":
                x = b.fpext(x, F64)
            case "b1":
                x = b.uitofp(x, F64)
            case "i64":
                x = b.bitcast(x, F64)
        b.store(x, at(b, scalars, self.slot(b, v, n, i), F64))

    def fetch(self, b: ll.IRBuilder, instr: Instr, env: dict[Value, Any], scalars: Any, n: Any, i: Any) -> None:
        """Read the operands that an earlier phase left in slots."""
        for v in ir.operands(instr.op):
            if v in env or v in self.consts or v not in self.slots or v.type.kind is Kind.ELEM:
                continue
            x = load(b, scalars, self.slot(b, v, n, i), F64)
            match v.type.dtype:
                case "f32":
                    x = b.fptrunc(x, TYPES["f32"])
                case "b1":
                    x = b.fcmp_ordered("!=", x, ll.Constant(F64, 0.0))
                case "i64":
                    x = b.bitcast(x, I64)
            env[v] = x

    def slot(self, b: ll.IRBuilder, v: Value, n: Any, i: Any) -> Any:
        return b.add(b.mul(n, integer(self.slots[v])), i)

    # ------------------------------------------------------------ sweeps

    def sweep_task(self, phase: Phase, name: str) -> ll.Function:
        """Part `part` of `parts` of a sweep: its share of every tensor, cut at blocks."""
        body = self.sweep_tensor(phase, f"{name}.tensor")
        f, b = self.driver(name, TASK)
        step, part, parts = f.args
        saved = self.strict_floats(b)
        s = self.fields(b, step)
        elements = self.sum(b, s.n, s.size, lambda size: size)
        low = b.sdiv(b.mul(elements, part), parts)
        high = b.sdiv(b.mul(elements, b.add(part, integer(1))), parts)
        offset, first = b.alloca(I64), b.alloca(I64)
        for cell in (offset, first):
            b.store(integer(0), cell)
        with loop(b, integer(0), s.n) as i:
            size, here = load(b, s.size, i, I64), b.load(offset, typ=I64)
            begin, end = (self.cut(b, b.sub(x, here), size) for x in (low, high))
            with b.if_then(b.icmp_signed("<", begin, end)):
                buffers = at(b, s.buffers, b.mul(i, integer(len(self.kernel.buffers))), PTR)
                base = b.mul(b.load(first, typ=I64), integer(self.reductions))
                b.call(body, [begin, end, buffers, s.workspace, s.n, i, at(b, s.partials, base, F64)])
            b.store(b.add(here, size), offset)
            b.store(b.add(b.load(first, typ=I64), self.blocks(b, size)), first)
        self.restore_floats(b, saved)
        b.ret_void()
        return f

    def cut(self, b: ll.IRBuilder, x: Any, size: Any) -> Any:
        """x within a tensor, rounded up to a block: one rule for where a part ends and where the next one begins.

        Where nothing is reduced, a few cache lines are block enough.
        """
        unit = BLOCK if self.reductions else LANES
        inside = b.select(b.icmp_signed("<", x, integer(0)), integer(0), smaller(b, x, size))
        return smaller(b, b.and_(b.add(inside, integer(unit - 1)), integer(-unit)), size)

    def sweep_tensor(self, phase: Phase, name: str) -> ll.Function:
        """Fetch the pointers and scalars of one tensor and hand them to the loop over its elements."""
        types = [I64, I64, PTR, PTR, I64, I64, PTR]
        f, b = self.driver(name, ll.FunctionType(VOID, types))
        begin, end, buffers, scalars, n, i, partials = f.args
        env: dict[Value, Any] = {}
        for instr in phase.instrs:
            self.fetch(b, instr, env, scalars, n, i)
        used = [k for k, x in enumerate(self.kernel.buffers) if x.name in _streams(phase)]
        pointers = [load(b, buffers, integer(k), PTR) for k in used]
        elements = self.elements(phase, f"{name}.elements", [self.kernel.buffers[k].name for k in used], list(env))
        b.call(elements, [begin, end, partials, *pointers, *env.values()])
        b.ret_void()
        return f

    def elements(self, phase: Phase, name: str, streams: list[str], scalars: list[Value]) -> ll.Function:
        """The loop over elements [begin, end) of one tensor. Streams are noalias: `bind` has made sure of it."""
        types = [I64, I64, PTR, *(PTR for _ in streams), *(TYPES[v.type.dtype] for v in scalars)]
        f, b = self.function(name, ll.FunctionType(VOID, types))
        f.attributes.add("noinline")
        begin, end, partials, *rest = f.args
        for arg in rest[: len(streams)]:
            arg.add_attribute("noalias")
        pointers = dict(zip(streams, rest, strict=False))
        env = dict(zip(scalars, rest[len(streams) :], strict=True))
        body = Body(b, phase.instrs, self.kernel.compute, pointers, env, self.consts)
        if self.reductions_of(phase):
            reduce_blocks(body, begin, end, partials, self.reductions)
        else:
            for_elements(body, begin, end)
        b.ret_void()
        return f


def _streams(phase: Phase) -> set[str]:
    return {i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Load | ir.Store)}


@dataclass(frozen=True)
class _Callee:
    """An untyped pointer that is called as a function: llvmlite wants the type at the callee."""

    pointer: Any
    function_type: ll.FunctionType

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())
