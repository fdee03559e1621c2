"""The checked mode finds what compiled code would do silently; and the files of `optgen.loops` import one way."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import numpy as np
import pytest

from optgen.loops import trampoline
from optgen.loops.kernel import checked, kernel
from optgen.loops.language import (
    NO_TRANS,
    Array,
    Ints,
    Words,
    function,
    gemm,
    lower_product,
    power_of_2,
    short,
    total,
    upper_product,
)

X = np.arange(6, dtype=np.float32)


@function
def copy(to: Array, x: Array, n: int) -> None:
    for i in short(n):
        to[i] = x[i]


@kernel
def one_too_many(task: int, x: Array, y: Array, n: int) -> None:
    copy(y, x, n + 1)


@kernel
def one_before(task: int, x: Array, y: Array, n: int) -> None:
    moved = x + (task - 1)
    y[task] = moved[0]


@kernel
def small_scratch(task: int, scratch: Array, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        scratch[i] = x[i]
    y[0] = scratch[0]


@kernel
def long_sum(task: int, x: Array, y: Array, n: int) -> None:
    y[0] = total(x + 1, n)


@kernel
def wide_product(task: int, x: Array, y: Array, n: int) -> None:
    gemm(NO_TRANS, NO_TRANS, 2, 2, 3, x, 3, x, 2, 0.0, y, n)


@kernel
def of_indices(task: int, x: Array, y: Array, indices: Ints, n: int) -> None:
    y[0] = x[indices[0]]


@kernel
def of_none(task: int, x: Array, y: Array, n: int) -> None:
    y = y + 4
    y[0] = x[0]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda y: one_too_many.checked(1, 0, X, y, 6), r"one_too_many: x\[6\] is out of bounds: it has 6 elements"),
        (lambda y: one_too_many.checked(1, 0, X, y[:5], 5), r"one_too_many: y\[5\] is out of bounds: it has 5"),
        (lambda y: one_before.checked(2, 0, X, y, 6), r"one_before: x\[-1\] is out of bounds: it has 6 elements"),
        (lambda y: small_scratch.checked(1, 0, X, y, 6, scratch=5), r"small_scratch: scratch\[5\] .* has 5 elements"),
        (lambda y: long_sum.checked(1, 0, X, y, 6), r"long_sum: x\[6\] is out of bounds"),
        (lambda y: wide_product.checked(1, 0, X, y, 5), r"wide_product: y\[6\] is out of bounds: it has 6 elements"),
        (lambda y: of_indices.checked(1, 0, X, y, np.array([7]), 1), r"of_indices: x\[7\] is out of bounds"),
        (lambda y: of_indices.checked(1, 0, X, y, np.array([-1]), 1), r"of_indices: x\[-1\] is out of bounds"),
        (lambda y: of_none.checked(1, 0, X, None, 1), r"of_none: y\[4\] is out of bounds: it has 0 elements"),
    ],
)
def test_an_element_out_of_bounds(run: Callable[[np.ndarray], None], words: str) -> None:
    with pytest.raises(IndexError, match=words):
        run(np.zeros(6, np.float32))


def test_the_traceback_has_the_line_of_the_kernel() -> None:
    with pytest.raises(IndexError) as caught:
        one_too_many.checked(1, 0, X, np.zeros(7, np.float32), 6)
    lines = [frame.line for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
    assert lines[1:] == ["copy(y, x, n + 1)", "to[i] = x[i]"]


@kernel
def all_write_one(task: int, x: Array, y: Array) -> None:
    y[0] = x[task]


@kernel
def read_what_the_last_wrote(task: int, x: Array, y: Array) -> None:
    y[task] = y[max(task - 1, 0)] + x[task]


@kernel
def read_what_the_next_writes(task: int, x: Array, y: Array) -> None:
    y[task] = y[min(task + 1, 2)] + x[task]


def test_tasks_that_depend_on_each_other() -> None:
    for run, words in (
        (all_write_one, r"all_write_one: y\[0\]: task 1 writes what task 0 has written"),
        (read_what_the_last_wrote, r"y\[0\]: task 1 reads what task 0 has written"),
        (read_what_the_next_writes, r"y\[1\]: task 1 writes what task 0 has read"),
    ):
        with pytest.raises(RuntimeError, match=words):
            run.checked(3, 0, X, np.zeros(3, np.float32))
        run.checked(1, 0, X, np.zeros(3, np.float32))


def test_arrays_that_overlap() -> None:
    x = np.zeros(8, np.float32)
    long_sum.checked(1, 0, x[:7], x[7:], 6)
    with pytest.raises(RuntimeError, match="long_sum: y is written, and overlaps x"):
        long_sum.checked(1, 0, x, x[7:], 6)
    gemm_of_one.checked(1, 0, x[:4], x[:4], x[4:])  # what is only read may overlap


@kernel
def gemm_of_one(task: int, a: Array, b: Array, c: Array) -> None:
    gemm(NO_TRANS, NO_TRANS, 2, 2, 2, a, 2, b, 2, 0.0, c, 2)


@kernel
def of_integers(task: int, x: Array, kind: int, a: int, b: int) -> None:
    if kind == 0:
        x[0] = a // b
    if kind == 1:
        x[0] = a << b
    if kind == 2:
        x[0] = a * b
    if kind == 3:
        x[0] = power_of_2(float(a))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 7, 0), ZeroDivisionError, "7 is divided by 0"),
        ((0, 7, -2), ZeroDivisionError, "7 is divided by -2, which is not positive"),
        ((1, 1, 64), OverflowError, "shifted by 64 bits"),
        ((2, 1 << 40, 1 << 40), OverflowError, "no integer of 64 bits"),
        ((3, 128, 0), ValueError, r"power_of_2\(128.0\)"),
        ((3, -127, 0), ValueError, r"power_of_2\(-127.0\)"),
    ],
)
def test_what_the_language_asks_of_numbers(arguments: tuple[int, int, int], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        of_integers.checked(1, 0, np.zeros(1, np.float32), *arguments)


@kernel
def products_of_words(task: int, x: Array, of: Ints, words: Words) -> None:
    for i in range(6):
        upper = upper_product(of[i], of[i + 1])
        lower = lower_product(of[i], of[i + 1])
        words[4 * i] = upper
        words[4 * i + 1] = upper >> 32
        words[4 * i + 2] = lower
        words[4 * i + 3] = lower >> 32


def test_products_of_words_have_128_bits() -> None:
    of, x = np.array([3, -1, -1, 1 << 62, -(1 << 63), 12345678901234567, -77], np.int64), np.zeros(1, np.float32)
    found = [np.zeros(24, np.uint32) for _ in range(2)]
    products_of_words(1, 0, x, of, found[0])
    products_of_words.checked(1, 0, x, of, found[1])
    wide = [int(a) * int(b) for a, b in zip(of.view(np.uint64)[:-1], of.view(np.uint64)[1:], strict=True)]
    expected = [word >> shift & 0xFFFFFFFF for word in wide for shift in (64, 96, 0, 32)]
    assert found[0].tolist() == found[1].tolist() == expected


@kernel
def unset(task: int, scratch: Array, x: Array) -> None:
    x[0] = scratch[0]


def test_scratch_that_is_read_before_it_is_written() -> None:
    x = np.zeros(1, np.float32)
    unset.checked(1, 0, x, scratch=1)
    assert np.isnan(x[0])


@kernel
def roundings(task: int, x: Array, words: Words, n: int) -> None:
    for i in range(n):
        x[i] = x[i] * 0.1 + 1 / 3
        words[i] = words[i] * 3 - 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_operation_rounds_as_compiled_code_does(dtype: type) -> None:
    x, words = np.random.default_rng(0).normal(size=999).astype(dtype), np.arange(999, dtype=np.uint32)
    y, others = x.copy(), words.copy()
    rounded_once = (x.astype(np.longdouble) * 0.1 + np.longdouble(1) / 3).astype(dtype)
    roundings(1, 0, x, words, x.size)
    with checked():
        roundings(1, 0, y, others, y.size)
    assert x.tobytes() == y.tobytes() != rounded_once.tobytes()
    assert words.tobytes() == others.tobytes()


def test_the_mode_ends_with_its_block() -> None:
    x = np.zeros(6, np.float32)
    with pytest.raises(IndexError), checked():
        one_too_many(1, 0, X, x, 6)
    assert not trampoline.checking.value
    with checked(), pytest.raises(TypeError, match="float64"):
        one_too_many(1, 0, X, x.astype(float), 1)
