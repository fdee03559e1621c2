"""What a storage is: the record that says how the elements of a buffer are kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

QUANT_BLOCK = 256
"""Elements whose codes are made together: one block of codes, which share a scale, or two."""
BLOCKS = (128, QUANT_BLOCK)
"""How many elements a block of codes can have."""


class Codec(NamedTuple):
    """Integer codes that stand for float32 numbers.

    Both are functions of a `Builder`. `encode(b, x)` gives the int32 code of a float32, `decode(b, code)` the float32
    of a code. `encode` takes every float32: by itself, it keeps infinities and NaN; in a block, it gets numbers in
    units in which the scale is `largest`, and 0 or NaN where the scale is infinite or NaN (`blocks.py`): of these any
    code will do, as all of the block is decoded as NaN. Codes are in [0, 2^bits), of NaN too. In blocks an unsigned
    codec gives no positive number the code of 0. `encode(decode(c))` is a code of the same number as c. Where rounding
    is random, it is `encode(b, x, random)`, with a random int32 in [0, 65536). `largest` is the number that the largest
    code stands for; in a block, it stands for the block's scale. `tests/ir/test_storage.py` holds all this of each.
    """

    encode: Callable[..., Any]
    decode: Callable[..., Any]
    largest: float = 1.0


@dataclass(frozen=True)
class Storage:
    """How the elements of a buffer are stored.

    An element takes `bits` bits of an array of the NumPy dtype `array_dtype`. Two codes of 4 bits share a byte
    (`packing.py`). Without a `codec` an element is a float that machines convert themselves. Codes of a block of
    `block` elements are multiplied with the block's float32 scale; without a `block` a code stands for a number by
    itself, and is the bits of that number in `array_dtype`. With `needs_draws` the codec rounds at random. `unsigned`
    is the codec for states that are never negative, if theirs differs.
    """

    name: str
    bits: int
    array_dtype: str
    codec: Codec | None = None
    block: int | None = None
    needs_draws: bool = False
    unsigned: Codec | None = None

    def __post_init__(self) -> None:
        if self.bits not in ((16, 32, 64) if self.codec is None else (4, 8, 16)):
            raise ValueError(f"{self.name}: floats have 16, 32 or 64 bits, codes have 4, 8 or 16, not {self.bits}")
        if self.block not in (None, *BLOCKS) or (self.block and self.needs_draws):
            raise ValueError(f"{self.name}: blocks have 128 or 256 elements, and are rounded to nearest")
        if self.is_packed and not (self.block and self.array_dtype == "uint8"):
            raise ValueError(f"{self.name}: codes of {self.bits} bits need blocks, and an array of uint8")
        if (self.codec is None and (self.block or self.needs_draws)) or (self.unsigned and not self.block):
            raise ValueError(f"{self.name}: blocks and draws need a codec, an unsigned codec needs blocks")

    @property
    def is_packed(self) -> bool:
        """Whether a byte of the array holds two elements."""
        return self.bits < 8

    @property
    def is_half(self) -> bool:
        """Whether elements are IEEE half-precision floats, which machines convert to float32 and back."""
        return self.codec is None and self.bits == 16

    @property
    def compute(self) -> str:
        """The dtype of the computations, "f32" or "f64", whose elementwise states can be stored so."""
        return "f64" if self.codec is None and self.bits == 64 else "f32"

    def is_exact(self, compute: str) -> bool:
        """Whether every bit of a number of that compute dtype is kept."""
        return self.codec is None and compute == f"f{self.bits}"
