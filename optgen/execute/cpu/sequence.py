"""Calls of native code one after the other, loops of them, and sequences that threads share (`sequence.c`).

`optgen.loops` is imported when it is needed: it takes longer than all else here.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optgen.objectcode import c_functions
from optgen.threads.sharing import Threads

ALONE = -1
"""Stands for the work of a call that shares its work among the threads by itself."""


class _Call(ctypes.Structure):
    """`call` of sequence.c."""

    _fields_ = (("task", ctypes.c_void_p), ("argument", ctypes.c_void_p), ("work", ctypes.c_int64))


class _Sequence(ctypes.Structure):
    """`sequence` of sequence.c."""

    _fields_ = (
        ("n", ctypes.c_int64),
        ("calls", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("small", ctypes.c_int64),
    )


CALL_BYTES, SEQUENCE_BYTES = ctypes.sizeof(_Call), ctypes.sizeof(_Sequence)
"""Both consist of words of 64 bits."""


class _Loop(ctypes.Structure):
    """`loop` of sequence.c."""

    _fields_ = (
        ("turns", ctypes.c_int64),
        ("readers", ctypes.c_int64),
        ("number", ctypes.c_void_p),
        ("bodies", ctypes.c_void_p),
    )


class _Sequences(ctypes.Structure):
    """`sequences` of sequence.c."""

    _fields_ = (("n", ctypes.c_int64), ("sequences", ctypes.c_void_p))


@dataclass(frozen=True)
class SequenceCall:
    """A call: the addresses of a task and its argument. `uses` is kept alive. `calls_blas`: it is to find BLAS on one
    thread."""

    task: int
    argument: int
    work: int
    uses: Any = None
    calls_blas: bool = False


@functools.cache
def _entries() -> Mapping[str, int]:
    return c_functions.load(__file__, "optgen_sequence_run", "optgen_loop_run", "optgen_sequences_run")


@functools.cache
def _run() -> Callable[[int], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_entries()["optgen_sequence_run"])


def run_sequence(address: int) -> None:
    """Make the calls of the `sequence` of sequence.c at an address."""
    _run()(address)


class NativeSequence:
    """Calls one after the other; threads share those with much work. `run` makes all of them."""

    def __init__(self, calls: Sequence[SequenceCall], threads: Threads | None) -> None:
        from optgen.loops.kernel import POOL_MIN_WORK

        self.calls = calls
        self._table = (_Call * len(calls))(*(_Call(x.task, x.argument, x.work) for x in calls))
        shared = (None, None) if threads is None else (threads.run, threads.address)
        self.struct = _Sequence(len(calls), ctypes.addressof(self._table), *shared, POOL_MIN_WORK)
        self.calls_blas = any(x.calls_blas for x in calls)
        self.work = sum(max(x.work, 0) for x in calls)

    def run(self) -> None:
        from optgen.loops import numpy_blas

        with numpy_blas.single if self.calls_blas else contextlib.nullcontext():
            _run()(ctypes.addressof(self.struct))


def loop_call(turns: int, readers: Sequence[int], bodies: Sequence[NativeSequence]) -> SequenceCall:
    """The turns of a loop: the first body, then the second and the third in turn. `readers` are the addresses at which
    kernels read the number of the turn, a double."""
    numbers = (ctypes.c_void_p * len(readers))(*readers)
    structs = (_Sequence * len(bodies))(*(x.struct for x in bodies))
    loop = _Loop(min(turns, (1 << 63) - 1), len(readers), ctypes.addressof(numbers), ctypes.addressof(structs))
    blas = any(x.calls_blas for x in bodies)
    return SequenceCall(
        _entries()["optgen_loop_run"], ctypes.addressof(loop), ALONE, (loop, numbers, structs, bodies), blas
    )


def shared_call(sequences: Sequence[NativeSequence]) -> SequenceCall:
    """Sequences that have nothing in common, each on one thread."""
    structs = (_Sequence * len(sequences))(*(x.struct for x in sequences))
    every = _Sequences(len(sequences), ctypes.addressof(structs))
    blas, work = any(x.calls_blas for x in sequences), sum(x.work for x in sequences)
    return SequenceCall(
        _entries()["optgen_sequences_run"], ctypes.addressof(every), work, (every, structs, sequences), blas
    )
