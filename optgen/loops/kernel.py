"""Kernels: functions of the subset that Python calls with arrays. The threads of the pool share their tasks."""

from __future__ import annotations

import array
import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from optgen.backends import machine
from optgen.loops import code, numpy_blas, trampoline
from optgen.loops.checked import run_checked
from optgen.loops.compile import module, shared_symbol
from optgen.loops.language import FLOAT, INT, INTS, WORDS, Function, LoopType

POOL_MIN_WORK = machine.value("threads.min_shared_work")
"""Less work than this, in additions of two elements, stays on the calling thread: to wake a thread takes longer."""
_INTEGERS: dict[LoopType, np.dtype[Any]] = {INTS: np.dtype(np.int64), WORDS: np.dtype(np.uint32)}
_CALL_OF_GEMM = "call void %gemm("
KERNELS: list[LoopKernel] = []
"""All that the process has imported, for `python -m runtime.native`."""
_instead: Callable[[LoopKernel, int, int, tuple[Any, ...], int], None] | None = None
"""What is called instead of kernels, in all threads, while `trampoline.checking`."""


class LoopKernel(Function):
    """`kernel(tasks, work, *arguments, scratch=n)` calls the function once for each task: 0, 1, ... tasks - 1.

    The tasks are independent and run in any order, on any thread. What a task is follows from the arguments alone, so
    that the results are the same for any number of threads. `work` is an estimate of the whole work, in additions of
    two elements: small work stays on the calling thread.

    The function's first parameter is the task. If the second is called `scratch`, it is memory for `n` elements that
    no other task uses meanwhile. It begins with a line of the cache, and its first content is left over from others.
    The arguments follow: C-contiguous arrays and integers. The arrays for `Array` have the type of the first argument,
    float32 or float64; those for `Ints` are int64 and those for `Words` uint32. None stands for a pointer that is not
    used.

    Raises TypeError for arrays of other types, ValueError for arrays that are not C-contiguous, MemoryError where there
    is no memory for `scratch`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._uses_scratch = self.parameters[1][0] == "scratch"
        self._types = [type for _, type in self.parameters[1 + self._uses_scratch :]]
        if self.parameters[0] != ("task", INT) or FLOAT in self._types:
            raise TypeError(f"{self.name}: a kernel takes `task: int` first, and no floats")
        self._codes: dict[np.dtype[Any], Code] = {}
        self._loaded = trampoline.Loaded(self._types)
        self.loaded = 0  # its address, where `trampoline` reads it
        KERNELS.append(self)

    def in_python(self, tasks: int, work: int, *arguments: Any, scratch: int = 0) -> None:
        """The call made by ctypes: where there is no `trampoline`, or some argument is not what it knows."""
        instead = _instead  # read once: another thread may leave `with instead(...)` meanwhile
        if trampoline.checking.value and instead is not None:
            return instead(self, tasks, work, arguments, scratch)
        # As in `prepared`: a function of both would be one more Python call in each call of a kernel.
        dtype = arguments[0].dtype
        loaded = self._codes.get(dtype) or self._codes.setdefault(dtype, self._load(dtype))
        values = [tasks, scratch * dtype.itemsize, loaded.gemm]
        for type, value in zip(self._types, arguments, strict=True):
            values.append(value if type == INT else _address(value, _INTEGERS.get(type, dtype)))
        numbers = array.array("q", values)
        loaded.run(numbers.buffer_info()[0], work)
        if numbers[0] < 0:
            self.no_memory(numbers[1])

    __call__ = in_python  # until `trampoline.install`

    def no_memory(self, size: int) -> NoReturn:
        raise MemoryError(f"{self.name}: no {size} bytes for a thread's own memory")

    def prepared(self, tasks: int, work: int, *arguments: Any, scratch: int = 0) -> Job:
        """The call, to be made any number of times while the arrays are alive."""
        dtype = arguments[0].dtype
        loaded = self.code_for(dtype)
        pairs = zip(self._types, arguments, strict=True)
        values = [x if type == INT else _address(x, _INTEGERS.get(type, dtype)) for type, x in pairs]
        words = array.array("q", [tasks, scratch * dtype.itemsize, loaded.gemm, *values])
        return Job(loaded.address, words, work, bool(loaded.gemm))

    def code_for(self, dtype: np.dtype[Any]) -> Code:
        """The code for arrays of `dtype`."""
        return self._codes.get(dtype) or self._codes.setdefault(dtype, self._load(dtype))

    def checked(self, tasks: int, work: int, *arguments: Any, scratch: int = 0) -> None:
        """The same call, run as Python on the calling thread: the same bits, thousands of times slower.

        IndexError, naming kernel, argument, index and size, for an element out of bounds; RuntimeError for one that
        two tasks use and at least one of them writes; others for what `language` asks of numbers.
        """
        dtype = arguments[0].dtype
        for type, value in zip(self._types, arguments, strict=True):
            if type != INT:
                _address(value, _INTEGERS.get(type, dtype))
        with numpy_blas.single:
            run_checked(self, tasks, arguments, scratch if self._uses_scratch else None, dtype)

    def text(self, dtype: np.dtype[Any]) -> str:
        """The LLVM IR for arrays of `dtype`."""
        return module(self, dtype, numpy_blas.gemm(dtype).types) + self._entry()

    def _load(self, dtype: np.dtype[Any]) -> Code:
        if dtype not in trampoline.DTYPES:
            raise TypeError(f"{self.name}: arrays of {dtype} were passed to a kernel for float32 and float64")
        text = self.text(dtype)
        gemm = numpy_blas.gemm(dtype).address if _CALL_OF_GEMM in text else 0
        address = code.load(text, f"native_{self.name}", imports=_shared(self, dtype))
        run = _with_blas_on_one_thread(runner(address)) if gemm else runner(address)
        if trampoline.install(LoopKernel, POOL_MIN_WORK):
            self._loaded.add(dtype, address, gemm, run)
            self.loaded = ctypes.addressof(self._loaded)
        return Code(gemm, run, address)

    def _entry(self) -> str:
        """LLVM IR of what a thread calls: part `part` of `parts` of the tasks, with the arguments at address `args`."""
        lines, values = [], ["ptr %gemm", "i64 %task"]
        if self._uses_scratch:
            values.append("ptr %scratch")
        for i, type in enumerate(INT if type == INT else "ptr" for type in self._types):
            lines.append(f"%p{i} = getelementptr i64, ptr %args, i64 {i + 3}\n%a{i} = load {type}, ptr %p{i}")
            values.append(f"{type} %a{i}")
        declare, begin, end = code.float_mode()
        texts = {"declare": declare, "begin": begin, "end": end}
        if self._uses_scratch:
            texts |= {"take": _TAKE, "before": "align", "give": "call void @free(ptr %memory)"}
        else:
            texts |= {"take": "br label %loop", "before": "prepare", "give": ""}
        return _ENTRY.format(name=self.name, load="\n".join(lines), values=", ".join(values), **texts)


def shared_by(f: Function) -> set[Function]:
    """The shared functions that it calls, itself or by others that are not shared."""
    called = f.called()
    return {x for x in called if x.shared}.union(*(shared_by(x) for x in called if not x.shared))


def shared_text(f: Function, dtype: np.dtype[Any]) -> str:
    """The LLVM IR of a shared function for arrays of `dtype`. TypeError if it calls `gemm`, whose address is known only
    where a kernel calls it itself."""
    text = module(f, dtype, numpy_blas.gemm(dtype).types)
    if _CALL_OF_GEMM in text:
        raise TypeError(f"{f.name}: a shared function does not call gemm")
    return text


def _shared(f: Function, dtype: np.dtype[Any]) -> dict[str, int]:
    """The addresses of the shared functions that it calls, by symbol."""
    return {shared_symbol(x, dtype): _load_shared(x, dtype) for x in shared_by(f)}


@functools.cache
def _load_shared(f: Function, dtype: np.dtype[Any]) -> int:
    """The address of a shared function for arrays of `dtype`."""
    return code.load(shared_text(f, dtype), shared_symbol(f, dtype), imports=_shared(f, dtype))


def kernel(function: Callable[..., Any]) -> LoopKernel:
    """Decorator: a function of the subset (see `language`) as a `LoopKernel`."""
    return LoopKernel(function)


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """`with checked():` kernels run as `LoopKernel.checked` says, in all threads."""
    with instead(lambda k, tasks, work, arguments, scratch: k.checked(tasks, work, *arguments, scratch=scratch)):
        yield


@contextlib.contextmanager
def instead(call: Callable[[LoopKernel, int, int, tuple[Any, ...], int], None]) -> Iterator[None]:
    """`with instead(call):` calls of kernels are `call(kernel, tasks, work, arguments, scratch)`, in all threads."""
    global _instead
    before, _instead, checking = _instead, call, trampoline.checking.value
    trampoline.checking.value = 1
    try:
        yield
    finally:
        trampoline.checking.value, _instead = checking, before


class Code(NamedTuple):
    """Loaded code. It takes the address of words: tasks, bytes of scratch memory, GEMM's address, the arguments."""

    gemm: int
    """The address of GEMM if the kernel calls it, else 0."""
    run: Callable[[int, int], None]
    """Runs all tasks, given the address of the arguments and the work."""
    address: int


