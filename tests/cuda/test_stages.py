"""Programs in stages on a GPU: the kernels run by the PTX interpreter, the calls by the stand-in for CuPy, against the
interpreter of plans with the same calls in NumPy, to the bit."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import optgen
from optgen import linalg, pipeline
from optgen.execute.buffers import numpy_dtype
from optgen.execute.cuda import stages
from optgen.execute.stages.array_calls import ArrayCalls
from optgen.execute.stages.calls import Request
from optgen.execute.stages.stage_run import HOW
from optgen.execute.stages.staged_table import is_due
from optgen.ir.interp import TensorUpdate
from optgen.stages.interp import interpret_plan
from optgen.stages.plan import FALLIBLE, CallStage, Operand
from tests.compiler.harness import same_bits
from tests.compiler.test_axes import GROUPS
from tests.compiler.test_stages import SPECS, values_of
from tests.cuda.emulation import Gpu, GpuArray, emulated
from tests.sweeps import swept

Array = np.ndarray[Any, Any]
LIBRARY = {name: optgen.load(name).spec for name in ("muon_adamw", "shampoo", "soap")}
OF_TENSORS = {"groups": GROUPS}
MODES: dict[str, dict[str, Any]] = {
    "float32": {},
    "float64": {"dtype": "float64"},
    "products of bfloat16": {"matmul": "bfloat16"},
    "float16-master": {"dtype": "float16", "master": True},
    "bfloat16-kahan": {"dtype": "bfloat16", "weights": "kahan"},
    "int8": {"storage": "int8_dynamic"},
}


@pytest.fixture
def gpu(cupy: ModuleType) -> Iterator[Gpu]:
    with emulated() as (gpu,):
        yield gpu


def call(stage: CallStage, operands: Any, numbers: Any, out: Array, how: str) -> None:
    calls = ArrayCalls(np)
    if stage.function in FALLIBLE:
        calls.factorize([Request(stage, operands, numbers, out)])
    else:
        calls.call(stage, operands, numbers, out, how)


def interpreted(rule: optgen.UpdateRule, arrays: Mapping[str, Array], count: int) -> None:
    """One update by the interpreter."""
    shape = arrays["w"].shape
    values, variant = values_of(rule, shape) | {"step": float(count)}, rule.variant(shape)
    due = [timing for timing in rule.spec.timings if is_due(timing, count, values)]
    plan = pipeline.stages(rule.spec, variant, due, first=count == 1, folds=False)
    own_call = functools.partial(call, how=HOW[rule.matmul])
    interpret_plan(plan, [TensorUpdate(arrays, values, count)], own_call, last_two=rule.spec.last_two)


def host(x: Any) -> Array:
    return np.array(x.get() if hasattr(x, "get") else x)


CASES = [(name, mode) for name in LIBRARY for mode in MODES] + [(name, "float32") for name in (*SPECS, *OF_TENSORS)]
CASES += [("states", "float64"), ("functions", "float64")]
FEW = [("muon_adamw", "products of bfloat16"), ("muon_adamw", "int8"), ("shampoo", "float32")]
FEW += [("soap", "float16-master"), ("muon_adamw", "bfloat16-kahan"), ("functions", "float64")]
FEW += [(name, "float32") for name in (*SPECS, *OF_TENSORS) if name not in ("functions", "muon", "sketch")]


@pytest.mark.parametrize(("name", "mode"), swept(CASES, FEW))
def test_a_step_equals_the_interpreter(gpu: Gpu, name: str, mode: str) -> None:
    rng = np.random.default_rng(2)
    spec = {**SPECS, **LIBRARY, **OF_TENSORS}[name]
    how = {k: {s.name: "int8_dynamic" for s in spec.states if s.kind.value == "elem"} if k == "storage" else x
           for k, x in MODES[mode].items()}  # fmt: skip
    rule, source = (optgen.load(spec, lr=0.1, target=target, **how) for target in ("cuda", "cpu"))
    shapes = [(4, 3, 5), (2, 1, 2, 3)] if name in OF_TENSORS else [(5, 3), (3, 7)] if mode != "int8" else [(70, 60)]
    shapes += [(4, 1, 2, 2)] if name in LIBRARY and mode != "int8" else []  # a filter, which is a matrix
    given = [rng.normal(size=s).astype(numpy_dtype(rule.dtype)) for s in shapes]
    weights = [GpuArray(w, gpu) for w in given]
    grads = [GpuArray(np.zeros_like(w), gpu) for w in given]
    step = rule.bind(weights, grads)
    copies = []
    for i, w in enumerate(given):
        own = {state: host(arrays[i]) for state, arrays in step.state.arrays.items() if arrays[i] is not None}
        copies.append(own | {"copy" if rule.master else "w": w.copy(), "grad": np.zeros_like(w)})
    for count in range(1, 4):
        for g, own in zip(grads, copies, strict=True):
            own["grad"][...] = rng.normal(size=own["grad"].shape)
            gpu.upload(g.__cuda_array_interface__["data"][0], own["grad"])
        step()
        for i, own in enumerate(copies):
            interpreted(source, own, count)
            for state in step.state.arrays:
                if state in own:
                    assert same_bits(host(step.state.arrays[state][i]), own[state]), (state, shapes[i], count)
            assert same_bits(weights[i].get(), own["copy" if rule.master else "w"]), (shapes[i], count)


def pair(gpu: Gpu, *shapes: tuple[int, ...]) -> tuple[list[GpuArray], list[GpuArray]]:
    rng = np.random.default_rng(0)
    params, grads = ([GpuArray(rng.normal(size=s).astype("f"), gpu) for s in shapes] for _ in range(2))
    return params, grads


@pytest.mark.parametrize("name", ["shampoo", "soap"])
def test_a_factorization_that_fails_leaves_all_as_it_was(gpu: Gpu, name: str) -> None:
    params, grads = pair(gpu, (3, 3), (2, 4), (4, 2))
    step = optgen.load(name, target="cuda", **({"k": 1} if name == "soap" else {})).bind(params, grads)
    step()
    kept = [*params, *(x for arrays in step.state.arrays.values() for x in arrays)]
    before, good = [host(x) for x in kept], grads[1].get()
    for value in (np.nan, 1e30):
        gpu.upload(grads[1].__cuda_array_interface__["data"][0], np.full((2, 4), value, "f"))
        with pytest.raises(ArithmeticError, match=r"^params\[1\]: .* has a NaN or an infinity; nothing was updated$"):
            step()
        assert all(same_bits(host(x), y) for x, y in zip(kept, before, strict=True)) and list(step.state.t) == [1] * 3
    gpu.upload(grads[1].__cuda_array_interface__["data"][0], good)
    step()
    assert list(step.state.t) == [2] * 3


def test_what_a_gpu_refuses(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    params, grads = pair(gpu, (3, 3))
    with pytest.raises(ValueError, match=r"matmul='deterministic': on GPUs products are those of PyTorch or CuPy"):
        optgen.load("muon", target="cuda", matmul="deterministic").bind(params, grads)
    with pytest.raises(ValueError, match="capturable: Muon has products of matrices, which no graph can have"):
        optgen.load("muon", target="cuda").bind(params, grads, capturable=True)
    step = optgen.load("muon", target="cuda").bind(params, grads)
    for half in (step.advance, step.launch):
        with pytest.raises(RuntimeError, match="kernels and calls of PyTorch or CuPy in turn, which no graph can have"):
            half()
    before = params[0].get()
    gpu.capturing = True
    with pytest.raises(RuntimeError, match="which no graph can have: call the step itself, without a capture"):
        step()
    gpu.capturing = False
    assert same_bits(params[0].get(), before) and list(step.state.t) == [0]
    monkeypatch.setattr(stages, "LIBRARIES", ())
    with pytest.raises(ValueError, match="computed by PyTorch or CuPy: install one of them for CUDA"):
        optgen.load("muon", target="cuda").bind(params, grads)


@pytest.mark.parametrize("library", [np, torch], ids=["numpy", "torch"])
@pytest.mark.parametrize("scale", [1e-12, 1, 1e12])
def test_factorizations_are_those_of_linalg(library: Any, scale: float) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 6, 4)) * scale
    square = x.swapaxes(-1, -2) @ x
    cases = {
        "inverse_root": ([square], [4.0], linalg.inverse_root([square], 4.0)),
        "eigenvectors": ([square], [], linalg.eigenvectors([square])),
        "eigenvalues": ([square], [], linalg.eigenvalues([square])),
        "orthonormal": ([x], [], linalg.orthonormal([x])),
        "singular_values": ([x], [], linalg.singular_values([x])),
        "left_singular_vectors": ([x], [], linalg.left_singular_vectors([x])),
        "right_singular_vectors": ([x], [], linalg.right_singular_vectors([x])),
        "solve": ([square, x.swapaxes(-1, -2).copy()], [], linalg.solve([square], [x.swapaxes(-1, -2).copy()])),
    }
    deficient = square.copy()
    deficient[..., 0] = deficient[..., 0, :] = 0
    cases["inverse_root of less than full rank"] = ([deficient], [2.0], linalg.inverse_root([deficient], 2.0))
    make = library.from_numpy if library is torch else np.array
    for name, (operands, numbers, (expected,)) in cases.items():
        stage = CallStage(name.split()[0], tuple(Operand("") for _ in operands), "")
        out = make(np.empty_like(expected))
        ArrayCalls(library).factorize([Request(stage, [make(a) for a in operands], numbers, out)])
        np.testing.assert_allclose(
            np.asarray(out), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max(), err_msg=name
        )
    with pytest.raises(linalg.FactorizationError, match="has more columns than rows; take its transpose"):
        wide = CallStage("orthonormal", (Operand("", transposed=True),), "")
        ArrayCalls(library).factorize([Request(wide, [make(x)], [], make(x.copy()))])
    bad = make(np.full((2, 2), np.inf))
    with pytest.raises(linalg.FactorizationError, match="has a NaN or an infinity") as caught:
        good = Request(CallStage("eigenvalues", (Operand(""),), ""), [make(np.eye(2))], [], make(np.ones(2)))
        ArrayCalls(library).factorize([good, good._replace(operands=[bad])])
    assert caught.value.item == 1
    with pytest.raises(linalg.FactorizationError, match="has no factorization that was found"):
        singular = Request(
            CallStage("solve", (Operand(""),) * 2, ""), [make(np.zeros((2, 2)))] * 2, [], make(np.eye(2))
        )
        ArrayCalls(library).factorize([singular])


def test_parameters_that_share_values_go_from_stage_to_stage_together(gpu: Gpu) -> None:
    """L-BFGS has a loop that reduces over all parameters, and no product: so its bits are those of the CPU."""
    params, grads = pair(gpu, (5, 3), (7,))
    weights, gradients = ([x.get() for x in arrays] for arrays in (params, grads))
    steps = optgen.load("lbfgs", target="cuda").bind(params, grads), optgen.load("lbfgs").bind(weights, gradients)
    for _ in range(4):
        for step in steps:
            step()
        assert all(same_bits(p.get(), w) for p, w in zip(params, weights, strict=True))
