"""The subset of Python that kernels are written in. `compile` makes LLVM IR of it, `checked` runs it as Python.

A function may contain:

- `for` over `range`; over `short`, the same for few iterations, whose last vector has a mask, so that no single
  elements are left over; or over `scalar`, the same without vectors, which compiles sooner; `while`; `if`; `return` at
  the end;
- assignment and `+=` to variables and to elements;
- `+ - * / // %`, comparisons, `and or not`, `a if c else b`; between integers also `& | ^ << >>`;
- min, max, abs, round, sqrt, float, int; calls of `@function`s, `@shared` ones, and of `gemm`, `packed_gemm`,
  `gathered_gemm`, `gathered_sum`, `gathered_dot`, `turn`, `total`, `power_of_2`, `upper_product` and `lower_product`.
  Functions that call each other have distinct names;
- module constants: a name from outside is a number or a function.

Parameters are annotated: `int` (64 bits), `float` (of the element type that the code is made for), `Array` (a pointer
to such elements: `x[i]` reads, `x + i` moves the pointer), `Ints` (a pointer to 64-bit integers, which are only read)
or `Words` (a pointer to unsigned words of 32 bits; what is written to one is cut to its 32 bits). A variable has the
type of its first value. After a loop, its variable is not used.

Everything means what it means in Python, with these differences: integers have 64 bits and do not overflow; `//` and
`%` divide by positive numbers; shifts are by 0 to 63 bits; `round` gives a float. Compiled code checks none of this,
and no bounds: the caller has checked the sizes. The checked mode does. Arrays that are passed to a function do not
overlap, unless nothing is written to them. No fast-math flag is set, and products are not fused with sums.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

INT, FLOAT, BOOL = "i64", "{T}", "i1"


@dataclass(frozen=True)
class PointerType:
    """A pointer to elements of a type. To LLVM all pointers are of one type."""

    element: str

    def __str__(self) -> str:
        return "ptr"


LoopType = str | PointerType
"""The type of a value of a loop: as LLVM writes it, or what it points to."""
ARRAY, INTS, WORDS = PointerType(FLOAT), PointerType(INT), PointerType("i32")
_WORDS = 1 << 64
NO_TRANS, TRANS = 111, 112
"""CBLAS's flags: a matrix as it is, and transposed."""


class Array(Protocol):
    """The annotation of a pointer to elements."""

    def __getitem__(self, index: int) -> float: ...
    def __setitem__(self, index: int, value: float) -> None: ...
    def __add__(self, offset: int) -> Array: ...


class Ints(Protocol):
    """The annotation of a pointer to 64-bit integers, which are only read."""

    def __getitem__(self, index: int) -> int: ...
    def __add__(self, offset: int) -> Ints: ...


class Words(Protocol):
    """The annotation of a pointer to unsigned words of 32 bits."""

    def __getitem__(self, index: int) -> int: ...
    def __setitem__(self, index: int, value: int) -> None: ...
    def __add__(self, offset: int) -> Words: ...


_TYPES: dict[str, LoopType] = {"int": INT, "float": FLOAT, "Array": ARRAY, "Ints": INTS, "Words": WORDS}


# ---------------------------------------------------------------- what functions can call

short = scalar = range


def sqrt(x: float) -> float:
    """The square root, correctly rounded."""
    return math.sqrt(x)


def gemm(
    trans_a: int, trans_b: int, m: int, n: int, k: int, a: Array, lda: int, b: Array, ldb: int,
    beta: float, c: Array, ldc: int,
) -> None:  # fmt: skip
    """BLAS: c = op(a) op(b) + beta*c, with op(a) (m, k), op(b) (k, n) and c (m, n), row-major. `trans_a` and `trans_b`
    are NO_TRANS or TRANS; lda, ldb and ldc are the strides of the rows in memory, in elements."""


def packed_gemm(
    code: int, m: int, n: int, k: int, a: Array, row: int, step: int, panels: Array, adds: int, c: Array, ldc: int
) -> None:
    """c = a b, or c + a b if `adds`, with a (m, k), b (k, n), whose columns are in panels, and c (m, n), row-major.

    The element (i, p) of a is `a[i*row + p*step]`, and `ldc` the stride of the rows of c. The bits of an element do not
    depend on m or n: the products of 256 consecutive p are added up in order, from 0, and so are these sums, whether or
    not each product rounds. `code` is `linalg.own.packed.address` of the type of elements.
    """


