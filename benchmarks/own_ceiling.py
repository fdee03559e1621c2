"""The fastest step with the sweeps of a spec: they move what the spec's kernel moves, and compute next to nothing.

A spec with reductions reads some streams in several sweeps. Beside the ceiling of one sweep over its streams
(`ceiling.py`) it has one of its own: the planned kernel with additions in the place of all else.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import workloads
from workloads import Rule, Shape

import optgen
from optgen import compiled, ir, pipeline
from optgen.backends import target
from optgen.compiled import NativeKernel
from optgen.execute.cpu.device import Cpu
from optgen.ir import Instr, Kernel, Phase, Variant
from optgen.ir.expand import Emitter
from optgen.model import Optimizer


def bind(rule: Rule, shapes: Sequence[Shape]) -> optgen.BoundStep:
    """A step with the sweeps of a rule in float32, in arrays of zeros that are its own."""
    own = rule.load()
    own.target = Cpu(_compile)
    weights, grads = workloads.zeros(shapes, own.dtype), workloads.zeros(shapes, own.dtype)
    state = own.init(weights)
    for arrays in state.arrays.values():
        for x in arrays:
            if x is not None:
                x.fill(0)
    return own.bind(weights, grads, state, {i.name: workloads.zeros(shapes, own.dtype) for i in own.spec.inputs})


def _compile(optimizer: Optimizer, variant: Variant) -> NativeKernel:
    kernel, host, name = additions_only(pipeline.plan(pipeline.build(optimizer, variant))), target.host(), "ceiling"
    code = target.compile_ir(pipeline.lower(kernel, name, host), host).object
    return compiled.unpack_native(name, variant.dtype, compiled.pack_native(kernel, code))


def additions_only(kernel: Kernel) -> Kernel:
    """The sweeps of a planned kernel, in which each array that is written gets the sum of those that are read. A sweep
    with reductions has one, of that sum."""
    sweeps = [phase for phase in kernel.phases if phase.kind == "sweep"]
    kept = [Phase("sweep", _additions(phase, f"sum.{k}.")) for k, phase in enumerate(sweeps)]
    written = {i.op.buffer for phase in kept for i in phase.instrs if isinstance(i.op, ir.Store)}
    buffers = tuple(replace(b, written=b.name in written) for b in kernel.buffers)
    return replace(kernel, phases=(Phase("host", ()), *kept), buffers=buffers)


def _additions(phase: Phase, prefix: str) -> tuple[Instr, ...]:
    loads = [i for i in phase.instrs if isinstance(i.op, ir.Load)]
    emitter = Emitter(prefix)
    emitter.instrs += loads
    total = functools.reduce(emitter.add, [i.result for i in loads if i.result is not None])
    if any(isinstance(i.op, ir.Reduce) for i in phase.instrs):
        emitter.emit(ir.Reduce("sum", emitter.emit(ir.Convert(total)) if total.type.dtype == "f32" else total))
    stores = [i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Store)]
    return (*emitter.instrs, *(Instr(None, ir.Store(name, total)) for name in stores))
