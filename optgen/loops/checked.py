"""Functions of the subset run as the Python that they are: the definition of what compiled code computes.

Floats are NumPy scalars of the element type, so that each operation rounds as the compiled one does. Constants have
that type as well, and so has the quotient of two integers. Here is checked what compiled code takes for granted (see
`language`): bounds, that tasks are independent, that arrays do not overlap, and the ranges of integers. Errors name the
kernel and the argument, with the index and the size; the traceback has the kernel's line.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from optgen.loops import numpy_blas
from optgen.loops.language import (
    FLOAT,
    INT,
    TRANS,
    Function,
    LoopType,
    lower_product,
    power_of_2,
    syntax,
    total,
    upper_product,
)  # fmt: skip

# ---------------------------------------------------------------- memory


@dataclass
class CheckedCall:
    """One call of a kernel, and the task that it is at."""

    kernel: str
    task: int = 0


_SEVERAL = -1


class Memory:
    """The elements of one argument of a kernel, or its scratch memory, and the tasks that have used each."""

    def __init__(self, call: CheckedCall, name: str, data: np.ndarray[Any, Any], overlaps: str = "") -> None:
        self.call = call
        self.name = name
        self.data = data
        """(size,), in the memory of the argument."""
        self.overlaps = overlaps
        """The name of another argument in the same memory, if there is one."""
        self._readers: dict[int, int] = {}
        self._writers: dict[int, int] = {}

    def __str__(self) -> str:
        return f"{self.call.kernel}: {self.name}"

    def read(self, i: int) -> Any:
        """An element; IndexError out of bounds, RuntimeError where another task has written it."""
        task = self._check(i, "reads", self._writers, "written")
        if self._readers.setdefault(i, task) != task:
            self._readers[i] = _SEVERAL
        return self.data[i]

    def write(self, i: int, value: Any) -> None:
        self.note_write(i)
        self.data[i] = value

    def note_write(self, i: int) -> None:
        """An element is written; IndexError out of bounds, RuntimeError where another task has read or written it, or
        it belongs to two arguments."""
        if self.overlaps:
            raise RuntimeError(f"{self} is written, and overlaps {self.overlaps}")
        self._check(i, "writes", self._readers, "read")
        self._writers[i] = self._check(i, "writes", self._writers, "written")

    def _check(self, i: int, does: str, users: dict[int, int], done: str) -> int:
        """The task that is at it."""
        if not 0 <= i < self.data.size:
            raise IndexError(f"{self}[{i}] is out of bounds: it has {self.data.size} elements")
        task = self.call.task
        user = users.get(i, task)
        if user != task:
            other = "another task" if user == _SEVERAL else f"task {user}"
            raise RuntimeError(f"{self}[{i}]: task {task} {does} what {other} has {done}")
        return task


@dataclass(frozen=True)
class Pointer:
    """A place in memory, from which elements are counted. It may lie outside, as long as what is used lies inside."""

    memory: Memory
    offset: int = 0

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.memory, self.offset + offset)

    def __getitem__(self, index: int) -> Any:
        value = self.memory.read(self.offset + index)
        return value if isinstance(value, np.floating) else int(value)

    def __setitem__(self, index: int, value: Any) -> None:
        dtype = self.memory.data.dtype
        if dtype.kind == "i":
            raise TypeError(f"{self.memory} is Ints, which are only read")
        self.memory.write(self.offset + index, value & 0xFFFFFFFF if dtype.kind == "u" else as_float(dtype, value))

    def matrix(self, rows: int, columns: int, stride: int) -> list[int]:
        """The indices of a matrix in memory. ValueError where its rows overlap."""
        if stride < columns:
            raise ValueError(f"{self.memory}: rows of {columns} elements cannot be {stride} elements apart")
        return [self.offset + i * stride + j for i in range(rows) for j in range(columns)]


# ---------------------------------------------------------------- numbers


def as_float(dtype: np.dtype[Any], x: Any) -> Any:
    """A float or an integer as a scalar of `dtype`. TypeError for a float of another type: it was rounded elsewhere."""
    if type(x) is dtype.type:
        return x
    if isinstance(x, np.floating) and x.dtype != dtype:
        raise TypeError(f"a number of type {x.dtype} among those of {dtype}")
    return dtype.type(x)


def as_int(x: int) -> int:
    """An integer of 64 bits; OverflowError for what is none."""
    if not -(1 << 63) <= x < 1 << 63:
        raise OverflowError(f"{x} is no integer of 64 bits")
    return int(x)


def _floor(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def divide(a: int, b: int) -> int:
        if b <= 0:
            raise ZeroDivisionError(f"{a} is divided by {b}, which is not positive")
        return operation(a, b)

    return divide


def _shift(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 64:
            raise OverflowError(f"{a} is shifted by {b} bits, not 0 to 63")
        return operation(a, b)

    return shift


_ON_INTS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul,
    "FloorDiv": _floor(operator.floordiv), "Mod": _floor(operator.mod),
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "LShift": _shift(operator.lshift), "RShift": _shift(operator.rshift),
}  # fmt: skip
_ON_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
}  # fmt: skip


class Arithmetic:
    """Operators and built-in functions for elements of `dtype`. `names` has them by their names: operators by those of
    their classes in `ast`."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.names: dict[str, Callable[..., Any]] = {
            **{name: self._binary(name) for name in {*_ON_INTS, *_ON_FLOATS}},
            "min": self._chosen(builtins.min),
            "max": self._chosen(builtins.max),
            "abs": lambda x: np.abs(self.float(x)),
            "round": lambda x: np.rint(self.float(x)),
            "sqrt": lambda x: np.sqrt(self.float(x)),
            "float": self.float,
            "int": lambda x: as_int(int(x)),
            "power_of_2": self._power_of_2,
            "upper_product": upper_product,
            "lower_product": lower_product,
            "gemm": self._gemm,
            "packed_gemm": self._packed_gemm,
            "gathered_gemm": self._gathered_gemm,
            "gathered_sum": self._gathered_sum,
            "gathered_dot": self._gathered_dot,
            "turn": self._turn,
        }

    def float(self, x: Any) -> Any:
        return as_float(self.dtype, x)

    def _binary(self, name: str) -> Callable[[Any, Any], Any]:
        on_ints, on_floats, scalar = _ON_INTS.get(name), _ON_FLOATS.get(name), self.dtype.type

        def result(a: Any, b: Any) -> Any:
            if on_floats and type(a) is scalar and type(b) is scalar:  # most, and this is what takes the time
                return on_floats(a, b)
            if isinstance(a, Pointer):
                return a + b
            if on_ints and isinstance(a, int) and isinstance(b, int):
                return as_int(on_ints(a, b))
            assert on_floats is not None, f"{name} is for integers"
            return on_floats(self.float(a), self.float(b))

        return result

    def _chosen(self, choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def result(a: Any, b: Any) -> Any:
            return choose(a, b) if isinstance(a, int) and isinstance(b, int) else choose(self.float(a), self.float(b))

        return result

    def _power_of_2(self, n: Any) -> Any:
        if np.isnan(n):
            return n
        result = self.float(power_of_2(n))
        if n != np.rint(n) or not np.finfo(self.dtype).tiny <= result < np.inf:
            raise ValueError(f"power_of_2({n}): the exponent is not whole, or the power is no normal {self.dtype}")
        return result

    def _gemm(
        self, trans_a: int, trans_b: int, m: int, n: int, k: int, a: Pointer, lda: int, b: Pointer, ldb: int,
        beta: Any, c: Pointer, ldc: int,
    ) -> None:  # fmt: skip
        """The GEMM that compiled code calls, whose order of additions only BLAS defines, on matrices in bounds."""
        if min(m, n, k) < 0:
            raise ValueError(f"gemm: a product of ({m}, {k}) and ({k}, {n})")
        for i in a.matrix(*((k, m) if trans_a == TRANS else (m, k)), lda):
            a.memory.read(i)
        for i in b.matrix(*((n, k) if trans_b == TRANS else (k, n)), ldb):
            b.memory.read(i)
        for i in c.matrix(m, n, ldc):
            if beta != 0:
                c.memory.read(i)
            c.memory.note_write(i)
        if m * n > 0:
            x, y, z = (p.memory.data.ctypes.data + p.offset * self.dtype.itemsize for p in (a, b, c))
            _blas(self.dtype)(101, trans_a, trans_b, m, n, k, 1.0, x, lda, y, ldb, float(beta), z, ldc)

    def _packed_gemm(
        self, code: int, m: int, n: int, k: int, a: Pointer, row: int, step: int, panels: Pointer, adds: int,
        c: Pointer, ldc: int,
    ) -> None:  # fmt: skip
        """The function that compiled code calls, on matrices in bounds, but for what fills up the last panel."""
        if min(m, n, k) < 0:
            raise ValueError(f"packed_gemm: a product of ({m}, {k}) and ({k}, {n})")
        for i, p in product(range(m), range(k)):
            a.memory.read(a.offset + i * row + p * step)
        for i in panels.matrix(1, n * k, n * k):
            panels.memory.read(i)
        for i in c.matrix(m, n, ldc):
            if adds:
                c.memory.read(i)
            c.memory.note_write(i)
        _call(code, m, n, k, a, row, step, panels, adds, c, ldc)

    def _gathered_gemm(
        self, code: int, m: int, n: int, k: int, count: int, a: Pointer, rows: Pointer, offsets: Pointer,
        panels: Pointer, adds: int, c: Pointer, to: Pointer,
    ) -> None:  # fmt: skip
        for i, o, p in product(range(m), range(count), range(k)):
            a.memory.read(a.offset + rows[i] + offsets[o] + p)
        for i in panels.matrix(1, n * k * count, n * k * count):
            panels.memory.read(i)
        self._note_rows(c, [to[i] for i in range(m)], n, adds)
        _call(code, m, n, k, count, a, rows, offsets, panels, adds, c, to)

    def _gathered_sum(
        self, code: int, m: int, n: int, k: int, a: Pointer, columns: Pointer, x: Pointer, rows: Pointer, adds: int,
        c: Pointer, ldc: int,
    ) -> None:  # fmt: skip
        for p in range(k):
            for i in range(m):
                a.memory.read(a.offset + columns[p] + i)
            for j in range(n):
                x.memory.read(x.offset + rows[p] + j)
        self._note_rows(c, [i * ldc for i in range(m)], n, adds)
        _call(code, m, n, k, a, columns, x, rows, adds, c, ldc)

    def _gathered_dot(
        self, code: int, lanes: int, m: int, n: int, k: int, a: Pointer, rows: Pointer, x: Pointer, columns: Pointer,
        adds: int, c: Pointer, ldc: int,
    ) -> None:  # fmt: skip
        for pointer, places, count in ((a, rows, m), (x, columns, n)):
            for i, p in product(range(count), range(k)):
                pointer.memory.read(pointer.offset + places[i] + p)
        self._note_rows(c, [i * ldc for i in range(m)], n * lanes, adds)
        _call(code, lanes, m, n, k, a, rows, x, columns, adds, c, ldc)

    def _turn(self, code: int, x: Pointer, ldx: int, to: Pointer, places: Pointer, rows: int, columns: int) -> None:
        for i in x.matrix(rows, columns, ldx):
            x.memory.read(i)
        self._note_rows(to, [places[j] for j in range(columns)], rows, 0)
        _call(code, x, ldx, to, places, rows, columns)

    def _note_rows(self, c: Pointer, starts: list[int], n: int, adds: int) -> None:
        """The rows of a result, of n elements, are written, and if it is added to them read."""
        for start, j in product(starts, range(n)):
            if adds:
                c.memory.read(c.offset + start + j)
            c.memory.note_write(c.offset + start + j)


def _call(code: int, *arguments: int | Pointer) -> None:
    """Call compiled code with integers and pointers."""
    places = [
        x if isinstance(x, int) else x.memory.data.ctypes.data + x.offset * x.memory.data.itemsize for x in arguments
    ]
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(places))(code)(*places)


