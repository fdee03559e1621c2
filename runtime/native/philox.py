"""Random numbers of NumPy's Philox (4 words of 64 bits, 10 rounds), and what is made of them: factors of dropout, and
uniform numbers.

Salmon, Moraes, Dror and Shaw 2011. Threads share a draw, as each number of the counter gives words of its own; NumPy
draws one word after the other.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function, lower_product, upper_product

BLOCKS_PER_TASK = 512
"""The numbers of the counter that a task takes: 8 elements for each, or 4 fractions."""
WORK = 4
"""The work of an element, in additions."""
_FIRST = 0xD2E7470EE14C6C93 - (1 << 64)
_SECOND = 0xCA5A826395121157 - (1 << 64)
"""Philox's multipliers, as integers with signs."""
LOWER = (1 << 32) - 1
"""The bits of the lower half of a word."""
UPPER, PER_WORD = (1 << 53) - 1, 2.0**-53
"""The bits of a fraction, and the distance of fractions."""
TAKEN = 24
"""Where `state` says how many words of the first number were drawn before."""


@function
def choose(word: int, threshold: int, scale: float) -> float:
    """The factor of an element, from the lower half of a word."""
    return scale if word & LOWER >= threshold else 0.0


@function
def put(to: Array, at: int, n: int, word: int, threshold: int, scale: float) -> None:
    """Two elements, of both halves of a word, where there are such."""
    if at >= 0 and at < n:
        to[at] = choose(word, threshold, scale)
    if at >= 0 and at + 1 < n:
        to[at + 1] = choose(word >> 32, threshold, scale)


@function
def put_uniform(to: Array, at: int, n: int, word: int, numbers: Array) -> None:
    """An element made of the upper 53 bits of a word, where there is one."""
    if at >= 0 and at < n:
        to[at] = min(numbers[0] + numbers[1] * (float(word >> 11 & UPPER) * PER_WORD), numbers[2])


@kernel
def draw(task: int, y: Array, numbers: Array, state: Ints, uniform: int, threshold: int, n: int) -> None:
    """n elements of dropout: the first of `numbers`, or 0 where the next 32 bits that are drawn are below `threshold`.

    If `uniform` is 1: the first of them plus the second times a fraction of 53 bits, at most the third.

    `state` is that of `core.generator.take_words`. The first word of its counter does not overflow.
    """
    taken = state[TAKEN]
    chosen = numbers[0]
    blocks = (taken + (n if uniform == 1 else (n + 1) // 2) + 3) // 4
    for block in range(task * BLOCKS_PER_TASK, min(task * BLOCKS_PER_TASK + BLOCKS_PER_TASK, blocks)):
        a = state[0] + block
        b = state[1]
        c = state[2]
        d = state[3]
        for r in range(4, 24, 4):  # two rounds
            b = b ^ upper_product(c, _SECOND) ^ state[r]
            d = d ^ upper_product(a, _FIRST) ^ state[r + 1]
            c = lower_product(c, _SECOND)
            a = lower_product(a, _FIRST)
            e = c ^ upper_product(d, _SECOND) ^ state[r + 2]
            c = a ^ upper_product(b, _FIRST) ^ state[r + 3]
            a = e
            e = lower_product(b, _FIRST)
            b = lower_product(d, _SECOND)
            d = e
        at = 8 * block - 2 * taken
        if uniform == 1:
            put_uniform(y, at // 2, n, a, numbers)
            put_uniform(y, at // 2 + 1, n, b, numbers)
            put_uniform(y, at // 2 + 2, n, c, numbers)
            put_uniform(y, at // 2 + 3, n, d, numbers)
        elif at >= 0 and at + 8 <= n:
            to = y + at
            to[0] = choose(a, threshold, chosen)
            to[1] = choose(a >> 32, threshold, chosen)
            to[2] = choose(b, threshold, chosen)
            to[3] = choose(b >> 32, threshold, chosen)
            to[4] = choose(c, threshold, chosen)
            to[5] = choose(c >> 32, threshold, chosen)
            to[6] = choose(d, threshold, chosen)
            to[7] = choose(d >> 32, threshold, chosen)
        else:
            put(y, at, n, a, threshold, chosen)
            put(y, at + 2, n, b, threshold, chosen)
            put(y, at + 4, n, c, threshold, chosen)
            put(y, at + 6, n, d, threshold, chosen)
