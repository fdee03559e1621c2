"""The states that are never negative: their codes need no bit for a sign."""

from __future__ import annotations

from optgen.bounds import bounds
from optgen.model import Flags, Optimizer


def nonnegative_states(optimizer: Optimizer, flags: Flags) -> frozenset[str]:
    """The states of one variant that no step can make negative, as far as their bounds prove it.

    Bounds follow from the equations, the initial values and the intervals of the parameters: for `v' = b*v + (1 -
    b)*g^2` the spec must declare `b in [0, 1)`. A state may be -0: codes with a sign do not keep that of a zero
    either.
    """
    program = optimizer.program(flags)
    known = bounds(program, optimizer)
    return frozenset(state.name for state in program.states if known[state.name].low >= 0)
