"""How elements are decoded and encoded that are stored in fewer bits than they are computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optgen.ir.nodes import Buffer
from optgen.ir.storage import bfloat16, dynamic8, linear8

Codec = Callable[..., Any]


def decoder(buffer: Buffer) -> Codec:
    """f(builder, code) -> float32, for 8-bit codes f(builder, code, scale)."""
    if not buffer.is_quantized:
        return bfloat16.decode
    codes = _codes(buffer)
    return lambda b, code, scale: b.mul(codes.decode(b, code, not buffer.nonnegative), scale)


def encoder(buffer: Buffer) -> Codec:
    """f(builder, x) -> code, for stochastic rounding f(builder, x, random); an 8-bit code is of x over its scale."""
    if buffer.storage == "bfloat16_stochastic":
        return bfloat16.encode_stochastic
    if not buffer.is_quantized:
        return bfloat16.encode_nearest
    codes = _codes(buffer)
    return lambda b, x: codes.encode(b, x, not buffer.nonnegative)


def _codes(buffer: Buffer) -> Any:
    return dynamic8 if buffer.storage == "int8_dynamic" else linear8
