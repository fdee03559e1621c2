"""The same bits whatever the threads, their shares, the vector width, the alignment and the caller's rounding mode."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse, State, UpdateRule, arguments, pipeline
from optgen.axes import Kind
from optgen.backends import target
from optgen.backends.target import CpuTarget
from optgen.compiled import NativeKernel
from optgen.execute.cpu.device import Cpu
from optgen.ir import Variant
from optgen.model import Optimizer
from optgen.precision import Precision
from tests.compiler.features import BATCH
from tests.compiler.harness import SPECS, Array, Shape, arrays_of, assert_same, copies, copy_state, numbers, same_bits
from tests.conftest import Golden
from tests.floats import ARM, FLUSH_DOWNWARD, arm_functions, exchange_mxcsr, x86_only

FOLDS = optgen.parse("""\
optimizer Folds "three sweeps: sums, maxima and minima, one of them over what another changes"
param lr = 0.1
state m = 0
update:
  u  = 0.9*m + g/(1 + norm(g))
  r  = sum(u*w) + max(u)
  m' = u*(1 + 0.001*rms(u - r)) + min(w)
  w' = w - lr*(m' + wd*w)
""")
POWERS = optgen.parse("""\
optimizer Powers "elementary functions of elements"
param lr = 0.1
param p  = 1.3
state m = 0
update:
  m' = cbrt(g) + exp(-abs(w)) + log1p(abs(m)) + tanh(g)
  w' = w - lr*sign(m')*abs(m')^p - wd*w
""")


@dataclass(frozen=True)
class Judged:
    """A spec, and how it is loaded."""

    spec: Optimizer
    how: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.spec.name.lower(), *self.how.values()])


JUDGED = tuple(
    pytest.param(j, id=str(j))
    for j in (
        Judged(SPECS["adam"]),
        Judged(SPECS["adam"], {"storage": "bfloat16_stochastic"}),
        Judged(SPECS["adam"], {"storage": "int8_dynamic"}),
        Judged(SPECS["came"], {"storage": "int8_linear"}),
        Judged(SPECS["prodigy"]),
        Judged(SPECS["sgld"]),
        Judged(FOLDS),
        Judged(POWERS),
        Judged(BATCH),
    )
)
TRIPLE = target.host().triple


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = optgen.num_threads()
    yield optgen.set_num_threads
    optgen.set_num_threads(before)


def problem(shapes: Sequence[Shape], dtype: str = "float32") -> tuple[list[Array], list[Array]]:
    rng = np.random.default_rng(5)
    params, grads = ([numbers(rng, shape, dtype, special=False) for shape in shapes] for _ in range(2))
    return params, grads


def run(
    rule: UpdateRule,
    params: Sequence[Array],
    grads: Sequence[Array | RowSparse],
    state: State | None = None,
    parallel: Any = None,
) -> tuple[list[Array], State]:
    """The result of two steps on copies; `parallel` is called in the place of the pool's `parallel_for`."""
    w = copies(params) if state is None else list(params)
    state = rule.init(w) if state is None else state
    step = rule.bind(w, grads, state)
    step.seed = 7
    if parallel is not None:
        for table in step._tables:
            table.step.parallel = ctypes.cast(parallel, ctypes.c_void_p).value
    step(wd=0.01)
    step()
    return w, state


@pytest.mark.parametrize("judged", JUDGED)
def test_number_of_threads(judged: Judged, threads: Callable[[int], None]) -> None:
    params, grads = problem([(1_000_003,), (5,), (0,), (500, 431), (64, 64), (3, 20_000), (3001, 20), (30, 40, 3, 70)])
    rule = optgen.load(judged.spec, **judged.how)
    threads(1)
    expected, expected_state = run(rule, params, grads)
    for n in (2, 7):
        threads(n)
        w, state = run(rule, params, grads)
        assert_same(f"{n} threads", w, state, expected, expected_state)


_TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@pytest.mark.parametrize("judged", JUDGED)
def test_any_parts_in_any_order(judged: Judged) -> None:
    """Every part once, the last one first. So a draw, too, is the same however its tensor is cut."""
    params, grads = problem([(0,), (7,), (4096,), (65, 257), (20_001,), (1, 1), (3, 5000), (2, 3, 700), (3, 70, 5)])
    rule = optgen.load(judged.spec, **judged.how)
    expected, expected_state = run(rule, params, grads)
    for parts in (1, 3, 64, 1000):
        seen: list[int] = []

        def backwards(
            pool: int, task: int, step: int, elements: int, parts: int = parts, seen: list[int] = seen
        ) -> None:
            seen.append(elements)
            for part in reversed(range(parts)):
                _TASK(task)(step, part, parts)

        w, state = run(rule, params, grads, parallel=_PARALLEL(backwards))
        assert_same(f"{parts} parts", w, state, expected, expected_state)
        # Once for each kernel; rows and columns are shared, too, by what their work is.
        assert sum(set(seen)) >= sum(p.size for p in params)
        has_lines = any(s.kind in (Kind.ROW, Kind.COL) for s in judged.spec.states)
        assert has_lines or sum(set(seen)) == sum(p.size for p in params)


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("how", [{}, {"storage": "bfloat16_stochastic"}], ids=str)
@pytest.mark.parametrize("name", ["sgld", "adam"])
def test_rows_alone(name: str, how: dict[str, Any]) -> None:
    """A row that is updated without the others becomes what it becomes among them: it draws the same numbers."""
    params, grads = problem([(67, 257), (40, 3, 5)])
    rule = optgen.load(name, **how)
    expected, expected_state = run(rule, params, grads)
    for part in (slice(None), slice(1, None, 2), slice(5, 6)):
        rows = [np.ascontiguousarray(np.arange(len(p))[part]) for p in params]
        sparse = [RowSparse(r, g[r]) for r, g in zip(rows, grads, strict=True)]
        w, state = run(rule, params, sparse)
        for i, r in enumerate(rows):
            assert same_bits(w[i][r], expected[i][r])
            became = arrays_of(expected_state, i)
            assert all(same_bits(a[r], became[name][r]) for name, a in arrays_of(state, i).items())
            rest = np.delete(np.arange(len(params[i])), r)
            assert same_bits(w[i][rest], params[i][rest])


def test_draws_follow_seed_id_and_count() -> None:
    """Not the place of a parameter among those of a step."""
    rule = optgen.load("sgld", lr=0.5)
    zeros = [np.zeros((5, 60), np.float32) for _ in range(2)]

    def noise(seed: int, ids: list[int], steps: int = 1) -> list[Array]:
        w = copies(zeros)
        step = rule.bind(w, zeros, ids=ids)
        step.seed = seed
        for _ in range(steps):
            before = copies(w)
            step()
        return [a - b for a, b in zip(w, before, strict=True)]

    first, second = noise(1, [4, 9])
    assert not (first == second).any()
    swapped = noise(1, [9, 4])
    assert same_bits(swapped[0], second) and same_bits(swapped[1], first)
    for other in (noise(2, [4, 9]), noise(2**32 + 1, [4, 9]), noise(1, [4, 9], steps=2)):
        assert not (other[0] == first).any()


# ---------------------------------------------------------------- vector width


def built_for(judged: Judged, machine: CpuTarget) -> tuple[UpdateRule, list[str]]:
    """A rule whose kernels are compiled for another machine, and their assembly, which is there once they are."""
    assembly: list[str] = []

    def compile(spec: Optimizer, variant: Variant) -> NativeKernel:
        kernel = pipeline.plan(pipeline.build(spec, variant))
        compiled = target.compile_ir(pipeline.lower(kernel, "kernel", machine), machine)
        assembly.append(compiled.assembly)
        shared = any(b.kind is Kind.SHARED for b in kernel.buffers)
        sweeps = sum(phase.kind == "sweep" for phase in kernel.phases)
        cuts = (kernel.shard_granularity, kernel.last_two)
        signature = (kernel.buffers, kernel.hyper, kernel.rows_independent, shared, sweeps, *cuts)
        return NativeKernel("kernel", variant.dtype, *signature, (), compiled.object)

    args = arguments.resolve(judged.spec, {})
    dtype = judged.how.get("dtype", "float32")
    storage = arguments.storages(judged.spec, dtype, judged.how.get("storage"))
    return UpdateRule(judged.spec, args, Precision(dtype), storage or {}, target=Cpu(compile)), assembly


@x86_only
@pytest.mark.parametrize(
    "judged",
    [
        *JUDGED,
        *(
            pytest.param(Judged(s, {"dtype": "float64"}), id=f"{s.name.lower()}-float64")
            for s in (SPECS["adam"], FOLDS, POWERS)
        ),
    ],
)
def test_vector_width(judged: Judged) -> None:
    able = target.host().required()
    machines = {"xmm": CpuTarget(TRIPLE, "x86-64", "")}
    if {"avx2", "fma"} <= set(able):
        machines["ymm"] = CpuTarget(TRIPLE, "haswell", "+avx2")
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"} <= set(able):
        machines["zmm"] = CpuTarget(TRIPLE, "skylake-avx512", "+avx512f")
    if len(machines) < 3:
        pytest.skip(f"this machine runs {', '.join(machines)} code only")
    params, grads = problem([(65, 257), (3, 5000)], judged.how.get("dtype", "float32"))
    results = {}
    for register, machine in machines.items():
        rule, assembly = built_for(judged, machine)
        results[register] = run(rule, params, grads)
        for text in assembly:
            used = set(re.findall(r"%([xyz]mm)\d", text))
            assert register in used and used <= {"xmm", register, "ymm" if register == "zmm" else register}
            assert not re.search(r"\bvf(n?m(add|sub))\w*\b", text), "a fused multiply-add rounds once, not twice"
    for register in ("ymm", "zmm"):
        assert_same(register, *results["xmm"], *results[register])


# ---------------------------------------------------------------- addresses


def shifted(array: Array, by: int) -> Array:
    """The same numbers, `by` bytes behind the start of a 64-byte line."""
    raw = np.zeros(array.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + by
    view = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert view.ctypes.data % 64 == by
    return view


@pytest.mark.parametrize("judged", JUDGED)
def test_alignment(judged: Judged) -> None:
    """Streams shifted by one element, and by single bytes, each by another number."""
    params, grads = problem([(8193,), (17, 257), (1,)])
    rule = optgen.load(judged.spec, **judged.how)
    expected, expected_state = run(rule, params, grads)
    for first in (4, 1):
        start = copy_state(rule.init(params))
        moved: dict[int, Array] = {}
        for k, a in enumerate(a for arrays in start.arrays.values() for a in arrays if a is not None):
            moved.setdefault(id(a), shifted(a, (3 * first + k) % 64))
        arrays = {n: [None if a is None else moved[id(a)] for a in each] for n, each in start.arrays.items()}
        w, g = [shifted(p, first) for p in params], [shifted(x, first + 2) for x in grads]
        w, state = run(rule, w, g, State(arrays, start.t))
        assert_same(f"by {first}", w, state, expected, expected_state)


# ---------------------------------------------------------------- the caller's floating-point mode


@x86_only
@pytest.mark.parametrize("judged", JUDGED)
def test_caller_mode(judged: Judged, threads: Callable[[int], None]) -> None:
    """A caller that flushes subnormals and rounds down gets the same results, and keeps its mode."""
    exchange = exchange_mxcsr()
    params, grads = problem([(300, 1001), (33,)])
    for p, g in zip(params, grads, strict=True):
        p.reshape(-1)[::2] = np.float32(3e-44)
        g.reshape(-1)[::3] = np.float32(-7e-42)
    rule = optgen.load(judged.spec, **judged.how)
    threads(1)
    expected, expected_state = run(rule, params, grads)
    w = copies(params)
    state = rule.init(w)
    old = exchange(FLUSH_DOWNWARD)
    try:
        threads(2)  # a new thread begins with the mode of its maker
        run(rule, w, grads, state)
    finally:
        after = exchange(old)
    assert after & ~0x3F == FLUSH_DOWNWARD
    assert_same("flushing caller", w, state, expected, expected_state)


FLOATING = re.compile(r"\b[bhsdqv]\d+\b")


def test_caller_mode_on_arm(golden: Golden) -> None:
    """Nothing of it runs here, but its assembly shows it: what is called from outside, by a caller or by a thread of
    the pool, sets FPCR before it does anything else with numbers, and sets it back wherever it returns."""
    kernel = pipeline.plan(pipeline.build(FOLDS, Variant({})))
    step = arm_functions(pipeline.lower(kernel, "folds", ARM))
    host = arm_functions(pipeline.lower_host(kernel, "folds_host", ARM))
    shown: list[str] = []
    for name, lines in {**step, **host}.items():
        modes = [line for line in lines if "FPCR" in line]
        entered = re.fullmatch(r"folds|folds_host|folds\.\d+\.sweep", name)
        assert bool(entered) == bool(modes), name
        if modes:
            before = lines[: lines.index(modes[1])]
            assert not [line for line in before if FLOATING.search(line) and not line.startswith(("stp", "str"))]
            shown += [f"{name}:", *(f"    {x}" for x in lines if "FPCR" in x or x.startswith(("bl", "ret")))]
    golden(Path(__file__).with_name("golden") / "fpcr.s", "\n".join(shown) + "\n")
