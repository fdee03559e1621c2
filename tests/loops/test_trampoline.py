"""Calls of kernels by the native method and by Python: the same results, the same errors, and nothing left behind."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optgen.loops import numpy_blas, trampoline
from optgen.loops.kernel import POOL_MIN_WORK, LoopKernel, kernel
from optgen.loops.language import NO_TRANS, Array, Ints, Words, gemm

pytestmark = pytest.mark.skipif(not trampoline.install(LoopKernel, POOL_MIN_WORK), reason="there is no trampoline here")


@kernel
def of_all_kinds(task: int, scratch: Array, x: Array, y: Array, used: int, ints: Ints, words: Words) -> None:
    if used == 1:
        scratch[0] = x[task]
        y[task] = scratch[0] * ints[task] + words[task]


@kernel
def of_product(task: int, x: Array, y: Array, n: int) -> None:
    gemm(NO_TRANS, NO_TRANS, n, n, n, x, n, x, n, 0.0, y, n)


def _arrays(dtype: Any = np.float32) -> list[Any]:
    return [np.arange(4, dtype=dtype), np.zeros(4, dtype), 1, np.arange(4), np.arange(4, dtype=np.uint32)]


class _Subclass(np.ndarray):
    pass


class _Number:
    def __index__(self) -> int:
        return 1


def _with(i: int, value: Any) -> Callable[[], list[Any]]:
    def arguments() -> list[Any]:
        given = _arrays()
        given[i] = value(given[i])
        return given

    return arguments


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


ARGUMENTS: dict[str, Callable[[], list[Any]]] = {
    "float32": _arrays,
    "float64": lambda: _arrays(np.float64),
    "not used": lambda: [np.zeros(0, np.float32), None, 0, None, None],
    "read-only": _with(0, _read_only),
    "of a subclass": _with(0, lambda x: x.view(_Subclass)),
    "a dtype with metadata": _with(1, lambda y: np.zeros(4, np.dtype("f4", metadata={"a": 1}))),
    "bool": _with(2, bool),
    "NumPy integer": _with(2, np.int64),
    "with an index": _with(2, lambda _: _Number()),
    "float": _with(2, float),
    "text": _with(2, str),
    "too large": _with(2, lambda _: 1 << 63),
    "negative": _with(2, lambda _: -1),
    "an array for an integer": _with(2, lambda _: np.zeros(3)),
    "an integer for an array": _with(1, lambda _: 7),
    "a list": _with(1, lambda _: [0.0] * 4),
    "a list first": _with(0, lambda x: x.tolist()),
    "None first": _with(0, lambda _: None),
    "another type": _with(1, lambda y: y.astype(np.float64)),
    "another type of integers": _with(3, lambda x: x.astype(np.int32)),
    "signed words": _with(4, lambda x: x.view(np.int32)),
    "other byte order": _with(1, lambda y: y.astype(">f4")),
    "float16": lambda: _arrays(np.float16),
    "strided": _with(1, lambda y: np.zeros((4, 2), np.float32)[:, 0]),
    "in Fortran's order": _with(1, lambda y: np.zeros((2, 2), np.float32, order="F")),
    "too few": lambda: _arrays()[:-1],
    "too many": lambda: [*_arrays(), 1],
    "none": lambda: [],
}


def _outcome(call: Callable[..., None], *arguments: Any, **names: Any) -> tuple:
    try:
        call(*arguments, **names)
    except Exception as error:
        return type(error), str(error)
    return tuple(x.tobytes() for x in arguments if isinstance(x, np.ndarray))


@pytest.mark.parametrize("given", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("work", [0, 1 << 20])
def test_both_ways_are_one(given: Callable[[], list[Any]], work: int) -> None:
    of_all_kinds(4, 0, *_arrays(), scratch=1)  # loaded
    found = _outcome(of_all_kinds, 4, work, *given(), scratch=1)
    assert found == _outcome(of_all_kinds.in_python, 4, work, *given(), scratch=1)


@pytest.mark.parametrize(
    "head, names",
    [
        ((), {}),
        ((4,), {}),
        ((4.0, 0), {"scratch": 1}),
        ((4, 1 << 64), {"scratch": 1}),
        ((True, False), {"scratch": True}),
        ((4, 0), {"scratch": 1 << 70}),
        ((4, 0), {"scratch": 1 << 58}),
        ((4, 1 << 20), {"scratch": 1 << 58}),
        ((4, 0), {"scratch": "1"}),
        ((4, 0), {"memory": 1}),
        ((4, 0), {"memory": 1, "scratch": 1}),
        ((0, 0), {"scratch": 1}),
    ],
)
def test_numbers_of_tasks_work_and_scratch(head: tuple, names: dict[str, Any]) -> None:
    of_all_kinds(4, 0, *_arrays(), scratch=1)
    rest = _arrays() if len(head) == 2 else []
    again = _arrays() if len(head) == 2 else []
    assert _outcome(of_all_kinds, *head, *rest, **names) == _outcome(of_all_kinds.in_python, *head, *again, **names)


def test_usual_calls_do_not_pass_through_python(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = _arrays()
    of_all_kinds(4, 0, *arguments, scratch=1)
    monkeypatch.setattr(LoopKernel, "in_python", None)
    of_all_kinds(4, 0, *arguments, scratch=1)
    of_all_kinds(4, 1 << 20, *arguments, scratch=1)
    assert arguments[1].tolist() == [0, 2, 6, 12]
    with pytest.raises(TypeError, match="NoneType"):
        of_all_kinds(4, 0, *arguments[:-1], 1, scratch=1)


def test_no_reference_is_taken_or_left() -> None:
    given, numbers = _arrays(), (10**9, 10**10)
    objects = [*given, *numbers, of_all_kinds]
    of_all_kinds(4, 0, *given, scratch=1)
    before = [sys.getrefcount(x) for x in objects]
    for _ in range(100):
        of_all_kinds(0, numbers[0], *given, scratch=1)
        of_all_kinds(0, numbers[1], *given, scratch=1)
        _outcome(of_all_kinds, 4, numbers[0], *given, scratch=1 << 58)
        _outcome(of_all_kinds, 4, numbers[0], *given[:-1], "no", scratch=1)
    assert [sys.getrefcount(x) for x in objects] == before


def test_a_product_leaves_the_threads_of_blas() -> None:
    libraries = numpy_blas._libraries()
    before = [x.threads() for x in libraries]
    x = np.eye(3, dtype=np.float32)
    try:
        for threads in (1, 2):
            for library in libraries:
                library.set_threads(threads)
            for work in (0, 0, 1 << 20):
                y = np.empty_like(x)
                of_product(1, work, x, y, 3)
                assert y.tobytes() == x.tobytes()
                assert all(library.threads() == threads for library in libraries)
    finally:
        for library, threads in zip(libraries, before, strict=True):
            library.set_threads(threads)


def test_the_functions_that_ask_and_set_the_threads_of_blas_are_its_own() -> None:
    [library] = numpy_blas._libraries()
    found = numpy_blas.thread_functions()
    assert found is not None
    get, set = ctypes.CFUNCTYPE(ctypes.c_int)(found[0]), ctypes.CFUNCTYPE(None, ctypes.c_int)(found[1])
    before = library.threads()
    try:
        for threads in (1, 2):
            set(threads)
            assert library.threads() == get() == threads
    finally:
        library.set_threads(before)


@pytest.mark.parametrize("change", ["implementation", "head"])
def test_unknown_interpreters_have_no_trampoline(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if change == "head":
        monkeypatch.setattr(trampoline._Array, "data", trampoline._Array.rank)
    else:
        monkeypatch.setattr(sys.implementation, "name", "pypy")
    assert not trampoline.install.__wrapped__(object, POOL_MIN_WORK)
