"""Two codes of 4 bits in a byte, in NumPy: the first one of a pair is in the lower half.

Pairs begin where blocks of codes do: at the first element of a tensor, or of each row where blocks restart at rows. So
a byte belongs to one block. Where the number of elements is odd, the upper half of the last byte has no meaning; what
is written there is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CODES_PER_BYTE = 2
_BITS = np.uint8(4)
_MASK = np.uint8(15)


def pack(codes: Array) -> Array:
    """The bytes of rows of codes: uint8 of shape (..., ceil(n/2)), for codes of shape (..., n)."""
    pairs = np.zeros((*codes.shape[:-1], bytes_of(codes.shape[-1]) * CODES_PER_BYTE), np.uint8)
    pairs[..., : codes.shape[-1]] = codes
    packed: Array = pairs[..., ::2] | pairs[..., 1::2] << _BITS
    return packed


def unpack(packed: Array, n: int) -> Array:
    """The first n codes of each row of bytes: uint8 of shape (..., n)."""
    pairs = np.empty((*packed.shape[:-1], packed.shape[-1] * CODES_PER_BYTE), np.uint8)
    pairs[..., ::2], pairs[..., 1::2] = packed & _MASK, packed >> _BITS
    return pairs[..., :n]


def bytes_of(n: int) -> int:
    """How many bytes n codes take."""
    return -(-n // CODES_PER_BYTE)
