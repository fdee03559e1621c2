"""Cuts the nodes of a program into stages: as few kernels as the calls between them allow.

A node has a level: kernels of level n run before the calls of level n, and these before the kernels of level n + 1. An
elementwise node that reduces nothing goes to the level where it is first needed: what it reads is mostly read there
anyway, and its value needs no array. Numbers and vectors that are computed from others are computed wherever they are
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from optgen.expressions import Expr, Name, children, with_children
from optgen.stages.normalize import ARRAY, Element, Node, Turns, names_of
from optgen.stages.plan import PARAMETER, Axes, CallStage


@dataclass
class Block:
    """The nodes of the update, or of a turn of a loop, with their levels. `light` are the nodes that are computed
    wherever they are read, those around a loop included. `roots` are the keys that are stored in any case."""

    nodes: list[Node]
    light: dict[str, Element]
    roots: frozenset[str]
    levels: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.light = dict(self.light)
        kept: list[Node] = []
        for node in self.nodes:
            if isinstance(node, Element) and not node.domain and not node.narrow and node.key not in self.roots:
                self.light[node.key] = node
            elif isinstance(node, Element) and not node.domain:
                kept.append(replace(node, domain=PARAMETER))
            else:
                kept.append(node)
        self.nodes = kept
        self.producers = {key: k for k, node in enumerate(kept) for key in produced(node)}
        self._assign()
        self._sink()

    # ------------------------------------------------------------ what depends on what

    def reads(self, node: Node) -> set[str]:
        """The keys that a node reads, through numbers and vectors that are computed again."""
        return self.expanded(read_by(node))

    def expanded(self, keys: set[str]) -> set[str]:
        """Keys, and in the place of those that are computed again what they are computed from."""
        found: set[str] = set()
        pending = list(keys)
        seen = set()
        while pending:
            key = pending.pop()
            if key in seen:
                continue
            seen.add(key)
            if key in self.light:
                pending += names_of(self.light[key].value)
            else:
                found.add(key)
        return found

    def definitions(self, keys: set[str]) -> list[Element]:
        """The nodes that are computed again where these keys are read, in order."""
        needed: set[str] = set()
        pending = [key for key in keys if key in self.light]
        while pending:
            key = pending.pop()
            if key not in needed:
                needed.add(key)
                pending += [x for x in names_of(self.light[key].value) if x in self.light]
        return [node for key, node in self.light.items() if key in needed]

    # ------------------------------------------------------------ levels

    def _assign(self) -> None:
        for node in self.nodes:
            before = [self.producers[key] for key in self.reads(node) if key in self.producers]
            self.levels.append(max((self._after(k, node) for k in before), default=0))

    def _after(self, k: int, reader: Node) -> int:
        """The first level at which a node can read the result of node k."""
        node, level = self.nodes[k], self.levels[k]
        if isinstance(node, Element):
            here = not isinstance(reader, Element) or (reader.domain == node.domain and not node.columns)
            return level if here else level + 1
        return level + 1 if isinstance(reader, Element) else level

    def _sink(self) -> None:
        """Move elementwise nodes to the level where they are first needed."""
        readers: dict[int, list[int]] = {}
        for r, node in enumerate(self.nodes):
            for key in self.reads(node):
                if key in self.producers:
                    readers.setdefault(self.producers[key], []).append(r)
        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            if isinstance(node, Element) and not node.reduces and k in readers:
                self.levels[k] = max(self.levels[k], min(self._before(node, r) for r in readers[k]))

    def _before(self, node: Element, r: int) -> int:
        """The last level at which node r can still read the result of a node."""
        reader, level = self.nodes[r], self.levels[r]
        apart = isinstance(reader, Element) and (reader.domain != node.domain or node.columns)
        return level - 1 if apart else level

    # ------------------------------------------------------------ kernels

    def kernels(self) -> dict[tuple[int, Axes], dict[int, Element]]:
        """The nodes of each kernel by their numbers, by its level and its dimensions."""
        found: dict[tuple[int, Axes], dict[int, Element]] = {}
        for k, node in enumerate(self.nodes):
            if isinstance(node, Element):
                found.setdefault((self.levels[k], node.domain), {})[k] = node
        return found

    def calls(self, level: int) -> Iterator[int]:
        """The calls and loops of a level, in order."""
        for k, node in enumerate(self.nodes):
            if not isinstance(node, Element) and self.levels[k] == level:
                yield k


def produced(node: Node) -> list[str]:
    """The keys that are known behind a node."""
    match node:
        case Element(key=key):
            return [key]
        case CallStage(target=key):
            return [key]
        case Turns(nodes=nodes):
            return [key for inner in nodes for key in produced(inner) if key.endswith(("'", ARRAY))]


def read_by(node: Node) -> set[str]:
    """The keys that a node names."""
    match node:
        case Element(value=value):
            return set(names_of(value))
        case CallStage(operands=operands, numbers=numbers):
            return {x.key for x in operands} | {key for x in numbers for key in names_of(x)}
        case Turns(nodes=nodes, loop=loop):
            own = {key for inner in nodes for key in produced(inner)}
            carried = {key.removesuffix("'") for key in own if key.endswith("'")}
            inside = {key for inner in nodes for key in read_by(inner)}
            return (inside - own) | carried | set(names_of(loop.count))


def carried_by(turns: Turns) -> list[str]:
    """The keys that a turn sets for the next one: `Y'`."""
    return [
        key for inner in turns.nodes if not isinstance(inner, Turns) for key in produced(inner) if key.endswith("'")
    ]


def substituted(expr: Expr, light: Mapping[str, Element]) -> Expr:
    """An expression with the definitions of numbers in the place of their names."""
    if isinstance(expr, Name) and expr.key in light:
        return substituted(light[expr.key].value, light)
    return with_children(expr, [substituted(x, light) for x in children(expr)])
