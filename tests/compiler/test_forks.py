"""A fork while another thread holds what the child needs: every lock of optgen, and what it stands on.

In the child only the thread that forked goes on: what another one held would stay locked for ever.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.harness import python

SCENE = """
import os, signal, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork beside threads

inside, forked = threading.Event(), threading.Event()

def hold(seconds=None):
    '''What the other thread does where it holds something: until the fork, or, if a fork waits for it, for so long.'''
    inside.set()
    forked.wait(seconds)

def slow_import(name):
    from importlib.machinery import SourceFileLoader
    real = SourceFileLoader.exec_module
    def exec_module(self, module):
        real(self, module)
        if module.__name__ == name and not inside.is_set():
            hold(0.5)
    SourceFileLoader.exec_module = exec_module

def play(other, child):
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # far longer than it takes; ends a child that waits for ever
        child()
        os._exit(7)
    forked.set()
    thread.join()
    child()  # and the parent goes on
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
SCENES = {
    "makes the pool": """
import optgen
from optgen.threads import pool
class Slow(pool.Pool):
    def __init__(self):
        hold() if not inside.is_set() else None
        super().__init__()
pool.Pool = Slow
play(lambda: optgen.set_num_threads(2), lambda: optgen.set_num_threads(3))
""",
    "starts threads": """
import optgen
from optgen.threads import pool
def other():
    with pool.pool()._lock:
        hold()
play(other, lambda: optgen.set_num_threads(3))
""",
    "is in LLVM": """
from llvmlite.binding import ffi
from optgen.backends import target
target.host()
once = iter([True])
def acquired():
    if threading.current_thread() is not threading.main_thread() and next(once, False):
        hold(0.5)
ffi.register_lock_callback(acquired, lambda: None)
compile = lambda: target.compile_ir("define void @f() { ret void }", target.host()).object
play(compile, compile)
""",
    "imports a part of optgen": """
import optgen
slow_import("optgen.lang.parser")
text = "optimizer X\\nupdate:\\n  w' = w - lr*g\\n"
play(lambda: optgen.parse(text), lambda: optgen.parse(text))
""",
    "imports a library of optgen's": """
import optgen
slow_import("llvmlite.binding.targets")
def compile():
    from optgen.backends import target
    return target.compile_ir("define void @f() { ret void }", target.host()).object
play(compile, compile)
""",
    "looks at a tensor": """
from optgen.execute.buffers import Tensor
class Slow(tuple):
    def __iter__(self):
        hold()
        return super().__iter__()
play(lambda: Tensor("x", 0, Slow((2, 3)), "float32", True, None).size,
     lambda: Tensor("x", 0, (2, 3), "float32", True, None).size)
""",
    "changes the threads of BLAS": """
from optgen.loops.numpy_blas import single
def other():
    with single._lock:
        hold()
def child():
    with single: pass
play(other, child)
""",
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_fork_while_another_thread(scene: str) -> None:
    done = python(SCENE + scene)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", ""), done.stderr


LOCKED = """
import gc, traceback
import numpy as np
import optgen
from llvmlite.binding import ffi
from optgen import forks
from optgen.backends import target
from optgen.backends.gpu.nvidia import OLDEST
from optgen.objectcode import link

class Counted:
    depth = 0
    def __enter__(self):
        Counted.depth += 1
    def __exit__(self, *exception):
        Counted.depth -= 1

forks.llvm = Counted()
found, outside = [], []
def acquired():
    found.append(1)
    if not Counted.depth:
        outside.append(traceback.format_stack())
ffi.register_lock_callback(acquired, lambda: None)
text = "define i32 @f() { ret i32 0 }"
made = target.compile_ir(text, target.host())
print(bool(made.llvm), made.instructions, bool(made.assembly), target.code_bytes(made.object) > 0)
link.link(made.object, "f")
print(bool(target.data_layout(target.host())), bool(OLDEST.data_layout), bool(target.llvm_version()))
print(bool(OLDEST.compile(f'target triple = "{OLDEST.triple}"\\n{text}')))
p, g = np.ones(3, np.float32), np.ones(3, np.float32)
optgen.load(optgen.parse("optimizer X\\nupdate:\\n  w' = w - 2*lr*g\\n")).bind([p], [g])()
made = None
gc.collect()
print(len(found) > 50, outside)
"""


def test_all_calls_of_llvm_hold_the_lock_of_forks(tmp_path: Path) -> None:
    """Those that free something, too: a fork waits for this lock, and not for that of llvmlite."""
    done = python(LOCKED, OPTGEN_CACHE_DIR=str(tmp_path))
    assert done.stdout.split() == ["True", "1", *["True"] * 7, "[]"], done.stdout + done.stderr
