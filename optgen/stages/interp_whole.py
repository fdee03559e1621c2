"""The meaning of kernels before they are cut: an interpreter of products, functions of matrices, groups and loops.

It knows nothing of stages, which it judges. How products and functions of matrices are rounded is the caller's: given
equal results of these, a step has equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from optgen import arguments, groups, ir
from optgen.axes import Axes, Axis, Kind, When
from optgen.ir import Instr, Kernel, Value
from optgen.ir.interp import DTYPES, Array, KernelRun, TensorUpdate, evaluate, execute_for_all
from optgen.ir.reductions import column_reduce, fold, tree_reduce

MatrixRoutine = Callable[[str, Sequence[Array], Sequence[float], tuple[int, ...]], Array]
"""Computes a product or a function of matrices: takes its name, its operands as the equations have them, its numbers
and the shape of the result."""


def interpret_whole(kernel: Kernel, tensors: Sequence[TensorUpdate], call: MatrixRoutine, seed: int = 0) -> None:
    """Execute one update of tensors, in place."""
    shared: dict[str, Any] = {}
    runs = [_WholeRun(kernel, tensor, seed, shared, call) for tensor in tensors]
    with np.errstate(all="ignore"):
        for phase in kernel.phases:
            _execute(kernel, runs, phase.instrs, shared)
            for run in runs:
                run.write()


def _execute(kernel: Kernel, runs: Sequence[_WholeRun], instrs: Iterable[Instr], shared: dict[str, Any]) -> None:
    for instr in instrs:
        match instr.op:
            case ir.Repeat() as loop:
                _turns(kernel, runs, loop, shared)
            case ir.Put(array=array, turn=turn, x=x):
                for run in runs:
                    run.locals.setdefault(array, {})[int(run.hyper[turn])] = run.value(x)
            case _:
                execute_for_all(kernel, runs, instr, shared)


def _turns(kernel: Kernel, runs: Sequence[_WholeRun], loop: ir.Repeat, shared: dict[str, Any]) -> None:
    region = loop.region
    carried = [[run.filled(v, t) for v, t in zip(loop.starts, region.takes, strict=True)] for run in runs]
    for turn in range(int(arguments.number(loop.count.expr, runs[0].hyper))):
        for run, values in zip(runs, carried, strict=True):
            run.hyper[loop.index] = float(turn)
            run.define(region.takes, values)
        _execute(kernel, runs, region.instrs, shared)
        carried = [[run.filled(v, t) for v, t in zip(region.gives, region.takes, strict=True)] for run in runs]
    for run, values in zip(runs, carried, strict=True):
        run.define(region.results, values)


class _WholeRun(KernelRun):
    """The execution for one tensor. Values of other dimensions than the parameter's have the shape of these."""

    def __init__(
        self, kernel: Kernel, tensor: TensorUpdate, seed: int, shared: dict[str, Any], call: MatrixRoutine
    ) -> None:
        own = [i.result.type.group for i in kernel.instrs() if i.result is not None]
        own += [b.group for b in kernel.buffers]
        shape = tensor.buffers["w"].shape
        known = dict.fromkeys(group for group in own if group is not None)
        self.hyper = {**tensor.hyper, **groups.sizes(known, shape, tensor.hyper)}
        super().__init__(kernel, TensorUpdate(tensor.buffers, self.hyper, tensor.t, tensor.id), seed, shared)
        self.call = call
        self.locals: dict[str, dict[int, Any]] = {}
        self.stored_as: dict[frozenset[Axis], Axes] = {frozenset(axes): axes for axes in kernel.orientation}

    def define(self, values: Sequence[Value], numbers: Sequence[Any]) -> None:
        """Give values their numbers."""
        for v, x in zip(values, numbers, strict=True):
            (self.shared if v.type.known is When.SHARED else self.values)[v.id] = x

    def filled(self, v: Value, like: Value) -> Any:
        """A value as one of a type, along whose dimensions it is repeated."""
        x = self.aligned(v, like.type)
        return np.broadcast_to(x, self.shape(like.type.axes)) if like.type.axes else x

    def aligned(self, v: Value, wanted: ir.Type) -> Any:
        """A value, so that NumPy repeats it along the other dimensions of a type."""
        x, axes = self.value(v), v.type.axes
        if len(axes) != 1 or len(wanted.axes) != 2:
            return x
        line = np.asarray(x).reshape(*self.batch, self.length(axes[0]))
        return line[..., :, None] if axes[0] == wanted.axes[0] else line[..., None, :]

    def execute(self, instr: Instr) -> None:
        op, result = instr.op, instr.result
        is_plain = result is None or not (result.type.kind is Kind.MATRIX or isinstance(op, ir.MatrixOp | ir.Reduce))
        if is_plain or isinstance(op, ir.Math):
            super().execute(instr)
        else:
            assert result is not None
            self.define([result], [self.made(op, result.type)])

    def made(self, op: ir.Op, result: ir.Type) -> Any:
        dtype = DTYPES[result.dtype]
        match op:
            case ir.MatMul(a=a, b=b):
                return self.called("product", [a, b], [], result)
            case ir.MatrixFunction(function=function, args=args, numbers=numbers):
                return self.called(function, args, [arguments.number(x.expr, self.hyper) for x in numbers], result)
            case ir.Transposed(x=x):
                return np.swapaxes(self.value(x), -1, -2)
            case ir.Triangle(kept=kept, x=x):
                return (np.triu if kept == "triu" else np.tril)(self.filled(x, x))
            case ir.Repeated(x=x):
                return np.broadcast_to(self.aligned(x, result), self.shape(result.axes))
            case ir.RepeatedDown(x=x):
                return np.swapaxes(np.broadcast_to(self.aligned(x, result), self.shape(result.axes)), -1, -2)
            case ir.Spread(x=x):
                return self.spread(x, result)
            case ir.ReduceGroups():
                return self.reduce_groups(op)
            case ir.Get(array=array, place=place):
                return self.locals.get(array, {}).get(int(self.value(place)), np.float64(0))
            case ir.Load(buffer=buffer, place=place):
                return self.load(self.kernel.buffer(buffer), None if place is None else self.value(place))
            case ir.Reduce(op=how, x=x, scope=scope):
                return self.reduced(how, x, scope)
            case ir.MatrixWord(draw=draw, held=held):
                t = self.tensor.t if held is None else int(self.value(held))
                return self.matrix_words(draw, t, result)
        return evaluate(op, [self.aligned(v, result) for v in ir.operands(op)], dtype)

    def called(self, function: str, args: Sequence[Value], numbers: Sequence[float], result: ir.Type) -> Any:
        elements = DTYPES[self.kernel.compute]
        arrays: list[Array] = [np.asarray(self.value(v), elements).reshape(self.lengths(v.type.axes)) for v in args]
        found = np.asarray(self.call(function, arrays, numbers, self.lengths(result.axes)))
        if not result.axes:
            return np.float64(found)
        return found.astype(elements).astype(DTYPES[result.dtype]).reshape(self.shape(result.axes))

    def lengths(self, axes: Axes) -> tuple[int, ...]:
        """The shape of an array of these dimensions."""
        return (*self.batch, *map(self.length, axes)) if axes else ()

    # ------------------------------------------------------------ in the order of what is stored

    def is_turned(self, axes: Axes) -> bool:
        """Whether a matrix of these dimensions is stored as its transpose."""
        return len(axes) == 2 and self.stored_as.get(frozenset(axes), axes) != axes

    def reduced(self, op: ir.ReduceOp, v: Value, scope: str) -> Any:
        x, axes = self.filled(v, v), v.type.axes
        if v.type.kind is not Kind.MATRIX:
            return self.reduce(op, scope, np.broadcast_to(x, self.shape(axes)))
        if self.is_turned(axes):
            x, axes = np.swapaxes(x, -1, -2), axes[::-1]
            scope = {"row": "col", "col": "row"}.get(scope, scope)
        if scope not in ("row", "col"):
            return self.reduce(op, scope, x.reshape(*x.shape[: -len(axes)], 1, -1) if scope == "matrix" else x[None])
        found = self.lines(op, scope, x)
        kept = v.type.axes[0] if (scope == "row") == (v.type.axes == axes) else v.type.axes[1]
        return found.reshape(self.shape((kept,)))

    def lines(self, op: ir.ReduceOp, scope: str, x: Array) -> Array:
        """The reduction of each row, or of each column, of matrices as they are stored."""
        matrices = x.reshape(-1, *x.shape[-2:])
        if scope == "row":
            return np.array([[tree_reduce(op, row) for row in m] for m in matrices])
        return np.array([column_reduce(op, m) for m in matrices])

    def matrix_words(self, draw: int, t: int, result: ir.Type) -> Any:
        axes = result.axes
        stored = axes[::-1] if self.is_turned(axes) else axes
        lengths = tuple(map(self.length, stored))
        count = int(np.prod(lengths))
        first = count * np.arange(*self.batch)[:, None] if self.batch else 0
        numbers = np.asarray(first + np.arange(count)).reshape(*self.batch, *lengths)
        return self.words_of(draw, t, np.swapaxes(numbers, -1, -2) if stored != axes else numbers)

    # ------------------------------------------------------------ groups of rows or columns

    def spread(self, v: Value, result: ir.Type) -> Any:
        group = v.type.group
        assert group is not None
        length, repeats = int(self.hyper[group.length]), int(self.hyper[group.repeats])
        x = np.asarray(self.value(v)).reshape(-1, self.length(group))
        lines = np.tile(np.repeat(x, length, -1), repeats)
        return lines.reshape(self.shape(result.axes))

    def reduce_groups(self, op: ir.ReduceGroups) -> Any:
        group = op.group
        count, length, repeats = (int(self.hyper[name]) for name in (str(group), group.length, group.repeats))
        lines = np.asarray(self.value(op.x)).reshape(-1, repeats, count, length)
        each = lines.transpose(0, 2, 1, 3).reshape(-1, count, repeats * length)
        how: ir.ReduceOp = "sum" if op.op == "mean" else op.op
        totals = _by_halves(how, each)
        if op.op == "mean":
            totals = totals / (repeats * length * arguments.number(op.each.expr, self.hyper))
        return totals.reshape(*self.batch, count)


def _by_halves(op: ir.ReduceOp, x: Array) -> Array:
    """The last axis folded: each number of the first half with one of the last, until one is left. Of none, what a
    reduction starts from."""
    n = x.shape[-1]
    if not n:
        return np.full(x.shape[:-1], ir.IDENTITY[op])
    while n > 1:
        half = n // 2
        x = np.concatenate([fold(op, x[..., :half], x[..., n - half : n]), x[..., half : n - half]], -1)
        n -= half
    return x[..., 0]
