"""A library in C comes to the bits of Python on every CPU that it was built for, real or emulated."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.backends import target
from optgen.library.cpus import LEVELS
from tests.library.c_library import build

HERE = Path(__file__).parent
SPECS = ("adam", "lamb", "adafactor")
SHAPES = ((37, 1), (50, 90), (9000, 1))
STEPS = 200
MODELS = {"core2duo": "x86-64", "Nehalem": "x86-64", "Haswell": "x86-64-v3"}
"""CPUs that qemu emulates, and the level that each has of those that a library has without --cpu."""
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("cc") is None, reason="no C compiler for x86-64"
)


class Drawn:
    """The numbers of many_steps.c."""

    def __init__(self) -> None:
        self._state = 1

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        return [self._filled(rows * cols).reshape(rows, cols) for rows, cols in SHAPES]

    def _filled(self, count: int) -> np.ndarray[Any, Any]:
        factors = np.ones(count + 1, np.uint32)
        for k in range(count):
            factors[k + 1] = (int(factors[k]) * 1664525) & 0xFFFFFFFF
        added = np.concatenate([[0], np.cumsum(factors[:-1], dtype=np.uint32)]).astype(np.uint32)
        states = factors * np.uint32(self._state) + added * np.uint32(1013904223)
        self._state = int(states[-1])
        return (states[1:] & np.uint32(0xFFFFFF00)).view(np.int32).astype(np.float32) / np.float32(2**31)


@pytest.fixture(scope="module")
def expected() -> bytes:
    """The weights of Python's steps."""
    found = b""
    for spec in SPECS:
        drawn = Drawn()
        weights, grads = drawn.arrays(), [np.zeros(x, np.float32) for x in SHAPES]
        step = optgen.load(spec).bind(weights, grads)
        for _ in range(STEPS):
            for g, new in zip(grads, drawn.arrays(), strict=True):
                g[...] = new
            step()
        found += b"".join(w.tobytes() for w in weights)
    return found


def program(folder: Path, command: str, *arguments: str) -> Path:
    """The program, with a library of its own, made by a C compiler."""
    build(folder, *SPECS, "--name", "three", *arguments)
    made = folder / "many_steps"
    source = [str(HERE / "many_steps.c"), "-I", str(folder), str(folder / "libthree.a"), "-lm", "-pthread"]
    subprocess.run([command, "-std=c11", "-O1", *source, "-static", "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("here"), "cc")


def ran(*command: str | Path) -> tuple[bytes, str]:
    """What a program printed, and the CPU whose kernels it took."""
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout, done.stderr.decode().splitlines()[-1]


def test_this_machine_takes_its_best_kernels(here: Path, expected: bytes) -> None:
    own = set(target.host().required())
    levels = [name for name in ("x86-64", "x86-64-v3", "x86-64-v4") if own.issuperset(LEVELS[name])]
    assert ran(here) == (expected, levels[-1])


@pytest.mark.stress
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="no qemu-user")
@pytest.mark.parametrize("model", MODELS)
def test_older_machines_take_theirs(model: str, here: Path, expected: bytes) -> None:
    assert ran("qemu-x86_64", "-cpu", model, here) == (expected, MODELS[model])


@pytest.mark.stress
@pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or shutil.which("aarch64-linux-gnu-gcc") is None, reason="no tools for Arm"
)
def test_arm(tmp_path: Path, expected: bytes) -> None:
    made = program(tmp_path, "aarch64-linux-gnu-gcc", "--triple", "aarch64-linux-gnu")
    assert ran("qemu-aarch64", made) == (expected, "generic")
