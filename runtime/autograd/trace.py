"""Traces: the calls of operators that a function makes, with those whose results need no gradient."""

from __future__ import annotations

from typing import Any

from runtime.autograd import graph, modes
from runtime.autograd.graph import NoGradient


class Trace:
    """`with trace:` calls of operators in this thread leave nodes, whether the thread records or not.

    Nodes made outside of `record` have a `NoGradient` in the place of their operator. What a node cannot say is noted
    here: calls made for their effect, and why what was computed cannot be computed again from the nodes.
    """

    def __init__(self) -> None:
        self.start = next(graph._serial)
        """Nodes of this trace have larger serial numbers."""
        self.effects: list[graph.Node] = []
        self.outside: list[graph.Node] = []
        """Calls with inputs that are in no graph, whose results have no nodes."""
        self.constants: list[tuple[Any, Any]] = []
        """Arrays that would be made the same way again, and copies of what they were."""
        self.refusal: str | None = None

    def refuse(self, reason: str) -> None:
        self.refusal = self.refusal or reason

    def note(self, operator: Any, inputs: list[Any], output: Any, attrs: dict[str, Any], ctx: Any) -> None:
        self.outside.append(graph.Node(NoGradient(operator), [], inputs, output, attrs, ctx))

    def __enter__(self) -> Trace:
        self._outer = modes.mode.trace
        self._set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._set(self._outer)

    def _set(self, trace: Trace | None) -> None:
        modes.mode.trace = trace
        modes.mode.noting = modes.mode.recording or trace is not None


class Placeholder:
    """The node of a gradient that a traced walk begins with."""

    __slots__ = ("serial",)
    parents: tuple[Any, ...] = ()
    released_at = 0

    def __init__(self) -> None:
        self.serial = next(graph._serial)

    def pull(self, gradient: Any) -> tuple[Any, ...]:
        return ()


def reads_values() -> None:
    """Python is about to read the values of an array: what it does then may depend on them."""
    if modes.mode.trace is not None:
        modes.mode.trace.refuse("it reads the values of an array")


def writes_values() -> None:
    """An array is about to be written to, which no node says."""
    if modes.mode.trace is not None:
        modes.mode.trace.refuse("it writes to an array")


def effect(operator: Any, inputs: list[Any], attrs: dict[str, Any], ctx: Any, parents: list[Any]) -> None:
    """Call `operator.forward` for what it changes, and note it if the thread is traced."""
    operator.forward(*inputs, **attrs)
    if modes.mode.trace is not None:
        modes.mode.trace.effects.append(graph.Node(operator, parents, inputs, None, attrs, ctx))
