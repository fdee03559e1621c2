"""Traces: the calls of operators that a function makes, with those whose results need no gradient."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from runtime.autograd import graph, modes
from runtime.autograd.graph import NoGradient
from runtime.core.kept import root

TAKEN = "another thread takes its arrays"
"""Why a call was not traced that was traced at the wrong time; the next one may be."""
watching: list[Trace] = []
"""The traces that threads are in."""


class Trace:
    """`with trace:` calls of operators in this thread leave nodes, whether the thread records or not.

    Nodes made outside of `record` have a `NoGradient` in the place of their operator. What a node cannot say is noted
    here: calls made for their effect, and why what was computed cannot be computed again from the nodes.

    `parameters` are arrays that other threads read, too, in traces of their own. Where another thread takes an array
    that was made in the trace, what it makes of the values may come back as a constant: then the trace is refused.
    """

    def __init__(self, parameters: Iterable[np.ndarray] = ()) -> None:
        self.start = next(graph._serial)
        """Nodes of this trace have larger serial numbers."""
        self.effects: list[graph.Node] = []
        self.outside: list[graph.Node] = []
        """Calls with inputs that are in no graph, whose results have no nodes."""
        self.constants: list[tuple[Any, Any]] = []
        """Arrays that would be made the same way again, and copies of what they were."""
        self.refusal: str | None = None
        self._parameters = {id(root(x)): x for x in parameters}
        self._made: dict[int, Any] = {}
        """What arrays made in the trace are over, by what tells memory from other memory. They are alive until it ends,
        so that no other array has their memory."""

    def refuse(self, reason: str) -> None:
        self.refusal = self.refusal or reason

    def note(self, operator: Any, inputs: list[Any], output: Any, attrs: dict[str, Any], ctx: Any) -> None:
        self.outside.append(graph.Node(NoGradient(operator), [], inputs, output, attrs, ctx))

    def keep(self, data: Any) -> None:
        """Note the memory of an array that is made in the trace."""
        self._made[id(root(data))] = data

    def takes(self, arrays: set[int], thread: int, traced: bool) -> None:
        """Refuse the trace if the arrays, by their roots, are among those that another thread must not take."""
        if thread != self._thread:
            ours = self._made.keys() if traced else self._made.keys() | self._parameters.keys()
            if not arrays.isdisjoint(ours):
                self.refuse(TAKEN)

    def __enter__(self) -> Trace:
        self._outer, self._thread = modes.mode.trace, threading.get_ident()
        self._set(self)
        watching.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        watching.remove(self)
        self._made.clear()
        self._set(self._outer)

    def _set(self, trace: Trace | None) -> None:
        modes.mode.trace = trace
        modes.mode.noting = modes.mode.recording or trace is not None


def is_recorded(node: Any, trace: Trace | None = None) -> bool:
    """Whether an array with this node is in the graph where nothing is traced: a trace gives nodes to all arrays.

    `trace` is that of the thread by default.
    """
    trace = trace or modes.mode.trace
    waiting, seen = [node], set()
    while waiting:
        node = waiting.pop()
        if node is None or node.released_at or node in seen:
            continue
        if trace is None or type(node) is graph.Variable or node.serial < trace.start:
            return True
        seen.add(node)
        if type(getattr(node, "operator", None)) is not NoGradient:
            waiting += node.parents
    return False


class Placeholder:
    """The node of a gradient that a traced walk begins with."""

    __slots__ = ("serial",)
    parents: tuple[Any, ...] = ()
    released_at = 0

    def __init__(self) -> None:
        self.serial = next(graph._serial)

    def pull(self, gradient: Any) -> tuple[Any, ...]:
        return ()


def keep(data: Any) -> None:
    """An array is made; it is called where threads are `watching`."""
    if modes.mode.trace is not None:
        modes.mode.trace.keep(data)


def takes(arrays: Iterable[Any]) -> None:
    """An operator takes the arrays, or something else does; it is called where threads are `watching`."""
    roots, traced = {id(root(x)) for x in arrays if isinstance(x, np.ndarray)}, modes.mode.trace is not None
    for trace in list(watching):
        trace.takes(roots, threading.get_ident(), traced)


def reads_values(data: Any) -> None:
    """Python is about to read the values of an array, `data`: what it does then may depend on them."""
    if modes.mode.trace is not None:
        modes.mode.trace.refuse("it reads the values of an array")
    if watching:
        takes([data])


def writes_values(arrays: Iterable[Any]) -> None:
    """Arrays are about to be written to, which no node says."""
    if modes.mode.trace is not None:
        modes.mode.trace.refuse("it writes to an array")
    if watching:
        takes(arrays)


def effect(operator: Any, inputs: list[Any], attrs: dict[str, Any], ctx: Any, parents: list[Any]) -> None:
    """Call `operator.forward` for what it changes, and note it if the thread is traced."""
    operator.forward(*inputs, **attrs)
    if modes.mode.trace is not None:
        modes.mode.trace.effects.append(graph.Node(operator, parents, inputs, None, attrs, ctx))
