"""What `import optgen.torch` and a step do to the process: nothing but what docs/process.md says."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.compiler.harness import python
from tests.effects import CODE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

STEP = """
layer = torch.nn.Linear(512, 512)
optimizer = optgen.torch.Adam(layer.parameters())
layer(torch.ones(3, 512)).sum().backward()
optimizer.step()
"""


def test_effects_of_an_import_and_of_a_step() -> None:
    """Fork handlers alone: threads are PyTorch's, and none of its functions is replaced."""
    program = f"""{CODE}
import torch
def functions():
    owners = (torch, torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.optim.Adam, torch.autograd)
    return [(id(owner), name, id(x)) for owner in owners for name, x in vars(owner).items() if callable(x)]
torch.ones(3, requires_grad=True).sum().backward()
before = functions()
print(changes('import optgen.torch'))
print(changes({STEP!r}))
print(before == functions())
"""
    done = python(program, OPTGEN_NUM_THREADS="2")
    imported, stepped, same = map(ast.literal_eval, done.stdout.splitlines())
    assert imported == {"forks": ["optgen.forks", "optgen.threads.pool"]}, done.stderr
    assert (stepped, same) == ({"forks": ["optgen.threads.openmp"]}, True), done.stderr
