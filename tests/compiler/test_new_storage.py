"""Storages that nobody has heard of: one record each, put into the registry, is all that the compiler, the devices and
the command line need. tests/runtime/test_new_storage.py has state files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute import storage as arrays
from optgen.ir import storage
from optgen.ir.storage import QUANT_BLOCK, Storage
from tests.compiler.features import KINDS
from tests.compiler.harness import SPECS, Case
from tests.compiler.new_storages import NAMES, even, registered
from tests.compiler.test_differential import LONG, compare
from tests.cuda.emulation import emulated
from tests.cuda.test_differential import SHAPES as ON_GPU
from tests.cuda.test_differential import compare as compare_with_gpu
from tests.sweeps import swept

MODES: list[dict[str, Any]] = [
    *({"storage": name} for name in NAMES),
    {"storage": (*NAMES, "bfloat16_stochastic", "int8_linear")},
    {"dtype": "bfloat16", "master": True, "storage": ("bfloat16_stochastic", *NAMES)},
]


@pytest.fixture(autouse=True)
def new_storages(tmp_path: Path) -> Iterator[None]:
    with registered(tmp_path):
        yield


# ---------------------------------------------------------------- what works with them


@pytest.mark.parametrize("mode", swept(MODES, MODES[:-1]), ids=str)
def test_kernels_equal_the_interpreter(mode: dict[str, Any]) -> None:
    for special in (False, True):
        compare(Case(SPECS["adam"], {"amsgrad": True}), LONG, mode, special=special)
    compare(Case(SPECS["adam"], {}), LONG, mode, sparse=True)


@pytest.mark.stress
@pytest.mark.parametrize("mode", MODES[-2:], ids=str)
def test_kernels_with_everything_else_equal_the_interpreter(mode: dict[str, Any]) -> None:
    compare(Case(KINDS, {}), LONG, mode, special=True)


@pytest.mark.parametrize("mode", swept(MODES, MODES[3:5]), ids=str)
def test_gpu_kernels_equal_those_of_the_cpu(mode: dict[str, Any]) -> None:
    with emulated() as (gpu,):
        compare_with_gpu(gpu, Case(SPECS["adam"], {"amsgrad": True}), ON_GPU, mode, special=True)


@pytest.mark.parametrize("name", NAMES)
def test_states_have_the_arrays_of_the_record(name: str) -> None:
    record = storage.STORAGES[name]
    rule, exact = optgen.load("adam", storage=name), optgen.load("adam")
    w = [np.random.default_rng(1).standard_normal((40, 300)).astype(np.float32)]
    kept = exact.init(w)
    exact.bind([w[0].copy()], w, kept)(lr=0.01)
    state = rule.init(w)
    rule.bind([w[0].copy()], w, state)(lr=0.01)
    (v,), (wanted,) = state.arrays["v"], kept.arrays["v"]
    assert v.dtype.name == record.array_dtype and v.itemsize == record.bits // 8
    if record.block:
        v = arrays.decode(v, state.arrays["v.scale"][0], rule.kernel((40, 300)).states["v"], (40, 300))
    assert np.abs(v.astype(np.float32) - wanted).max() < 0.01 * wanted.max()
    assert rule.cost.bytes == 4 * 3 + 4 * (record.bits / 8 + (4 / QUANT_BLOCK if record.block else 0))


def test_messages_name_them() -> None:
    with pytest.raises(ValueError, match=r"it can be .*int4_dynamic, bfloat16_odd, bfloat16_dithered, int8_even"):
        optgen.load("adam", storage="nothing of the kind")
    with pytest.raises(ValueError, match="did you mean 'int8_even'"):
        optgen.load("adam", storage="int8_evn")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bits": 12}, "codes have 4, 8 or 16"),
        ({"bits": 8, "codec": None}, "floats have 16, 32 or 64 bits"),
        ({"block": 64}, "blocks have 128 or 256 elements"),
        ({"bits": 4, "block": 128, "array_dtype": "uint16"}, "codes of 4 bits need blocks, and an array of uint8"),
        ({"bits": 4}, "codes of 4 bits need blocks"),
        ({"block": QUANT_BLOCK, "needs_draws": True}, "are rounded to nearest"),
        ({"bits": 16, "codec": None, "needs_draws": True}, "draws need a codec"),
        ({"unsigned": even(255, 0)}, "an unsigned codec needs blocks"),
    ],
)
def test_a_record_that_no_device_can_do(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Storage(**{"name": "new", "bits": 8, "array_dtype": "uint8", "codec": even(127, 128), **arguments})
