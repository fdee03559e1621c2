"""Splits a kernel into phases: passes over the elements (sweeps), and computations on smaller values between them.

A reduction over elements forces a split, because its result is known only when its sweep ends. Values smaller than
elements are computed once, as early as possible, and kept. Elements are not kept. If two sweeps need the same element,
the second one recomputes it from the streams, or reads it back from the state it was stored to if that kept every bit.
Where the caller has given the gradients away, a value is kept in their place, if that pays (`choose_temporary`).

Each state may be stored in the first sweep that knows its new value, or in the last one (`place_stores`). The plan that
reads the fewest bytes is taken. If there are too many plans to try, it is the best one that a search finds. A reduction
that is not needed at once is taken by a later sweep that reads its operand anyway (`deferred`), if that saves bytes.

Reductions per row or per column have sweeps of their own, which go row by row: the blocks of other reductions, and the
blocks of codes, do not end where rows end. Where blocks of codes do end with rows, the sweeps of other reductions store
no codes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr, Kernel, Phase, Value
from optgen.passes.defer_reductions import deferred
from optgen.passes.place_stores import Choice, place_stores
from optgen.passes.temporaries import choose_temporary

PHASE_OF_KIND: dict[Kind, ir.PhaseKind] = {
    Kind.SHARED: "shared",
    Kind.TENSOR: "scalar",
    Kind.ROW: "row",
    Kind.COL: "col",
    Kind.ELEM: "sweep",
}


def plan_sweeps(kernel: Kernel) -> Kernel:
    """[host, update] -> [host, (shared | scalar | row | col | sweep)*], without a sweep where nothing needs one."""
    plans = [schedule.phases() for schedule in schedules(kernel)]
    phases = (kernel.phases[0], *min(plans, key=lambda plan: _cost(kernel, plan)))
    stored = {i.op.buffer for p in phases for i in p.instrs if isinstance(i.op, ir.Store)}
    given = [replace(b, written=b.name in stored) if ir.is_gradient(b.name) else b for b in kernel.buffers]
    return replace(kernel, phases=phases, buffers=tuple(given))


def schedules(kernel: Kernel) -> list[_Schedule]:
    """The schedules of [host, update]: with every reduction in the first sweep that can have it, and with some in later
    ones."""
    host, update = kernel.phases
    known = frozenset(i.result.id for i in host.instrs if i.result is not None)
    first = _Schedule(kernel, update.instrs, known)
    later = deferred(update.instrs, first.reductions, first.known)
    return [first, _Schedule(kernel, update.instrs, known, later)] if later else [first]


def _cost(kernel: Kernel, phases: list[Phase]) -> tuple[int, float]:
    """Sweeps, and the bytes of an element that they read."""
    sweeps = [p for p in phases if p.kind == "sweep"]
    return len(sweeps), sum(read_bytes(kernel, i.op) for p in sweeps for i in p.instrs)


def read_bytes(kernel: Kernel, op: ir.Op) -> float:
    """The bytes that an operation reads for each element. All plans write the same bytes."""
    return kernel.buffer(op.buffer).format.bits / 8 if isinstance(op, ir.Load) else 0


@dataclass
class _Schedule:
    """The phases in order, with None in the place of each sweep, and the reductions of each sweep. Those in `later`
    wait for the sweep of that number."""

    kernel: Kernel
    instrs: tuple[Instr, ...]
    host: frozenset[str]
    later: Mapping[str, int] = field(default_factory=dict)
    timeline: list[Phase | None] = field(default_factory=list)
    reductions: list[list[Instr]] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)  # a smaller value -> the number of sweeps before it is known
    needs: dict[str, frozenset[str]] = field(default_factory=dict)  # an element -> the smaller values it depends on
    stores: list[ir.Store] = field(default_factory=list)  # of elements

    def __post_init__(self) -> None:
        self.known |= dict.fromkeys(self.host, 0)
        for instr in self.instrs:
            if instr.result is not None and instr.result.type.kind is Kind.ELEM:
                self.needs[instr.result.id] = frozenset().union(*map(self.needs_of, ir.operands(instr.op)))
        pending = [i for i in self.instrs if self.phase_of(i) != "sweep" or isinstance(i.op, ir.Reduce)]
        while pending:
            taken = self.small_phase(pending) or self.next_reductions(pending)
            assert taken, f"nothing can be computed first: {pending}"
            done = set(map(id, taken))
            pending = [i for i in pending if id(i) not in done]
        ops = [i.op for i in self.instrs if isinstance(i.op, ir.Store)]
        self.stores = [op for op in ops if self.kernel.buffer(op.buffer).kind is Kind.ELEM]
        self.add_last_sweep()

    def needs_of(self, v: Value) -> frozenset[str]:
        """The smaller values that v depends on, except those known from the start."""
        return self.needs[v.id] if v.type.kind is Kind.ELEM else frozenset({v.id}) - self.host

    def phase_of(self, instr: Instr) -> ir.PhaseKind:
        op = instr.op
        if isinstance(op, ir.Store):
            return PHASE_OF_KIND[self.kernel.buffer(op.buffer).kind]
        if isinstance(op, ir.Reduce):
            return PHASE_OF_KIND[op.x.type.kind]
        assert instr.result is not None
        return PHASE_OF_KIND[instr.result.type.kind]

    def small_phase(self, pending: list[Instr]) -> list[Instr]:
        """Append the next phase without elements, if one is ready. Returns its instructions."""
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
                self.mark_known(taken)
                return taken
        return []

    def next_reductions(self, pending: list[Instr]) -> list[Instr]:
        """Append a sweep with all reductions that are ready; those per row or per column go first, by themselves."""
        ready = [
            i for i in pending if isinstance(i.op, ir.Reduce) and self.needs.get(i.op.x.id, {""}) <= self.known.keys()
        ]
        due = [i for i in ready if i.result is None or self.later.get(i.result.id, 0) <= len(self.reductions)] or ready
        taken = [i for i in due if _reduces_lines(i)] or due
        self.timeline.append(None)
        self.reductions.append(taken)
        self.mark_known(taken)
        return taken

    def mark_known(self, instrs: list[Instr]) -> None:
        self.known |= {i.result.id: len(self.reductions) for i in instrs if i.result is not None}

    # ------------------------------------------------------------ sweeps

    def phases(self) -> list[Phase]:
        sweep = iter(self.sweeps())
        return [next(sweep) if phase is None else phase for phase in self.timeline]

    def sweeps(self) -> list[Phase]:
        """The sweeps, one for each None of the timeline."""
        plan = self.plan() if self.stores else {}
        bodies = [self.sweep_body(plan, k) for k in range(len(self.reductions))]
        for buffer in self.kernel.buffers:
            if ir.is_gradient(buffer.name) and buffer.written:
                bodies = self.with_temporary(bodies, buffer)
        return [Phase("sweep", _with_own_names(body, k)) for k, body in enumerate(bodies)]

    def with_temporary(self, bodies: list[tuple[Instr, ...]], buffer: ir.Buffer) -> list[tuple[Instr, ...]]:
        """The sweeps with a value kept in the place of a donated gradient, if that pays."""
        computable = [self.computable(body, k) for k, body in enumerate(bodies)]
        kept = choose_temporary(bodies, computable, buffer, partial(read_bytes, self.kernel))
        if kept is None:
            return bodies
        store, load = Instr(None, ir.Store(buffer.name, kept.value)), ir.Load(buffer.name)
        later = [
            tuple(replace(i, op=load) if i.result == kept.value else i for i in body)
            for body in bodies[kept.sweep + 1 :]
        ]
        return [*bodies[: kept.sweep], *map(_live, [(*computable[kept.sweep], store), *later])]

    def computable(self, body: tuple[Instr, ...], sweep: int) -> tuple[Instr, ...]:
        """A sweep, and behind it all other elements that it can compute from what it reads."""
        found = {i.result.id for i in body if i.result is not None}
        more: list[Instr] = []
        for instr in self.instrs:
            v, op = instr.result, instr.op
            if v is None or v.type.kind is not Kind.ELEM or v.id in found or isinstance(op, ir.Load | ir.Word):
                continue
            if self.first_sweep(v) <= sweep and all(x.id in found for x in ir.operands(op) if x.type.kind is Kind.ELEM):
                found.add(v.id)
                more.append(instr)
        return (*body, *more)

    def first_sweep(self, v: Value) -> int:
        """The first sweep that can compute an element."""
        return max((self.known[x] for x in self.needs_of(v)), default=0)

    def can_code(self, sweep: int) -> bool:
        """Whether a sweep can store codes in blocks: it has their blocks whole."""
        reductions = self.reductions[sweep] if sweep < len(self.reductions) else []
        return not (reductions if self.kernel.by_row else any(map(_reduces_lines, reductions)))

    def add_last_sweep(self) -> None:
        """Append a last sweep if those of the reductions cannot store everything."""
        last = max([len(self.reductions) - 1, *(self.first_sweep(s.value) for s in self.stores)])
        coded = any(self.kernel.buffer(s.buffer).is_quantized for s in self.stores)
        last += coded and not self.can_code(last)
        for _ in range(len(self.reductions), last + 1):
            self.timeline.append(None)
            self.reductions.append([])

    def earliest(self, store: ir.Store) -> int:
        sweep = self.first_sweep(store.value)
        while self.kernel.buffer(store.buffer).is_quantized and not self.can_code(sweep):
            sweep += 1
        return sweep

    def plan(self) -> Mapping[str, int]:
        """Buffer -> the sweep that stores it."""
        last = len(self.reductions) - 1
        early = {store: sweep for store in self.stores if (sweep := self.earliest(store)) < last}
        roots = [[v for i in reductions for v in ir.operands(i.op)] for reductions in self.reductions]
        roots[last] += [s.value for s in self.stores if s not in early]
        choices = [Choice(s, sweep, self.is_exact(s.buffer)) for s, sweep in early.items()]
        placed = place_stores(self.instrs, roots, choices, partial(read_bytes, self.kernel))
        return dict.fromkeys((s.buffer for s in self.stores), last) | placed

    def is_exact(self, buffer: str) -> bool:
        """Whether the buffer keeps every bit of what is stored."""
        return self.kernel.buffer(buffer).format.is_exact(self.kernel.compute)

    def sweep_body(self, plan: Mapping[str, int], sweep: int) -> tuple[Instr, ...]:
        """The instructions of one sweep: its reductions and stores, and what they need. Values that were stored with
        every bit are read back."""
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
                instr = Instr(instr.result, read_back[instr.result.id], instr.span)
            else:
                assert not (isinstance(instr.op, ir.Load) and instr.op.buffer in gone), "the old value is gone"
            needed.update(v.id for v in ir.operands(instr.op))
            kept.append(instr)
        return tuple(reversed(kept))

    def read_back(self, gone: Collection[str]) -> Mapping[str, ir.Load]:
        """The elements that these buffers hold with every bit, and how they are read."""
        ops = [i.op for i in self.instrs if isinstance(i.op, ir.Store)]
        kept = [op for op in ops if op.buffer in gone and self.is_exact(op.buffer)]
        return {op.value.id: ir.Load(op.buffer, op.place) for op in kept}


def _reduces_lines(instr: Instr) -> bool:
    return isinstance(instr.op, ir.Reduce) and instr.op.scope != "all"


def _live(instrs: tuple[Instr, ...]) -> tuple[Instr, ...]:
    """What stores and reductions depend on."""
    return ir.live(instrs, [i.result for i in instrs if i.result is not None and isinstance(i.op, ir.Reduce)])


def _with_own_names(instrs: tuple[Instr, ...], sweep: int) -> tuple[Instr, ...]:
    """Elements are private to a sweep, so all sweeps but the first rename theirs."""
    if sweep == 0:
        return instrs

    def rename(v: Value) -> Value:
        return replace(v, id=f"{v.id}@{sweep}") if v.type.kind is Kind.ELEM else v

    return tuple(
        Instr(None if i.result is None else rename(i.result), ir.with_operands(i.op, rename), i.span) for i in instrs
    )
