"""Takes a sweep that only adds to a product into the product: `Y' = a*Y + P`, where nothing else reads P.

`linalg.product` computes `alpha*product + beta*z` with the bits of a product and a sweep, and saves a pass over memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optgen import ir
from optgen.diagnostics import Span
from optgen.expressions import Binary, Expr, Name, Number, Unary
from optgen.ir import Kernel, Value
from optgen.stages.plan import PARAMETER_SIZES, CallStage, KernelStage, LoopStage, Operand, Stage, walk_stages

_NOWHERE = Span(0, 0, 0)
_SIZES = {own: name for name, own in PARAMETER_SIZES.items()}
"""The sizes of a parameter, by their names in kernels over other matrices."""
_ONE = Number(1.0, "1", _NOWHERE)
_OPERATORS: Mapping[type[ir.Op], str] = {ir.Add: "+", ir.Sub: "-", ir.Mul: "*"}
Term = tuple[Expr, str]
"""A factor, and the key of the array that it multiplies."""


def folded(
    stages: Sequence[Stage], matrices: Collection[str], symmetric: Collection[str], places: Mapping[str, str]
) -> tuple[Stage, ...]:
    """The stages with such sweeps in the place of their products. `matrices` are the keys of matrices that a call can
    read and write, `symmetric` those of symmetric ones, and `places` the buffers of keys that have no array."""
    read = Counter(key for stage in walk_stages(tuple(stages)) for key in _reads(stage))
    turns = {x.index for x in walk_stages(tuple(stages)) if isinstance(x, LoopStage) and x.index}
    return _Fold(read, matrices, symmetric, places, turns).stages(stages)


@dataclass(frozen=True)
class _Fold:
    """`read` has how many stages read each array."""

    read: Counter[str]
    matrices: Collection[str]
    symmetric: Collection[str]
    places: Mapping[str, str]
    turns: Collection[str]

    def stages(self, stages: Sequence[Stage]) -> tuple[Stage, ...]:
        found: list[Stage] = []
        for stage in stages:
            if isinstance(stage, LoopStage):
                found.append(replace(stage, body=self.stages(stage.body)))
                continue
            made = self.sum(stage, found) if isinstance(stage, KernelStage) else None
            if made is None:
                found.append(stage)
            else:
                place, call = made
                found[place] = call
        return tuple(found)

    def sum(self, stage: KernelStage, before: Sequence[Stage]) -> tuple[int, CallStage] | None:
        """The product that a kernel only adds to, by its number among the stages before, and what takes its place."""
        added = _sum(stage.kernel, self.turns)
        if added is None or added[0] not in self.matrices:
            return None
        key, terms = added
        for k in reversed(range(len(before))):
            call = before[k]
            if not isinstance(call, CallStage) or call.function != "product" or call.vectors or len(call.operands) > 2:
                continue
            (alpha, product), (beta, z) = terms if terms[0][1] == call.target else terms[::-1]
            if product != call.target or z == product or z not in self.matrices or self.read[product] > 1:
                continue
            known = all(self.memory(z) not in map(self.memory, _writes(later)) for later in before[k:])
            known &= self._is_free(key, z, before[k:])
            if known and (not call.symmetric or {key, z} <= {*self.symmetric}):
                return k, replace(call, operands=(*call.operands, Operand(z)), target=key, numbers=(alpha, beta))
        return None

    def _is_free(self, key: str, z: str, stages: Sequence[Stage]) -> bool:
        """Whether stages, the first of which is to write to an array, know nothing of it but that."""
        known = {z}.union(*(_reads(x) | _writes(x) for x in walk_stages(tuple(stages))))
        return self.memory(key) not in map(self.memory, known)

    def memory(self, key: str) -> str:
        """Where the value of a key is."""
        return self.places.get(key, key)


def _sum(kernel: Kernel, turns: Collection[str]) -> tuple[str, tuple[Term, Term]] | None:
    """What a kernel stores, if that is `a*X + b*Y` alone, and the two terms. The numbers of `turns` are no factors, as
    those of calls are known before the step."""
    (phase,) = kernel.phases
    stores = [i.op for i in phase.instrs if isinstance(i.op, ir.Store)]
    if len(stores) != 1 or stores[0].place is not None:
        return None
    made = {i.result: i.op for i in phase.instrs if i.result is not None}
    if any(isinstance(op, ir.Hyper) and op.name in turns for op in made.values()):
        return None
    op = made[stores[0].value]
    if not isinstance(op, ir.Add | ir.Sub):
        return None
    left, right = _term(op.a, made), _term(op.b, made)
    if left is None or right is None:
        return None
    return stores[0].buffer, (left, right if isinstance(op, ir.Add) else (Unary("-", right[0], _NOWHERE), right[1]))


def _term(x: Value, made: Mapping[Value, ir.Op]) -> Term | None:
    match made[x]:
        case ir.Load(buffer=buffer, place=None) if x.type.is_element:
            return _ONE, buffer
        case ir.Mul(a=a, b=b):
            factor, of = (a, made[b]) if b.type.is_element else (b, made[a])
            number = _number(factor, made)
            if number is not None and isinstance(of, ir.Load) and of.place is None:
                return number, of.buffer
    return None


def _number(x: Value, made: Mapping[Value, ir.Op]) -> Expr | None:
    """A number that is known before the step, and needs no function."""
    match made[x]:
        case ir.Const(value=value):
            short = str(np.float32(value)) if value == np.float32(value) else repr(value)
            return Number(value, short.removesuffix(".0"), _NOWHERE)
        case ir.Hyper(name=name):
            return Name(_SIZES.get(name, name), False, _NOWHERE)
        case ir.Convert(x=of):
            return _number(of, made)
        case ir.Neg(x=of):
            number = _number(of, made)
            return None if number is None else Unary("-", number, _NOWHERE)
        case ir.Add(a=a, b=b) | ir.Sub(a=a, b=b) | ir.Mul(a=a, b=b) as op:
            left, right = _number(a, made), _number(b, made)
            if left is not None and right is not None and x.type.dtype == "f64":
                return Binary(_OPERATORS[type(op)], left, right, _NOWHERE)
    return None


def _reads(stage: Stage) -> set[str]:
    match stage:
        case KernelStage(kernel=kernel):
            return {i.op.buffer for i in kernel.instrs() if isinstance(i.op, ir.Load)}
        case CallStage(operands=operands):
            return {x.key for x in operands}
        case LoopStage(carried=carried):
            return {key for x in carried for key in (x.start, x.new)}


def _writes(stage: Stage) -> set[str]:
    match stage:
        case KernelStage(kernel=kernel):
            return {i.op.buffer for i in kernel.instrs() if isinstance(i.op, ir.Store)}
        case CallStage(target=target):
            return {target}
        case LoopStage(carried=carried):
            return {x.new for x in carried}
