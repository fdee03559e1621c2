"""Kernels of the CPU, run by the interpreter of LLVM IR: nothing undefined in them, and the bits of the definition."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import optgen
from optgen.backends.target import CpuTarget
from tests.compiler import boxes
from tests.compiler.features import BATCHES, FEATURES
from tests.compiler.harness import ALL, Case, Shape, by_name, covering
from tests.compiler.test_differential import CODES, FEW, FEW_SPARSE, MODES, SOME, SPARSE, compare, pairs
from tests.llvm import LlvmError, Machine, kernels
from tests.llvm.kernels import interpreted
from tests.sweeps import swept

SHAPES: tuple[Shape, ...] = ((), (0,), (1,), (17,), (0, 4), (2, 0), (3, 5))
"""No elements, one, one more than a vector; rows that are none, and rows without elements."""
SIZES: tuple[Shape, ...] = (
    *((n,) for n in (2, 3, 15, 16, 31, 33, 63, 64, 65, 129)),
    (5, 1),
    (1, 33),
    (17, 16),
    (4, 31),
)
"""Around one, two and four vectors."""
LARGE: tuple[Shape, ...] = ((4095,), (4097,), (8193,), (3, 1500))
"""Around a block, whose codes share bytes and scales; rows longer than half of one."""


def judge(case: Case, shapes: tuple[Shape, ...], mode: str = "float32", *, parts: int = 0, **how: Any) -> None:
    with interpreted(parts) as world:
        compare(case, shapes, MODES.get(mode), **how)
    assert world.calls > 0


EXAMPLE = Path(__file__).parents[2] / "generated" / "example" / "kernels"
QUICK = ("adafactor", "lamb-bias_correction", "prodigy-safeguard_warmup", "sgld")


@pytest.mark.parametrize("case", swept(covering(ALL), [by_name(name) for name in QUICK]), ids=str)
def test_every_spec_and_flag(case: Case) -> None:
    shapes = tuple(shape for shape in SHAPES if case.spec not in FEATURES or shape != (17,))  # they take long
    judge(case, shapes, special=True)


@pytest.mark.parametrize("mode", swept(MODES, ["float16-kahan", "mixed-master"]))
def test_every_mode(mode: str) -> None:
    """Threads share the work."""
    judge(by_name("adam"), SHAPES, mode, special=True, parts=3)


@pytest.mark.parametrize("mode", swept(["int8", "int4"], ["int4"]))
def test_codes_that_begin_anew_at_rows(mode: str) -> None:
    with interpreted() as world:
        compare(by_name("adam"), ((3, 5), (2, 33), (0, 4), (2, 0)), boxes.MODES[mode])
    assert world.calls > 0


@pytest.mark.parametrize(
    ("name", "mode"), swept(pairs(SPARSE), [("adam", "int4_dynamic"), ("torchsparseadam", "float32")])
)
def test_row_sparse(name: str, mode: str) -> None:
    judge(by_name(name), SHAPES, mode, special=True, sparse=True)


@pytest.mark.parametrize("name", swept(["adam", "lamb-bias_correction", "adafactor", "groupadagrad"], ["adam"]))
def test_every_size(name: str) -> None:
    judge(by_name(name), SIZES)


CPUS = {
    "sse2": CpuTarget("x86_64-unknown-linux-gnu", "x86-64", "+sse2"),
    "avx512": CpuTarget(
        "x86_64-unknown-linux-gnu",
        "x86-64",
        "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512vbmi",
        tune="znver4",
    ),
    "arm": CpuTarget("aarch64-unknown-linux-gnu", "generic", "+neon"),
}


@pytest.mark.parametrize(
    ("cpu", "mode"),
    swept(
        itertools.product(CPUS, ("float32", "bfloat16-master", "bfloat16-stochastic", "int8", "int4")),
        [("sse2", "bfloat16-master"), ("avx512", "int4"), ("arm", "int8")],
    ),
)
def test_other_cpus(cpu: str, mode: str) -> None:
    """The interpreter needs none of what they have."""
    with interpreted(cpu=CPUS[cpu]) as world:
        compare(by_name("adam"), ((0, 4), (1, 17), (3, 5)), boxes.MODES[mode])
    assert world.calls > 0


def test_cuts_into_boxes() -> None:
    with interpreted() as world:
        cuts = {shape: boxes.ROWS[shape][0] for shape in ((5,), (7, 2, 3, 5), (0, 4), ())}
        boxes.check_rows(by_name("lamb-bias_correction"), {}, cuts)
    assert world.calls > 0


def test_gradients_are_summed_as_they_are_read() -> None:
    with interpreted() as world:
        rule = by_name("adam").load()
        rng = np.random.default_rng(0)
        params, grads = [np.ones(19, "f4")], [[rng.standard_normal(19).astype("f4") for _ in range(3)]]
        rule.bind(params, grads, rule.init(params))()
    assert world.calls == 1


def updated(spec: str) -> list[bytes]:
    """Parameters and states after three updates."""
    rng, rule = np.random.default_rng(0), optgen.load(spec)
    params, grads = ([rng.standard_normal(s).astype("f4") for s in ((5, 3), (4, 17), (1, 6))] for _ in range(2))
    state = rule.init(params)
    step = rule.bind(params, grads, state)
    for _ in range(3):
        step()
    return [x.tobytes() for x in (*params, *(a for arrays in state.arrays.values() for a in arrays if a is not None))]


@pytest.mark.parametrize("spec", swept(["muon", "shampoo", "soap", "psgd_kron"], ["muon"]))
def test_kernels_between_products(spec: str) -> None:
    """Products and factorizations are the machine's."""
    with interpreted() as world:
        found = updated(spec)
    assert found == updated(spec) and world.calls > 0


