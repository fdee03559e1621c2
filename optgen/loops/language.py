"""The small, typed part of Python that kernels are written in; `compile` makes LLVM IR of it.

What a function may contain: `for` over `range`, or over `short`, the same for few iterations (the last vector has a
mask, so that no single elements are left over), `while`, `if`, `return` at the end, assignment and `+=` to variables
and to elements; `+ - * / // %`, of whole numbers `& | ^ << >>`, comparisons, `and or not`, `a if c else b`; min, max,
abs, round, sqrt, float, int; calls of other `@function`s, of `gemm`, `total` and `power_of_2`. Functions that call each
other have distinct names.

Its parameters are annotated with `int` (64 bits), `float` (of the element type the code is made for), `Array` (a
pointer to such elements: `x[i]` reads, `x + i` moves it), `Ints` (a pointer to whole numbers, which are only read) or
`Words` (a pointer to words of 32 bits, which are numbers from 0 on; what is written to one is cut to its 32 bits).
A variable has the type of its first value. Names from outside are numbers or functions. Everything means what it means
in Python, but that whole numbers have 64 bits, that what `//` and `%` divide by is positive, and that there are no
bounds: whoever calls has checked the sizes. Arrays that are passed to a function do not overlap, unless nothing is
written to them. No fast-math flag is set.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

INT, FLOAT, ARRAY, BOOL = "i64", "{T}", "ptr", "i1"
INTS, WORDS = "ptr addrspace(0)", "ptr addrspace( 0 )"  # to LLVM other ways to write `ptr`
PLAIN, TURNED = 111, 112
"""CBLAS's flags: a matrix as it is, and transposed."""


class Array:
    """The annotation of a pointer to elements."""


class Ints:
    """The annotation of a pointer to whole numbers of 64 bits, to be read."""


class Words:
    """The annotation of a pointer to words of 32 bits."""


_TYPES = {"int": INT, "float": FLOAT, "Array": ARRAY, "Ints": INTS, "Words": WORDS}


# ---------------------------------------------------------------- what functions can call

short = range


def gemm(
    turn_a: int, turn_b: int, m: int, n: int, k: int, a: Array, lda: int, b: Array, ldb: int,
    beta: float, c: Array, ldc: int,
) -> None:  # fmt: skip
    """BLAS: c = a b + beta*c, with c (m, n), where a and b are PLAIN or TURNED; rows are lda, ldb, ldc apart."""


def total(x: Array, n: int) -> float:
    """The sum of n elements, in an order that depends on n alone."""


def power_of_2(n: float) -> float:
    """`2^n`, for a whole n for which that is a normal number."""


class Function:
    """A function of the subset. Calling it is for other functions of the subset; see `Kernel` for Python's way in."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python = function
        self.name = function.__name__
        types = {name: _TYPES.get(_name(type), "void") for name, type in function.__annotations__.items()}
        self.returns = types.pop("return")
        self.parameters = list(types.items())

    def tree(self) -> ast.FunctionDef:
        """The syntax, read when it is needed: most programs call few kernels."""
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(self.python))).body
        return definition  # type: ignore[return-value]


def _name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else annotation.__name__


def function(function: Callable[..., Any]) -> Function:
    """Decorator: a function that kernels can call."""
    return Function(function)
