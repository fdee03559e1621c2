"""What the compiler's tests share: every variant of every spec, awkward numbers, and the interpreter as the judge."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import optgen
from optgen import arguments, pipeline, specfiles
from optgen.execute.step import State, UpdateRule
from optgen.ir.interp import interpret
from optgen.ir.nodes import Kernel
from optgen.model import Optimizer
from tests.process import run

Array = np.ndarray[Any, Any]
SPECS = {name: optgen.parse(specfiles.spec_path(name).read_text()) for name in specfiles.available()}
SIZES = (0, 1, 3, 31, 33, 127, 128, 129, 4095, 4096, 4097, 8193, 20001)

EVERYTHING = optgen.parse("""\
optimizer Everything "every operation, and reductions that depend on one another: four sweeps"
param lr    = 0.01
param p     = 1.7
param bound = none

state m = 0.5
state v = w
state k = p

update:
  host = lr*sqrt(1 - 0.9^t)/(1 - 0.5^t) + exp(-t)*log(t + 1) + floor(t/2) + cbrt(t) + sign(lr) + abs(-lr) + t^2
  a    = max(g, m) + min(w, v) - clip(m*v, bound)/(1 + w^2)
  b    = exp(-abs(a)) + expm1(clip(a, -1, 1)) + log(abs(a) + 0.5) + log1p(abs(v)) + tanh(m)
  c    = cbrt(w) + (abs(v) + 0.1)^p + 2^m*0.001 + floor(3*w) + sign(m) + b^3
  r1   = norm(a)
  s1   = sum(b*0.001) + mean(w) + max(c)
  d    = where((a > b or m == v) and not (w != w), c/(r1 + 1), where(g <= 0, s1, a))
  r2   = rms(d) + min(d + s1)
  e    = d/(r2 + host)
  r3   = where(r2 > r1, sum(e*w), -r1) / size
  m'   = 0.9*m + 0.1*(a - e)
  v'   = v + clip(d, -p, p)*lr
  k'   = k*0.5 + sqrt(abs(c))
  w'   = w - lr*(e + r3*0.01) - wd*w
""")


@dataclass(frozen=True)
class Variant:
    """A spec, one combination of its flags, and arguments that lead to it."""

    spec: Optimizer
    flags: Mapping[str, Any]
    values: Mapping[str, Any]

    def __str__(self) -> str:
        return "-".join([self.spec.name.lower(), *(f if v is True else str(v) for f, v in self.flags.items() if v)])

    def load(self, dtype: str, **values: Any) -> UpdateRule:
        return optgen.load(self.spec, dtype, **{**self.values, **values})

    def build(self, dtype: str) -> Kernel:
        return pipeline.build(self.spec, self.flags, dtype)


def variants(*specs: Optimizer) -> Iterator[Variant]:
    """Every variant that arguments can select: free flags by name, derived ones by values of the params they test."""
    for spec in specs:
        free = {f.name for f in spec.flags if f.condition is None}
        names = sorted(arguments.deciding(spec) & set(spec.all_params()))
        for flags in spec.variants():
            chosen = {name: value for name, value in flags.items() if name in free}
            for numbers in itertools.product((None, 0.0, 0.9), repeat=len(names)):
                given = {n: x for n, x in zip(names, numbers, strict=True) if x is not None}
                if arguments.resolve(spec, {**chosen, **given}).flags == flags:
                    yield Variant(spec, flags, {**chosen, **given})
                    break
            else:
                raise AssertionError(f"no arguments lead to {spec.name} with {flags}")


VARIANTS = tuple(variants(*SPECS.values()))


def numbers(rng: np.random.Generator, size: int, dtype: str, *, special: bool) -> Array:
    """Ordinary numbers, zeros of both signs, subnormals, 1e±18 and, if `special`, infinities, NaN and the largest."""
    tiny = float(np.finfo(dtype).smallest_subnormal)
    strange = [0.0, -0.0, tiny, -3 * tiny, 1e5 * tiny, 1e18, -1e18, 1e-18, -1e-18, 1.0, -1.0]
    if special:
        strange += [np.inf, -np.inf, np.nan, float(np.finfo(dtype).max)]
    x = rng.standard_normal(size) * 10.0 ** rng.uniform(-3, 3, size)
    x = np.where(rng.random(size) < 0.2, rng.choice(strange, size), x)
    return x.astype(dtype)


def same_bits(a: Array, b: Array) -> bool:
    """Equality that tells -0 from +0 and takes all NaNs as one."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    bits = np.uint32 if a.dtype == np.float32 else np.uint64
    return bool(np.all((a.view(bits) == b.view(bits)) | ((a != a) & (b != b))))


def copies(arrays: Sequence[Array]) -> list[Array]:
    return [a.copy() for a in arrays]


def copy_state(state: State) -> State:
    return State({name: copies(arrays) for name, arrays in state.arrays.items()}, state.t.copy())


def interpret_step(
    kernel: Kernel, params: Sequence[Array], grads: Sequence[Array], state: State, hyper: Mapping[str, Any]
) -> None:
    """What a bound step does, done by the interpreter. `hyper`: a number, a list of one per tensor, or None."""
    state.t[...] += 1
    for i, (w, grad) in enumerate(zip(params, grads, strict=True)):
        values = {name: x[i] if isinstance(x, list) else x for name, x in hyper.items()}
        table = {name: np.nan if values[name] is None else values[name] for name in kernel.hyper}
        tensors = {"w": w, "grad": grad, **{name: arrays[i] for name, arrays in state.arrays.items()}}
        interpret(kernel, tensors, table, int(state.t[i]))


def assert_same(label: str, params: Sequence[Array], state: State, others: Sequence[Array], other: State) -> None:
    """Parameters, states and counts are equal to the bit."""
    pairs = [("w", params, others), *((name, state.arrays[name], other.arrays[name]) for name in state.arrays)]
    for name, ours, theirs in pairs:
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not same_bits(a, b):
                at = np.flatnonzero((a != b) & ~((a != a) & (b != b)))[:3]
                raise AssertionError(f"{label}: {name}[{i}] at {at}: {a.ravel()[at]} and {b.ravel()[at]}")
    assert np.array_equal(state.t, other.t), label


def python(code: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, in the root of the repository."""
    return run([sys.executable, "-c", code], timeout=timeout, env=environment, cwd=Path(__file__).parents[2])
