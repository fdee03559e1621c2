"""Constants of groups: which parameters a thread updates by itself, one after the other."""

from __future__ import annotations

from optgen.tune.case import Case, step


def group_bytes() -> list[Case]:
    """Many parameters, small ones and mixed ones, of a rule with two sweeps."""
    return [Case(step("lamb", [(1 << 12,)] * 512)), Case(step("lamb", [(1 << 10,), (1 << 15,)] * 64))]


def largest_bytes() -> list[Case]:
    """Parameters of a rule with two sweeps, around that size with their states."""
    return [Case(step("lamb", [(n,)] * ((1 << 23) // n))) for n in (1 << 16, 1 << 17, 1 << 18, 1 << 19)]


def least_groups() -> list[Case]:
    """So many parameters that they make few groups."""
    return [Case(step("lamb", [(1 << 14,)] * count)) for count in (16, 32, 64)]


def small_elements() -> list[Case]:
    """Parameters with products, around that size."""
    return [Case(step("muon", [(n, n)] * 4)) for n in (64, 128, 192, 256)]


def small_groups_each() -> list[Case]:
    """Parameters with products, small ones of different sizes."""
    return [Case(step("muon", [(32 + 8 * k, 64) for k in range(16)] * 2))]
