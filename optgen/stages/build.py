"""Builds the plan of a variant: its equations in stages, with the arrays between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from optgen import ir
from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, children, walk, with_children
from optgen.functions.table import is_draw
from optgen.groups import is_group
from optgen.ir import Buffer, Variant
from optgen.ir.buffers import buffers
from optgen.lang.dimensions import ValueKind
from optgen.lang.kinds import base_names, infer_values, kind_of
from optgen.model import AXES, DIMENSIONS, Equation, Kind, Optimizer, Program, Timing
from optgen.observer import Observer, ignore
from optgen.stages.cut import Block, carried_by, produced, substituted
from optgen.stages.entries import conflicts, entries_read, filled_arrays, renamed
from optgen.stages.fold import folded
from optgen.stages.live import live
from optgen.stages.normalize import ARRAY, Element, Node, Normalizer, Orientation, Turns, is_array, names_of
from optgen.stages.plan import (
    GROUPED,
    PARAMETER,
    Axes,
    CallStage,
    KernelStage,
    LoopStage,
    Plan,
    Stage,
    StageArray,
    home,
)

_NOWHERE = Span(0, 0, 0)


def plan(
    optimizer: Optimizer,
    variant: Variant,
    due: Collection[Timing],
    *,
    first: bool,
    folds: bool = True,
    observe: Observer = ignore,
) -> Plan:
    """The stages of an update with these timings; `first`: the one that starts states. With `folds`, products take in
    sweeps that only add to them, which changes no bit."""
    builder = _Builder(optimizer, variant, due, first=first, folds=folds)
    made = builder.plan(observe)
    if any(builder.is_condition(array.key) for array in made.arrays):
        return _Builder(optimizer, variant, due, first=first, folds=folds, numeric=True).plan(observe)
    return made


class _Builder:
    def __init__(
        self,
        optimizer: Optimizer,
        variant: Variant,
        due: Collection[Timing],
        *,
        first: bool,
        folds: bool,
        numeric: bool = False,
    ) -> None:
        """`numeric`: named conditions are numbers, which stages can hand to each other."""
        self.compute, self.folds = ir.COMPUTE[variant.dtype], folds
        self.compensates = variant.weights == "kahan"
        self.known_numbers = {*optimizer.all_params, *DIMENSIONS}
        program = live(optimizer.program(variant.flags, due=due))
        late = [s for s in program.states if first and optimizer.starts_in(s, variant.flags)]
        starts = [(s, x) for s in late if (x := optimizer.start(s)) is not None]
        began = tuple(Equation(_started(Name(s.name, False, s.span)), x, s.span) for s, x in starts)
        self.started = {s.name for s, _ in starts}
        later = tuple(replace(e, value=self._after_start(e.value)) for e in program.equations)
        self.filled = {f"{name}{ARRAY}": array for name, array in filled_arrays(program).items()}
        self.program = renamed(Program(program.optimizer, program.flags, program.states, (*began, *later)))
        self.aliases = conflicts(self.program.equations)
        own: dict[str, ValueKind | None] = {_started(Name(s.name, False, s.span)).key: kind_of(s) for s, _ in starts}
        known = base_names(optimizer, program.states) | own
        self.kinds = infer_values(self.program, dict(known), _never) | own
        if numeric:
            self.program = replace(self.program, equations=tuple(map(self._numeric, self.program.equations)))
            self.kinds = infer_values(self.program, dict(known), _never) | own
        self.kinds |= {x.key: self.kinds[x.id] for x in entries_read(self.program.equations)}
        self.buffers = {b.name: b for b in buffers(optimizer, variant, program)}
        self.gradients = [b.name for b in self.buffers.values() if ir.is_gradient(b.name)]
        self.states = {"w": PARAMETER} | {s.name: s.axes for s in program.states}
        self.orientation = Orientation()
        for axes in self.states.values():
            self.orientation.of(axes)
        self.arrays: dict[str, StageArray] = {}
        self.places: dict[str, str] = {}

    def plan(self, observe: Observer) -> Plan:
        exact = {b.name for b in self.buffers.values() if self.is_exact(b.name)} - {*self.gradients}
        grouped = {s.name for s in self.program.states if any(map(is_group, s.dims)) and not s.entries}
        normalizer = Normalizer(self.kinds, self.orientation, frozenset(exact | grouped), self.program.equations)
        nodes = normalizer.run(self.program.equations)
        observe("normalize", nodes)
        self.carried = frozenset(normalizer.carried)
        roots = frozenset(f"{name}'" for name in self.states if not self._is_host(name)) - normalizer.same.keys()
        stages = self.block(Block(nodes, {}, roots | self.carried), top=True)
        observe("cut", stages)
        matrices = {key for key, array in self.arrays.items() if len(array.axes) == 2}
        matrices |= {name for name in exact if len(self.states.get(name, PARAMETER)) == 2}
        matrices |= {key for key, place in self.places.items() if place in matrices}
        symmetric = normalizer.symmetric & (matrices | exact)
        final = folded(stages, matrices, symmetric, lambda x: self._is_number(x)) if self.folds else tuple(stages)
        observe("fold", final)
        return Plan(final, tuple(self.arrays.values()), self.places)

    def _is_host(self, name: str) -> bool:
        """Whether a state is a number of the host, which any kernel can compute again."""
        return name in self.buffers and self.buffers[name].kind is Kind.HOST

    def _is_number(self, expr: Expr) -> bool:
        """Whether an expression is known before the step, and needs no function: what arguments of calls can be."""
        names = (e.key for e in walk(expr) if isinstance(e, Name))
        plain = all(
            isinstance(e, Number | Name | Unary) or (isinstance(e, Binary) and e.op in "+-*") for e in walk(expr)
        )
        return plain and all(name in self.known_numbers for name in names)

    def _after_start(self, expr: Expr) -> Expr:
        """An expression with the values that states start from."""
        if isinstance(expr, Name):
            return _started(expr) if expr.id in self.started and not expr.primed else expr
        return with_children(expr, [self._after_start(x) for x in children(expr)])

    def is_condition(self, key: str) -> bool:
        value = self.kinds.get(key)
        return value is not None and value.condition

    def _numeric(self, equation: Equation) -> Equation:
        """An equation in which conditions that have names are numbers: 1 where they hold, and 0 elsewhere."""
        value = self._compared(equation.value)
        if self.is_condition(equation.target.key):
            one, zero = (Number(x, f"{x:g}", _NOWHERE) for x in (1.0, 0.0))
            value = Call("where", (value, one, zero), None, _NOWHERE)
        return replace(equation, value=value)

    def _compared(self, expr: Expr) -> Expr:
        if isinstance(expr, Name) and self.is_condition(expr.key):
            return Binary("!=", expr, Number(0.0, "0", expr.span), expr.span)
        return with_children(expr, [self._compared(x) for x in children(expr)])

    def is_exact(self, name: str) -> bool:
        """Whether a buffer is one array that keeps every bit of its values: numbers, and elements in the dtype of the
        arithmetic."""
        b, axes = self.buffers[name], self.states.get(name, PARAMETER)
        if b.entries:
            return False
        return not axes or (len(axes) == 2 and not b.is_scale and b.format.array_dtype == _STORAGE[self.compute])

    def axes(self, key: str) -> Axes:
        """The dimensions of a value, in the orientation of its array."""
        kind = self.kinds[key]
        assert kind is not None
        return self.orientation.of(kind.axes)

    # ------------------------------------------------------------ blocks

    def block(self, block: Block, *, top: bool = False) -> list[Stage]:
        kernels = {at: _Kernel(at[1], list(own.values())) for at, own in block.kernels().items()}
        home = {k: at for at, own in block.kernels().items() for k in own}
        self._choose_arrays(block, home)
        if top:
            self._store_states(block, kernels)
        stages: list[Stage] = []
        for level in range(max([*block.levels, *(at for at, _ in kernels)], default=-1) + 1):
            stages += [self.section(block, x) for (at, _), x in kernels.items() if at == level]
            stages += [self.call(block, block.nodes[k]) for k in block.calls(level)]
        return stages

    def _choose_arrays(self, block: Block, home: dict[int, tuple[int, Axes]]) -> None:
        """Give an array to each value that is read by another stage than the one that makes it."""
        for node in block.nodes:
            if not isinstance(node, Element):
                for key in produced(node) if isinstance(node, CallStage) else carried_by(node):
                    self.array(key, call=_is_narrow(node))
            elif node.key in block.roots and node.key.removesuffix("'") not in self.states:
                self.array(node.key)
        for r, node in enumerate(block.nodes):
            for key in block.reads(node) & block.producers.keys():
                k = block.producers[key]
                if home.get(k) is None or home.get(k) != home.get(r):
                    made = block.nodes[k]
                    self.array(key, call=_is_narrow(made))

    def array(self, key: str, *, call: bool = False) -> None:
        value, filled = self.kinds[key], self.filled.get(key)
        is_shared = value is not None and value.kind is Kind.SHARED
        more = (filled.entries, filled.turn) if filled is not None else ("", "")
        self.arrays.setdefault(key, StageArray(key, self.axes(key), call, *more, is_shared))

    def call(self, block: Block, node: Node) -> Stage:
        if isinstance(node, CallStage):
            return replace(node, numbers=tuple(substituted(x, block.light) for x in node.numbers))
        assert isinstance(node, Turns)
        carried = carried_by(node)
        pairs = []
        for key in carried:
            first = key.removesuffix("'")
            self.array(first)
            self.array(key)
            self.arrays.setdefault(f"{key}~", replace(self.arrays[key], key=f"{key}~"))
            pairs.append((first, key))
        body = self.block(Block(node.nodes, block.light, frozenset(carried) | self.carried | self.filled.keys()))
        return LoopStage(substituted(node.loop.count, block.light), node.loop.index, tuple(body), tuple(pairs))

    # ------------------------------------------------------------ states

    def _store_states(self, block: Block, kernels: dict[tuple[int, Axes], _Kernel]) -> None:
        """Have each state stored where nothing reads its old value later."""
        light = self._levels_of_numbers(block)
        for name, axes in self.states.items():
            key = f"{name}'"
            if name in light:
                kernels.setdefault((light[name], PARAMETER), _Kernel(PARAMETER, [])).stores.append((name, key))
            if key not in block.producers:
                continue
            k = block.producers[key]
            node, level = block.nodes[k], block.levels[k]
            domain = node.domain if isinstance(node, Element) else home(axes) if len(axes) == 1 else axes or PARAMETER
            last = self._last_read(block, name, domain)
            if isinstance(node, CallStage) and self.is_exact(name) and not self._read_after(block, name, k):
                self.places[key] = name  # the call writes to the state itself
                self.arrays.pop(key, None)
                continue
            at = max(last, level + (not isinstance(node, Element)))
            kernel = kernels.setdefault((at, domain), _Kernel(domain, []))
            kernel.stores.append((name, key))
            if at > level or not isinstance(node, Element):
                self.array(key, call=_is_narrow(node))
            elif key in self.arrays and self.is_exact(name):
                self.places[key] = name
                del self.arrays[key]

    def _levels_of_numbers(self, block: Block) -> dict[str, int]:
        """The levels at which states are stored whose new values every kernel can compute: none before another one
        that reads its old value."""
        names = [name for name in self.states if f"{name}'" in block.light]
        levels = {name: self._last_read(block, name, PARAMETER) for name in names}
        for _ in names:
            for reader in names:
                for node in block.definitions({f"{reader}'"}):
                    for name in levels.keys() & set(names_of(node.value)):
                        levels[name] = max(levels[name], levels[reader])
        return levels

    def _last_read(self, block: Block, name: str, domain: Axes) -> int:
        """The first level at which a kernel of these dimensions can overwrite a state."""
        last = 0
        for r, node in enumerate(block.nodes):
            if name in self._states_read(block, node):
                same = isinstance(node, Element) and node.domain == domain
                last = max(last, block.levels[r] + (not same))
        return last

    def _states_read(self, block: Block, node: Node) -> set[str]:
        """What a node reads; of an entry that may be the oldest one, the history."""
        return {self.aliases.get(key, key) for key in block.reads(node)}

    def _read_after(self, block: Block, name: str, k: int) -> bool:
        """Whether call k, or what comes after it, reads the old value of a state."""
        here = block.levels[k]
        for r, node in enumerate(block.nodes):
            later = block.levels[r] > here or (block.levels[r] == here and r >= k and not isinstance(node, Element))
            if later and name in self._states_read(block, node):
                return True
        return False

    # ------------------------------------------------------------ kernels

    def section(self, block: Block, kernel: _Kernel) -> KernelStage:
        own = {node.key: node for node in kernel.nodes}
        named = {key for node in kernel.nodes for key in names_of(node.value)} | {key for _, key in kernel.stores}
        light = {node.key: node for node in block.definitions(named)}
        order = _ordered(own | light)
        equations = tuple(Equation(_named(x.key), self._drawn(x.value, kernel.domain), _NOWHERE) for x in order)
        weights = [("copy", key) for name, key in kernel.stores if name == "w" and "copy" in self.buffers]
        stored = [*kernel.stores, *weights, *((key, key) for key in own if key in self.arrays)]
        needed = {key for node in order for key in names_of(node.value)} | {key for _, key in stored}
        outer = needed - own.keys() - light.keys()
        reads = [(k, self.places.get(k, k)) for k in sorted(outer) if k in self.arrays or k in self.places]
        written = {name for name, _ in stored}
        compensated = {ir.COMPENSATION} if self.compensates and "w" in written else set()
        names = self._streams(outer) | {place for _, place in reads} | written | compensated
        columns = {key for key, node in own.items() if node.columns}
        found = [self._buffer(name, kernel.domain, name in written, columns) for name in self._in_order(names)]
        by_name = {b.name: b for b in found}
        views = dict.fromkeys((x.key, x.id) for x in entries_read(tuple(equations)) if is_array(x))
        found += [replace(by_name[array], name=key, of=array, written=False) for key, array in views]
        keys = own.keys() | light.keys() | outer | {x.key for x in entries_read(equations)}
        known = sorted(keys & self.kinds.keys())
        return KernelStage(
            kernel.domain,
            equations,
            tuple(found),
            tuple(reads),
            tuple(stored),
            tuple((k, Kind.COL if k in columns else self._relative(k, kernel.domain)) for k in known),
        )

    def _drawn(self, value: Expr, domain: Axes) -> Expr:
        """The value of a node, where a draw has the dimensions that it has in a kernel over these."""
        if not isinstance(value, Call) or not is_draw(value):
            return value
        kind = _relative_kind(self.orientation.of(value.dims or PARAMETER), domain, Kind.ELEM)
        return replace(value, dims=() if kind is Kind.ELEM else AXES[kind])

    def _streams(self, keys: Iterable[str]) -> set[str]:
        """The buffers of the caller that keys are read from."""
        found = set()
        for key in keys:
            if key in ("g", "grad"):
                found |= set(self.gradients)
            elif key in self.buffers and key not in self.arrays:
                found.add(key)
        return found

    def _in_order(self, names: Collection[str]) -> list[str]:
        """The buffers of a kernel: those of the caller first, each with its scales."""
        own = [b for b in self.buffers if b in names]
        scaled = [x for b in own for x in (b, f"{b}.scale") if x in self.buffers]
        return [*scaled, *sorted(x for x in names if x in self.arrays)]

    def _buffer(self, name: str, domain: Axes, written: bool, columns: Collection[str]) -> Buffer:
        """A buffer of a kernel over these dimensions."""
        if name not in self.arrays:
            buffer = self.buffers[name]
            kind = _relative_kind(self.states.get(buffer.memory, PARAMETER), domain, buffer.kind)
            return replace(buffer, written=written or buffer.is_scale, kind=kind, dims=(), starts_late=False)
        array = self.arrays[name]
        is_element = len(array.axes) == 2 or (array.is_narrow and bool(array.axes))
        kind = Kind.COL if name in columns else self._relative(name, domain, held=True)
        storage = _STORAGE[self.compute] if is_element else "float64"
        return Buffer(name, written, kind=kind, storage=storage, entries=array.entries, turn=array.turn)

    def _relative(self, key: str, domain: Axes, *, held: bool = False) -> Kind:
        """The kind of a value in a kernel over these dimensions."""
        value = self.kinds[key]
        assert value is not None
        kind = Kind.TENSOR if held and value.kind is not Kind.SHARED else value.kind
        return _relative_kind(self.axes(key), domain, kind)


def _is_narrow(node: Node) -> bool:
    """Whether a vector that a node makes has the dtype of elements. The values of rows and columns are doubles."""
    if isinstance(node, CallStage):
        return node.function not in GROUPED
    return isinstance(node, Element) and node.narrow


def _started(state: Name) -> Name:
    """The value that a state starts from."""
    return replace(state, id=f"{state.id}.start")


@dataclass
class _Kernel:
    """The nodes of a kernel, and the states that it stores, as pairs of a buffer and a key."""

    domain: Axes
    nodes: list[Element]
    stores: list[tuple[str, str]] = field(default_factory=list)


_STORAGE = {"f32": "float32", "f64": "float64"}


def _relative_kind(axes: Axes, domain: Axes, otherwise: Kind) -> Kind:
    if not axes:
        return otherwise
    if len(axes) == 2:
        return Kind.ELEM
    assert axes[0] in domain, (axes, domain)
    return Kind.ROW if axes[0] == domain[0] else Kind.COL


def _ordered(nodes: dict[str, Element]) -> list[Element]:
    """Nodes in an order in which each is behind what it reads."""
    found: dict[str, Element] = {}

    def add(key: str) -> None:
        if key in nodes and key not in found:
            for read in names_of(nodes[key].value):
                if read != key:
                    add(read)
            found[key] = nodes[key]

    for key in nodes:
        add(key)
    return list(found.values())


def _named(key: str) -> Name:
    return Name(key.removesuffix("'"), key.endswith("'"), _NOWHERE)


def _never(code: str, message: str, span: Span, help: str, section: str | None = None) -> None:
    raise AssertionError(f"{code} in a checked spec: {message}")
