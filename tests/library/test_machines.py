"""A library in C comes to the bits of Python from every language, and on every CPU that it was built for, real or
emulated."""

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
from optgen.execute.buffers import numpy_dtype
from optgen.library.cpus import LEVELS
from tests.library.c_library import build

HERE = Path(__file__).parent
SPECS = ("adam", "lamb", "adafactor", "lbfgs", "sgld", "adam with sam")
CODED = ("lion", "--dtype", "bfloat16", "--master", "--storage", "int8_dynamic")
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
    rules = [optgen.load(spec) for spec in SPECS]
    return b"".join(map(weights_of, [*rules, optgen.load("lion", "bfloat16", master=True, storage="int8_dynamic")]))


def weights_of(rule: optgen.Rule) -> bytes:
    drawn = Drawn()
    weights, grads = (in_dtype(x, rule.dtype) for x in (drawn.arrays(), [np.zeros(x, np.float32) for x in SHAPES]))
    step = rule.bind(weights, grads)
    for _ in range(STEPS):
        for phase in rule.spec.phases or [None]:
            for g, new in zip(grads, in_dtype(drawn.arrays(), rule.dtype), strict=True):
                g[...] = new
            (getattr(step, phase) if phase else step)()
    assert all(np.isfinite(w.astype(np.float32)).all() for w in weights)
    return b"".join(w.tobytes() for w in weights)


def in_dtype(arrays: list[np.ndarray[Any, Any]], dtype: str) -> list[np.ndarray[Any, Any]]:
    """Arrays of float32, or of bfloat16 with their upper halves."""
    if dtype == "float32":
        return arrays
    return [(x.view(np.uint32) >> 16).astype(np.uint16).view(numpy_dtype(dtype)) for x in arrays]


def libraries(folder: Path, *arguments: str) -> Path:
    """A folder with the two libraries of the programs."""
    build(folder, *SPECS, "--name", "several", *arguments)
    build(folder, *CODED, "--name", "coded", *arguments)
    return folder


def program(folder: Path, *command: str) -> Path:
    """The program of C, made by a compiler."""
    made, archives = folder / "many_steps", [str(folder / f"lib{x}.a") for x in ("several", "coded")]
    source = [str(HERE / "many_steps.c"), "-I", str(folder), "-x", "none", *archives, "-lm", "-pthread"]
    subprocess.run([*command, "-O1", *source, "-static", "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return libraries(tmp_path_factory.mktemp("here"))


@pytest.fixture(scope="module")
def here(folder: Path) -> Path:
    return program(folder, "cc", "-std=c11")


def ran(*command: str | Path) -> tuple[bytes, str]:
    """What a program printed, and the CPU whose kernels it took."""
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout, done.stderr.decode().splitlines()[-1]


def test_this_machine_takes_its_best_kernels(here: Path, expected: bytes) -> None:
    own = set(target.host().required())
    levels = [name for name in ("x86-64", "x86-64-v3", "x86-64-v4") if own.issuperset(LEVELS[name])]
    assert ran(here) == (expected, levels[-1])


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_cpp(folder: Path, expected: bytes) -> None:
    assert ran(program(folder, "c++", "-std=c++17", "-x", "c++"))[0] == expected


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
def test_rust(folder: Path, expected: bytes) -> None:
    shutil.copy(HERE / "many_steps.rs", folder)
    links = ["-L", ".", "-l", "static=several", "-l", "static=coded", "-l", "m"]
    subprocess.run(["rustc", "--edition", "2021", "many_steps.rs", *links, "-o", "in_rust"], cwd=folder, check=True)
    assert ran(folder / "in_rust")[0] == expected


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
    made = program(libraries(tmp_path, "--triple", "aarch64-linux-gnu"), "aarch64-linux-gnu-gcc", "-std=c11")
    assert ran("qemu-aarch64", made) == (expected, "generic")