def test_everything_in_the_text_of_a_library_is_known() -> None:
    """Of what `optgen build` writes: no instruction and no attribute that this interpreter does not judge."""
    texts = [path.read_text() for path in EXAMPLE.glob("*.ll")]
    for machine in map(Machine, texts):
        for name in machine.parsed.functions:
            machine.code(name)
    assert len(texts) >= 2


PLANTED = {
    "one element more": (r"icmp slt i64", "icmp sle i64", "8 bytes at byte 8 of the table size, which has 8"),
    "an alignment that nobody promises": (r"align 1\b", "align 64", "is no multiple of 64"),
    "a variable without a value": (r"store i1 0, .*", "", "nothing was written"),
    "an index that begins below zero": (r"add nsw nuw i64 (.*), 1\b", r"sub nuw i64 \1, -1", "nuw is broken"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_faults_in_kernels_are_found(fault: str) -> None:
    pattern, instead, message = PLANTED[fault]

    def planted(text: str) -> Machine:
        changed = re.sub(pattern, instead, text)
        assert changed != text
        return Machine(changed)

    with mock.patch.object(kernels, "Machine", planted), pytest.raises(LlvmError, match=message):
        judge(by_name("adam"), ((17,),))


# ---------------------------------------------------------------- all of it


@pytest.mark.stress
@pytest.mark.parametrize(("name", "mode"), [*pairs(SOME), *pairs(FEW), *pairs(FEW_SPARSE)])
def test_dtypes_and_storages(name: str, mode: str) -> None:
    for special, sparse in itertools.product((False, True), repeat=2):
        judge(by_name(name), (*SHAPES, (4097,), (3, 33)), mode, special=special, sparse=sparse, parts=3 * special)


@pytest.mark.stress
@pytest.mark.parametrize("mode", [*CODES, "float32"])
def test_large_tensors(mode: str) -> None:
    judge(by_name("adam"), LARGE, mode, parts=2)


@pytest.mark.stress
def test_batches_of_matrices() -> None:
    judge(by_name("batch"), tuple(shape for shape in BATCHES if np.prod(shape) < 300), special=True)


@pytest.mark.stress
@pytest.mark.parametrize("case", ALL, ids=str)
def test_all_specs_at_all_sizes(case: Case) -> None:
    for special in (False, True):
        judge(case, (*SHAPES, *SIZES), special=special, sparse=special, parts=2 * special)
