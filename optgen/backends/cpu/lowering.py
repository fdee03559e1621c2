"""A planned kernel as an LLVM module for the CPU: one exported call updates all tensors of a step.

    void NAME(const optgen_step *step);                 all phases; advances step->t
    int64_t NAME_workspace(const optgen_step *step);    doubles that step->workspace must hold

optgen_step is made of `STEP_FIELDS` (`step_struct.py`); the types of its callbacks:

    typedef int64_t (*exchange)(void *peers, double *partials, int64_t stride);    0, or the step ends here
    typedef void (*task)(const void *step, int64_t part, int64_t parts);
    typedef void (*parallel_for)(void *pool, task, const void *step, int64_t elements);

A kernel without row and column values can update pieces of tensors, which begin at multiples of BLOCK elements. Before
partial results are folded, `share` is given those of all tensors: `stride` doubles for each block of each whole tensor.
The blocks of the pieces at hand are filled in; `share` fills in the others.

A kernel for boxes leaves what is to be exchanged in `area` (`box.py`). It calls `share` with that and the number of the
call in the step, in the order of `Kernel.levels`.

What each phase does is in `phases.py` (once, per tensor, per row, per column) and `sweep.py` (per element).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, text, variable
from optgen.backends.cpu.host import host
from optgen.backends.cpu.module import TASK, VOID, CpuModuleBuilder
from optgen.backends.cpu.partials import fold_sweep
from optgen.backends.cpu.phases import fold_lines, lines, scalar, shared
from optgen.backends.cpu.step import StepFunction
from optgen.backends.cpu.sweep import sweep_task
from optgen.backends.layout import reductions
from optgen.backends.llvm import integer
from optgen.backends.llvm_types import I64, PTR
from optgen.backends.target import CpuTarget
from optgen.ir import Kernel, Phase

PARALLEL_FOR = ll.FunctionType(VOID, [PTR, PTR, PTR, I64])
EXCHANGE = ll.FunctionType(I64, [PTR, PTR, I64])


@dataclass(frozen=True)
class Callee:
    """An untyped pointer to call as a function: llvmlite asks the callee for its type."""

    pointer: Any
    function_type: ll.FunctionType

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())


def emit(kernel: Kernel, symbol: str, machine: CpuTarget) -> str:
    """The LLVM IR text of a planned kernel, exported as `symbol`."""
    m = CpuModuleBuilder(kernel, symbol, machine)
    calls: list[ll.Function | None] = []
    for k, phase in enumerate(kernel.phases):
        calls += phase_calls(m, phase, f"{symbol}.{k}.{phase.kind}")
    workspace_size(m)
    entry(m, calls)
    return text(m.module)


def emit_host(kernel: Kernel, symbol: str, machine: CpuTarget) -> str:
    """The LLVM IR text of the part of a step that the CPU does for other devices, exported as `symbol`.

    It reads t, hyper and the buffers of host states, advances t, and writes the host values to the workspace.
    """
    m = CpuModuleBuilder(kernel, symbol, machine)
    body = host(m, kernel.phases[0], f"{symbol}.host")
    f, b = m.cold_function(symbol, ll.FunctionType(VOID, [PTR]))
    saved = m.float_mode.set(b)
    b.call(body, [f.args[0]])
    m.float_mode.restore(b, saved)
    b.ret_void()
    return text(m.module)


def phase_calls(m: CpuModuleBuilder, phase: Phase, name: str) -> list[ll.Function | None]:
    """The functions to call for a phase, in order; None stands for the exchange of partial results between pieces."""
    match phase.kind:
        case "host":
            return [host(m, phase, name)]
        case "shared":
            return [shared(m, phase, name)]
        case "scalar":
            return [scalar(m, phase, name)]
        case "row" | "col":
            shares = m.kernel.boxes and any(isinstance(i.op, ir.Reduce) for i in phase.instrs)
            return [lines(m, phase, name), *([None, fold_lines(m, phase, f"{name}.fold")] if shares else [])]
    task = sweep_task(m, phase, name)
    if not any(isinstance(i.op, ir.Reduce) for i in phase.instrs):
        return [task]
    exchange = [None] if m.kernel.boxes or (m.can_be_cut and reductions(phase, "all")) else []
    return [task, *exchange, fold_sweep(m, phase, f"{name}.fold")]


def entry(m: CpuModuleBuilder, calls: list[ll.Function | None]) -> None:
    """The exported function: all calls in order, tasks on several threads if the step has some."""
    _, b = m.cold_function(m.symbol, ll.FunctionType(VOID, [PTR]))
    (step,) = b.function.args
    saved = m.float_mode.set(b)
    s = StepFunction(m, b, step)
    parallel, pool = s.field("parallel"), s.field("pool")
    elements = s.count_elements()
    level = 0
    for call in calls:
        if call is None:
            exchange(m, s, saved, level)
            level += 1
        elif call.ftype == TASK:
            with b.if_else(b.icmp_unsigned("==", parallel, ll.Constant(PTR, None))) as (alone, together):
                with alone:
                    b.call(call, [step, integer(0), integer(1)])
                with together:
                    b.call(Callee(parallel, PARALLEL_FOR), [pool, call, step, elements])
        else:
            b.call(call, [step])
    m.float_mode.restore(b, saved)
    b.ret_void()


def exchange(m: CpuModuleBuilder, s: StepFunction, saved: Any, level: int) -> None:
    """Ask for the partial results of the other pieces; return from the step if that fails."""
    b, share = s.b, s.field("share")
    numbers = [s.field("area"), integer(level)] if m.kernel.boxes else [s.regions, integer(m.layout.stride)]
    with b.if_then(b.icmp_unsigned("!=", share, ll.Constant(PTR, None))):
        failed = b.call(Callee(share, EXCHANGE), [s.field("peers"), *numbers])
        with b.if_then(b.icmp_unsigned("!=", failed, integer(0))):
            m.float_mode.restore(b, saved)
            b.ret_void()


def workspace_size(m: CpuModuleBuilder) -> None:
    """The exported function that says how many doubles the workspace must hold."""
    f, b = m.cold_function(f"{m.symbol}_workspace", ll.FunctionType(I64, [PTR]))
    s = StepFunction(m, b, f.args[0])
    total = variable(b, b.add(integer(len(m.layout.shared)), b.mul(s.n, integer(len(m.layout.slots)))))
    with loop(b, integer(0), s.n) as i:
        end = m.layout.region(b, s.extent(i)).end
        b.store(b.add(b.load(total, typ=I64), end), total)
    b.ret(b.load(total, typ=I64))
