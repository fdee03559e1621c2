"""What stages compute wherever it is read, rather than once for an array that others read."""

from __future__ import annotations

from optgen import ir
from optgen.ir import Instr, Value

_MADE = (ir.Reduce, ir.ReduceOverParams, ir.ArrayCall, ir.Keep, ir.Put, ir.Repeat, ir.Store)


class Light:
    """Says of the instructions of a kernel, one after the other, whether their values are light. Such are

    - numbers, vectors, conditions and integers that are computed from others, and what buffers hold;
    - elements in another dtype than that of their arithmetic, which have no array;
    - elements of the gradients alone, without elementary functions: to read the gradients takes no longer than to read
      the elements, and saves writing them;
    - elements of numbers and vectors alone, under the same condition;
    - what a rounding loses, and the weight with it: they are computed where the weight is stored.
    """

    def __init__(self, compute: ir.DType) -> None:
        self._compute = compute
        self._given: set[str] = set()
        """Elements of the gradients and of smaller kinds alone."""
        self._lost: set[str] = set()
        """Elements that depend on what was lost before."""

    def __call__(self, instr: Instr) -> bool:
        op, result = instr.op, instr.result
        if isinstance(op, _MADE) or result is None:
            return False
        if not result.type.is_element:
            return True
        elements = [v for v in ir.operands(op) if v.type.is_element]
        if any(v.id in self._lost for v in elements) or (isinstance(op, ir.Load) and op.buffer == ir.COMPENSATION):
            self._lost.add(result.id)
            return True
        if isinstance(op, ir.Load):
            self._given |= {result.id} if ir.is_gradient(op.buffer) else set()
            return True
        if not isinstance(op, ir.Math | ir.Word) and all(v.id in self._given for v in elements):
            self._given.add(result.id)
            return True
        return result.type.dtype != self._compute

    def is_lost(self, x: Value) -> bool:
        """Whether a value depends on what the last rounding lost."""
        return x.id in self._lost
