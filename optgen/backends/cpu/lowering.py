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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop, text, variable
from optgen.backends.cpu.host import host
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.cpu.partials import fold_columns, fold_sweep
from optgen.backends.cpu.phases import fold_lines, lines, reduce_lines, scalar, shared
from optgen.backends.cpu.step import StepFunction
from optgen.backends.cpu.sweep import sweep_task
from optgen.backends.layout import reductions
from optgen.backends.llvm import integer
from optgen.backends.llvm_types import I64, PTR
from optgen.backends.target import CpuTarget
from optgen.ir import ROW_BLOCK, Kernel, Phase

PARALLEL_FOR = ll.FunctionType(VOID, [PTR, PTR, PTR, I64])
EXCHANGE = ll.FunctionType(I64, [PTR, PTR, I64])
WORK_OF_LINE = 8
"""A row or a column takes about as long as so many elements of a sweep."""


@dataclass(frozen=True)
class Callee:
    """An untyped pointer to call as a function: llvmlite asks the callee for its type."""

    pointer: Any
    function_type: ll.FunctionType

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())


@dataclass(frozen=True)
class PhaseCall:
    """A function that is called with the step. A task is shared by threads; its `work`, given the number of elements,
    says of how many elements a sweep takes as long."""

    function: ll.Function
    work: Callable[[StepFunction, Any], Any] | None = None


def emit(kernel: Kernel, symbol: str, machine: CpuTarget) -> str:
    """The LLVM IR text of a planned kernel, exported as `symbol`."""
    m = CpuModuleBuilder(kernel, symbol, machine)
    calls: list[PhaseCall | None] = []
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


def phase_calls(m: CpuModuleBuilder, phase: Phase, name: str) -> list[PhaseCall | None]:
    """What to call for a phase, in order; None stands for the exchange of partial results between pieces."""
    match phase.kind:
        case "host":
            return [PhaseCall(host(m, phase, name))]
        case "shared":
            return [PhaseCall(shared(m, phase, name))]
        case "scalar":
            return [PhaseCall(scalar(m, phase, name))]
        case "row" | "col":
            return line_calls(m, phase, name)
    calls: list[PhaseCall | None] = [PhaseCall(sweep_task(m, phase, name), lambda s, elements: elements)]
    totals, columns = (reductions(phase, scope) for scope in ("all", "col"))
    if (m.kernel.boxes and (totals or columns or reductions(phase, "row"))) or (m.can_be_cut and totals):
        calls.append(None)
    if columns:
        calls.append(PhaseCall(fold_columns(m, phase, f"{name}.columns"), _partial_results))
    if totals or m.kernel.boxes:
        calls.append(PhaseCall(fold_sweep(m, phase, f"{name}.fold")))
    return calls


def line_calls(m: CpuModuleBuilder, phase: Phase, name: str) -> list[PhaseCall | None]:
    """`phase_calls` for one number for each row, or column."""
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    calls: list[PhaseCall | None] = [
        PhaseCall(lines(m, phase, name), lambda s, _: s.b.mul(s.count_lines(kind), integer(WORK_OF_LINE)))
    ]
    if m.kernel.boxes and any(isinstance(i.op, ir.Reduce) for i in phase.instrs):
        calls += [
            PhaseCall(reduce_lines(m, phase, f"{name}.own")),
            None,
            PhaseCall(fold_lines(m, phase, f"{name}.fold")),
        ]
    elif reductions(phase, "all"):
        calls.append(PhaseCall(reduce_lines(m, phase, f"{name}.fold")))
    return calls


def _partial_results(s: StepFunction, elements: Any) -> Any:
    """The work of folding the partial results of columns, in elements of a sweep."""
    return s.b.udiv(elements, integer(ROW_BLOCK // 2))


def entry(m: CpuModuleBuilder, calls: list[PhaseCall | None]) -> None:
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
        elif call.work is None:
            b.call(call.function, [step])
        else:
            with b.if_else(b.icmp_unsigned("==", parallel, ll.Constant(PTR, None))) as (alone, together):
                with alone:
                    b.call(call.function, [step, integer(0), integer(1)])
                with together:
                    work = call.work(s, elements)
                    b.call(Callee(parallel, PARALLEL_FOR), [pool, call.function, step, work])
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
