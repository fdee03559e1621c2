"""The sweep in which each state is stored: early, in the first one that knows its new value, or late, in the last one.

Once a state is stored, its old value is gone. If the storage keeps every bit, later sweeps read the new value back
instead of computing it again. The choices therefore depend on one another, and n of them make 2^n plans.

With at most MAX_EXHAUSTIVE choices, every plan is evaluated. With more, a local search starts from the plan in which
all are late. A move changes one choice, or the choices of all states that need one stream: these may save together what
none of them saves alone. A move is taken if the plan becomes cheaper, or if it costs the same and stores an earlier
state early. Evaluating a plan takes time linear in n.

Sets are integers with one bit for each member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr, Value

MAX_EXHAUSTIVE = 8
"""The largest number of choices of which every plan is evaluated."""

ReadCost = Callable[[ir.Op], float]
"""The cost of an operation in a sweep."""


@dataclass(frozen=True)
class Choice:
    """A store, in sweep `early` or in the last one, which is later. `exact`: the value can be read back."""

    op: ir.Store
    early: int
    exact: bool


def place_stores(
    instrs: Sequence[Instr], roots: Sequence[Sequence[Value]], choices: Sequence[Choice], read_cost: ReadCost
) -> dict[str, int]:
    """Buffer -> the sweep that stores it. `roots[k]` is what sweep k computes in any plan."""
    plans = _Plans(instrs, roots, choices, read_cost)
    late = plans.best()
    return {c.op.buffer: plans.last if late & bit else c.early for bit, c in plans.choices.items()}


@dataclass(frozen=True)
class _Need:
    """What a value is computed from: operations that cost, and values that may be read back instead."""

    ops: int = 0
    values: int = 0

    def __or__(self, other: _Need) -> _Need:
        return _Need(self.ops | other.ops, self.values | other.values)


@dataclass(frozen=True)
class _Kept:
    """A value that is read back at a `cost` after one of the choices `holders` has stored it. Until then it is computed
    from `need`."""

    holders: int
    cost: float
    need: _Need


class _Plans:
    """A plan is the set of the choices that are late. The first choice is the highest bit, so the smaller of two
    numbers is the plan that stores the earlier states early."""

    def __init__(
        self, instrs: Sequence[Instr], roots: Sequence[Sequence[Value]], choices: Sequence[Choice], read_cost: ReadCost
    ) -> None:
        self.last, self.read_cost = len(roots) - 1, read_cost
        self.choices = {1 << k: c for k, c in zip(reversed(range(len(choices))), choices, strict=True)}
        self.all = sum(self.choices)
        self.stored_at, self.gone_at = [0] * len(roots), [0] * len(roots)
        self.holders: dict[str, int] = {}  # value -> the choices that keep it
        for bit, c in self.choices.items():
            self.stored_at[c.early] |= bit
            for k in range(c.early + 1, len(roots)):
                self.gone_at[k] |= bit
            if c.exact:
                self.holders[c.op.value.id] = self.holders.get(c.op.value.id, 0) | bit
        self.costs: dict[int, float] = {}  # operation -> its cost
        self.loads: dict[str, int] = {}  # buffer -> the operations that load it
        self.kept: dict[int, _Kept] = {}
        self.needs: dict[str, _Need] = {}  # element -> what it takes to have it
        for instr in instrs:
            if instr.result is not None and instr.result.type.kind is Kind.ELEM:
                self.needs[instr.result.id] = self.learn(instr.result, instr.op)
        self.roots = [self.need(values) for values in roots]
        self.new = {bit: self.need([c.op.value]) for bit, c in self.choices.items()}
        self.old = {bit: self.loads.get(c.op.buffer, 0) for bit, c in self.choices.items()}
        self.judged: dict[tuple[int, int, int], float] = {}

    def learn(self, result: Value, op: ir.Op) -> _Need:
        need, cost = self.need(ir.operands(op)), self.read_cost(op)
        if cost:
            bit = 1 << len(self.costs)
            self.costs[bit] = cost
            need |= _Need(ops=bit)
            if isinstance(op, ir.Load):
                self.loads[op.buffer] = self.loads.get(op.buffer, 0) | bit
        holders = self.holders.get(result.id)
        if holders is None:
            return need
        read_back = ir.Load(self.choices[holders & -holders].op.buffer)
        bit = 1 << len(self.kept)
        self.kept[bit] = _Kept(holders, self.read_cost(read_back), need)
        return _Need(values=bit)

    def need(self, values: Iterable[Value]) -> _Need:
        """What these values are computed from. Those smaller than elements are known before a sweep and cost
        nothing."""
        return reduce(_Need.__or__, (self.needs.get(v.id, _Need()) for v in values), _Need())

    # ------------------------------------------------------------ the search

    def best(self) -> int:
        if len(self.choices) <= MAX_EXHAUSTIVE:
            return min(range(self.all + 1), key=self.cost)
        moves = [*self.choices, *self.sharing()]
        best, before = (self.cost(self.all), self.all), None
        while best != before:
            before = best
            for move in moves:
                for late in (best[1] & ~move, best[1] | move):
                    best = min(best, (self.cost(late), late))
        return best[1]

    def sharing(self) -> Iterator[int]:
        """For each operation that costs, the choices whose values need it."""
        taken = {bit: self.taken(need, 0)[1] for bit, need in self.new.items()}
        for op in self.costs:
            yield sum(bit for bit, ops in taken.items() if ops & op)

    def cost(self, late: int) -> float:
        """The cost of a plan: infinite if a sweep needs an old value that is gone."""
        early = self.all & ~late
        sweeps = ((k, early & self.gone_at[k], early & self.stored_at[k]) for k in range(self.last))
        return sum(map(self.judge, sweeps)) + self.judge((self.last, early, late))

    def judge(self, sweep: tuple[int, int, int]) -> float:
        """The cost of a sweep, by its number, the choices that were stored before it, and those that are in it."""
        if sweep not in self.judged:
            k, gone, stored = sweep
            need = reduce(_Need.__or__, (self.new[bit] for bit in set_bits(stored)), self.roots[k])
            cost, ops = self.taken(need, gone)
            lost = reduce(int.__or__, (self.old[bit] for bit in set_bits(gone)), 0)
            self.judged[sweep] = math.inf if ops & lost else cost + sum(self.costs[op] for op in set_bits(ops))
        return self.judged[sweep]

    def taken(self, need: _Need, gone: int) -> tuple[float, int]:
        """The cost of reading values back, and the operations that remain."""
        cost, ops, pending, seen = 0.0, need.ops, need.values, 0
        while pending:
            bit = pending & -pending
            seen |= bit
            kept = self.kept[bit]
            if kept.holders & gone:
                cost += kept.cost
            else:
                ops |= kept.need.ops
                pending |= kept.need.values
            pending &= ~seen
        return cost, ops


def set_bits(x: int) -> Iterator[int]:
    """The members of a set, each as a set of its own."""
    while x:
        yield x & -x
        x &= x - 1