def gathered_gemm(
    code: int, m: int, n: int, k: int, count: int, a: Array, rows: Ints, offsets: Ints, panels: Array, adds: int,
    c: Array, to: Ints,
) -> None:  # fmt: skip
    """c = a b, or c + a b if `adds`, where the rows of a and c lie anywhere, and those of a in `count` pieces of k.

    The element (i, o*k + p) of a is `a[rows[i] + offsets[o] + p]`, the element (i, j) of c `c[to[i] + j]`. b, (count*k,
    n), is in panels as for `packed_gemm`. The bits of an element do not depend on m or n. `code` is
    `linalg.own.gathered.address` of this function and the type of elements, as in the next two.
    """


def gathered_sum(
    code: int, m: int, n: int, k: int, a: Array, columns: Ints, x: Array, rows: Ints, adds: int, c: Array, ldc: int
) -> None:
    """c = the sum of k products of a column and a row, or c + that if `adds`: element (i, j) of product p is
    `a[columns[p] + i] * x[rows[p] + j]`. c is (m, n) with rows ldc apart."""


def gathered_dot(
    code: int, lanes: int, m: int, n: int, k: int, a: Array, rows: Ints, x: Array, columns: Ints, adds: int, c: Array,
    ldc: int,
) -> None:  # fmt: skip
    """c = a x', or c + that if `adds`, each element of c in `lanes` parts: part l of the element (i, j), which is
    `c[i*ldc + j*lanes + l]`, is the sum of `a[rows[i] + p] * x[columns[j] + p]` over all p < k with `p % lanes == l`.
    `lanes` are those of the CPU's vectors, `linalg.own.packed.tile_of` the type of elements."""


def turn(code: int, x: Array, ldx: int, to: Array, places: Ints, rows: int, columns: int) -> None:
    """The transpose of x, whose rows are ldx apart: `to[places[j] + i] = x[i*ldx + j]`. Places may overlap nowhere."""


def total(x: Array, n: int) -> float:
    """The sum of n elements: 16 sums of every 16th element, these added up in order, then the rest.

    This is its definition; compiled code has one of its own, whose 16 sums are a vector.
    """
    whole = n // 16 * 16
    result = 0.0
    for lane in range(16):
        partial = 0.0
        for i in range(lane, whole, 16):
            partial += x[i]
        result += partial
    for i in range(whole, n):
        result += x[i]
    return result


def power_of_2(n: float) -> float:
    """`2^n`, for a whole n for which that is a normal number. For another n the result is not specified."""
    return math.ldexp(1.0, int(n))


def upper_product(a: int, b: int) -> int:
    """The upper 64 of the 128 bits of a product of words of 64 bits without signs, as an integer with a sign."""
    return _signed((a % _WORDS * (b % _WORDS)) >> 64)


def lower_product(a: int, b: int) -> int:
    """The lower 64 bits of that product: of words with signs, too."""
    return _signed(a * b)


def _signed(word: int) -> int:
    """The integer of 64 bits that has the lower bits of `word`."""
    return (word + _WORDS // 2) % _WORDS - _WORDS // 2


class Function:
    """A function of the subset. Calling it is for other functions of the subset; see `kernel` for Python's way in."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python = function
        self.name = function.__name__
        types = {name: _TYPES.get(_name(type), "void") for name, type in function.__annotations__.items()}
        self.returns = types.pop("return")
        self.parameters = list(types.items())
        self.shared = False

    def called(self) -> list[Function]:
        """The functions that it calls itself."""
        known = map(self.python.__globals__.get, self.python.__code__.co_names)
        return [f for f in known if isinstance(f, Function)]

    def tree(self) -> ast.FunctionDef:
        """The syntax. It is read when it is needed: most programs call few kernels."""
        [definition] = syntax(textwrap.dedent(inspect.getsource(self.python))).body
        assert isinstance(definition, ast.FunctionDef)
        return definition


_parsing = threading.Lock()


def _begin_child() -> None:
    """A lock that another thread held while the process forked would stay locked."""
    global _parsing
    _parsing = threading.Lock()


os.register_at_fork(after_in_child=_begin_child)


def syntax(text: str | bytes) -> ast.Module:
    """The syntax tree of a source text.

    Threads parse one after the other: in Python 3.11, two at once may get a SystemError ("recursion depth mismatch").
    """
    with _parsing:
        return ast.parse(text)


def _name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(annotation.__name__)


def function(function: Callable[..., Any]) -> Function:
    """Decorator: a function that kernels can call."""
    return Function(function)


def shared(function: Callable[..., None]) -> Function:
    """Decorator: a function without a result that is compiled once for all kernels that call it, not in each of them.

    It is for long functions. What a caller passes to it is not known when it is compiled, constants included.
    """
    f = Function(function)
    if f.returns != "void":
        raise TypeError(f"{f.name}: a shared function has no result")
    f.shared = True
    return f
