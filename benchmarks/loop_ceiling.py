"""The memory ceiling of a step within a loop: a C program of its own, on threads of OpenMP, on arrays of its own.

It reads the gradient, and reads and writes the weight and as many states as an optimizer has, with one addition for
each element that it writes. It knows nothing of optgen; the C compiler of the machine makes it.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from peers.absent import Absent

_SOURCE = """
#include <omp.h>
#include <stdint.h>

static void part(float **arrays, int64_t begin, int64_t end)
{
    const float *restrict g = arrays[0];
    %s
    for (int64_t i = begin; i < end; i++) {
        const float x = g[i];
        %s
    }
}

/* Threads share the elements of all tensors evenly. */
void ceiling(int64_t tensors, const int64_t *sizes, float **arrays, int64_t total, int threads)
{
    #pragma omp parallel num_threads(threads)
    {
        const int64_t k = omp_get_thread_num(), n = omp_get_num_threads();
        const int64_t first = total * k / n, last = total * (k + 1) / n;
        for (int64_t t = 0, at = 0; t < tensors; at += sizes[t++]) {
            const int64_t begin = first > at ? first - at : 0;
            const int64_t end = last - at < sizes[t] ? last - at : sizes[t];
            if (begin < end)
                part(arrays + %d * t, begin, end);
        }
    }
}
"""
_COMMAND = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-x", "c", "-")


def bind(shapes: Sequence[Sequence[int]], states: int, threads: int) -> Callable[[], None]:
    """A step over tensors of these shapes. Absent where there is no C compiler with OpenMP."""
    run = _compiled(states)
    sizes = np.array([math.prod(shape) for shape in shapes], np.int64)
    arrays = [_aligned(int(n)) for n in sizes for _ in range(states + 2)]
    addresses = np.array([a.ctypes.data for a in arrays], np.uintp)
    alive = arrays, sizes, addresses
    given = len(sizes), sizes.ctypes.data, addresses.ctypes.data, int(sizes.sum()), threads

    def step(alive: object = alive) -> None:
        run(*given)

    return step


def _compiled(states: int) -> Callable[..., None]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Absent("no C compiler")
    names = [f"a{k}" for k in range(1, states + 2)]
    declared = " ".join(f"float *restrict {x} = arrays[{k}];" for k, x in enumerate(names, 1))
    source = _SOURCE % (declared, " ".join(f"{x}[i] += x;" for x in names), states + 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ceiling.so"
        done = subprocess.run([compiler, *_COMMAND, "-o", str(path)], input=source, capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"{compiler} does not compile with -fopenmp")
        run = ctypes.CDLL(str(path)).ceiling
    run.argtypes = (ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
    run.restype = None
    return run


def _aligned(n: int) -> np.ndarray:
    """Zeros that begin with a cache line, on huge pages where NumPy asks for them."""
    memory = np.zeros(n + 16, np.float32)
    begin = -memory.ctypes.data % 64 // 4
    return memory[begin : begin + n]
