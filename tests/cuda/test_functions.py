"""Every function of numbers and every reduction, run by the PTX interpreter, against the kernels of the CPU."""

from __future__ import annotations

import pytest

import optgen
from optgen.functions.table import FUNCTIONS
from tests.compiler.harness import Case
from tests.cuda.emulation import emulated
from tests.cuda.test_differential import compare

SHAPES = ((3, 4), (33, 2))


def _spec() -> str:
    """A state for each function, of the gradient and the weight."""
    lines, states = [], []
    for name, f in FUNCTIONS.items():
        if f.elementwise is not None and not f.elementwise.takes_matrix:
            derivatives = f.elementwise.derivative
            given = ["g > w" if d is None else "gw"[k % 2] for k, d in enumerate(derivatives)]
            states.append(f"state {name}_e = 0")
            lines.append(f"  {name}_e' = {name}({', '.join(given)})")
        if f.reduction is not None:
            for kind, scope in (("tensor", ""), ("row", ", per row"), ("col", ", per col")):
                given = ["g" for _ in f.reduction.arguments]
                states.append(f"state {name}_{kind}: {kind} = 0")
                lines.append(f"  {name}_{kind}' = {name}({', '.join(given)}{scope})")
    return "\n".join(["optimizer Every", *states, "update:", *lines, "  w' = w - lr*g\n"])


@pytest.mark.stress
@pytest.mark.parametrize("special", [False, True])
def test_every_function(special: bool) -> None:
    with emulated() as (gpu,):
        compare(gpu, Case(optgen.parse(_spec()), {}), SHAPES, special=special, steps=1)
