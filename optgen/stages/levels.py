"""Finds the level of each instruction of a block: as few kernels as the calls between them allow.

Kernels of level n run before the calls of level n, and these before the kernels of level n + 1. An elementwise
instruction goes to the level where it is first needed: what it reads is mostly read there anyway, and its value needs
no array. What is light (`light.py`) is computed wherever it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from optgen import ir
from optgen.axes import Axes, When
from optgen.ir import Instr, Value
from optgen.stages.light import Light
from optgen.stages.plan import JOINT, PARAMETER, home


@dataclass(frozen=True)
class Node:
    """An instruction that is computed once. `key` is what others read: the name of its value, or of the array of which
    it sets an element. Of an instruction of a kernel, `domain` are the dimensions of that. `reduces`: its result is
    known behind a sweep. `columns`: one number for each column of a square matrix, which other kernels take for its
    rows. `reads` are the keys, and `states` the arrays of the step, that it reads through what is light."""

    instr: Instr
    key: str
    reads: frozenset[str]
    states: frozenset[str]
    domain: Axes | None = None
    reduces: bool = False
    columns: bool = False


@dataclass
class Block:
    """The instructions of an update, or of a turn of a loop. `light` are those that are computed wherever they are
    read, by their values, those around a loop included. `roots` are the values that are stored in any case. `aliases`
    are arrays by the values that loops carry in them. `buffers` has what each load may read of the arrays of a step.
    `apart`: what all parameters share is computed in kernels of its own."""

    instrs: tuple[Instr, ...]
    light: dict[str, Instr]
    roots: frozenset[str]
    aliases: dict[str, str]
    is_light: Light
    buffers: Mapping[str, str]
    apart: bool = False
    nodes: list[Node] = field(default_factory=list)
    by_key: dict[str, Node] = field(default_factory=dict)
    levels: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.light = dict(self.light)
        for instr in self.instrs:
            result = instr.result
            if self.is_light(instr) and result is not None and result.id not in self.roots:
                self.light[result.id] = instr
            elif not isinstance(instr.op, ir.Store):
                node = self._node(instr)
                self.nodes.append(node)
                self.by_key[node.key] = node
        self.producers = {key: k for k, node in enumerate(self.nodes) for key in produced(node)}
        self._assign()
        self._sink()

    # ------------------------------------------------------------ nodes

    def _node(self, instr: Instr) -> Node:
        op, result = instr.op, instr.result
        reads, states = map(frozenset, self._reads(instr))
        if isinstance(op, ir.Repeat | ir.ArrayCall):
            return Node(instr, result.id if result is not None else "", reads, states)
        if isinstance(op, ir.Put):
            is_joint = self.apart and op.x.type.known is When.SHARED
            return Node(instr, op.array, reads, states, JOINT if is_joint else self._domain(reads, ()))
        assert result is not None
        if isinstance(op, ir.Reduce):
            axes = op.x.type.axes
            domain = axes if len(axes) == 2 else home(axes)
            return Node(instr, result.id, reads, states, domain, True, op.scope == "col" and axes[0] == axes[1])
        is_joint = self.apart and result.type.known is When.SHARED
        is_apart = isinstance(op, ir.Keep) and op.columns  # behind the kernel that reads a number of each row
        own = home(result.type.axes) if is_apart else self._domain(reads, result.type.axes)
        domain = JOINT if is_joint else own
        return Node(instr, result.id, reads, states, domain, isinstance(op, ir.ReduceOverParams))

    def _domain(self, reads: frozenset[str], axes: Axes) -> Axes:
        """The dimensions of the kernel of an instruction over `axes`. A number, or a vector, goes with what it is
        reduced from."""
        if len(axes) == 2:
            return axes
        known = [self.by_key[key] for key in reads if key in self.by_key]
        domains = {node.domain for node in known if node.domain not in (None, JOINT) and not node.columns}
        if len(domains) == 1:
            (domain,) = domains
            if domain is not None and {*axes} <= {*domain}:
                return domain
        return home(axes) if axes else PARAMETER

    # ------------------------------------------------------------ what depends on what

    def _reads(self, instr: Instr) -> tuple[set[str], set[str]]:
        """The keys and the arrays of the step that an instruction reads, through what is light."""
        found, states = self.expanded(v.id for v in read_by(instr))
        if isinstance(instr.op, ir.Repeat):
            inner = [i.op for i in ir.nested(instr.op.region.instrs)]
            states |= {self.buffers[op.buffer] for op in inner if isinstance(op, ir.Load)}
            own = {op.array for op in inner if isinstance(op, ir.Put)}
            found |= {op.array for op in inner if isinstance(op, ir.Get)} - own
        return found, states

    def expanded(self, ids: Iterable[str]) -> tuple[set[str], set[str]]:
        """Values, and in the place of those that are light what these read; and the arrays of the step that they
        read."""
        found: set[str] = set()
        states: set[str] = set()
        for id in self._closure(ids):
            if id not in self.light:
                found.add(self.aliases.get(id, id))
                continue
            match self.light[id].op:
                case ir.Load(buffer=buffer):
                    states.add(self.buffers[buffer])
                case ir.Get(array=array):
                    found.add(array)
        return found, states

    def definitions(self, ids: Iterable[str]) -> set[str]:
        """The light values that values are computed from, themselves included."""
        return {id for id in self._closure(ids) if id in self.light}

    def outer(self, ids: Iterable[str]) -> set[str]:
        """The values that are not light, as they are named where they are read, and arrays that loops fill."""
        closure = self._closure(ids)
        gets = {op.array for id in closure if id in self.light and isinstance(op := self.light[id].op, ir.Get)}
        return {id for id in closure if id not in self.light} | gets

    def _closure(self, ids: Iterable[str]) -> set[str]:
        """Values, and those that the light ones of them are computed from."""
        seen: set[str] = set()
        pending = list(ids)
        while pending:
            id = pending.pop()
            if id not in seen:
                seen.add(id)
                if id in self.light:
                    pending += [v.id for v in ir.operands(self.light[id].op)]
        return seen

    # ------------------------------------------------------------ levels

    def _assign(self) -> None:
        reads = [[self.producers[key] for key in node.reads if key in self.producers] for node in self.nodes]
        self.levels = [0] * len(self.nodes)
        if not self.apart:
            self._raise(range(len(self.nodes)), reads, 0)
            return
        rounds = self._rounds(reads)
        lowest = 0
        for n in sorted({*rounds}):
            own = [k for k, r in enumerate(rounds) if r == n]
            self._raise(own, reads, lowest)
            joint = [k for k in own if _sums(self.nodes[k])]
            last = max((self.levels[k] for k in joint), default=lowest)
            for k in joint:
                self.levels[k] = last
            self._raise([k for k in own if k not in joint], reads, lowest)
            lowest = last + 1

    def _raise(self, nodes: Iterable[int], reads: Sequence[Sequence[int]], lowest: int) -> None:
        """Have nodes at the first level at which they can be computed, from the `lowest` one on. What all parameters
        share is computed as soon as it can be."""
        for k in nodes:
            own = 0 if self.nodes[k].domain == JOINT and not _sums(self.nodes[k]) else lowest
            self.levels[k] = max([own, *(self._after(x, self.nodes[k]) for x in reads[k])])

    def _rounds(self, reads: Sequence[Sequence[int]]) -> list[int]:
        """The round of each node: that of the first sum over parameters which depends on it, and the last one for what
        no sum depends on. So nothing is made, and kept for all parameters, before it has to be."""
        rounds = [0] * len(self.nodes)
        for k, own in enumerate(reads):
            rounds[k] = max((rounds[x] + _sums(self.nodes[x]) for x in own), default=0)
        last = max((r + 1 for r, node in zip(rounds, self.nodes, strict=True) if _sums(node)), default=0)
        needed = [r if _sums(node) else last for r, node in zip(rounds, self.nodes, strict=True)]
        for k in reversed(range(len(self.nodes))):
            if self.nodes[k].domain == JOINT and not _sums(self.nodes[k]):
                needed[k] = rounds[k]
            for x in reads[k]:
                if not _sums(self.nodes[x]):
                    needed[x] = min(needed[x], needed[k])
        return needed

    def _after(self, k: int, reader: Node) -> int:
        """The first level at which a node can read the result of node k."""
        node, level = self.nodes[k], self.levels[k]
        if node.domain is not None:
            here = reader.domain is None or (reader.domain == node.domain and not node.columns)
            return level if here else level + 1
        return level + 1 if reader.domain is not None else level

    def _sink(self) -> None:
        """Move elementwise nodes to the level where they are first needed."""
        readers: dict[int, list[int]] = {}
        for r, node in enumerate(self.nodes):
            for key in node.reads:
                if key in self.producers:
                    readers.setdefault(self.producers[key], []).append(r)
        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            if node.domain is not None and not node.reduces and k in readers:
                self.levels[k] = max(self.levels[k], min(self._before(node, r) for r in readers[k]))

    def _before(self, node: Node, r: int) -> int:
        """The last level at which node r can still read the result of a node."""
        reader, level = self.nodes[r], self.levels[r]
        apart = reader.domain is not None and (reader.domain != node.domain or node.columns)
        return level - 1 if apart else level

    # ------------------------------------------------------------ kernels

    def kernels(self) -> dict[tuple[int, Axes], list[Node]]:
        """The nodes of each kernel, by its level and its dimensions."""
        found: dict[tuple[int, Axes], list[Node]] = {}
        for node, level in zip(self.nodes, self.levels, strict=True):
            if node.domain is not None:
                found.setdefault((level, node.domain), []).append(node)
        return found

    def calls(self, level: int) -> Iterator[Node]:
        """The calls and loops of a level, in order."""
        for node, own in zip(self.nodes, self.levels, strict=True):
            if node.domain is None and own == level:
                yield node


def _sums(node: Node) -> bool:
    """Whether it reduces over parameters, or is a loop that does."""
    op = node.instr.op
    if isinstance(op, ir.Repeat):
        return any(isinstance(i.op, ir.ReduceOverParams) for i in ir.nested(op.region.instrs))
    return isinstance(op, ir.ReduceOverParams)


def produced(node: Node) -> list[str]:
    """The keys that are known behind a node."""
    loop = node.instr.op
    if not isinstance(loop, ir.Repeat):
        return [node.key]
    puts = [i.op.array for i in ir.nested(loop.region.instrs) if isinstance(i.op, ir.Put)]
    return [*(v.id for v in loop.region.gives), *puts]


def read_by(instr: Instr) -> Iterator[Value]:
    """The values that an instruction names, in a loop those from around it and those that start it."""
    yield from ir.operands(instr.op)
    if isinstance(loop := instr.op, ir.Repeat):
        own = {i.result.id for i in ir.nested(loop.region.instrs) if i.result is not None}
        for region in (
            loop.region,
            *(i.op.region for i in ir.nested(loop.region.instrs) if isinstance(i.op, ir.Repeat)),
        ):
            own |= {v.id for v in (*region.takes, *region.results)}
        for inner in ir.nested(loop.region.instrs):
            yield from (v for v in ir.operands(inner.op) if v.id not in own)
