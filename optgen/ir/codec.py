"""How elements are decoded and encoded that are stored in fewer bits than they are computed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optgen.ir.nodes import Buffer
from optgen.ir.storage import bfloat16, blocks, dynamic8, linear8

Codec = Callable[..., Any]


def decoder(buffer: Buffer) -> Codec:
    """f(builder, code) -> float32; for 8-bit codes f(builder, code, unit), with the `unit` of their block."""
    if not buffer.is_quantized:
        return bfloat16.decode
    codes = _codes(buffer)
    return lambda b, code, unit: b.mul(codes.decode(b, code, not buffer.nonnegative), unit)


def encoder(buffer: Buffer) -> Codec:
    """f(builder, x) -> code, for stochastic rounding f(builder, x, random); an 8-bit code is of x times `factor`."""
    if buffer.storage == "bfloat16_stochastic":
        return bfloat16.encode_stochastic
    if not buffer.is_quantized:
        return bfloat16.encode_nearest
    codes = _codes(buffer)
    return lambda b, x: codes.encode(b, x, not buffer.nonnegative)


def unit(buffer: Buffer) -> Codec:
    """f(builder, scale) -> float32: what the numbers of a block's codes are multiplied with."""
    if buffer.storage == "int8_dynamic":
        return lambda b, scale: scale
    steps = linear8.largest(not buffer.nonnegative)
    return lambda b, scale: b.mul(scale, b.const32(1 / steps))


def factor(buffer: Buffer) -> Codec:
    """f(builder, scale) -> float32: what a block's elements are multiplied with before they are encoded."""
    return lambda b, scale: blocks.reciprocal(b, unit(buffer)(b, scale))


def _codes(buffer: Buffer) -> Any:
    return dynamic8 if buffer.storage == "int8_dynamic" else linear8
