"""The prologue of a capturable step: the host's part, computed by one block of the GPU before the other launches.

It advances the counts, computes the host phase of each tensor, and writes the values into the table. If the gradients
are not finite, as `found_inf` says, it gives the other launches no units instead: nothing changes then.
"""

from __future__ import annotations

import functools
from typing import Any

from optgen.backends.control_flow import loop, variable
from optgen.backends.function_builder import FunctionBuilder
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.launches import schedule
from optgen.backends.gpu.module import GpuModuleBuilder
from optgen.backends.gpu.prologue_layout import (
    COUNTED,
    COUNTS,
    FOUND_INF,
    GRAD_SCALE,
    PARAMETERS,
    TABLE,
    PrologueLayout,
)
from optgen.backends.gpu.table import THREADS, Launch, N, TableWord
from optgen.backends.llvm import at, integer
from optgen.backends.llvm_types import F32, F64, I64, TYPES
from optgen.ir import GRADIENT_FACTOR, Kernel

I1 = TYPES["b1"]


def emit(kernel: Kernel, symbol: str, gpu: GpuTarget) -> str:
    """The LLVM IR text of a module with the prologue of a planned kernel, a function called `symbol`_prologue."""
    launches = tuple(launch for launch, _ in schedule(kernel, symbol, gpu))
    m = GpuModuleBuilder(kernel, symbol, launches, gpu)
    name = f"{symbol}_prologue"
    Prologue(m, name).emit()
    return gpu.completed(str(m.module), THREADS, {name: 1})


class Prologue(LaunchFunction):
    """The function under construction; its one parameter is the address of the words of `prologue_layout.py`."""

    def __init__(self, m: GpuModuleBuilder, name: str) -> None:
        FunctionBuilder.__init__(self, m, m.function(Launch(name, "step")))
        self.gpu, self.layout = m.gpu, PrologueLayout(len(m.kernel.hyper), len(m.launches))
        (self.words,) = self.b.function.args
        self.thread = self.b.zext(self.gpu.thread_id(self.b), I64)
        self.table = self.b.load(at(self.b, self.words, integer(TABLE), I64), typ=self.gpu.global_pointer)
        self.n = self.word(TableWord(N, 0))

    def given(self, word: int | TableWord, i: Any = None) -> Any:
        """A word that the prologue was given, or the one i behind it."""
        b, where = self.b, word if isinstance(word, TableWord) else TableWord(word, 0)
        index = integer(where.constant)
        if where.per_tensor:
            index = b.add(index, b.mul(self.n, integer(where.per_tensor)))
        return self.mark_invariant(b.load(at(b, self.words, index if i is None else b.add(index, i), I64), typ=I64))

    def number(self, address: Any, type: Any) -> Any:
        """The number at an address, which may be written between two steps."""
        return self.b.load(self.b.inttoptr(address, self.gpu.global_pointer), typ=type)

    def emit(self) -> None:
        b, counts = self.b, self.b.inttoptr(self.given(COUNTS), self.gpu.global_pointer)
        skipped = self.is_skipped()
        for k in range(len(self.m.launches)):
            with self.one_thread(self.thread):
                total = b.select(skipped, integer(0), self.given(self.layout.total(k)))
                b.store(total, self.address(self.m.table.units(k), self.n))
        with b.if_then(b.not_(skipped)):
            with loop(b, self.thread, self.given(COUNTED), THREADS) as k:
                count = at(b, counts, self.given(self.layout.counted, k), I64)
                b.store(b.add(b.load(count, typ=I64), integer(1)), count)
            self.block_barrier()
            step = self.largest_count(counts) if "step" in self.m.kernel.hyper else None
            with loop(b, self.thread, self.n, THREADS) as i:
                t = b.load(at(b, counts, self.given(self.layout.order, i), I64), typ=I64)
                b.store(t, self.address(self.m.table.column("t"), i))
                self.host(self.m.kernel.phases[0], i, t, functools.partial(self.hyper, i, step))
        b.ret_void()

    def is_skipped(self) -> Any:
        b, address, found = self.b, self.given(FOUND_INF), variable(self.b, I1(0))
        with b.if_then(b.icmp_signed("!=", address, integer(0))):
            b.store(b.fcmp_unordered("!=", self.number(address, F32), F32(0.0)), found)
        return b.load(found, typ=I1)

    def largest_count(self, counts: Any) -> Any:
        """The largest count of all parameters; each warp finds it for itself."""
        b, largest = self.b, variable(self.b, integer(0))

        def take(other: Any) -> None:
            now = b.load(largest, typ=I64)
            b.store(b.select(b.icmp_signed(">", other, now), other, now), largest)

        with loop(b, self.lane(), self.given(PARAMETERS), self.gpu.width) as k:
            take(b.load(at(b, counts, k, I64), typ=I64))
        for lanes in self.halves():
            take(self.shuffle_xor(b.load(largest, typ=I64), lanes))
        return b.load(largest, typ=I64)

    def hyper(self, i: Any, step: Any, name: str) -> Any:
        """A hyper-parameter of tensor i, as a double."""
        b, k = self.b, self.m.kernel.hyper.index(name)
        if name == "step":
            return b.sitofp(step, F64)
        value = variable(b, b.bitcast(self.given(self.layout.numbers(k), i), F64))
        source = self.given(self.layout.source(k))
        is_double = b.icmp_signed("!=", self.given(self.layout.is_double(k)), integer(0))
        is_tensor = b.icmp_signed("!=", source, integer(0))
        with b.if_then(b.and_(is_tensor, is_double)):
            b.store(self.number(source, F64), value)
        with b.if_then(b.and_(is_tensor, b.not_(is_double))):
            b.store(b.fpext(self.number(source, F32), F64), value)
        if name == GRADIENT_FACTOR:
            scale = self.given(GRAD_SCALE)
            with b.if_then(b.icmp_signed("!=", scale, integer(0))):
                b.store(b.fdiv(b.load(value, typ=F64), b.fpext(self.number(scale, F32), F64)), value)
        return b.load(value, typ=F64)
