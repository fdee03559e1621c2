"""Storages that nobody has heard of: one record each, put into the registry, is all that the compiler, the devices, the
command line and state files need."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.execute import storage as arrays
from optgen.ir import storage
from optgen.ir.builder import Builder, V
from optgen.ir.storage import QUANT_BLOCK, Codec, Storage, bfloat16
from tests.compiler.features import KINDS
from tests.compiler.harness import SPECS, Case
from tests.compiler.test_differential import LONG, compare
from tests.cuda.emulation import emulated
from tests.cuda.test_differential import SHAPES as ON_GPU
from tests.cuda.test_differential import compare as compare_with_gpu
from tests.runtime.test_state_files import contents, copy_weights, train, trainer_of
from tests.sweeps import swept

# ---------------------------------------------------------------- the storages


def encode_odd(b: Builder[V], x: V) -> V:
    """bfloat16, rounded to odd: cut off, and the last bit set where anything was lost (Boldo and Melquiond 2008)."""
    bits = b.bits(x)
    lost = b.ne(b.iand(bits, b.iconst32(0xFFFF)), b.iconst32(0))
    odd = b.ior(b.shr(bits, 16), b.select(lost, b.iconst32(1), b.iconst32(0)))
    return b.select(b.ne(x, x), b.iconst32(bfloat16.NAN), odd)


def encode_dithered(b: Builder[V], x: V, random: V) -> V:
    """As `bfloat16_stochastic`, with the complement of its random bits."""
    return bfloat16.encode_stochastic(b, x, b.ixor(random, b.iconst32(0xFFFF)))


def encode_even(b: Builder[V], x: V, steps: int, zero: int) -> V:
    """The nearest of evenly spaced numbers; `zero` is the code of 0, to which NaN goes too."""
    number = b.select(b.eq(x, x), x, b.const32(0.0))
    code = b.iadd(b.to_int(b.floor(b.add(number, b.const32(0.5)))), b.iconst32(zero))
    last = b.iconst32(zero + steps)
    return b.select(b.lt(code, last), code, last)


def decode_even(b: Builder[V], code: V, zero: int) -> V:
    return b.to_float(b.iadd(code, b.iconst32(-zero)))


def even(steps: int, zero: int) -> Codec:
    return Codec(partial(encode_even, steps=steps, zero=zero), partial(decode_even, zero=zero), float(steps))


NEW = (
    Storage("bfloat16_odd", 16, "bfloat16", Codec(encode_odd, bfloat16.decode)),
    Storage("bfloat16_dithered", 16, "bfloat16", Codec(encode_dithered, bfloat16.decode), needs_draws=True),
    Storage("int8_even", 8, "uint8", even(127, 128), block=QUANT_BLOCK, unsigned=even(255, 0)),
    Storage("int16_even", 16, "uint16", even(32767, 32768), block=QUANT_BLOCK),
)
NAMES = [s.name for s in NEW]
MODES: list[dict[str, Any]] = [
    *({"storage": name} for name in NAMES),
    {"storage": (*NAMES, "bfloat16_stochastic", "int8_linear")},
    {"dtype": "bfloat16", "master": True, "storage": ("bfloat16_stochastic", *NAMES)},
]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """In the registry, and nowhere else. Kernels do not come from the cache, which does not know of these codecs."""
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path))
    for new in NEW:
        monkeypatch.setitem(storage.STORAGES, new.name, new)
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


@pytest.mark.parametrize("name", NAMES)
def test_states_are_saved_and_go_on_bit_by_bit(name: str, tmp_path: Path) -> None:
    first, second = trainer_of("adam", storage=name), trainer_of("adam", storage=name)
    train(first, 3)
    first.save_states(tmp_path / "states")
    copy_weights(first, second)
    second.load_states(tmp_path / "states")
    train(first, 2)
    train(second, 2)
    assert contents(first) == contents(second)


@pytest.mark.parametrize(
    ("name", "other"),
    swept(
        itertools.product(NAMES, (None, "int8_dynamic", "bfloat16")),
        [*zip(NAMES, (None, "int8_dynamic", "bfloat16", "int8_dynamic"), strict=True), ("int8_even", None)],
    ),
)
def test_states_become_those_of_other_storages(name: str, other: str | None, tmp_path: Path) -> None:
    for source, target in ((name, other), (other, name)):
        first, second = (trainer_of("adam", storage={"m": x} if x else None) for x in (source, target))
        train(first, 4)
        first.save_states(tmp_path / "states")
        copy_weights(first, second)
        second.load_states(tmp_path / "states")
        for a, b in zip(train(first, 1), train(second, 1), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-2, atol=1e-2)


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
