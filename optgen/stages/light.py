"""What stages compute wherever it is read, rather than once for an array that others read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

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
    - what a rounding loses, and the weight with it: they are computed where the weight is stored;
    - elements that are computed `again`, by their names.
    """

    def __init__(self, compute: ir.DType, again: Collection[str] = ()) -> None:
        self._compute, self._again = compute, again
        self._given: set[str] = set()
        """Elements of the gradients and of smaller kinds alone."""
        self._lost: set[str] = set()
        """Elements that depend on what was lost before."""

    def __call__(self, instr: Instr) -> bool:
        op, result = instr.op, instr.result
        if isinstance(op, _MADE) or result is None:
            return False
        if not result.type.is_element or result.id in self._again:
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


def summed_elements(instrs: Iterable[Instr]) -> set[str]:
    """The elements of the arrays of a step that all parameters sum, and those that these are computed from.

    Between the sum and what reads them next, other parameters are updated: an array would be one for each parameter.
    What a call reads has an array in any case.
    """
    listed = list(instrs)
    made = {i.result.id: i for i in listed if i.result is not None}
    called = {v.id for i in listed if isinstance(i.op, ir.ArrayCall | ir.Put | ir.Repeat) for v in ir.operands(i.op)}
    totals = {i.op.x.id for i in made.values() if isinstance(i.op, ir.ReduceOverParams)}
    pending = [i.op.x for id in totals if id in made and isinstance((i := made[id]).op, ir.Reduce)]
    read: set[str] = set()
    while pending:
        x = pending.pop()
        if x.type.is_element and x.id not in read and x.id in made:
            read.add(x.id)
            pending += [] if isinstance(made[x.id].op, _MADE) else ir.operands(made[x.id].op)
    found: set[str] = set()
    for id, instr in made.items():  # each behind what it reads
        is_array = id in called or isinstance(instr.op, (*_MADE, ir.Word))
        if id in read and not is_array and all(v.id in found for v in ir.operands(instr.op) if v.type.is_element):
            found.add(id)
    return found
