"""Makes multiplications of elements of products with diagonal matrices: of `diag(v)@A` and `A@diag(v)`, also by names.

A finite result has the bits of the product: it is rounded once, and no zero is negative, as a sum begins with 0. What
an identity multiplies is left as it is. An infinity or a NaN of A stays in its element, where sums with 0 times it
would fill a row or a column with NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from optgen import ir
from optgen.axes import Axes
from optgen.diagnostics import Span
from optgen.ir import Instr, Kernel, Value
from optgen.ir.expand import InstrBuilder
from optgen.ir.verify import typed, verify


def scale_by_diagonals(kernel: Kernel) -> Kernel:
    """A whole kernel in which rows, columns or elements are multiplied by numbers where it multiplied a matrix or a
    vector and a diagonal matrix: `diag` of a vector, an identity, a multiple, a transpose or a product of such ones.
    The diagonal matrices are left to dead code elimination."""
    (phase,) = kernel.phases
    instrs = _Scaling(kernel.compute).block(phase.instrs)
    return verify(replace(kernel, phases=(replace(phase, instrs=instrs),)))


class _Scaling(InstrBuilder):
    def __init__(self, compute: ir.DType) -> None:
        self.compute = compute
        self.instrs: list[Instr] = []
        self.diagonals: dict[str, Value | None] = {}
        """The vectors of diagonal matrices, by the names of these; of one with equal elements their number, and None of
        an identity."""
        self.same: dict[str, Value] = {}
        """What stands for products with identities."""
        self.span: Span | None = None
        self.names = itertools.count()

    def emit(self, op: ir.Op, /, *, wanted: ir.DType = "f64") -> Value:
        made = typed(op, f"@{next(self.names)}", wanted)
        self.instrs.append(Instr(made, op, self.span))
        return made

    # ------------------------------------------------------------ instructions

    def block(self, instrs: Iterable[Instr]) -> tuple[Instr, ...]:
        outer, self.instrs = self.instrs, []
        for instr in instrs:
            self.span = instr.span
            op = self.replaced(ir.with_operands(instr.op, self.known), instr.result)
            if op is not None:
                self.instrs.append(replace(instr, op=op))
        made, self.instrs = tuple(self.instrs), outer
        return made

    def known(self, x: Value) -> Value:
        return self.same.get(x.id, x)

    def replaced(self, op: ir.Op, result: Value | None) -> ir.Op | None:
        """What computes a result, behind the instructions that are added for it; None if another value is the same."""
        match op:
            case ir.Repeat(region=region):
                body = self.block(region.instrs)
                return replace(op, region=replace(region, instrs=body, gives=tuple(map(self.known, region.gives))))
            case ir.MatrixFunction(function="diag", args=(v,)) if len(v.type.axes) == 1 and v.type.group is None:
                self.note(result, v)
            case ir.MatrixFunction(function="identity", dims=(rows, cols)) if rows == cols:
                self.note(result, None)
            case ir.Transposed(x=x) if x.id in self.diagonals:
                self.note(result, self.diagonals[x.id])
            case ir.Mul() | ir.Div(b=Value(type=ir.Type(axes=()))) | ir.Neg():
                self.note_multiple(op, result)
            case ir.MatMul(a=a, b=b) if self.is_identity(a) or self.is_identity(b):
                return self.times_one(b if self.is_identity(a) else a, result)
            case ir.MatMul(a=a, b=b) if a.id in self.diagonals and b.id in self.diagonals:
                return self.diagonal(a, b, result)
            case ir.MatMul(a=a, b=b) if b.id in self.diagonals:
                return self.scaled(a, self.diagonals[b.id], columns=True)
            case ir.MatMul(a=a, b=b) if a.id in self.diagonals:
                return self.scaled(b, self.diagonals[a.id], columns=False)
        return op

    def note(self, matrix: Value | None, diagonal: Value | None) -> None:
        assert matrix is not None
        self.diagonals[matrix.id] = diagonal

    def note_multiple(self, op: ir.Op, result: Value | None) -> None:
        """A diagonal matrix and numbers make one."""
        found = [v for v in ir.operands(op) if v.type.axes]
        if len(found) == 1 and found[0].id in self.diagonals:
            diagonal = self.diagonals[found[0].id]
            one = self.element(diagonal) if diagonal is not None else self.emit(ir.Const(1.0), wanted=self.compute)
            multiple = self.emit(ir.with_operands(op, lambda v: one if v.type.axes else v))
            self.note(result, multiple if self.compute == "f64" else self.emit(ir.Convert(multiple)))

    def is_identity(self, x: Value) -> bool:
        return self.diagonals.get(x.id, x) is None

    # ------------------------------------------------------------ products

    def times_one(self, x: Value, result: Value | None) -> ir.Op | None:
        """A matrix, which is the same one, or a vector, which is rounded to the dtype of elements."""
        assert result is not None
        if x.type.dtype != self.compute:
            return ir.Convert(self.element(x))
        self.same[result.id] = x
        return None

    def diagonal(self, a: Value, b: Value, result: Value | None) -> ir.Op:
        """The product of two diagonal matrices, whose diagonal is known, too."""
        left, right = self.diagonals[a.id], self.diagonals[b.id]
        assert left is not None and right is not None and result is not None
        product = self.emit(self.scaled(left, right, columns=False))
        self.note(result, product)
        if not product.type.axes:
            return self.scaled(b, left, columns=False)
        return ir.MatrixFunction("diag", (product,), (), result.type.axes)

    def scaled(self, x: Value, by: Value | None, *, columns: bool) -> ir.Op:
        """The rows, the `columns` or the elements of x times these numbers, in the dtype of elements; of a vector,
        these as doubles."""
        assert by is not None
        y = self.mul(self.element(x), self.element(self.along(by, x.type.axes, columns=columns)))
        total = ir.Add(y, self.emit(ir.Const(0.0), wanted=self.compute))
        return total if x.type.is_element or self.compute == "f64" else ir.Convert(self.emit(total))

    def along(self, v: Value, axes: Axes, *, columns: bool) -> Value:
        """A vector with a number for each row or column of a matrix, or for each element of a vector."""
        is_square = bool(v.type.axes) and axes[:1] == axes[1:]
        return self.emit(ir.RepeatedDown(v, axes)) if columns and is_square else v

    def element(self, x: Value) -> Value:
        return x if x.type.dtype == self.compute else self.emit(ir.Convert(x))
