"""What `import runtime`, training and `keep_freed_memory` do to the process: nothing but what docs/process.md says."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.compiler.harness import python
from tests.effects import CODE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

TRAINING = """
net = mx.gluon.nn.Dense(10)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "adam")
for hybridized in (False, True):
    net.hybridize(hybridized)
    for _ in range(3):
        with mx.autograd.record():
            loss = mx.nd.relu(net(mx.nd.ones((64, 4096)))).sum()
        loss.backward()
        trainer.step(64)
loss.asscalar()
"""


def test_effects_of_an_import_of_training_and_of_what_is_asked_for() -> None:
    keep = "print(mx.util.keep_freed_memory())"
    done = python(
        f"{CODE}\nprint(changes('import runtime as mx'))\nprint(changes({TRAINING!r}))\nprint(changes({keep!r}))",
        OPTGEN_NUM_THREADS="2",
    )
    imported, trained, is_kept, kept = map(ast.literal_eval, done.stdout.splitlines())
    before, finders = imported.pop("finders")
    assert finders == ["runtime.compat.alias", *before]
    loops = ["optgen.loops.language", "optgen.loops.numpy_blas"]
    own = ["runtime.core.optgen_bridge", "runtime.gluon.data.process"]
    assert imported == {"forks": ["optgen.forks", *loops, *own]}, done.stderr
    assert trained == {
        "threads": (["MainThread"], ["MainThread", "optgen-1"]),
        "forks": [*["optgen.threads.pool"] * 2, "runtime.plan.capture", "runtime.plan.plans"],
        "exits": ["optgen.threads.pool"],
    }, done.stderr
    if is_kept:  # by glibc
        assert kept == {"mallopt": True}