def _blas(dtype: np.dtype[Any]) -> Callable[..., None]:
    """CBLAS's GEMM as a Python function."""
    address, (flag, size) = numpy_blas.gemm(dtype)
    types = {"i32": ctypes.c_int32, "i64": ctypes.c_int64}
    element = np.ctypeslib.as_ctypes_type(dtype)
    f, s, p = types[flag], types[size], ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, f, f, f, s, s, s, element, p, s, p, s, element, p, s)(address)


# ---------------------------------------------------------------- functions


class _Syntax(ast.NodeTransformer):
    """Operators become calls of `Arithmetic`, and float constants become numbers of the element type."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._call(type(node.op).__name__, node, self.visit(node.left), self.visit(node.right))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        [statement] = syntax(ast.unparse(node.target)).body
        assert isinstance(statement, ast.Expr)
        value = self.visit(ast.copy_location(ast.BinOp(statement.value, node.op, node.value), node))
        return ast.copy_location(ast.Assign([self.visit(node.target)], value), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._call("float", node, node) if isinstance(node.value, float) else node

    def _call(self, name: str, where: ast.expr, *arguments: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), where)


class Functions:
    """Functions of the subset as Python functions, for elements of `dtype`."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._arithmetic = Arithmetic(dtype)
        self._made: dict[Function, Callable[..., Any]] = {}
        self._arithmetic.names["total"] = self[Function(total)]

    def __getitem__(self, f: Function) -> Callable[..., Any]:
        """The function, with arguments and result of the types that it states."""
        if f not in self._made:

            def call(*arguments: Any) -> Any:
                pairs = zip(f.parameters, arguments, strict=True)
                return self._typed(f.returns, python(*(self._typed(type, x) for (_, type), x in pairs)))

            self._made[f] = call
            python = self._python(f)  # last, as a function may call itself
        return self._made[f]

    def _typed(self, type: LoopType, x: Any) -> Any:
        return self._arithmetic.float(x) if type == FLOAT else as_int(x) if type == INT else x

    def _python(self, f: Function) -> Callable[..., Any]:
        code = f.python.__code__
        definition = _Syntax().visit(f.tree())
        definition.decorator_list, definition.returns = [], None
        for argument in definition.args.args:
            argument.annotation = None
        ast.increment_lineno(definition, code.co_firstlineno - 1)
        module = compile(ast.fix_missing_locations(ast.Module([definition], [])), code.co_filename, "exec")
        [body] = [constant for constant in module.co_consts if isinstance(constant, CodeType)]
        return FunctionType(body, self._names(f, body), f.name)

    def _names(self, f: Function, body: CodeType) -> dict[str, Any]:
        """The global names of a function."""
        names: dict[str, Any] = {**self._arithmetic.names, "range": range, "short": range, "scalar": range}
        for name in body.co_names:
            value = f.python.__globals__.get(name)
            if isinstance(value, Function):
                names[name] = self[value]
            elif isinstance(value, int | float):
                names[name] = self._arithmetic.float(value) if isinstance(value, float) else value
        return names


