"""A fork while another thread holds what the child needs: every lock of `runtime`.

tests/compiler has those of optgen.
"""

from __future__ import annotations

import pytest

from tests.compiler.harness import python
from tests.compiler.test_forks import SCENE

SCENES = {
    "imports optgen": """
import runtime as mx
slow_import("optgen.threads.pool")
def child():
    mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel=(2, 2))
    import optgen
play(child, child)
""",
    "draws random numbers": """
import runtime as mx
from runtime.core.generator import generator
def other():
    with generator.bit_generator.lock:
        hold(0.5)
play(other, lambda: mx.nd.random.normal(shape=(3,)).asnumpy())
""",
    "frees a part of LLVM in the middle of a draw": """
import runtime as mx
from runtime.core.generator import generator
from optgen.backends import target
compile = lambda: target.compile_ir("define void @f() { ret void }", target.host()).object
compile()
def other():
    with generator.bit_generator.lock:
        hold(0.5)
        compile()  # as the collector of garbage may, which comes by anywhere
def child():
    mx.nd.random.normal(shape=(3,)).asnumpy()
    compile()
play(other, child)
""",
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_fork_while_another_thread(scene: str) -> None:
    done = python(SCENE + scene)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", ""), done.stderr
