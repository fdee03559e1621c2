"""What people choose an optimizer by, computed of its spec: the memory of states, what a step moves, what it needs."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import optgen
from optgen import specfiles, tables
from optgen.model import Optimizer
from optgen.pages import families


@dataclass(frozen=True)
class Traits:
    """`memory`: bytes of states for each parameter, of float32. `moved`: bytes that a step moves for each parameter;
    None where products of matrices are the larger part of it. `needs`: keys of NEEDS."""

    name: str
    title: str
    family: str
    memory: float
    moved: float | None
    needs: tuple[str, ...]


NEEDS = {
    "no-rate": "no rate to tune",
    "own-schedule": "no schedule",
    "rest": "another optimizer for what is no matrix",
    "products": "products of matrices",
    "gradients": "two gradients a step",
    "curvature": "an estimate of the curvature",
    "loss": "the loss",
}
"""What a spec needs, or does not, in words."""


@functools.cache
def of(name: str) -> Traits:
    """The traits of a spec that comes with optgen."""
    rule = optgen.load(name)
    optimizer = rule.spec
    costs = tables.costs(optimizer)
    products = rule.flops(tables.LARGE) > 0
    moved = costs[0][1].bytes if costs and not products else None
    needs = {
        "no-rate": name in families.WITHOUT_A_RATE,
        "own-schedule": optimizer.has_own_schedule,
        "rest": only_matrices(optimizer),
        "products": products,
        "gradients": bool(optimizer.phases),
        "curvature": bool(optimizer.inputs),
        "loss": "loss" in optimizer.given,
    }
    found = tuple(key for key, holds in needs.items() if holds)
    return Traits(name, optimizer.title, families.of(name), tables.state_bytes(rule), moved, found)


def only_matrices(optimizer: Optimizer) -> bool:
    """Whether it refuses a vector."""
    try:
        optgen.load(optimizer).variant((8,))
    except ValueError:
        return True
    return False


def all_names() -> tuple[str, ...]:
    """The names of all specs that come with optgen, in the order of the gallery."""
    return tuple(name for family in ("", *families.FOLDERS) for name in specfiles.available(family))
