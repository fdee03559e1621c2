"""The same bits whatever the threads, their shares, the vector width, the alignment and the caller's rounding mode."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import optgen
from optgen import arguments, pipeline
from optgen.backends import target
from optgen.backends.target import Target
from optgen.execute import jit
from optgen.execute.step import State, UpdateRule
from optgen.model import Optimizer
from optgen.pipeline import NativeKernel
from tests.compiler.harness import SPECS, Array, assert_same, copies, numbers

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
JUDGED = (SPECS["adam"], SPECS["lamb"], FOLDS, POWERS)
TRIPLE = target.host().triple
x86_only = pytest.mark.skipif(not TRIPLE.startswith("x86_64"), reason="is about x86-64")


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = optgen.num_threads()
    yield optgen.set_num_threads
    optgen.set_num_threads(before)


def problem(sizes: tuple[int, ...], dtype: str) -> tuple[list[Array], list[Array]]:
    rng = np.random.default_rng(5)
    params, grads = ([numbers(rng, n, dtype, special=False) for n in sizes] for _ in range(2))
    return params, grads


def run(rule: UpdateRule, params: list[Array], grads: list[Array]) -> tuple[list[Array], State]:
    """The result of two steps on copies."""
    w = copies(params)
    state = rule.init(w)
    step = rule.bind(w, grads, state)
    step(wd=0.01)
    step()
    return w, state


@pytest.mark.parametrize("spec", JUDGED, ids=lambda s: s.name)
def test_number_of_threads(spec: Optimizer, threads: Callable[[int], None]) -> None:
    params, grads = problem((1_300_003, 5, 0, 300_001, 4096, 60_000), "float32")
    rule = optgen.load(spec)
    threads(1)
    expected, expected_state = run(rule, params, grads)
    for n in (2, 3, 8):
        threads(n)
        w, state = run(rule, params, grads)
        assert_same(f"{n} threads", w, state, expected, expected_state)


_TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@pytest.mark.parametrize("spec", JUDGED, ids=lambda s: s.name)
def test_any_parts_in_any_order(spec: Optimizer) -> None:
    """A `parallel_for` of our own in the place of the pool: every part once, last part first."""
    params, grads = problem((0, 7, 4096, 4097, 20_001, 1, 12_288), "float32")
    rule = optgen.load(spec)
    expected, expected_state = run(rule, params, grads)
    for parts in (1, 2, 5, 7, 64, 1000):

        def backwards(pool: int, task: int, step: int, elements: int, parts: int = parts) -> None:
            assert elements == sum(p.size for p in params)
            for part in reversed(range(parts)):
                _TASK(task)(step, part, parts)

        callback = _PARALLEL(backwards)
        w = copies(params)
        state = rule.init(w)
        step = rule.bind(w, grads, state)
        step._step.parallel = ctypes.cast(callback, ctypes.c_void_p).value
        step(wd=0.01)
        step()
        assert_same(f"{parts} parts", w, state, expected, expected_state)


# ---------------------------------------------------------------- vector width


def built_for(spec: Optimizer, dtype: str, machine: Target) -> tuple[UpdateRule, str]:
    """A rule whose kernel is compiled for another machine, and its assembly."""
    args = arguments.resolve(spec, {})
    kernel = pipeline.plan(pipeline.build(spec, args.flags, dtype))
    compiled = target.compile_ir(pipeline.lower(kernel, "kernel", machine.triple), machine)
    native = NativeKernel("kernel", dtype, kernel.buffers, kernel.hyper, compiled.object)
    return UpdateRule(spec, args, native), compiled.assembly


@x86_only
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", JUDGED, ids=lambda s: s.name)
def test_vector_width(spec: Optimizer, dtype: str) -> None:
    able = target.host().required()
    machines = {"xmm": Target(TRIPLE, "x86-64", "")}
    if {"avx2", "fma"} <= set(able):
        machines["ymm"] = Target(TRIPLE, "haswell", "")
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"} <= set(able):
        machines["zmm"] = Target(TRIPLE, "skylake-avx512", "+avx512f")
    if len(machines) < 3:
        pytest.skip(f"this machine runs {', '.join(machines)} code only")
    params, grads = problem((4097, 0, 131, 20_001), dtype)
    results = {}
    for register, machine in machines.items():
        rule, assembly = built_for(spec, dtype, machine)
        used = set(re.findall(r"%([xyz]mm)\d", assembly))
        assert register in used and used <= {"xmm", register, "ymm" if register == "zmm" else register}
        assert not re.search(r"\bvf(n?m(add|sub))\w*\b", assembly), "a fused multiply-add rounds once, not twice"
        results[register] = run(rule, params, grads)
    for register in ("ymm", "zmm"):
        assert_same(register, *results["xmm"], *results[register])


# ---------------------------------------------------------------- addresses


def shifted(array: Array, by: int) -> Array:
    """The same numbers, `by` bytes behind the start of a 64-byte line."""
    raw = np.zeros(array.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + by
    view = raw[start : start + array.nbytes].view(array.dtype)
    view[:] = array
    assert view.ctypes.data % 64 == by
    return view


@pytest.mark.parametrize("spec", JUDGED, ids=lambda s: s.name)
def test_alignment(spec: Optimizer) -> None:
    """Streams shifted by one element, and by single bytes, each by another number."""
    params, grads = problem((8193, 130, 1), "float32")
    rule = optgen.load(spec)
    expected, expected_state = run(rule, params, grads)
    for first in (4, 1):
        w, g = [shifted(p, first) for p in params], [shifted(x, first + 2) for x in grads]
        start = rule.init(params)
        arrays = {name: [shifted(a, 3 * first + i) for i, a in enumerate(each)] for name, each in start.arrays.items()}
        state = State(arrays, start.t)
        step = rule.bind(w, g, state)
        step(wd=0.01)
        step()
        assert_same(f"by {first}", w, state, expected, expected_state)


# ---------------------------------------------------------------- the caller's floating-point mode

_MXCSR = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define i32 @exchange_mxcsr(i32 %new) {
  %cell = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %cell)
  %old = load i32, ptr %cell
  store i32 %new, ptr %cell
  call void @llvm.x86.sse.ldmxcsr(ptr %cell)
  ret i32 %old
}
"""
FLUSH_DOWNWARD = 0x1F80 | 0x8000 | 0x0040 | 0x2000
"""Flush to zero, denormals are zero, round down."""


@x86_only
@pytest.mark.parametrize("spec", JUDGED, ids=lambda s: s.name)
def test_caller_mode(spec: Optimizer, threads: Callable[[int], None]) -> None:
    """A caller that flushes subnormals and rounds down gets the same results, and keeps its mode."""
    code = target.compile_ir(_MXCSR, target.host()).object
    exchange = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(jit.link(code, "exchange_mxcsr")["exchange_mxcsr"])
    params, grads = problem((300_001, 33), "float32")
    for p, g in zip(params, grads, strict=True):
        p[::2] = np.float32(3e-44)
        g[::3] = np.float32(-7e-42)
    rule = optgen.load(spec)
    threads(1)
    expected, expected_state = run(rule, params, grads)
    w = copies(params)
    state = rule.init(w)
    old = exchange(FLUSH_DOWNWARD)
    try:
        threads(2)  # a new thread begins with the mode of its maker
        step = rule.bind(w, grads, state)
        step(wd=0.01)
        step()
    finally:
        after = exchange(old)
    assert after & ~0x3F == FLUSH_DOWNWARD
    assert_same("flushing caller", w, state, expected, expected_state)
