"""Code that is loaded: near its constants whatever else is mapped, on Arm's ranges too; where LLVM would end the
process, an exception."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
import threading
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from optgen.backends.target import CpuTarget, compile_ir
from optgen.loops import code
from optgen.objectcode import link
from tests.compiler.harness import python
from tests.process import started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
AMONG_ARRAYS = """
import ctypes, math, mmap, random, sys
import numpy as np
from optgen.loops import code

TEXT = '''
@table.{i} = internal constant [2 x double] [double {i}.0, double 1.0]
declare double @cos(double)
define double @kernel.{i}(i64 %k, double %x) {{
  %place = getelementptr [2 x double], ptr @table.{i}, i64 0, i64 %k
  %factor = load double, ptr %place
  %cos = call double @cos(double %x)
  %product = fmul double %cos, %factor
  ret double %product
}}
'''
random = random.Random(int(sys.argv[1]))
flags, protections = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
small = [
    mmap.mmap(-1, mmap.PAGESIZE * random.randint(1, 2), flags, random.choice(protections)) for _ in range(4000)
]
arrays = []
for i in range(16):
    arrays.append(np.empty(1 << 29))  # 4 GB that nobody touches
    for _ in range(random.randint(1, 3)):
        small.pop(random.randrange(len(small))).close()
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)(code.load(TEXT.format(i=i), f"kernel.{i}"))
    assert call(0, 0.5) == i * math.cos(0.5)
"""
"""Loads 16 kernels between arrays of 4 GB, into what is left of small mappings that come and go: first their places are
filled, then few pages of them are free at a time, so that sections of one object fit in different places."""
needs_address_space = pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    or Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2",
    reason="this process may not map 64 GB",
)


def load_among_arrays(seed: int) -> subprocess.CompletedProcess[str]:
    with started([sys.executable, "-c", AMONG_ARRAYS, str(seed)], timeout=120, cwd=Path(__file__).parents[2]) as done:
        return done.wait()


@needs_address_space
@pytest.mark.parametrize("seed", range(3))
def test_kernels_are_loaded_between_large_arrays(seed: int) -> None:
    """An object's code, constants and stubs are near each other; libm's functions and `code` are 64 GB apart."""
    done = load_among_arrays(seed)
    assert done.returncode == 0, done.stderr
