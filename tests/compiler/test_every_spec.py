"""Every spec that comes with optgen: its kernels against the interpreter, here and on another machine.

`make arm` runs this file twice. On the host the interpreter writes the bits of some updates into the folder that the
environment variable OPTGEN_BITS names; on the emulated machine kernels must lead to the same ones.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.stages.plan import FALLIBLE
from tests.compiler.harness import SHAPES, Array, Case, Shape, arrays_of, is_of_one_gradient
from tests.compiler.test_differential import MODES, compare
from tests.conftest import Golden
from tests.equations import agree

pytestmark = pytest.mark.stress

NAMES = specfiles.all_available()
BITS = os.environ.get("OPTGEN_BITS")
EVERY_MODE: dict[str, dict[str, Any]] = {"float32": {}, **MODES}
STAGED_SHAPES: tuple[Shape, ...] = ((4, 3), (2, 5), (5,), (1, 7), (65, 33), (2, 3, 4))
IN_LAPACK = FALLIBLE
SEED = 2**40 + 11
STRANGE = (0.0, -0.0, 2.0**-149, -3 * 2.0**-149, 2.0**-126, -(2.0**-63), 2.0**60)
"""Zeros, subnormals, the smallest normal number, its root, and one whose square is large."""


def parsed(name: str) -> optgen.Optimizer:
    return optgen.parse(specfiles.spec_path(name).read_text(encoding="utf-8"))


def is_compared(spec: optgen.Optimizer) -> bool:
    """Whether `compare` can run it, with its awkward shapes and numbers, in all modes."""
    return not spec.has_stages and is_of_one_gradient(spec)


@pytest.mark.parametrize(
    ("name", "mode"), [(name, list(EVERY_MODE)[i % len(EVERY_MODE)]) for i, name in enumerate(NAMES)]
)
def test_kernels_equal_the_interpreter(name: str, mode: str) -> None:
    """With infinities and NaN; in one mode after the other, each for every so many-th spec."""
    spec = parsed(name)
    if is_compared(spec):
        compare(Case(spec, {}), SHAPES, EVERY_MODE[mode], special=True)
    else:
        agrees(spec, "float64" if mode == "float64" else "float32")


def agrees(spec: optgen.Optimizer, dtype: str) -> None:
    """A step of stages, of phases or with histories: kernels, interpreter and equations.

    On another machine the equations are left out. Where a matrix is singular, as in SWAN, what its LAPACK returns
    differs by more than rounding from what the equations have, and they judged the interpreter here.
    """
    rule, judged = optgen.load(spec, dtype, lr=0.1), BITS is None
    shapes = [s for s in STAGED_SHAPES if agree.fits(rule, s)]
    assert agree.compare(rule, shapes, 1, compiled=True, judged=judged) is None


# ---------------------------------------------------------------- another machine


@pytest.mark.skipif(BITS is None, reason="OPTGEN_BITS names no folder of bits of another machine; see make arm")
@pytest.mark.parametrize("name", NAMES)
def test_bits_are_those_of_another_machine(name: str, golden: Golden, request: pytest.FixtureRequest) -> None:
    """With --update-golden the interpreter writes them down."""
    spec = parsed(name)
    if any(f"{function}(" in spec.source.text for function in IN_LAPACK):
        pytest.skip("LAPACK has other bits on other machines")
    rule = optgen.load(spec, matmul="deterministic")
    interpreted = request.config.getoption("--update-golden")
    lines = [f"{label} {digest(array)}\n" for label, array in updated(rule, interpreted=interpreted)]
    assert lines
    golden(Path(str(BITS)) / f"{name.replace('/', '-')}.txt", "".join(lines))


def updated(rule: optgen.UpdateRule, *, interpreted: bool) -> Iterator[tuple[str, Array]]:
    """The parameters and states after each of three updates, by the interpreter or by kernels."""
    shapes = [s for s in (SHAPES if is_compared(rule.spec) else STAGED_SHAPES) if agree.fits(rule, s)]
    if rule.spec.joins_params:
        shapes = [s for s in shapes if rule.variant(s) == rule.variant(shapes[-1])]
    rng = np.random.default_rng(5)
    weights, grads, *more = ([exact(rng, s) for s in shapes] for _ in range(2 + len(rule.spec.inputs)))
    inputs = {x.name: arrays for x, arrays in zip(rule.spec.inputs, more, strict=True)}
    given = dict.fromkeys(rule.spec.given, 1.25)
    step: Any = rule.bind(weights, grads, inputs=inputs or None)
    step.seed = SEED
    for count in (1, 2, 3):
        for phase in rule.spec.phases or (None,):
            for g in grads:
                g[...] = exact(rng, g.shape)
            if interpreted:
                values = {**rule.values, **given}
                agree.interpret(rule, weights, grads, step.state, inputs, values, count, phase, SEED)
            else:
                (step if phase is None else getattr(step, phase))(**given)
        for i, w in enumerate(weights):
            for state, array in ({"w": w} | arrays_of(step.state, i)).items():
                yield f"update {count}, {state}[{i}] of shape {shapes[i]}:", array


def exact(rng: np.random.Generator, shape: Shape) -> Array:
    """Numbers that are the same on every machine: no function of the C library makes them."""
    x = np.ldexp(rng.integers(-(2**20), 2**20, shape).astype(np.float32), rng.integers(-30, -18, shape))
    return np.array(np.where(rng.random(shape) < 0.05, rng.choice(np.float32(STRANGE), shape), x), np.float32)


def digest(array: Array) -> str:
    """A hash of the bits; all NaNs are one."""
    plain = np.where(np.isnan(array), np.nan, array).astype(array.dtype) if array.dtype.kind == "f" else array
    return hashlib.sha256(plain.tobytes()).hexdigest()[:16]
