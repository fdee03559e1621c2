"""Calls of operators become steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.autograd import Node, NoGradient, age
from runtime.core.kept import root
from runtime.ndarray.elementwise import BlockGrad, identity
from runtime.ndarray.nn.dropout import _dropout_factors
from runtime.ndarray.operator import Operator
from runtime.ndarray.shape.reshape import _reshape, _reshape_copy
from runtime.ndarray.two_gradients import BackwardCall
from runtime.plan import draws, parts, products
from runtime.plan.broadcast import groups_of
from runtime.plan.capture import capture
from runtime.plan.expressions import WORK, expression, literal
from runtime.plan.places import Places
from runtime.plan.steps import Array, Buffer, ElementStep, KernelStep, PythonStep, Step, new
from runtime.plan.tape import NotTraceable, Tape

SAME = frozenset({_reshape, _reshape_copy, identity, BlockGrad})
"""Operators whose result has the elements of the input in the same order."""
RULES = products.RULES | parts.RULES | {_dropout_factors: draws.factors}


@dataclass
class Lowered:
    """The steps of a function, and of its gradient."""

    forward: list[Step]
    outputs: list[Array]
    backward: list[Step]
    gradients: list[Array | None]
    """Of the inputs; they are outputs, too, whose numbers follow those of `outputs`."""


def lower(tape: Tape) -> Lowered:
    """The steps of what is on the tape. The inputs are data, parameters, gradients of outputs, and what gradients of
    inputs are added to, in this order.

    NotTraceable where the calls do not say where an array comes from.
    """
    heads = [x for x in tape.heads if x is not None]
    given = [x._data for x in (*tape.data, *tape.parameters, *heads, *(x for _, x in tape.sums))]
    lowering = _Lowering(bool(tape.trace.effects), given)
    for x, made in tape.trace.constants:
        if not np.array_equal(x, made):
            raise NotTraceable("it writes to an array")
        lowering.places.add(x, Buffer(x.nbytes, "constant", array=x), 0)
    for call in sorted([*tape.forward, *tape.trace.outside], key=age):
        lowering.call(call)
    outputs = [lowering.result(x._data, i) for i, x in enumerate(tape.outputs)]
    forward = lowering.take()
    for call in tape.backward:
        lowering.call(call)
    gradients = [None if x is None else lowering.result(x._data, i) for i, x in enumerate(tape.gradients, len(outputs))]
    return Lowered(forward, outputs, lowering.take(), gradients)


class _Lowering:
    """The steps so far, and where the traced arrays are. `has_effects`: a parameter may change on the way."""

    def __init__(self, has_effects: bool, inputs: Sequence[np.ndarray]) -> None:
        self.has_effects = has_effects
        self.places = Places()
        self.steps: list[Step] = []
        for i, x in enumerate(inputs):
            self.places.add(x, Buffer(x.nbytes, "input", i), 0)

    def take(self) -> list[Step]:
        steps, self.steps = self.steps, []
        return steps

    def call(self, node: Node) -> None:
        """Append the steps of a call."""
        operator = node.operator.operator if isinstance(node.operator, NoGradient) else node.operator
        if not isinstance(operator, (Operator, BackwardCall)):
            raise NotTraceable(f"it calls {type(operator).__name__}, which is Python of its own")
        if not node.ctx.on_cpu:
            raise NotTraceable("its arrays are on a GPU")
        if not node.parents and any(isinstance(x, np.ndarray) and not self.places.find(x) for x in node.inputs):
            if not operator.pure:
                raise NotTraceable(f"{operator.name} draws numbers for what is not used")
            return  # nothing of this function's: whoever uses the result says so
        if not _is_plain(node.attrs):
            raise NotTraceable(f"{operator.name} depends on the values of an array")
        inputs = [self.place(x, operator.name) if isinstance(x, np.ndarray) else x for x in node.inputs]
        results = node.output if type(node.output) is tuple else () if node.output is None else (node.output,)
        if any(isinstance(x, np.ndarray) and not x.size for x in (*node.inputs, *results)):
            raise NotTraceable(f"{operator.name} has an array without elements")
        if operator in SAME and not (self.has_effects and inputs[0].buffer.kind == "input"):
            self._bind(results[0], inputs[0])
        elif not (results and self._are_views(results)):
            self._compute(operator, node, inputs, results)

    def _compute(self, operator: Any, node: Node, inputs: list[Any], results: Sequence[Any]) -> None:
        rule = RULES.get(operator)
        outputs = rule(self.steps, inputs, node.attrs, results) if rule else None
        if outputs is None:
            outputs = self._elements(operator, inputs, node.attrs, results)
        if outputs is None and results and operator.pure and operator.repeats:
            outputs = self._kernels(operator, node)
        if outputs is None:
            outputs = [None if x is None else new(x.shape, x.dtype) for x in results]
            self.steps.append(PythonStep(operator.forward, inputs, node.attrs, list(outputs), not operator.pure))
        for x, place in zip(results, outputs, strict=True):
            if x is not None:
                self._bind(x, place)

    # ------------------------------------------------------------ where arrays are

    def place(self, x: np.ndarray, what: str) -> Array:
        found = self.places.find(x)
        if found is None or not x.flags.c_contiguous:
            raise NotTraceable(f"{what} uses an array that no operator has computed")
        return Array(*found, x.shape, x.dtype)

    def _bind(self, x: np.ndarray, place: Array) -> None:
        if self.places.find(x) is None:
            self.places.add(x, place.buffer, place.offset)

    def _are_views(self, results: Sequence[Any]) -> bool:
        """Whether the results are in memory that is known: an operator has returned a part of its input."""
        return all(x is not None and x.flags.c_contiguous and self.places.find(x) is not None for x in results)

    def result(self, x: np.ndarray, i: int) -> Array:
        """Output i, in a buffer that is its own, and is written by the steps so far."""
        place = self.place(x, "its output")
        buffer = place.buffer
        is_own = any(buffer in step.writes for step in self.steps)
        if is_own and buffer.kind == "block" and buffer.nbytes == place.nbytes:
            buffer.kind, buffer.index = "output", i
            return place
        copy = Array(Buffer(place.nbytes, "output", i), 0, place.shape, place.dtype)
        self.steps.append(PythonStep(np.copy, [place], {}, [copy]))
        return copy

    # ------------------------------------------------------------ kinds of steps

    def _elements(
        self, operator: Any, inputs: list[Any], attrs: Mapping[str, Any], results: Sequence[Any]
    ) -> list[Array | None] | None:
        """An expression of single elements, if the operator is one."""
        text = expression(operator, attrs, len(inputs))
        if text is None or results[0].dtype.char not in "fd":
            return None
        shape, dtype = results[0].shape, results[0].dtype
        operands: list[Array | str] = []
        for i, x in enumerate(inputs):
            if f"{{{i}}}" not in text:
                operands.append("0.0")
                continue
            operand = x if isinstance(x, Array) else literal(x) if x is not None else "0.0"
            if operand is None or (isinstance(operand, Array) and operand.dtype != dtype):
                return None
            operands.append(operand)
        if groups_of(shape, [x.shape for x in operands if isinstance(x, Array)]) is None:
            return None
        output = new(shape, dtype)
        self.steps.append(ElementStep(output, operands, text, WORK.get(operator, 1)))
        return [output, *[None] * (len(results) - 1)]

    def _kernels(self, operator: Any, node: Node) -> list[Array | None] | None:
        """The calls of kernels that the operator consists of, if it does."""
        if not any(isinstance(x, np.ndarray) and x.dtype.char in "fd" for x in node.inputs):
            return None
        captured = capture(operator.forward, node.inputs, node.attrs)
        if captured is None:
            return None
        outputs, calls = captured
        for call in calls:
            for x in call.results(node.inputs):
                if self.places.find(root(x)) is None:
                    self.places.add(root(x), Buffer(root(x).nbytes), 0)
        for call in calls:
            written = [id(x) for x in call.results(node.inputs)]
            places = [self._argument(x) for x in call.arguments]
            pairs = [(x, p) for x, p in zip(call.arguments, places, strict=True) if isinstance(p, Array)]
            reads, writes = [p.buffer for _, p in pairs], [p.buffer for x, p in pairs if id(x) in written]
            dtype = call.arguments[0].dtype
            step = KernelStep(call.kernel, call.tasks, call.work, places, reads, writes, dtype, call.scratch)
            self.steps.append(step)
        return [None if x is None else self.place(x, operator.name) for x in outputs]

    def _argument(self, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        found = self.places.find(x)
        if found is None:  # what the operator has made of sizes
            self.places.add(x, Buffer(x.nbytes, "constant", array=x), 0)
            found = self.places.find(x)
            assert found is not None
        return Array(*found, x.shape, x.dtype)


def _is_plain(attrs: Any) -> bool:
    """Whether attributes hold no NumPy array: such ones have been computed from values that may be others next time."""
    if isinstance(attrs, dict):
        return all(map(_is_plain, attrs.values()))
    return all(map(_is_plain, attrs)) if isinstance(attrs, (tuple, list)) else not isinstance(attrs, np.ndarray)
