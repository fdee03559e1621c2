"""A planned kernel as an LLVM module for the CPU: one exported call updates all tensors of a step.

    void NAME(const optgen_step *step);                 all phases; advances step->t
    int64_t NAME_workspace(const optgen_step *step);    doubles that step->workspace must hold

    struct optgen_step {
        int64_t n;                tensors
        const int64_t *size;      n element counts
        void *const *buffers;     n x (number of buffers) pointers, a tensor's buffers together, in the kernel's order
        int64_t *t;               n update counts, advanced by the call
        const double *hyper;      (number of hyper-parameters) x n values, in the kernel's order; NaN: unset
        double *workspace;        see layout.py
        parallel_for parallel;    NULL: everything on the calling thread
        void *pool;               its first argument
        const int64_t *cols;      n row lengths: a tensor is seen as a matrix of shape[0] rows
        const int64_t *id;        n parameter ids, which tell the draws of tensors apart
        uint64_t seed;            of the draws
        const int64_t *const *index;    NULL, or n lists of the rows to update, ascending; a NULL list: all rows
        const int64_t *present;   NULL, or n lengths of these lists; -1: the tensor is updated as a whole
        const int64_t *first;     NULL, or of n pieces of tensors, which of the tensor's elements is their first one
        const int64_t *whole;     NULL, or n element counts of the tensors that these are pieces of
        exchange share;           NULL, or what brings the partial results of the other pieces
        void *peers;              its first argument
    };
    typedef int64_t (*exchange)(void *peers, double *partials, int64_t stride);    0, or the step ends here
    typedef void (*task)(const void *step, int64_t part, int64_t parts);
    typedef void (*parallel_for)(void *pool, task, const void *step, int64_t elements);

Pieces are for kernels without values of rows or columns. They begin at multiples of BLOCK elements. Before partial
results are folded, `share` is given those of all tensors: `stride` doubles for each block of each whole tensor, the
blocks of the pieces among them filled in.

What each phase does is in `small.py` (once, per tensor, per row, per column) and `sweeps.py` (per element).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.module import EXCHANGE, PARALLEL, PEERS, POOL, RUN, SHARE, TASK, VOID, Callee, Module, Step
from optgen.backends.cpu.small import host, lines, scalar, shared
from optgen.backends.cpu.sweeps import fold_sweep, sweep_task
from optgen.backends.layout import reductions
from optgen.backends.llvm import I64, PTR, integer, loop, text
from optgen.ir import Kernel, Phase


def emit(kernel: Kernel, symbol: str, triple: str) -> str:
    """The LLVM IR text of a planned kernel, exported as `symbol`."""
    m = Module(kernel, symbol, triple)
    calls: list[ll.Function | None] = []
    for k, phase in enumerate(kernel.phases):
        calls += phase_calls(m, phase, f"{symbol}.{k}.{phase.kind}")
    workspace_size(m)
    entry(m, calls)
    return text(m.module)


def emit_host(kernel: Kernel, symbol: str, triple: str) -> str:
    """The LLVM IR text of the part of a step that the CPU does for other devices, exported as `symbol`.

    It reads t, hyper and the buffers of host states, advances t, and writes the host values to the workspace.
    """
    m = Module(kernel, symbol, triple)
    body = host(m, kernel.phases[0], f"{symbol}.host")
    f, b = m.driver(symbol, ll.FunctionType(VOID, [PTR]))
    saved = m.strict_floats(b)
    b.call(body, [f.args[0]])
    m.restore_floats(b, saved)
    b.ret_void()
    return text(m.module)


def phase_calls(m: Module, phase: Phase, name: str) -> list[ll.Function | None]:
    """What is called for a phase, one after the other; None where pieces exchange their partial results."""
    match phase.kind:
        case "host":
            return [host(m, phase, name)]
        case "shared":
            return [shared(m, phase, name)]
        case "scalar":
            return [scalar(m, phase, name)]
        case "row" | "col":
            return [lines(m, phase, name)]
    task = sweep_task(m, phase, name)
    if not any(isinstance(i.op, ir.Reduce) for i in phase.instrs):
        return [task]
    exchange = [None] if m.can_be_cut and reductions(phase, "all") else []
    return [task, *exchange, fold_sweep(m, phase, f"{name}.fold")]


def entry(m: Module, calls: list[ll.Function | None]) -> None:
    _, b = m.driver(m.symbol, ll.FunctionType(VOID, [PTR]))
    (step,) = b.function.args
    saved = m.strict_floats(b)
    s = Step(b, step, m.layout)
    parallel, pool = s.pointer(RUN), s.pointer(POOL)
    total = m.cell(b, integer(0))
    with loop(b, integer(0), s.n) as i:
        b.store(b.add(b.load(total, typ=I64), m.extent(b, s, i).elements), total)
    elements = b.load(total, typ=I64)
    for call in calls:
        if call is None:
            exchange(m, b, s, saved)
        elif call.ftype == TASK:
            with b.if_else(b.icmp_unsigned("==", parallel, ll.Constant(PTR, None))) as (alone, together):
                with alone:
                    b.call(call, [step, integer(0), integer(1)])
                with together:
                    b.call(Callee(parallel, PARALLEL), [pool, call, step, elements])
        else:
            b.call(call, [step])
    m.restore_floats(b, saved)
    b.ret_void()


def exchange(m: Module, b: ll.IRBuilder, s: Step, saved: Any) -> None:
    """Have the partial results of the other pieces, or return."""
    share = s.pointer(SHARE)
    with b.if_then(b.icmp_unsigned("!=", share, ll.Constant(PTR, None))):
        failed = b.call(Callee(share, EXCHANGE), [s.pointer(PEERS), s.regions, integer(m.layout.stride)])
        with b.if_then(b.icmp_unsigned("!=", failed, integer(0))):
            m.restore_floats(b, saved)
            b.ret_void()


def workspace_size(m: Module) -> None:
    f, b = m.driver(f"{m.symbol}_workspace", ll.FunctionType(I64, [PTR]))
    s = Step(b, f.args[0], m.layout)
    total = m.cell(b, b.add(integer(len(m.layout.shared)), b.mul(s.n, integer(len(m.layout.slots)))))
    with loop(b, integer(0), s.n) as i:
        end = m.layout.region(b, m.extent(b, s, i)).end
        b.store(b.add(b.load(total, typ=I64), end), total)
    b.ret(b.load(total, typ=I64))
