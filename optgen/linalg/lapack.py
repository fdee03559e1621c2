"""Calls of the LAPACK that comes with NumPy's BLAS. Threads share them, and each runs on one thread.

Routines have Fortran's interface: every argument is an address, and matrices are column-major.
"""

from __future__ import annotations

import array
import ctypes
import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from optgen.loops import code, numpy_blas
from optgen.loops.kernel import runner

ARGUMENTS = 16
"""The most arguments of a call, with the lengths of strings that Fortran adds at the end. Every call passes so many: a
routine does not look at those that it does not have."""
OUT_OF_MEMORY = -1000
"""A status of our own."""
_WORDS = 6 + ARGUMENTS
"""The words of a call in memory: the address of the routine, that of the status, the bytes and the argument of its
first memory for work, those of its second, the arguments."""
_NOWHERE = ARGUMENTS - 1
"""The argument that stands for memory that a call does not need: the last one, which no routine has."""


class Routine(NamedTuple):
    """A routine of LAPACK: its address, and the type of its integers."""

    address: int
    integer: np.dtype[Any]


def available() -> bool:
    """Whether NumPy's BLAS comes with a LAPACK that can be called."""
    return numpy_blas.find("dsyevd_") is not None


@functools.cache
def routine(name: str, dtype: np.dtype[Any]) -> Routine:
    """A routine by its name without the letter of the type, as `syevd`, where LAPACK is `available`."""
    name = f"{'s' if dtype == np.float32 else 'd'}{name}_"
    found = numpy_blas.find(name)
    if found is None:
        raise RuntimeError(f"the LAPACK that comes with NumPy's BLAS has no {name}; np.show_config() says which it is")
    return Routine(found.address, np.dtype(np.int64 if found.suffix else np.int32))


class Work(NamedTuple):
    """Memory that a thread has for the time of a call: elements of a dtype."""

    elements: int
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        """Whole cache lines."""
        return self.elements * self.dtype.itemsize + 63 & ~63


class LapackCall:
    """A call of a routine. Arguments are strings of one letter, integers, arrays, and memory for work, twice at most.
    The status, which comes last, is added.

    `cost` tells which calls take longer than others. The status is positive where there is no result, and what that
    means depends on the routine.
    """

    def __init__(self, routine: Routine, cost: int, *arguments: str | int | np.ndarray[Any, Any] | Work) -> None:
        self.cost = cost
        self._arguments = arguments  # keeps memory alive
        self._integers = np.array([*(x for x in arguments if isinstance(x, int)), 0], routine.integer)
        places = itertools.count(self._integers.ctypes.data, self._integers.itemsize)
        words, work = [], []
        for at, x in enumerate(arguments):
            match x:
                case str():
                    words.append(_letter(x))
                case int():
                    words.append(next(places))
                case Work():
                    words.append(0)
                    work += [x.bytes, at]
                case _:
                    words.append(x.ctypes.data)
        status = next(places)
        words += [status, *[1] * sum(isinstance(x, str) for x in arguments)]
        work += [0, _NOWHERE] * (2 - len(work) // 2)
        self.words = [routine.address, status, *work, *words, *[0] * (ARGUMENTS - len(words))]

    @property
    def status(self) -> int:
        return int(self._integers[-1])


@functools.cache
def _letter(x: str) -> int:
    _letters.append(ctypes.create_string_buffer(x.encode()))
    return ctypes.addressof(_letters[-1])


_letters: list[Any] = []


def run(calls: Sequence[LapackCall]) -> None:
    """Make all calls, in any order, on the threads of the pool. MemoryError where there is none for their work."""
    ordered = sorted(calls, key=lambda call: -call.cost)  # the longest ones first, so that threads end together
    table = np.array([call.words for call in ordered], np.uint64).reshape(len(ordered), _WORDS)
    arguments = array.array("q", [len(ordered), table.ctypes.data, 0])
    with numpy_blas.single:
        _run()(arguments.buffer_info()[0], sum(call.cost for call in ordered))
    if any(call.status == OUT_OF_MEMORY for call in calls):
        raise MemoryError("there is no memory for the work of a factorization")


@functools.cache
def _run() -> Any:
    declare, begin, end = code.float_mode()
    slots = range(6, _WORDS)
    loads = "\n".join(f"  %p{i} = getelementptr i64, ptr %call, i64 {i}\n  %a{i} = load ptr, ptr %p{i}" for i in slots)
    values = ", ".join(f"ptr %a{i}" for i in slots)
    text = _CODE.format(
        declare=declare, begin=begin, end=end, words=_WORDS, loads=loads, values=values, no_memory=OUT_OF_MEMORY
    )
    return runner(code.load(text, "optgen_calls"))


_CODE = """
declare ptr @malloc(i64)
declare void @free(ptr)
{declare}
define void @optgen_calls(ptr %args, i64 %part, i64 %parts) {{
entry:
  {begin}
  %count = load i64, ptr %args
  %table.p = getelementptr i64, ptr %args, i64 1
  %table = load ptr, ptr %table.p
  %taken = getelementptr i64, ptr %args, i64 2
  br label %take
take:
  %i = atomicrmw add ptr %taken, i64 1 monotonic
  %some = icmp slt i64 %i, %count
  br i1 %some, label %prepare, label %done
prepare:
  %at = mul i64 %i, {words}
  %call = getelementptr i64, ptr %table, i64 %at
  %status.p = getelementptr i64, ptr %call, i64 1
  %status = load ptr, ptr %status.p
  %bytes1.p = getelementptr i64, ptr %call, i64 2
  %bytes1 = load i64, ptr %bytes1.p
  %slot1.p = getelementptr i64, ptr %call, i64 3
  %slot1 = load i64, ptr %slot1.p
  %bytes2.p = getelementptr i64, ptr %call, i64 4
  %bytes2 = load i64, ptr %bytes2.p
  %slot2.p = getelementptr i64, ptr %call, i64 5
  %slot2 = load i64, ptr %slot2.p
  %bytes = add i64 %bytes1, %bytes2
  %size = add i64 %bytes, 64
  %memory = call ptr @malloc(i64 %size)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %fail, label %run
fail:
  store i32 {no_memory}, ptr %status
  br label %take
run:
  %second = getelementptr i8, ptr %memory, i64 %bytes1
  %arguments = getelementptr i64, ptr %call, i64 6
  %place2 = getelementptr ptr, ptr %arguments, i64 %slot2
  store ptr %second, ptr %place2
  %place1 = getelementptr ptr, ptr %arguments, i64 %slot1
  store ptr %memory, ptr %place1
{loads}
  %function = load ptr, ptr %call
  call void %function({values})
  call void @free(ptr %memory)
  br label %take
done:
  {end}
  ret void
}}
"""
