"""What `import optgen` and a step do to the process: nothing but what docs/process.md says."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.compiler.harness import python
from tests.effects import CODE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

STEPS = """
for name in ("adam", "muon"):
    p, g = np.ones((512, 512), np.float32), np.ones((512, 512), np.float32)
    optgen.load(name).bind([p], [g])()
"""


def test_effects_of_an_import_and_of_steps() -> None:
    """A set of fork handlers; then threads of the pool, which end at exit, and handlers that renew their locks."""
    program = f"{CODE}\nprint(changes('import optgen'))\nprint(changes({STEPS!r}))"
    done = python(program, OPTGEN_NUM_THREADS="2")
    imported, stepped = map(ast.literal_eval, done.stdout.splitlines())
    assert imported == {"forks": ["optgen.forks"]}, done.stderr
    assert stepped == {
        "threads": (["MainThread"], ["MainThread", "optgen-1"]),
        "forks": [*["optgen.loops." + x for x in ("language", "numpy_blas")], *["optgen.threads.pool"] * 2],
        "exits": ["optgen.threads.pool"],
    }, done.stderr
