"""What many_steps.c and many_steps.rs do, in Python: the weights that they must come to everywhere."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import optgen
from optgen.execute.buffers import numpy_dtype
from tests.library.c_library import Array, build

SOURCE = Path(__file__).with_suffix(".c")
SPECS = ("adam", "lamb", "adafactor", "lbfgs", "sgld", "adam with sam")
CODED = ("lion", "--dtype", "bfloat16", "--master", "--storage", "int8_dynamic")
LIBRARIES = ("several", "coded")
SHAPES = ((37, 1), (50, 90), (20000, 1))
STEPS = 200


def libraries(folder: Path, *arguments: str) -> Path:
    """A folder with the two libraries of the programs."""
    build(folder, *SPECS, "--name", "several", *arguments)
    build(folder, *CODED, "--name", "coded", *arguments)
    return folder


def program(folder: Path, *command: str) -> Path:
    """The program of C, made by a compiler of GCC's options."""
    made, archives = folder / "many_steps", [str(folder / f"lib{x}.a") for x in LIBRARIES]
    source = [str(SOURCE), "-I", str(folder), "-x", "none", *archives, "-lm", "-pthread"]
    subprocess.run([*command, "-O1", *source, "-static", "-o", str(made)], check=True)
    return made


@functools.cache
def _powers(count: int) -> tuple[Array, Array]:
    """What `count` steps of the generator multiply its state with, and add to it."""
    factors = np.ones(count + 1, np.uint32)
    for k in range(count):
        factors[k + 1] = (int(factors[k]) * 1664525) & 0xFFFFFFFF
    added = np.concatenate([[0], np.cumsum(factors[:-1], dtype=np.uint32)]).astype(np.uint32)
    return factors, added * np.uint32(1013904223)


class Drawn:
    """The numbers of many_steps.c."""

    def __init__(self) -> None:
        self._state = 1

    def arrays(self) -> list[Array]:
        return [self._filled(rows * cols).reshape(rows, cols) for rows, cols in SHAPES]

    def _filled(self, count: int) -> Array:
        factors, added = _powers(count)
        states = factors * np.uint32(self._state) + added
        self._state = int(states[-1])
        return (states[1:] & np.uint32(0xFFFFFF00)).view(np.int32).astype(np.float32) / np.float32(2**31)


@functools.cache
def expected() -> bytes:
    """The weights after Python's steps."""
    rules = [optgen.load(spec) for spec in SPECS]
    return b"".join(map(_weights, [*rules, optgen.load("lion", "bfloat16", master=True, storage="int8_dynamic")]))


def _weights(rule: optgen.Rule) -> bytes:
    drawn = Drawn()
    weights, grads = (_in_dtype(x, rule.dtype) for x in (drawn.arrays(), [np.zeros(x, np.float32) for x in SHAPES]))
    step: Any = rule.bind(weights, grads)
    for _ in range(STEPS):
        for phase in rule.spec.phases or [None]:
            for g, new in zip(grads, _in_dtype(drawn.arrays(), rule.dtype), strict=True):
                g[...] = new
            (getattr(step, phase) if phase else step)()
    assert all(np.isfinite(w.astype(np.float32)).all() for w in weights)
    return b"".join(w.tobytes() for w in weights)


def _in_dtype(arrays: list[Array], dtype: str) -> list[Array]:
    """Arrays of float32, or of bfloat16 with their upper halves."""
    if dtype == "float32":
        return arrays
    return [(x.view(np.uint32) >> 16).astype(np.uint16).view(numpy_dtype(dtype)) for x in arrays]
