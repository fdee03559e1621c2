"""The threads of the kernels: daemon threads that stay inside one native loop (`pool.c`), without the GIL.

Made when the first large step is bound, stopped at exit. A forked child has none until it binds a large step itself;
steps it inherited run on the calling thread meanwhile. The number is `OPTGEN_NUM_THREADS`, or else the CPUs this
process may use; `set_num_threads` changes it.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import numbers
import os
import platform
import threading
import time

from optgen.backends import machine
from optgen.objectcode import c_functions
from optgen.threads import cpus

MAX_THREADS = 256
MIN_SHARED_ELEMENTS = machine.value("threads.min_shared_elements")
"""A step of fewer elements stays on the calling thread: to hand parts out takes longer."""
MIN_WAKE_ELEMENTS = machine.value("threads.min_wake_elements")
"""A step of fewer elements wakes no sleeping thread, unless step follows step: it is done sooner."""
MIN_SPLIT_ELEMENTS = machine.value("threads.min_split_elements")
"""The elements from which on a thread has several parts, so that others can take those of one that is held up."""
SPIN_SECONDS = machine.value("threads.spin_microseconds") * 1e-6
"""How long a thread waits for work before it sleeps: longer than the Python between two tasks of a small network."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call, on Linux."""
_POSIX = ("pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_broadcast")
"""The functions by which threads sleep where there is no futex."""
_ARM = {"arm64": "aarch64"}
"""What Linux calls the processors of a Mac."""
_SPIN_HINT = "declare void @optgen_spin_hint()"
_SPIN_HINTS = {
    "x86_64": """\
declare void @llvm.x86.sse2.pause()
define internal void @optgen_spin_hint() {
  call void @llvm.x86.sse2.pause()
  ret void
}""",
    "aarch64": """\
declare void @llvm.aarch64.hint(i32)
define internal void @optgen_spin_hint() {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}""",
}


class _Line(ctypes.Structure):
    """`line` of pool.c."""

    _fields_ = (("value", ctypes.c_uint32), ("unused", ctypes.c_uint32 * 15))


