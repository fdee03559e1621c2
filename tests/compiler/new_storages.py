"""Storages that nobody has heard of: one record each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from optgen.functions.builder import Builder, V
from optgen.ir import storage
from optgen.ir.storage import QUANT_BLOCK, Codec, Storage, bfloat16


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


@contextmanager
def registered(cache: Path) -> Iterator[None]:
    """In the registry, and nowhere else. Kernels come from a cache of their own: that of others does not know of these
    codecs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTGEN_CACHE_DIR", str(cache))
        for new in NEW:
            patch.setitem(storage.STORAGES, new.name, new)
        yield
