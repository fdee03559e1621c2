"""Gradients in words of 2 bits or of 1 bit an element, what that loses in a residual; and back.

A word is MXNet's (see `runtime.kvstore.compression`). Each of its bytes has 4 elements of 2 bits, or 8 of 1 bit, the
first in the highest bits, and its first byte is the lowest: element i of a word stands `2 * (i ^ 3)` bits from the
right, or `i ^ 7`. What is behind the last element is 0.

`levels` are two elements: the threshold, and the number that is sent for what is beyond it. A task takes `SHARE` words.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Words, function

SHARE = 1 << 9
OF_2_BITS, OF_1_BIT = 16, 32
"""So many elements has a word."""


@function
def two_bits(grad: Array, residual: Array, limit: float, number: float, n: int) -> int:
    """A word of n elements: 3 where the number is sent, 2 where its opposite is, else 0."""
    word = 0
    for i in range(n):
        value = residual[i] + grad[i]
        above = value >= limit
        below = value <= -limit
        residual[i] = value - (number if above else -number if below else 0.0)
        word = word | (3 if above else 2 if below else 0) << 2 * (i ^ 3)
    return word


@function
def one_bit(grad: Array, residual: Array, limit: float, number: float, n: int) -> int:
    """A word of n elements: 1 where the number is sent, 0 where its opposite is."""
    word = 0
    for i in range(n):
        value = residual[i] + grad[i]
        above = value > limit
        residual[i] = value - (number if above else -number)
        word = word | (1 if above else 0) << (i ^ 7)
    return word


@function
def of_two_bits(to: Array, word: int, number: float, n: int) -> None:
    for i in range(n):
        bits = word >> 2 * (i ^ 3) & 3
        to[i] = number if bits == 3 else -number if bits == 2 else 0.0


@function
def of_one_bit(to: Array, word: int, number: float, n: int) -> None:
    for i in range(n):
        to[i] = number if word >> (i ^ 7) & 1 == 1 else -number


# In each kernel, whole words have a size that is known when they are compiled: that makes vector code.


@kernel
def pack_2bit(task: int, grad: Array, residual: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * SHARE, min(task * SHARE + SHARE, n // OF_2_BITS)):
        words[w] = two_bits(grad + w * OF_2_BITS, residual + w * OF_2_BITS, levels[0], levels[1], OF_2_BITS)
    w = n // OF_2_BITS
    if n % OF_2_BITS > 0 and w // SHARE == task:
        words[w] = two_bits(grad + w * OF_2_BITS, residual + w * OF_2_BITS, levels[0], levels[1], n % OF_2_BITS)


@kernel
def pack_1bit(task: int, grad: Array, residual: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * SHARE, min(task * SHARE + SHARE, n // OF_1_BIT)):
        words[w] = one_bit(grad + w * OF_1_BIT, residual + w * OF_1_BIT, levels[0], levels[1], OF_1_BIT)
    w = n // OF_1_BIT
    if n % OF_1_BIT > 0 and w // SHARE == task:
        words[w] = one_bit(grad + w * OF_1_BIT, residual + w * OF_1_BIT, levels[0], levels[1], n % OF_1_BIT)


@kernel
def unpack_2bit(task: int, out: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * SHARE, min(task * SHARE + SHARE, n // OF_2_BITS)):
        of_two_bits(out + w * OF_2_BITS, words[w], levels[1], OF_2_BITS)
    w = n // OF_2_BITS
    if n % OF_2_BITS > 0 and w // SHARE == task:
        of_two_bits(out + w * OF_2_BITS, words[w], levels[1], n % OF_2_BITS)


@kernel
def unpack_1bit(task: int, out: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * SHARE, min(task * SHARE + SHARE, n // OF_1_BIT)):
        of_one_bit(out + w * OF_1_BIT, words[w], levels[1], OF_1_BIT)
    w = n // OF_1_BIT
    if n % OF_1_BIT > 0 and w // SHARE == task:
        of_one_bit(out + w * OF_1_BIT, words[w], levels[1], n % OF_1_BIT)