class Job(NamedTuple):
    """A call of native code: the address of a function of the arguments, a part and the number of parts. `calls_blas`:
    it is to find BLAS on one thread."""

    address: int
    arguments: array.array[int]
    work: int
    calls_blas: bool = False


def _address(x: np.ndarray[Any, Any] | None, dtype: np.dtype[Any]) -> int:
    """The address of the elements; 0 for None. TypeError for elements of another type, ValueError for a layout other
    than C-contiguous: they would be misread."""
    if x is None:
        return 0
    if x.dtype is not dtype and x.dtype != dtype:
        raise TypeError(f"an array of {x.dtype} was passed to a kernel for {dtype}")
    if not x.flags.c_contiguous:
        raise ValueError(f"an array of shape {x.shape} that was passed to a kernel is not C-contiguous")
    return address(x)


def address(x: np.ndarray[Any, Any]) -> int:
    """The address of the elements."""
    try:
        # A third of the time that the other way takes.
        return ctypes.addressof(ctypes.c_char.from_buffer(x))  # type: ignore[arg-type]  # Buffer: since Python 3.12
    except (TypeError, ValueError):  # read-only, without elements, or not contiguous
        return x.ctypes.data


def runner(address: int) -> Callable[[int, int], None]:
    """What runs the function at an address, given that of its arguments and the work: all tasks on the calling thread,
    or shared among threads."""
    from optgen.threads import pool, sharing

    on_this_thread = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    pool.num_threads()  # a bad OPTGEN_NUM_THREADS is refused by the first call, large or not

    def run(arguments: int, work: int) -> None:
        threads = None if work < POOL_MIN_WORK else sharing.shared(sharing.current(), work)
        if threads is None:
            on_this_thread(arguments, 0, 1)
        else:
            _run_shared(threads.run)(threads.address, address, arguments, work)

    return run


