"""The definition of the IR: an interpreter that executes a kernel with NumPy, phase by phase.

It runs kernels at any stage between build and backend, so that the result of every pass can be compared with its input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen import ir
from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Axis, When, length_of
from optgen.functions.math import random
from optgen.ir import IDENTITY, Buffer, Instr, Kernel, Op, Value, codec
from optgen.ir.expand import Emitter, expand
from optgen.ir.reductions import column_reduce, fold, fold_in_order, tree_reduce
from optgen.ir.storage import blocks, packing
from optgen.ir.verify import held_type
from optgen.shapes import matrix_view

DTYPES: dict[ir.DType, type] = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "b1": np.bool_}
COMPARE = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
INT = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
UNSIGNED: dict[str, type] = {"int64": np.uint64, "int32": np.uint32}
SIGNED: dict[str, type] = {"float64": np.int64, "float32": np.int32}
FLOAT: dict[str, type] = {"int64": np.float64, "int32": np.float32}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TensorUpdate:
    """The update of one tensor in a step.

    `buffers` are the kernel's, by name; they are changed in place. `hyper` are its hyper-parameters, NaN for one that
    is unset. `t` is the number of updates, this one included. `rows` are the rows to update, None for the tensor as a
    whole; gradients hold these rows only. `shape` is that of the matrices, by default that of "w".
    """

    buffers: Mapping[str, Array]
    hyper: Mapping[str, float]
    t: int
    id: int = 0
    rows: Array | None = None
    shape: tuple[int, ...] | None = None


def interpret(kernel: Kernel, tensors: Sequence[TensorUpdate], seed: int = 0) -> None:
    """Execute one step, in place."""
    shared: dict[str, Any] = {}
    runs = [KernelRun(kernel, tensor, seed, shared) for tensor in tensors]
    with np.errstate(all="ignore"):
        for phase in kernel.phases:
            if phase.kind in ("update", "shared"):
                for instr in phase.instrs:
                    execute_for_all(kernel, runs, instr, shared)
            else:
                for run in runs:
                    for instr in phase.instrs:
                        run.execute(instr)
            for run in runs:
                run.write()


def execute_for_all(kernel: Kernel, runs: Sequence[KernelRun], instr: Instr, shared: dict[str, Any]) -> None:
    """Execute one instruction for all tensors. It may reduce over them."""
    if isinstance(instr.op, ir.ReduceOverParams) and runs:
        assert instr.result is not None
        total = np.float64(IDENTITY[instr.op.op])
        for run in runs:
            total = fold(instr.op.op, total, run.value(instr.op.x))
        shared[instr.result.id] = total
        return
    # A shared value is computed once, from the uniform values of the first tensor, and a shared state is written once.
    if isinstance(instr.op, ir.Store):
        known = kernel.buffer(instr.op.buffer).known
    else:
        assert instr.result is not None
        known = instr.result.type.known
    for run in runs[:1] if known is When.SHARED else runs:
        run.execute(instr)


class KernelRun:
    """The execution of a kernel for one tensor. Values have the shape of the matrix view, or of the batch of matrices,
    with length 1 along an axis on which they do not depend. `batch` is () or (the number of matrices,)."""

    def __init__(self, kernel: Kernel, tensor: TensorUpdate, seed: int, shared: dict[str, Any]) -> None:
        self.kernel = kernel
        self.tensor = tensor
        self.seed = seed
        self.shared = shared
        self.values: dict[str, Any] = {}
        self.pending: list[tuple[Buffer, Any, Any]] = []
        self.stored: set[str] = set()  # by phases that have ended
        shape = tensor.buffers["w"].shape if tensor.shape is None else tensor.shape
        matrices, self.rows, self.cols = matrix_view(shape, last_two=kernel.last_two)
        self.batch = (matrices,) if kernel.last_two else ()
        every = np.arange(self.rows if self.cols else 0)  # rows without elements are not updated
        self.present = every if tensor.rows is None or not self.cols else tensor.rows

    def value(self, v: Value) -> Any:
        return self.shared[v.id] if v.type.known is When.SHARED else self.values[v.id]

    def execute(self, instr: Instr) -> None:
        if isinstance(instr.op, ir.Store):
            place = None if instr.op.place is None else self.value(instr.op.place)
            self.pending.append((self.kernel.buffer(instr.op.buffer), self.value(instr.op.value), place))
            return
        assert instr.result is not None
        if isinstance(instr.op, ir.Math):
            for step in expand(instr):
                self.execute(step)
            return
        table = self.shared if instr.result.type.known is When.SHARED else self.values
        table[instr.result.id] = self.evaluate(instr.op, DTYPES[instr.result.type.dtype])

    def evaluate(self, op: Op, dtype: type) -> Any:
        match op:
            case ir.Hyper(name=name):
                return np.float64(self.tensor.hyper[name])
            case ir.Count():
                return np.float64(self.tensor.t)
            case ir.RowNumber():
                return np.broadcast_to(self.present[:, None].astype(np.float64), self.shape(ROWS))
            case ir.ColumnNumber():
                return np.broadcast_to(np.arange(self.cols, dtype=np.float64), self.shape(COLS))
            case ir.Word(draw=draw, held=held, axes=axes):
                return self.words(draw, self.tensor.t if held is None else int(self.value(held)), axes)
            case ir.Load(buffer=buffer, place=place):
                return self.load(self.kernel.buffer(buffer), None if place is None else self.value(place))
            case ir.Reduce(op=how, x=x, scope=scope):
                return self.reduce(how, scope, np.broadcast_to(self.value(x), self.shape(x.type.axes)))
        return evaluate(op, [self.value(v) for v in ir.operands(op)], dtype)

    def shape(self, axes: Axes) -> tuple[int, ...]:
        return self.shape_of_rows(axes, len(self.present))

    def shape_of_rows(self, axes: Axes, rows: int) -> tuple[int, ...]:
        shapes = {ELEMENTS: (rows, self.cols), ROWS: (rows, 1), COLS: (1, self.cols)}
        return (*self.batch, *(shapes.get(axes) or map(self.length, axes))) if axes else ()

    def length(self, axis: Axis) -> int:
        """The length of a dimension: of the parameter, or as a param or its groups have it."""
        return length_of(axis, {**self.tensor.hyper, "rows": self.rows, "cols": self.cols})

    def reduce(self, op: ir.ReduceOp, scope: str, x: Array) -> Any:
        *lines, cols = x.shape
        if scope == "row":
            rows = x.reshape(int(np.prod(lines)), cols)
            return np.array([tree_reduce(op, row) for row in rows]).reshape(*lines, 1)
        if scope == "col":
            matrices = x.reshape(*(self.batch or (1,)), lines[-1], cols)
            return np.array([column_reduce(op, matrix) for matrix in matrices]).reshape(self.shape(COLS))
        if scope == "matrix":
            return np.broadcast_to(fold_in_order(op, x.reshape(*self.batch, lines[-1] * cols)), x.shape)
        return tree_reduce(op, x.reshape(-1))

    # ------------------------------------------------------------ buffers

    def load(self, buffer: Buffer, place: Any) -> Any:
        found = self.seen(buffer, place)[...]
        if held_type(buffer, self.kernel.compute).is_element and buffer.format.is_exact(self.kernel.compute):
            return np.array(found)[()] if buffer.name in self.stored else flushed(found)
        dtype = DTYPES[held_type(buffer, self.kernel.compute).dtype]
        if buffer.is_quantized:
            scale = call(codec.decode_scale(buffer), self.scale_of_each(buffer))
            return call(codec.decoder(buffer), found, scale)
        if buffer.format.codec is not None:
            return call(codec.decoder(buffer), found.view(f"u{found.itemsize}").astype(np.int32))
        return np.array(found, dtype)[()]

    def array(self, buffer: Buffer, place: Any) -> Array:
        """The array of a buffer: of a history, the entry that is number `place`."""
        found = self.tensor.buffers[buffer.memory]
        return found if place is None else found[int(place), ...]

    def seen(self, buffer: Buffer, place: Any) -> Array:
        """The elements of a buffer that this update sees; of quantized states, the codes."""
        array = self.all_codes(buffer) if buffer.is_quantized else self.array(buffer, place)
        array = array.reshape(self.full_shape(buffer))
        compact = ir.is_gradient(buffer.name) or self.shape(buffer.axes) == array.shape
        return array if compact or buffer.axes not in (ELEMENTS, ROWS) else array[..., self.present, :]

    def full_shape(self, buffer: Buffer) -> tuple[int, ...]:
        if ir.is_gradient(buffer.name):
            return self.shape(ELEMENTS)
        return self.shape_of_rows(buffer.axes, self.rows)

    def write(self) -> None:
        """End a phase: its stores take effect."""
        for buffer, value, place in self.pending:
            value = np.broadcast_to(value, self.shape(buffer.axes))
            if buffer.is_quantized:
                self.quantize(buffer, value)
                continue
            array = self.array(buffer, place)
            view = array.reshape(self.full_shape(buffer))
            new = self.rounded(buffer, value, array.dtype)
            if buffer.axes in (ELEMENTS, ROWS) and not ir.is_gradient(buffer.name):
                view[..., self.present, :] = new
            else:
                view[...] = new
        self.stored |= {buffer.name for buffer, *_ in self.pending}
        self.pending.clear()

    def rounded(self, buffer: Buffer, value: Array, dtype: np.dtype[Any]) -> Array:
        if buffer.format.codec is None:
            return np.array(value, dtype)
        args = [np.array(value, np.float32)]
        if buffer.format.needs_draws:
            number = self.kernel.rounded.index(buffer.name)
            word = self.words(ir.ROUNDING_DRAW + number // 2, self.tensor.t).view(np.uint32)
            args.append(((word >> np.uint32(16 * (number % 2))) & np.uint32(0xFFFF)).astype(np.int32))
        codes: Array = call(codec.encoder(buffer), *args)
        return codes.astype(f"u{dtype.itemsize}").view(dtype)

    # ------------------------------------------------------------ blocks of codes

    @property
    def restart(self) -> int:
        """After how many elements blocks of codes restart: in a tensor that is updated by rows, at every row."""
        whole = self.rows * self.cols * math.prod(self.batch)
        return max(whole if self.tensor.rows is None else self.cols, 1)

    def block_of_each(self, block: int | None) -> Array:
        """The block of codes, of so many elements, that each element belongs to."""
        assert block is not None
        row, inside = np.divmod(self.elements(), self.restart)
        number: Array = row * -(-self.restart // block) + inside // block
        return number

    def scale_of_each(self, buffer: Buffer) -> Array:
        """The scale of each element of a quantized state."""
        return self.tensor.buffers[f"{buffer.name}.scale"].reshape(-1)[self.block_of_each(buffer.format.block)]

    def all_codes(self, buffer: Buffer) -> Array:
        """The codes of a quantized state, one an item."""
        array = self.tensor.buffers[buffer.name]
        if not buffer.format.is_packed:
            return array
        return packing.unpack(array.reshape(-1, packing.bytes_of(self.restart)), self.restart)

    def quantize(self, buffer: Buffer, value: Array) -> None:
        scales = self.tensor.buffers[f"{buffer.name}.scale"].reshape(-1)
        codes = self.all_codes(buffer).reshape(self.full_shape(buffer))
        numbers = self.block_of_each(buffer.format.block)
        value = np.array(value, np.float32)
        largest = np.zeros(scales.shape, np.int32)
        np.maximum.at(largest, numbers, call(blocks.magnitude, value))
        touched = np.unique(numbers)
        scales[touched] = largest.view(np.float32)[touched]
        factor = call(codec.encode_scale(buffer), scales[numbers])
        codes[..., self.present, :] = call(codec.encoder(buffer), value, factor).astype(codes.dtype)
        if buffer.format.is_packed:
            packed, rows = packing.pack(codes.reshape(-1, self.restart)), np.unique(self.elements() // self.restart)
            self.tensor.buffers[buffer.name].reshape(packed.shape)[rows] = packed[rows]

    # ------------------------------------------------------------ draws

    def elements(self) -> Array:
        """The numbers of the elements that are updated."""
        first = self.rows * self.cols * np.arange(*self.batch)[:, None, None] if self.batch else 0
        return first + self.present[:, None] * self.cols + np.arange(self.cols)

    def numbers(self, axes: Axes) -> Array:
        """The numbers of the elements, rows or columns that are updated."""
        if axes == ELEMENTS:
            return self.elements()
        count, own = (self.rows, self.present) if axes == ROWS else (self.cols, np.arange(self.cols))
        first = count * np.arange(*self.batch)[:, None] if self.batch else 0
        return np.asarray(first + own).reshape(self.shape(axes))

    def words(self, draw: int, t: int, axes: Axes = ELEMENTS) -> Array:
        return self.words_of(draw, t, self.numbers(axes))

    def words_of(self, draw: int, t: int, element: Array) -> Array:
        """The words of elements, rows or columns by their numbers."""
        counter = (element // 4, element // 4 >> 32, self.tensor.id ^ draw << 20, t)
        key = (self.seed, self.seed >> 32)
        counters, keys = ([np.array(x).astype(np.uint32).view(np.int32) for x in xs] for xs in (counter, key))
        words = call(lambda b, *args: random.philox(b, args[:4], args[4:]), *counters, *keys)
        return np.choose(element % 4, [np.broadcast_to(w, element.shape) for w in words]).astype(np.int32)


def call(function: Callable[..., Any], *args: Any) -> Any:
    """Run a function of a Builder with NumPy. Several results are returned as a list."""
    emitter = Emitter("")
    env: dict[str, Any] = {}
    names: dict[Any, ir.DType] = {np.dtype(t): name for name, t in DTYPES.items()}
    values = []
    for k, x in enumerate(args):
        array = np.asarray(x).astype(np.int32) if np.asarray(x).dtype.kind == "u" else np.asarray(x)
        v = Value(f"arg{k}", ir.Type(ELEMENTS, names[array.dtype]))
        env[v.id] = array
        values.append(v)
    result = function(emitter, *values)
    with np.errstate(all="ignore"):
        for instr in emitter.instrs:
            assert instr.result is not None
            operands = [env[v.id] for v in ir.operands(instr.op)]
            env[instr.result.id] = evaluate(instr.op, operands, DTYPES[instr.result.type.dtype])
    return [env[r.id] for r in result] if isinstance(result, tuple) else env[result.id]


def evaluate(op: Op, args: list[Any], dtype: type) -> Any:
    """The result of an operation on numbers."""
    x = _rounded(op, args, dtype)
    return x if dtype is not np.float32 else _zero_where(_vanishes(op, args, x), x)


def flushed(x: Any) -> Any:
    """Floats, with zeros of their signs instead of subnormals."""
    return _zero_where(np.abs(x) < np.finfo(x.dtype).tiny, x)


def _zero_where(condition: Any, x: Any) -> Any:
    return x if condition is False else np.where(condition, np.copysign(x.dtype.type(0), x), x)[()]


def _vanishes(op: Op, args: list[Any], x: Any) -> Any:
    """Where a float32 result x would be below 2^-126, were it rounded to 24 bits whatever its exponent."""
    match op:
        case ir.Add() | ir.Sub() | ir.FromBits():  # exact there
            return np.abs(x) < np.float32(ir.LEAST_NORMAL)
        case ir.Mul() | ir.Div():
            scaled = _rounded(op, [args[0] * np.float32(2.0**64), args[1]], np.float32)
            return np.abs(scaled) < np.float32(2.0**64 * ir.LEAST_NORMAL)
        case ir.Convert():
            return np.abs(args[0]) < ir.LEAST_ROUNDED
    return False


def _rounded(op: Op, args: list[Any], dtype: type) -> Any:
    """The operation as IEEE 754 has it."""
    match op:
        case ir.Const(value=x) | ir.IntConst(value=x):
            return dtype(x)
        case ir.Neg():
            return np.negative(args[0])
        case ir.Abs():
            return np.abs(args[0])
        case ir.Sqrt():
            return np.sqrt(args[0])
        case ir.Floor():
            return np.floor(args[0])
        case ir.Add():
            return np.add(*args)
        case ir.Sub():
            return np.subtract(*args)
        case ir.Mul():
            return np.multiply(*args)
        case ir.Div():
            return np.divide(*args)
        case ir.Compare(op=name):
            return np.not_equal(*args) if name == "ne" else COMPARE[name](*args)
        case ir.And():
            return np.logical_and(*args)
        case ir.Or():
            return np.logical_or(*args)
        case ir.Not():
            return np.logical_not(args[0])
        case ir.Select():
            return np.where(*args)[()]
        case ir.Convert() | ir.ToInt() | ir.ToFloat() | ir.Truncate():
            return args[0].astype(dtype)
        case ir.Extend():
            return args[0].view(np.uint32).astype(np.int64)
        case ir.Bits():
            return args[0].view(SIGNED[args[0].dtype.name])
        case ir.FromBits():
            return args[0].view(FLOAT[args[0].dtype.name])
        case ir.Int(op=name):
            return INT[name](*args)
        case ir.Shift(op=name, by=by):
            unsigned = UNSIGNED[args[0].dtype.name]
            shift = np.left_shift if name == "shl" else np.right_shift
            return shift(args[0].view(unsigned), unsigned(by)).view(dtype)
        case ir.Lookup(table=table):
            return np.array(table.values, dtype).take(args[0] & (len(table.values) - 1))
    raise TypeError(f"no meaning for {op!r}")