@functools.cache
def functions(dtype: np.dtype[Any]) -> Functions:
    return Functions(dtype)


def run_checked(
    kernel: Function, tasks: int, arguments: Sequence[int | np.ndarray[Any, Any] | None], scratch: int | None,
    dtype: np.dtype[Any],
) -> None:  # fmt: skip
    """Run the tasks of a kernel in order. `arguments` are those after `task` and `scratch`; `scratch` is the size of
    that memory, or None if the kernel has none."""
    call = CheckedCall(kernel.name)
    names = [name for name, _ in kernel.parameters[1 if scratch is None else 2 :]]
    values = _passed(call, dict(zip(names, arguments, strict=True)), dtype)
    with np.errstate(all="ignore"):
        for task in range(tasks):
            call.task = task
            # In compiled code its first content is left over from others; NaN shows where that is used.
            memory = [] if scratch is None else [Pointer(Memory(call, "scratch", np.full(scratch, np.nan, dtype)))]
            functions(dtype)[kernel](task, *memory, *values)


def _passed(
    call: CheckedCall, arguments: Mapping[str, int | np.ndarray[Any, Any] | None], dtype: np.dtype[Any]
) -> list[int | Pointer]:
    """Integers, and pointers to arrays; None becomes a pointer to no elements."""
    arrays = {name: x for name, x in arguments.items() if isinstance(x, np.ndarray)}
    values: list[int | Pointer] = []
    for name, x in arguments.items():
        if x is None or isinstance(x, np.ndarray):
            data = np.empty(0, dtype) if x is None else x.reshape(-1)
            shared = [other for other, y in arrays.items() if other != name and np.may_share_memory(data, y)]
            values.append(Pointer(Memory(call, name, data, ", ".join(shared))))
        else:
            values.append(int(x))
    return values