def _with_blas_on_one_thread(run: Callable[[int, int], None]) -> Callable[[int, int], None]:
    def call(arguments: int, work: int) -> None:
        with numpy_blas.single:
            run(arguments, work)

    return call


@functools.cache
def _run_shared(run: int) -> Callable[[int, int, int, int], None]:
    """The entry of threads, which takes their address, those of the function and its arguments, and the work."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(run)


_TAKE = """\
%size = add i64 %bytes, 128
  %memory = call ptr @malloc(i64 %size)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %fail, label %align
align:
  %address = ptrtoint ptr %memory to i64
  %beyond = add i64 %address, 63
  %line = and i64 %beyond, -64
  %scratch = inttoptr i64 %line to ptr
  br label %loop
fail:
  store atomic i64 -1, ptr %args monotonic, align 8
  br label %done"""
"""LLVM IR that takes memory for `scratch`, where a kernel has it; it begins with a line of the cache."""
_ENTRY = """
declare ptr @malloc(i64)
declare void @free(ptr)
{declare}
define void @native_{name}(ptr %args, i64 %part, i64 %parts) {{
entry:
  {begin}
  %tasks = load i64, ptr %args
  %bytes.p = getelementptr i64, ptr %args, i64 1
  %bytes = load i64, ptr %bytes.p
  %gemm.p = getelementptr i64, ptr %args, i64 2
  %gemm = load ptr, ptr %gemm.p
  {load}
  %lower = mul nsw i64 %tasks, %part
  %first = sdiv i64 %lower, %parts
  %upper = add nsw i64 %lower, %tasks
  %last = sdiv i64 %upper, %parts
  %some = icmp slt i64 %first, %last
  br i1 %some, label %prepare, label %done
prepare:
  {take}
loop:
  %task = phi i64 [ %first, %{before} ], [ %next, %loop ]
  call void @f.{name}({values})
  %next = add nsw i64 %task, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %leave
leave:
  {give}
  br label %done
done:
  {end}
  ret void
}}
"""
