"""The living definition of the IR: a kernel executed with NumPy, one tensor at a time.

Runs kernels at any stage between build and backend, so that every pass can be compared with what it started from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optgen.ir import nodes as ir
from optgen.ir.expand import expand
from optgen.ir.nodes import BLOCK, LANES, Instr, Kernel, Op

DTYPES: dict[str, type] = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "b1": np.bool_}
COMPARE = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
INT = {"add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}

Array = np.ndarray[Any, Any]


def interpret(kernel: Kernel, buffers: Mapping[str, Array], hyper: Mapping[str, float], t: int) -> None:
    """One update of one tensor, in place: `buffers` by name, of one shape and the kernel's dtype; `t` counts from 1.

    `hyper` holds the kernel's hyper-parameters, NaN for an unset one. Nothing happens to an empty tensor.
    """
    flat = {b.name: buffers[b.name].reshape(-1) for b in kernel.buffers}
    if flat["w"].size == 0:
        return
    run = _Run(flat, hyper, t)
    with np.errstate(all="ignore"):
        for phase in kernel.phases:
            run.phase(phase.instrs)


class _Run:
    def __init__(self, flat: Mapping[str, Array], hyper: Mapping[str, float], t: int) -> None:
        self.flat = flat
        self.hyper = hyper
        self.t = t
        self.values: dict[str, Any] = {}

    def phase(self, instrs: tuple[Instr, ...]) -> None:
        stores: list[tuple[Array, Array]] = []
        for instr in instrs:
            if isinstance(instr.op, ir.Store):
                target = self.flat[instr.op.buffer]
                stores.append((target, np.array(self.values[instr.op.value.id], target.dtype)))
            else:
                self.define(instr)
        for target, value in stores:
            target[:] = value

    def define(self, instr: Instr) -> None:
        assert instr.result is not None
        if isinstance(instr.op, ir.Math):
            for step in expand(instr):
                self.define(step)
        else:
            self.values[instr.result.id] = self.evaluate(instr.op, DTYPES[instr.result.type.dtype])

    def evaluate(self, op: Op, dtype: type) -> Any:
        match op:
            case ir.Const(value=x) | ir.IntConst(value=x):
                return dtype(x)
            case ir.Hyper(name=name):
                return np.float64(self.hyper[name])
            case ir.Count():
                return np.float64(self.t)
            case ir.Size():
                return np.float64(self.flat["w"].size)
            case ir.Load(buffer=buffer):
                return self.flat[buffer].copy()
            case ir.Reduce(op=reduce, x=x):
                return tree_reduce(reduce, np.broadcast_to(self.values[x.id], self.flat["w"].size))
        return _elementwise(op, [self.values[v.id] for v in ir.operands(op)], dtype)


def _elementwise(op: Op, args: list[Any], dtype: type) -> Any:
    match op:
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
        case ir.Convert():
            return args[0].astype(dtype)
        case ir.Bits():
            return args[0].view(np.int64)
        case ir.FromBits():
            return args[0].view(np.float64)
        case ir.Int(op=name):
            return INT[name](*args)
        case ir.Shift(op=name, by=by):
            shift = np.left_shift if name == "shl" else np.right_shift
            return shift(args[0].view(np.uint64), np.uint64(by)).view(np.int64)
    raise TypeError(f"no meaning for {op!r}")


def tree_reduce(op: ir.ReduceOp, x: Array) -> np.float64:
    """The fixed tree: a lane in index order, lanes by halves, blocks pairwise; absent elements are skipped."""
    start = {"sum": 0.0, "max": -np.inf, "min": np.inf}[op]
    blocks = []
    for begin in range(0, x.size, BLOCK):
        lanes = np.full(LANES, start)
        for row in range(begin, min(begin + BLOCK, x.size), LANES):
            present = x[row : min(row + LANES, x.size)]
            lanes[: present.size] = _fold(op, lanes[: present.size], present)
        while lanes.size > 1:
            half = lanes.size // 2
            lanes = _fold(op, lanes[:half], lanes[half:])
        blocks.append(lanes[0])
    while len(blocks) > 1:
        pairs = [_fold(op, a, b) for a, b in zip(blocks[::2], blocks[1::2], strict=False)]
        blocks = pairs + blocks[len(pairs) * 2 :]
    return np.float64(blocks[0])


def _fold(op: ir.ReduceOp, a: Any, b: Any) -> Any:
    if op == "sum":
        return np.add(a, b)
    return np.where((a != a) | (a > b if op == "max" else a < b), a, b)[()]
