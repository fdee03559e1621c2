"""Gradients packed into 2 bits or 1 bit an element, with what that loses kept in a residual; and their unpacking.

A word has the layout of MXNet (see `runtime.kvstore.compression`). Each byte has 4 elements of 2 bits, or 8 of 1 bit,
the first in the highest bits, and the first byte is the lowest: element i of a word is at bit `2 * (i ^ 3)`, or at bit
`i ^ 7`. The bits after the last element are 0.

`levels` has two elements: the threshold, and the number that is sent for elements beyond it.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Words, function

WORDS_PER_TASK = 1 << 9
ELEMENTS_2BIT, ELEMENTS_1BIT = 16, 32
"""Elements of a word."""


@function
def pack_two_bits(grad: Array, residual: Array, limit: float, number: float, n: int) -> int:
    """A word of n elements: 3 where the number is sent, 2 where its negative is, else 0."""
    word = 0
    for i in range(n):
        value = residual[i] + grad[i]
        above = value >= limit
        below = value <= -limit
        residual[i] = value - (number if above else -number if below else 0.0)
        word = word | (3 if above else 2 if below else 0) << 2 * (i ^ 3)
    return word


@function
def pack_one_bit(grad: Array, residual: Array, limit: float, number: float, n: int) -> int:
    """A word of n elements: 1 where the number is sent, 0 where its negative is."""
    word = 0
    for i in range(n):
        value = residual[i] + grad[i]
        above = value > limit
        residual[i] = value - (number if above else -number)
        word = word | (1 if above else 0) << (i ^ 7)
    return word


@function
def unpack_two_bits(to: Array, word: int, number: float, n: int) -> None:
    """The n elements of a word of `pack_two_bits`."""
    for i in range(n):
        bits = word >> 2 * (i ^ 3) & 3
        to[i] = number if bits == 3 else -number if bits == 2 else 0.0


@function
def unpack_one_bit(to: Array, word: int, number: float, n: int) -> None:
    """The n elements of a word of `pack_one_bit`."""
    for i in range(n):
        to[i] = number if word >> (i ^ 7) & 1 == 1 else -number


# In each kernel, whole words are apart from the last, so that their number of elements is a constant: that makes vector
# code.


@kernel
def pack_2bit(task: int, grad: Array, residual: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * WORDS_PER_TASK, min(task * WORDS_PER_TASK + WORDS_PER_TASK, n // ELEMENTS_2BIT)):
        i = w * ELEMENTS_2BIT
        words[w] = pack_two_bits(grad + i, residual + i, levels[0], levels[1], ELEMENTS_2BIT)
    w = n // ELEMENTS_2BIT
    if n % ELEMENTS_2BIT > 0 and w // WORDS_PER_TASK == task:
        i = w * ELEMENTS_2BIT
        words[w] = pack_two_bits(grad + i, residual + i, levels[0], levels[1], n % ELEMENTS_2BIT)


@kernel
def pack_1bit(task: int, grad: Array, residual: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * WORDS_PER_TASK, min(task * WORDS_PER_TASK + WORDS_PER_TASK, n // ELEMENTS_1BIT)):
        i = w * ELEMENTS_1BIT
        words[w] = pack_one_bit(grad + i, residual + i, levels[0], levels[1], ELEMENTS_1BIT)
    w = n // ELEMENTS_1BIT
    if n % ELEMENTS_1BIT > 0 and w // WORDS_PER_TASK == task:
        i = w * ELEMENTS_1BIT
        words[w] = pack_one_bit(grad + i, residual + i, levels[0], levels[1], n % ELEMENTS_1BIT)


@kernel
def unpack_2bit(task: int, out: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * WORDS_PER_TASK, min(task * WORDS_PER_TASK + WORDS_PER_TASK, n // ELEMENTS_2BIT)):
        unpack_two_bits(out + w * ELEMENTS_2BIT, words[w], levels[1], ELEMENTS_2BIT)
    w = n // ELEMENTS_2BIT
    if n % ELEMENTS_2BIT > 0 and w // WORDS_PER_TASK == task:
        unpack_two_bits(out + w * ELEMENTS_2BIT, words[w], levels[1], n % ELEMENTS_2BIT)


@kernel
def unpack_1bit(task: int, out: Array, levels: Array, words: Words, n: int) -> None:
    for w in range(task * WORDS_PER_TASK, min(task * WORDS_PER_TASK + WORDS_PER_TASK, n // ELEMENTS_1BIT)):
        unpack_one_bit(out + w * ELEMENTS_1BIT, words[w], levels[1], ELEMENTS_1BIT)
    w = n // ELEMENTS_1BIT
    if n % ELEMENTS_1BIT > 0 and w // WORDS_PER_TASK == task:
        unpack_one_bit(out + w * ELEMENTS_1BIT, words[w], levels[1], n % ELEMENTS_1BIT)