class _Memory(ctypes.Structure):
    """`pool` of pool.c."""

    _fields_ = (
        ("generation", _Line),
        ("pending", _Line),
        ("sleepers", _Line),
        ("busy", _Line),
        ("threads", ctypes.c_uint32),
        ("stop", ctypes.c_uint32),
        ("task", ctypes.c_void_p),
        ("step", ctypes.c_void_p),
        ("parts_each", ctypes.c_uint32),
        ("spins", ctypes.c_uint32),
        ("small", ctypes.c_int64),
        ("wake", ctypes.c_int64),
        ("large", ctypes.c_int64),
        ("parts", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("waiting", ctypes.c_uint32),
        ("futex", ctypes.c_uint32),
        ("clock", ctypes.c_int32),
        ("lock", ctypes.c_void_p),
        ("unlock", ctypes.c_void_p),
        ("wait", ctypes.c_void_p),
        ("wake_all", ctypes.c_void_p),
        ("mutex", ctypes.c_void_p),
        ("condition", ctypes.c_void_p),
        ("claims", ctypes.c_uint32 * 4096),
    )


def _machine() -> str:
    return _ARM.get(platform.machine(), platform.machine())


def _has_futex() -> bool:
    return platform.system() == "Linux"


@functools.cache
def supported() -> bool:
    """Whether this system has what the pool is made of: threads of POSIX, on x86-64 or 64-bit Arm."""
    return _machine() in _SPIN_HINTS and os.name == "posix" and all(hasattr(ctypes.CDLL(None), name) for name in _POSIX)


def default_threads() -> int:
    """`OPTGEN_NUM_THREADS`, or the CPUs this process may use; 1 where there is no pool.

    ValueError when the variable is no number from 1 to 256.
    """
    asked = _asked_threads()
    if not supported():
        return 1
    return asked or min(cpus.available(), MAX_THREADS)


def _asked_threads() -> int:
    """`OPTGEN_NUM_THREADS`, 0 if it is not set, or empty."""
    text = os.environ.get("OPTGEN_NUM_THREADS", "")
    if not text:
        return 0
    if not text.strip().isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise ValueError(f"OPTGEN_NUM_THREADS must be a number from 1 to {MAX_THREADS}, not {text!r}")
    return int(text)


class Pool:
    """One per process; `address` and `run` are what a step hands to its kernel."""

    def __init__(self) -> None:
        names = ("optgen_pool_run", "optgen_pool_worker", "optgen_pool_rouse", "optgen_pool_spin")
        machine = _machine()
        symbols = c_functions.load(__file__, *names, definitions={_SPIN_HINT: _SPIN_HINTS[machine]})
        self.run = symbols["optgen_pool_run"]
        self._worker = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32)(
            symbols["optgen_pool_worker"]
        )
        self._rouse = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbols["optgen_pool_rouse"])
        self._spin = ctypes.CFUNCTYPE(None, ctypes.c_int32)(symbols["optgen_pool_spin"])
        # Cache lines are 64 bytes: what threads write apart must lie apart.
        self._raw = ctypes.create_string_buffer(ctypes.sizeof(_Memory) + 64)
        self.address = (ctypes.addressof(self._raw) + 63) & ~63
        self._memory = _Memory.from_address(self.address)
        self._memory.threads = 1
        self._memory.clock = time.CLOCK_MONOTONIC
        self._memory.futex = _FUTEX[machine] if _has_futex() else 0
        self._make_condition()
        self._memory.spins = self._spins()
        self._memory.small, self._memory.wake, self._memory.large = (
            MIN_SHARED_ELEMENTS,
            MIN_WAKE_ELEMENTS,
            MIN_SPLIT_ELEMENTS,
        )
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.wanted = _first_threads()
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(self.stop)

    def _make_condition(self) -> None:
        """Make what threads sleep on where there is no futex. A forked child makes it anew, as a thread that is not in
        the child may have locked it."""
        if self._memory.futex:
            return
        library = ctypes.CDLL(None)
        self._mutex, self._condition = (ctypes.create_string_buffer(256) for _ in range(2))
        library.pthread_mutex_init(self._mutex, None)
        library.pthread_cond_init(self._condition, None)
        addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _POSIX]
        memory = self._memory
        memory.lock, memory.unlock, memory.wait, memory.wake_all = addresses
        memory.mutex, memory.condition = map(ctypes.addressof, (self._mutex, self._condition))

    def _spins(self) -> int:
        """How many spin-wait hints take SPIN_SECONDS here: from 10 to 140 cycles each, by processor."""
        start = time.perf_counter()
        self._spin(1000)
        return max(1, int(SPIN_SECONDS * 1000 / max(time.perf_counter() - start, 1e-7)))

    def match_worker_count(self) -> None:
        """Have the wanted number of threads, the caller's among them."""
        with self._lock:
            if len(self._threads) == self.wanted - 1:
                return
            self._stop()
            self._memory.stop = 0
            generation = self._memory.generation.value
            for id in range(1, self.wanted):
                args = (self.address, id, generation)
                thread = threading.Thread(target=self._worker, args=args, name=f"optgen-{id}", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._memory.threads = self.wanted

    def stop(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if not self._threads:
            return
        self._memory.threads = 1  # whoever comes now stays on its own thread
        while self._memory.busy.value:
            time.sleep(0)
        self._memory.stop = 1
        self._rouse(self.address)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _forked(self) -> None:
        """The child has the memory but not the threads."""
        self._lock = threading.Lock()
        self._threads.clear()
        self._memory.threads = 1
        self._memory.busy.value = self._memory.sleepers.value = self._memory.waiting = 0
        self._make_condition()


class _Process:
    """The pool of this process, made on first use, by one thread."""

    def __init__(self) -> None:
        self.pool: Pool | None = None
        self._forked()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """Renew the lock in a forked child, where the thread that held it does not exist."""
        self._making = threading.Lock()

    def make(self) -> Pool:
        with self._making:
            if self.pool is None:
                self.pool = Pool()
            return self.pool


_process = _Process()


def pool() -> Pool:
    """The pool of this process, made on first use."""
    return _process.pool or _process.make()


@functools.cache
def _first_threads() -> int:
    return default_threads()


@functools.cache
def chosen() -> ctypes.c_uint32:
    """The number of threads that a user has chosen, by OPTGEN_NUM_THREADS or `set_num_threads`; 0 before."""
    return ctypes.c_uint32(_asked_threads())


def set_num_threads(n: int) -> None:
    """Use `n` threads from now on, the calling one included; the results do not depend on it, to the bit.

    ValueError if that is no whole number from 1 to 256.
    """
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 1 <= n <= MAX_THREADS:
        raise ValueError(f"the number of threads must be a whole number from 1 to {MAX_THREADS}, not {n!r}")
    chosen().value = int(n)
    if not supported():
        return
    pool().wanted = int(n)
    pool().match_worker_count()


def num_threads() -> int:
    """How many threads a large step uses. ValueError if `OPTGEN_NUM_THREADS`, when it is first asked for, is wrong."""
    return _process.pool.wanted if _process.pool else _first_threads()
