"""Steps of kernels that were built, by PyCUDA and by the CPU, for tests with the stand-in and with PyCUDA itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import optgen
from optgen.cli import main
from optgen.execute.buffers import numpy_dtype
from tests.compiler.harness import same_bits

BATCH = """\
optimizer Batch
axes last two
state R: row = 0
state C: col = 0
update:
  R' = R + mean(g^2, per row)
  C' = C + mean(g^2, per col)
  w' = w - lr*g*R'*C'/(1 + max(R', per matrix))
"""
MIXED = ((4, 30), (7,), (), (0, 3), (3, 4200))
"""Of every rank, without elements, and with enough of them for codes."""


@dataclass(frozen=True)
class BuiltCase:
    """A spec, what `optgen build` is told, what `load` is told as well, and what each step is given."""

    spec: str
    options: tuple[str, ...] = ()
    dtype: str = "float32"
    how: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = MIXED


CASES = {
    "elements": BuiltCase("adam", given={"lr": 0.1, "wd": 0.01}),
    "a flag": BuiltCase("adam", ("--all",), how={"amsgrad": True, "beta1": 0.8}),
    "sums over the tensor": BuiltCase("lamb", given={"lr": 0.1}),
    "rows and columns": BuiltCase("adafactor"),
    "matrices": BuiltCase("batch.opt", shapes=((2, 3, 70, 9), (5, 130), (3,))),
    "values of all parameters": BuiltCase("prodigy"),
    "masters and codes of 8 bits": BuiltCase(
        "adam",
        ("--dtype", "bfloat16", "--master", "--storage", "int8_dynamic"),
        "bfloat16",
        {"master": True, "storage": "int8_dynamic"},
    ),
    "codes of 4 bits": BuiltCase("adam", ("--storage", "m=int4_dynamic"), how={"storage": {"m": "int4_dynamic"}}),
    "random rounding": BuiltCase(
        "adam", ("--storage", "bfloat16_stochastic"), how={"storage": "bfloat16_stochastic"}, shapes=((9, 30),)
    ),
    "phases": BuiltCase("extra_adam", shapes=((4, 30), (7,))),
    "draws": BuiltCase("noisysgd", shapes=((4, 30), (7,))),
    "weights to evaluate with": BuiltCase("schedulefree_adamw", shapes=((4, 30), (7,))),
    "a history": BuiltCase("adashift", how={"n": 3}, shapes=((5, 7), (9,))),
    "float64": BuiltCase("rmsprop", ("--dtype", "float32", "float64"), "float64", shapes=((4, 30), (7,))),
}
STEPS = 5


def build(spec: str, folder: Path, *options: str) -> Path:
    """The folder of the kernels of a spec."""
    (folder / "batch.opt").write_text(BATCH)
    named = str(folder / spec) if spec.endswith(".opt") else spec
    assert main(["build", named, "--target", "cuda", "--kernels", "-o", str(folder), *options]) == 0
    return folder / spec.removesuffix(".opt")


def states(state: optgen.State) -> Iterator[tuple[str, Any]]:
    """The arrays of a state with their names, those on a GPU copied."""
    for name, arrays in state.arrays.items():
        for x in arrays:
            if x is not None:
                yield name, x if isinstance(x, np.ndarray) else x.get()


def check(case: BuiltCase, folder: Path, stream: Any = None) -> Any:
    """Compare STEPS steps, and states, with those of the CPU, bit by bit; returns the step with PyCUDA."""
    from pycuda import gpuarray

    from optgen.pycuda import load_built

    built = build(case.spec, folder, *case.options)
    rng, dtype = np.random.default_rng(7), numpy_dtype(case.dtype)
    weights, grads = ([rng.standard_normal(s).astype(dtype) for s in case.shapes] for _ in range(2))
    params, own_grads = ([gpuarray.to_gpu(x) for x in arrays] for arrays in (weights, grads))
    step = load_built(built, case.dtype, **case.how).bind(params, own_grads, stream=stream)
    spec = str(folder / case.spec) if case.spec.endswith(".opt") else case.spec
    of_cpu = optgen.load(spec, case.dtype, **case.how).bind(weights, grads)
    step.seed = of_cpu.seed = 11
    for _ in range(STEPS):
        for g, own in zip(grads, own_grads, strict=True):
            g[...] = rng.standard_normal(g.shape)
            own.set(g)
        for phase in of_cpu.rule.spec.phases or ("__call__",):
            getattr(step, phase)(**case.given)
            getattr(of_cpu, phase)(**case.given)
    assert step.state.t.tolist() == of_cpu.state.t.tolist() == [STEPS] * len(params)
    assert all(same_bits(p.get(), w) for p, w in zip(params, weights, strict=True))
    if of_cpu.rule.spec.evaluate:
        assert all(same_bits(p.get(), w) for p, w in zip(step.evaluate(), of_cpu.evaluate(), strict=True))
    for (name, own), (of, array) in zip(states(step.state), states(of_cpu.state), strict=True):
        assert name == of and same_bits(own, array), name
    return step
