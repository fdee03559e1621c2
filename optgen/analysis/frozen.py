"""Which states of a spec measure the size of gradients, and not their direction: second moments, and norms.

They change slowly where a run is near its end, and what divides by them is then a preconditioner. Statements about
stability take them for constants.
"""

from __future__ import annotations

from optgen.analysis.characters import NEUTRAL, ONE, Multiplied, Scaling, SignFlip, characters_of_states
from optgen.analysis.epsilons import epsilons
from optgen.analysis.subject import Subject


def measures_of_size(subject: Subject) -> tuple[str, ...]:
    """The states that gradients (and weights) times c > 0 multiply by c^k with k > 0, and that do not change where
    the signs of these are flipped, as epsilons go to 0."""
    zeros = epsilons(subject)
    scaled = characters_of_states(subject, Multiplied(Scaling(), gradient=ONE, weight=ONE), zeros)
    flipped = characters_of_states(subject, Multiplied(SignFlip(), gradient=ONE, weight=ONE), zeros)
    return tuple(
        name
        for name, x in scaled.items()
        if x.k is not None and x.k > 0 and flipped[name].is_known and flipped[name].k == NEUTRAL
    )
