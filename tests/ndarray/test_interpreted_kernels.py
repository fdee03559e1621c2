"""Compiled loops (`optgen.loops`) in the interpreter of LLVM IR: small calls of the operators that use them, with the
bits of the compiled code, and nothing undefined."""

from __future__ import annotations

import array
import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optgen.loops import trampoline
from optgen.loops.kernel import KERNELS, POOL_MIN_WORK, LoopKernel, shared_by, shared_symbol, shared_text
from optgen.loops.language import INT, Function
from optgen.loops.writes import written
from runtime import native as kernels
from tests.llvm import Machine
from tests.llvm.values import Value
from tests.ndarray import kernel_cases, window_kernel_cases
from tests.ndarray.test_checked_kernels import assert_same_bits, name_of
from tests.sweeps import swept

pytestmark = pytest.mark.cpu_only("native kernels")

for _module in pkgutil.iter_modules(kernels.__path__):
    if _module.name != "__main__":
        importlib.import_module(f"{kernels.__name__}.{_module.name}")
CASES = kernel_cases.CASES | window_kernel_cases.CASES
MOST, MOST_ONCE = 9000, 100_000
"""Elements of all arrays, and tasks, of a call that is interpreted, and of the first one of a kernel. Larger ones are
left to the compiled code."""


def shared_machine(f: Function, dtype: np.dtype) -> Callable[..., Value]:
    """A shared function, which is a module of its own, as a function of Python."""
    machine, name = Machine(shared_text(f, dtype), externals(f, dtype)), shared_symbol(f, dtype)

    def call(*values: Value) -> Value:
        machine.left = machine.limit
        return machine.run(name, list(values))

    return call


def externals(f: Function, dtype: np.dtype) -> dict[str, Callable[..., Value]]:
    return {shared_symbol(x, dtype): shared_machine(x, dtype) for x in shared_by(f)}


@functools.cache
def machine_of(kernel: LoopKernel, dtype: np.dtype) -> Machine:
    return Machine(kernel.text(dtype), externals(kernel, dtype))


def calls_other_code(kernel: LoopKernel, dtype: np.dtype) -> bool:
    """Whether it calls BLAS, or code of ours by its address."""
    texts = (kernel.text(dtype), *(shared_text(f, dtype) for f in shared_by(kernel)))
    return any("call void %" in text for text in texts)


def interpret(kernel: LoopKernel, tasks: int, arguments: tuple[Any, ...], scratch: int) -> None:
    """A call, of which the parts are run one after the other, the last one first."""
    dtype = arguments[0].dtype
    machine = machine_of(kernel, dtype)
    types = [type for _, type in kernel.parameters[-len(arguments) :]]
    names = [name for name, _ in kernel.parameters[-len(arguments) :]]
    machine.memory.clear()
    ranges: list[tuple[int, int, bool]] = []
    words = [tasks, scratch * dtype.itemsize, 0]
    for name, type, x in zip(names, types, arguments, strict=True):
        words.append(x if type == INT else 0 if x is None else x.ctypes.data)
        if isinstance(x, np.ndarray) and x.size:
            ranges.append((x.ctypes.data, x.ctypes.data + x.nbytes, name in written(kernel)))
    for start, end, writable in merged(ranges):
        machine.memory.add("an argument", start, end - start, writable=writable)
    fields = array.array("q", words)
    machine.memory.add("the fields", fields.buffer_info()[0], 8 * len(words), writable=True)
    for part in (1, 0):
        machine.call(f"native_{kernel.name}", fields.buffer_info()[0], part, 2)
    assert not machine.heap


def merged(ranges: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Ranges of memory, those that overlap as one."""
    found: list[tuple[int, int, bool]] = []
    for start, end, writable in sorted(ranges):
        if found and start < found[-1][1]:
            first, last, other = found.pop()
            found.append((first, max(last, end), other or writable))
        else:
            found.append((start, end, writable))
    return found


def judged(monkeypatch: pytest.MonkeyPatch, case: Callable[[str], None], dtype: str) -> set[str]:
    """Run a case; the names of the kernels that the interpreter ran, too."""
    trampoline.install(LoopKernel, POOL_MIN_WORK)  # else the first call would replace the method
    compiled, seen = LoopKernel.__call__, set[str]()

    def both(self: LoopKernel, tasks: int, work: int, *arguments: Any, scratch: int = 0) -> None:
        size = tasks + sum(x.size for x in arguments if isinstance(x, np.ndarray))
        if size > (MOST if name_of(self) in seen else MOST_ONCE) or calls_other_code(self, arguments[0].dtype):
            return compiled(self, tasks, work, *arguments, scratch=scratch)
        before = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        interpret(self, tasks, arguments, scratch)
        after = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        for x, y in zip(arguments, before, strict=True):
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = y
        compiled(self, tasks, work, *arguments, scratch=scratch)
        for x, y in zip(arguments, after, strict=True):
            if isinstance(x, np.ndarray):
                assert_same_bits(y, x, name_of(self))
        seen.add(name_of(self))

    monkeypatch.setattr(LoopKernel, "__call__", both)
    case(dtype)
    return seen


QUICK = ("sums_of_axes", "picks")


@pytest.mark.parametrize(
    "case", swept(list(CASES), lambda case: case.__name__ in QUICK), ids=lambda case: case.__name__
)
def test_loops_do_nothing_undefined(monkeypatch: pytest.MonkeyPatch, case: Callable[[str], None]) -> None:
    seen = judged(monkeypatch, case, "float32")
    others = {name_of(k) for k in KERNELS if calls_other_code(k, np.dtype(np.float32))}
    assert seen >= set(CASES[case]) - others
