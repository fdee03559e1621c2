"""Cuts a kernel into phases. A reduction over elements cuts hardest: what needs its result waits for a later sweep.

Values smaller than elements are computed once, as early as they can be, and kept. Elements are not kept: what two
sweeps need is either recomputed from the streams or read back from the state it was stored to, if that kept every bit.
Each state may be stored in the first sweep that knows its new value or in the last one (`place_stores`). The plan that
reads the fewest bytes is taken, or, of very many plans, the best one that a search finds.

Reductions per row or per column have sweeps of their own, which go row by row: the blocks of all other reductions, and
those of 8-bit codes, do not end where rows end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from optgen import ir
from optgen.ir import Instr, Kernel, Phase, Value
from optgen.model import Kind
from optgen.passes.place_stores import Choice, place_stores

SMALL: dict[Kind, ir.PhaseKind] = {
    Kind.SHARED: "shared",
    Kind.TENSOR: "scalar",
    Kind.ROW: "row",
    Kind.COL: "col",
    Kind.ELEM: "sweep",
}


def plan_sweeps(kernel: Kernel) -> Kernel:
    """[host, update] -> [host, (shared | scalar | row | col | sweep)*], without a sweep where nothing needs one."""
    host, update = kernel.phases
    schedule = _Schedule(kernel, update.instrs, frozenset(i.result.id for i in host.instrs if i.result is not None))
    sweep = iter(schedule.sweeps())
    phases = [next(sweep) if phase is None else phase for phase in schedule.timeline]
    return replace(kernel, phases=(host, *phases))


@dataclass
class _Schedule:
    """The small phases in order, with None where a sweep comes, and what each sweep reduces."""

    kernel: Kernel
    instrs: tuple[Instr, ...]
    host: frozenset[str]
    timeline: list[Phase | None] = field(default_factory=list)
    reductions: list[list[Instr]] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)  # a smaller value -> the sweeps done before it is known
    needs: dict[str, frozenset[str]] = field(default_factory=dict)  # an element -> the smaller values it depends on

    def __post_init__(self) -> None:
        self.known |= dict.fromkeys(self.host, 0)
        for instr in self.instrs:
            if instr.result is not None and instr.result.type.kind is Kind.ELEM:
                self.needs[instr.result.id] = frozenset().union(*map(self.needs_of, ir.operands(instr.op)))
        pending = [i for i in self.instrs if self.phase_of(i) != "sweep" or isinstance(i.op, ir.Reduce)]
        while pending:
            taken = self.small_phase(pending) or self.sweep(pending)
            assert taken, f"nothing can be computed first: {pending}"
            done = set(map(id, taken))
            pending = [i for i in pending if id(i) not in done]

    def needs_of(self, v: Value) -> frozenset[str]:
        """Of the smaller values those that are not known from the start."""
        return self.needs[v.id] if v.type.kind is Kind.ELEM else frozenset({v.id}) - self.host

    def phase_of(self, instr: Instr) -> ir.PhaseKind:
        op = instr.op
        if isinstance(op, ir.Store):
            return SMALL[self.kernel.buffer(op.buffer).kind]
        if isinstance(op, ir.Reduce):
            return SMALL[op.x.type.kind]
        assert instr.result is not None
        return SMALL[instr.result.type.kind]

    def small_phase(self, pending: list[Instr]) -> list[Instr]:
        """The next phase that goes over no elements, if one can."""
        for kind in ("shared", "scalar", "row", "col"):
            taken: list[Instr] = []
            here: set[str] = set()
            for instr in pending:
                ready = all(v.id in self.known or v.id in here for v in ir.operands(instr.op))
                if ready and self.phase_of(instr) == kind:
                    taken.append(instr)
                    if instr.result is not None and not isinstance(instr.op, ir.Reduce):
                        here.add(instr.result.id)
            if taken:
                self.timeline.append(Phase(kind, tuple(taken)))
                self.learn(taken)
                return taken
        return []

    def sweep(self, pending: list[Instr]) -> list[Instr]:
        """The reductions of the next sweep: all that can be, but per row and per column ones by themselves."""
        ready = [
            i for i in pending if isinstance(i.op, ir.Reduce) and self.needs.get(i.op.x.id, {""}) <= self.known.keys()
        ]
        taken = [i for i in ready if _is_matrix(i)] or ready
        self.timeline.append(None)
        self.reductions.append(taken)
        self.learn(taken)
        return taken

    def learn(self, instrs: list[Instr]) -> None:
        self.known |= {i.result.id: len(self.reductions) for i in instrs if i.result is not None}

    # ------------------------------------------------------------ sweeps

    def sweeps(self) -> list[Phase]:
        """What stands where the timeline has None. It is made longer where the sweeps of the reductions cannot store
        everything."""
        ops = [i.op for i in self.instrs if isinstance(i.op, ir.Store)]
        stores = [op for op in ops if self.kernel.buffer(op.buffer).kind is Kind.ELEM]
        self.finish(stores)
        plan = self.plan(stores) if stores else {}
        return [Phase("sweep", self.swept(plan, k)) for k in range(len(self.reductions))]

    def level(self, v: Value) -> int:
        """The first sweep that can compute an element."""
        return max((self.known[x] for x in self.needs_of(v)), default=0)

    def goes_by_rows(self, sweep: int) -> bool:
        return sweep < len(self.reductions) and any(map(_is_matrix, self.reductions[sweep]))

    def finish(self, stores: list[ir.Store]) -> None:
        """Add the last sweep, where the reductions' own ones cannot store everything."""
        last = max([len(self.reductions) - 1, *(self.level(s.value) for s in stores)])
        coded = any(self.kernel.buffer(s.buffer).is_quantized for s in stores)
        last += coded and self.goes_by_rows(last)
        for _ in range(len(self.reductions), last + 1):
            self.timeline.append(None)
            self.reductions.append([])

    def earliest(self, store: ir.Store) -> int:
        sweep = self.level(store.value)
        while self.kernel.buffer(store.buffer).is_quantized and self.goes_by_rows(sweep):
            sweep += 1
        return sweep

    def plan(self, stores: list[ir.Store]) -> Mapping[str, int]:
        """Buffer -> the sweep that stores it."""
        last = len(self.reductions) - 1
        early = {store: sweep for store in stores if (sweep := self.earliest(store)) < last}
        roots = [[v for i in reductions for v in ir.operands(i.op)] for reductions in self.reductions]
        roots[last] += [s.value for s in stores if s not in early]
        choices = [Choice(s, sweep, self.is_exact(s.buffer)) for s, sweep in early.items()]
        placed = place_stores(self.instrs, roots, choices, self.weight)
        return dict.fromkeys((s.buffer for s in stores), last) | placed

    def is_exact(self, buffer: str) -> bool:
        """Whether what is stored there keeps every bit."""
        return self.kernel.buffer(buffer).format.is_exact(self.kernel.compute)

    def weight(self, op: ir.Op) -> float:
        """The bytes of an element that an operation reads. What is written is the same in all plans."""
        return self.kernel.buffer(op.buffer).format.bytes if isinstance(op, ir.Load) else 0

    def swept(self, plan: Mapping[str, int], sweep: int) -> tuple[Instr, ...]:
        """What one sweep computes: its reductions and stores, and all they need that is not read back from a state."""
        gone = {buffer for buffer, at in plan.items() if at < sweep}
        read_back = self.read_back(gone)
        reduced = {i.result for i in self.reductions[sweep]}
        needed: set[str] = set()
        kept: list[Instr] = []
        for instr in reversed(self.instrs):
            if isinstance(instr.op, ir.Store):
                root = plan.get(instr.op.buffer) == sweep
            elif isinstance(instr.op, ir.Reduce):
                root = instr.result in reduced
            else:
                assert instr.result is not None
                root = instr.result.id in needed and instr.result.type.kind is Kind.ELEM
            if not root:
                continue
            if instr.result is not None and instr.result.id in read_back:
                instr = Instr(instr.result, ir.Load(read_back[instr.result.id]))
            else:
                assert not (isinstance(instr.op, ir.Load) and instr.op.buffer in gone), "the old value is gone"
            needed.update(v.id for v in ir.operands(instr.op))
            kept.append(instr)
        return _local(tuple(reversed(kept)), sweep)

    def read_back(self, gone: Collection[str]) -> Mapping[str, str]:
        """Elements that stand in a buffer to the last bit."""
        ops = [i.op for i in self.instrs if isinstance(i.op, ir.Store)]
        return {op.value.id: op.buffer for op in ops if op.buffer in gone and self.is_exact(op.buffer)}


def _is_matrix(instr: Instr) -> bool:
    return isinstance(instr.op, ir.Reduce) and instr.op.scope != "all"


def _local(instrs: tuple[Instr, ...], sweep: int) -> tuple[Instr, ...]:
    """Elements are private to a sweep: the second and later ones give theirs names of their own."""
    if sweep == 0:
        return instrs

    def rename(v: Value) -> Value:
        return replace(v, id=f"{v.id}@{sweep}") if v.type.kind is Kind.ELEM else v

    return tuple(Instr(None if i.result is None else rename(i.result), ir.with_operands(i.op, rename)) for i in instrs)
