"""A subject whose measurement fails, and tells the value that its process has."""

from __future__ import annotations

from optgen.backends import machine
from optgen.tune.case import Case


def min_shared_elements() -> list[Case]:
    raise ValueError(machine.value("threads.min_shared_elements"))
