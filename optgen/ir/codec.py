"""The codec of a buffer: how its elements become codes, and codes become elements.

Each function returns one of a `Builder` and values, which emitters inline and the interpreter runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optgen.ir import Buffer
from optgen.ir.storage import Codec, blocks
from optgen.ir.storage.tools import flushed

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

Function = Callable[..., Any]


def code_decoder(buffer: Buffer) -> Function:
    """f(builder, code) -> float32: what a code stands for, relative to the largest one where there are blocks."""
    return _codec(buffer).decode


def decoder(buffer: Buffer) -> Function:
    """f(builder, code) -> float32; for codes in blocks f(builder, code, scale), with the block's `decode_scale`."""
    decode = _codec(buffer).decode
    return (lambda b, code, scale: b.mul(decode(b, code), scale)) if buffer.is_quantized else decode


def encoder(buffer: Buffer) -> Function:
    """f(builder, x) -> code, for random rounding f(builder, x, random); for codes in blocks f(builder, x, factor), with
    the block's `encode_scale`."""
    encode = _codec(buffer).encode
    return (lambda b, x, factor: encode(b, b.mul(x, factor))) if buffer.is_quantized else encode


def decode_scale(buffer: Buffer) -> Function:
    """f(builder, scale) -> float32: the factor from the number that a code stands for to the element."""
    largest = _codec(buffer).largest

    def factor(b: Builder[V], scale: V) -> V:
        scale = flushed(b, scale)
        return blocks.invertible(b, scale if largest == 1 else b.mul(scale, b.const32(1 / largest)))

    return factor


def encode_scale(buffer: Buffer) -> Function:
    """f(builder, scale) -> float32: the factor from an element to the number that is encoded."""
    return lambda b, scale: blocks.reciprocal(b, decode_scale(buffer)(b, scale))


def _codec(buffer: Buffer) -> Codec:
    storage = buffer.format
    codec = (storage.unsigned or storage.codec) if buffer.nonnegative else storage.codec
    assert codec is not None, f"{storage.name} has no codes"
    return codec
