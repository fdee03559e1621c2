"""What tests of the constants that depend on the machine share: their extremes, what comes out with them, and what
measures them."""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from optgen.backends.machine import CONSTANTS, Constant, text
from tests.process import run

EXTREMES: dict[str, Callable[[int, Constant], int]] = {
    "least": lambda k, x: x.least,
    "most": lambda k, x: x.most,
    "least and most": lambda k, x: (x.least, x.most)[k % 2],
    "most and least": lambda k, x: (x.most, x.least)[k % 2],
}
"""Of each constant by its number. With the least of all threads share everything, with the most nothing."""


def extremes(which: str) -> dict[str, int]:
    """The values of all constants."""
    return {name: EXTREMES[which](k, x) for k, (name, x) in enumerate(CONSTANTS.items())}


def bits(module: str, values: Mapping[str, int], folder: Path) -> str:
    """What a module prints that is run with these values, by three threads."""
    file = folder / "machine.json"
    file.write_text(text(values))
    found = run(
        [sys.executable, "-m", module],
        timeout=300,
        env={"OPTGEN_MACHINE": str(file), "OPTGEN_NUM_THREADS": "3"},
    )
    assert found.returncode == 0 and not found.stderr, found.stderr
    return found.stdout


@functools.cache
def bits_of_defaults(module: str) -> str:
    """What it prints with the defaults."""
    with tempfile.TemporaryDirectory() as folder:
        return bits(module, {}, Path(folder))


def measured_by(module: str) -> set[str]:
    """The constants, without their subject, that a module measures."""
    names = vars(importlib.import_module(module)).items()
    return {name for name, x in names if getattr(x, "__annotations__", {}) == {"return": "list[Case]"}}


def of_subject(subject: str) -> set[str]:
    """The constants of a subject, without it."""
    return {name.partition(".")[2] for name in CONSTANTS if name.startswith(f"{subject}.")}
