"""Builds the plan of a variant: its kernel in stages, with the arrays between them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from optgen import ir
from optgen.axes import COLS, Axes, When
from optgen.expressions import Name, Number
from optgen.ir import Buffer, Instr, Kernel, Value, Variant
from optgen.ir.verify import verify
from optgen.model import Optimizer, Timing
from optgen.observer import Observer, ignore
from optgen.stages.dce import eliminate_dead_code
from optgen.stages.diagonals import scale_by_diagonals
from optgen.stages.epilogue import folded
from optgen.stages.levels import Block, Node
from optgen.stages.light import Light, summed_elements
from optgen.stages.lower import build_whole
from optgen.stages.orient import oriented
from optgen.stages.plan import (
    GROUPED,
    JOINT,
    PARAMETER,
    CallStage,
    CarriedValue,
    KernelStage,
    LoopStage,
    Operand,
    Plan,
    Stage,
    StageArray,
    home,
)
from optgen.stages.section import SectionBuilder, relative_axes

_STORAGE = {"f32": "float32", "f64": "float64"}


def plan(
    optimizer: Optimizer,
    variant: Variant,
    due: Collection[Timing],
    *,
    first: bool,
    folds: bool = True,
    apart: bool = False,
    observe: Observer = ignore,
) -> Plan:
    """The stages of an update with these timings; `first`: the one that starts states. With `folds`, products take in
    sweeps that only add to them, which changes no bit. `apart`: what all parameters share is computed in stages of its
    own, which plans of all variants have."""
    scaled = scale_by_diagonals(build_whole(optimizer, variant, due, first=first))
    whole = eliminate_dead_code(scaled, keeps_sums=apart)
    observe("whole", whole)
    exact = {b.name for b in whole.buffers if _is_exact(b, whole.compute)}
    grouped = {b.name for b in whole.buffers if b.group is not None and not b.entries}
    kernel, symmetric = oriented(whole, exact | grouped)
    verify(kernel)
    observe("orient", kernel)
    planner = _Planner(kernel, symmetric, variant, exact, apart=apart)
    stages = planner.plan()
    observe("cut", stages)
    if folds:
        stages = folded(stages, planner.matrices(), planner.symmetric(), planner.places)
        observe("fold", stages)
    return Plan(stages, tuple(planner.arrays.values()), planner.places)


def _is_exact(b: Buffer, compute: ir.DType) -> bool:
    """Whether a buffer is one array that keeps every bit of its values: numbers, and elements in the dtype of the
    arithmetic."""
    if b.entries or ir.is_gradient(b.name):
        return False
    return not b.axes or (b.is_element and not b.is_scale and b.format.array_dtype == _STORAGE[compute])


@dataclass
class _Section:
    """The instructions of a kernel, and what it stores in buffers of the step."""

    domain: Axes
    nodes: list[Node]
    stores: list[ir.Store] = field(default_factory=list)


class _Planner:
    """Cuts a kernel into stages. What is read by another stage than the one that makes it has an array."""

    def __init__(
        self, kernel: Kernel, symmetric: Collection[str], variant: Variant, exact: Collection[str], *, apart: bool
    ) -> None:
        """`apart`: see `plan`."""
        self.whole, self.variant, self.exact = kernel, variant, exact
        self._symmetric, self._apart = symmetric, apart
        self.buffers = {b.name: b for b in kernel.buffers}
        self.instrs = {_key(i): i for i in kernel.instrs() if _key(i)}
        self.turns: set[str] = set()
        """What loops call the numbers of their turns. Those that follow each other may call them the same."""
        self.counts: dict[str, ir.HostNumber] = {}
        """How many turns the loop has that fills an array, by the name of that."""
        self.aliases: dict[str, str] = {}
        """What loops carry, by the arrays that it is in: those of what starts them, and of what turns give."""
        for loop in (i.op for i in kernel.instrs() if isinstance(i.op, ir.Repeat)):
            region = loop.region
            puts = [i.op for i in ir.nested(region.instrs) if isinstance(i.op, ir.Put)]
            self.turns.add(loop.index)
            self.counts |= {put.array: loop.count for put in puts if put.turn == loop.index}
            self.aliases |= {v.id: x.id for v, x in zip(region.takes, loop.starts, strict=True)}
            self.aliases |= {v.id: x.id for v, x in zip(region.results, region.gives, strict=True)}
        self.stores = [i.op for i in kernel.instrs() if isinstance(i.op, ir.Store)]
        self.shared = _shared_names(kernel) if apart else {}
        """The names of what all parameters share, and of the numbers of each, which kernels of all variants have."""
        self.names: dict[str, str] = {}
        self.columns: set[str] = set()
        """The names of arrays that kernels over square matrices have as numbers of columns."""
        self.numbers = itertools.count(1)
        self.arrays: dict[str, StageArray] = {}
        self.places: dict[str, str] = {}

    def plan(self) -> tuple[Stage, ...]:
        """The stages of the whole update."""
        (phase,) = self.whole.phases
        roots = frozenset(x.value.id for x in self.stores if self.buffers[x.buffer].known is not When.HOST)
        is_light = Light(self.whole.compute, summed_elements(self.whole.instrs()) if self._apart else ())
        memory = {b.name: self._memory(b) for b in self.whole.buffers}
        return tuple(self.block(Block(phase.instrs, {}, roots, self.aliases, is_light, memory, self._apart), top=True))

    def _memory(self, buffer: Buffer) -> str:
        """The buffer that a load may read: of an entry that may be the oldest one in some turn, the history."""
        if not buffer.of:
            return buffer.name
        ids = [v.id for i in self.instrs.values() if isinstance(i.op, ir.Load) and i.op.buffer == buffer.name
               for v in ir.operands(i.op)]  # fmt: skip
        while ids:
            op = self.instrs[ids.pop()].op
            if isinstance(op, ir.Hyper) and op.name in self.turns:
                return buffer.of
            ids += [v.id for v in ir.operands(op)]
        return buffer.name

    # ------------------------------------------------------------ arrays

    def name(self, key: str) -> str:
        """The name of the array of a value: that of the spec, or a number in the order in which arrays are needed."""
        key = self.aliases.get(key, key)
        if key not in self.names:
            self.names[key] = key if key[:1].isalpha() else self.shared.get(key) or f"#{next(self.numbers)}"
        return self.names[key]

    def array(self, key: str) -> str:
        """Give a value an array, unless it has one; returns the name of that."""
        name, op = self.name(key), self.instrs[self.aliases.get(key, key)].op
        if name in self.places:
            return name
        if isinstance(op, ir.Put):
            found = StageArray(name, (), entries=self._entries(op), turn=op.turn, known=_known(op.x))
        else:
            result = self.instrs[self.aliases.get(key, key)].result
            assert result is not None
            is_narrow = op.function not in GROUPED if isinstance(op, ir.ArrayCall) else _is_narrow(op)
            found = StageArray(name, result.type.axes, is_narrow, _known(result))
        self.arrays.setdefault(name, found)
        self.columns |= {name} if isinstance(op, ir.Keep) and op.columns else set()
        return name

    def _entries(self, put: ir.Put) -> int | str:
        """How many elements an array has that a loop fills: a number, or a name."""
        count = self.counts[put.array].expr
        assert isinstance(count, Name | Number)
        return count.id if isinstance(count, Name) else int(count.value)

    # ------------------------------------------------------------ blocks

    def block(self, block: Block, *, top: bool = False) -> list[Stage]:
        sections = {at: _Section(at[1], nodes) for at, nodes in block.kernels().items()}
        self._choose_arrays(block, sections, top=top)
        if top:
            self._store_states(block, sections)
        stages: list[Stage] = []
        for level in range(max([*block.levels, *(at for at, _ in sections)], default=-1) + 1):
            stages += [self.section(block, x) for (at, _), x in sections.items() if at == level]
            stages += [self.call(block, node) for node in block.calls(level)]
        return stages

    def _choose_arrays(self, block: Block, sections: Mapping[tuple[int, Axes], _Section], *, top: bool) -> None:
        """Give an array to each value that is read by another stage than the one that makes it."""
        home = {node.key: at for at, section in sections.items() for node in section.nodes}
        for node in block.nodes:
            is_kept = isinstance(node.instr.op, ir.ArrayCall | ir.Put) or (not top and node.key in block.roots)
            is_kept |= node.key in self.shared
            if is_kept:
                self.array(node.key)
            here = home.get(node.key) if node.domain is not None else None
            for key in sorted(node.reads & block.producers.keys()):  # not in the order of hashes
                if here is None or home.get(key) != here:
                    self.array(key)

    def call(self, block: Block, node: Node) -> Stage:
        op = node.instr.op
        if isinstance(op, ir.ArrayCall):
            operands = tuple(Operand(self._operand(v), t) for v, t in zip(op.args, op.transposed, strict=True))
            numbers = tuple(x.expr for x in op.numbers)
            target = self.name(node.key)
            grouped = op.args[0].type if op.function == "spread" else op.type
            group = grouped.group if op.function in GROUPED else None
            return CallStage(op.function, operands, target, numbers, op.symmetric, op.vectors, op.turned, group)
        assert isinstance(op, ir.Repeat)
        carried = []
        for start, give in zip(op.starts, op.region.gives, strict=True):
            first, new = self.array(start.id), self.array(give.id)
            other = f"{new}~"
            self.arrays.setdefault(other, replace(self.arrays[new], key=other))
            carried.append(CarriedValue(first, new, other))
        gives = frozenset(v.id for v in op.region.gives)
        inner = Block(op.region.instrs, block.light, gives, self.aliases, block.is_light, block.buffers, block.apart)
        return LoopStage(op.count.expr, op.index or None, tuple(self.block(inner)), tuple(carried))

    def _operand(self, v: Value) -> str:
        """The array that a call reads."""
        op = self.instrs[self.aliases.get(v.id, v.id)].op
        return op.buffer if isinstance(op, ir.Load) else self.name(v.id)

    # ------------------------------------------------------------ states

    def _store_states(self, block: Block, sections: dict[tuple[int, Axes], _Section]) -> None:
        """Have each state stored where nothing reads its old value later."""
        numbers = {x.buffer: x for x in self.stores if self.buffers[x.buffer].known is When.HOST}
        levels = self._levels_of_numbers(block, numbers)
        for store in self.stores:
            name = store.buffer
            if name in numbers:
                sections.setdefault((levels[name], PARAMETER), _Section(PARAMETER, [])).stores.append(store)
            elif name not in ("copy", ir.COMPENSATION):  # these go with the weight
                self._store_state(block, sections, store)

    def _store_state(self, block: Block, sections: dict[tuple[int, Axes], _Section], store: ir.Store) -> None:
        (key,) = block.expanded([store.value.id])[0]  # the value, or that which a rounding begins with
        name, k = store.buffer, block.producers[key]
        node, level = block.nodes[k], block.levels[k]
        axes = self.buffers[name].axes
        domain = node.domain or (home(axes) if len(axes) == 1 else axes or PARAMETER)
        last = self._last_read(block, name, domain)
        is_own, is_call = name in self.exact and key == store.value.id, node.domain is None
        if is_call and is_own and not self._read_after(block, name, k):
            self._place(key, name)  # the call writes to the state itself
            return
        at = max(last, level + is_call)
        if domain == JOINT and at > level:  # behind all that is of one parameter
            at = max(block.levels) + 1
        sections.setdefault((at, domain), _Section(domain, [])).stores.append(store)
        if at > level or is_call:
            self.array(key)
        elif is_own and self.names.get(key) in self.arrays:
            self._place(key, name)

    def _place(self, key: str, buffer: str) -> None:
        """Have the value of a buffer in no other array."""
        self.places[self.name(key)] = buffer
        self.arrays.pop(self.name(key), None)

    def _levels_of_numbers(self, block: Block, numbers: Mapping[str, ir.Store]) -> dict[str, int]:
        """The levels at which states are stored whose new values every kernel can compute: none before another one
        that reads its old value."""
        levels = {name: self._last_read(block, name, PARAMETER) for name in numbers}
        for _ in numbers:
            for reader, store in numbers.items():
                for name in levels.keys() & block.expanded([store.value.id])[1]:
                    levels[name] = max(levels[name], levels[reader])
        return levels

    def _last_read(self, block: Block, name: str, domain: Axes) -> int:
        """The first level at which a kernel of these dimensions can overwrite a state."""
        last = 0
        for node, level in zip(block.nodes, block.levels, strict=True):
            if name in node.states:
                last = max(last, level + (node.domain != domain))
        return last

    def _read_after(self, block: Block, name: str, k: int) -> bool:
        """Whether call k, or what comes after it, reads the old value of a state."""
        here = block.levels[k]
        for r, node in enumerate(block.nodes):
            later = block.levels[r] > here or (block.levels[r] == here and r >= k and node.domain is None)
            if later and name in node.states:
                return True
        return False

    # ------------------------------------------------------------ kernels

    def section(self, block: Block, section: _Section) -> KernelStage:
        """The kernel of a section."""
        own = {node.key: node for node in section.nodes}
        stores = [*section.stores]
        if any(x.buffer == "w" for x in stores):
            stores += [x for x in self.stores if x.buffer in ("copy", ir.COMPENSATION)]
        ids = [v.id for node in section.nodes for v in ir.operands(node.instr.op)]
        ids += [v.id for x in stores for v in ir.operands(x)]
        light = block.definitions(ids)
        outer = block.outer(ids) - own.keys()
        kept = [key for key in own if self.names.get(key) in self.arrays]
        reads = {key: self.places.get(name := self.name(key), name) for key in sorted(outer)}
        written = {x.buffer for x in stores} | {self.name(key) for key in kept}
        loaded = {op.buffer for id in light if isinstance(op := block.light[id].op, ir.Load)}
        columns = {self.names.get(key) for key, node in own.items() if node.columns}
        found = self._in_order({*loaded, *reads.values(), *written})
        domain = PARAMETER if section.domain == JOINT else section.domain
        buffers = [self._buffer(name, domain, name in written, columns) for name in found]
        builder = SectionBuilder(self.variant, buffers, domain, reads, block.light)
        for node in section.nodes:
            builder.include(node.instr)
        builder.need(v for x in stores for v in ir.operands(x))  # all is read before anything is stored
        for store in stores:
            builder.include(Instr(None, store))
        for key in kept:
            builder.store(self.name(key), builder.values[key])
        return KernelStage(domain, verify(builder.kernel(self.whole)))

    def _in_order(self, names: Collection[str]) -> list[str]:
        """The buffers of a kernel: those of the caller first, each with its scales."""
        own = [b for b in self.buffers if b in names]
        scaled = [x for b in own for x in (b, f"{b}.scale") if x in self.buffers]
        return [*scaled, *sorted(x for x in names if x in self.arrays)]

    def _buffer(self, name: str, domain: Axes, written: bool, columns: Collection[str | None]) -> Buffer:
        """A buffer of a kernel over these dimensions."""
        if name not in self.arrays:
            buffer = self.buffers[name]
            axes = relative_axes(buffer.axes, domain)
            return replace(buffer, written=written or buffer.is_scale, axes=axes)
        array = self.arrays[name]
        is_element = len(array.axes) == 2 or (array.is_narrow and bool(array.axes))
        is_down = name in columns or (name in self.columns and domain == array.axes * 2)
        axes = COLS if is_down else relative_axes(array.axes, domain)
        storage = _STORAGE[self.whole.compute] if is_element else "float64"
        return Buffer(name, written, None, axes, storage, known=array.known, entries=array.entries, turn=array.turn)

    # ------------------------------------------------------------ what folds

    def matrices(self) -> set[str]:
        """The arrays of matrices that a call can read."""
        found = {key for key, array in self.arrays.items() if len(array.axes) == 2}
        found |= {name for name in self.exact if self.buffers[name].is_element}
        return found | {key for key, place in self.places.items() if place in found}

    def symmetric(self) -> set[str]:
        """The arrays of symmetric matrices."""
        return {name for key, name in self.names.items() if key in self._symmetric}


def _key(instr: Instr) -> str:
    """What others read of an instruction: the name of its value, or of the array of which it sets an element; empty of
    a loop and of a store."""
    if isinstance(instr.op, ir.Put):
        return instr.op.array
    return instr.result.id if instr.result is not None else ""


def _shared_names(kernel: Kernel) -> dict[str, str]:
    sums = [i for i in kernel.instrs() if isinstance(i.op, ir.ReduceOverParams)]
    found: dict[str, str] = {}
    for k, instr in enumerate(sums):
        assert isinstance(instr.op, ir.ReduceOverParams)
        assert instr.result is not None
        found |= {instr.result.id: f"#all{k}", instr.op.x.id: f"#each{k}"}
    return found


def _is_narrow(op: ir.Op) -> bool:
    return isinstance(op, ir.Keep) and op.narrow


def _known(x: Value) -> When:
    """When a number is known that a kernel has computed."""
    return When.SHARED if x.type.known is When.SHARED else When.TENSOR
