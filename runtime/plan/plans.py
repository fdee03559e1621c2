"""The plans of one block: one for each kind of input, made from the first call of that kind."""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from runtime import autograd
from runtime.context import Context
from runtime.core.generator import generator
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, handle, wrap
from runtime.plan.compiled import Compiled, Memory
from runtime.plan.lower import lower
from runtime.plan.steps import Array, PythonStep
from runtime.plan.tape import NotTraceable, Tape, emptied, flat, gradients_of, nested, trace

MIN_CALLS = 2
"""Fewer calls of operators than this are faster without a plan."""
FEW_CALLS, NO_KERNELS = "it has few operators", "it has no kernels"
MAX_CALLS = 10_000
"""With more calls, those of the gradient included, it would take too long to make a plan."""
MAX_TAPES = 4
"""The most tapes that wait for a second call of their kind: each holds what a call has computed."""
MAX_PLANS = 64
"""The most kinds of inputs that a block has plans for; the one that was not used for the longest time is dropped."""

Function = Callable[..., Any]
_CALL = Operator.__call__
_LISTS = operator.attrgetter("_data")


@dataclass(eq=False)
class Entry:
    """What is known of one kind of input: a tape, then what was compiled of it; or why there is neither."""

    tape: Tape | None = None
    compiled: Compiled | None = None
    refusal: str | None = None
    like: Any = None
    """The nested lists that the function returns, with None in the place of arrays."""
    heads: list[int] = field(default_factory=list)
    """The outputs whose gradients the compiled gradient takes,"""
    wanted: list[int] = field(default_factory=list)
    """and the inputs, data and then parameters, whose gradients it computes."""
    draws: bool = False
    """Whether random numbers are drawn."""


class Plans:
    """The plans of a function of arrays whose other inputs are parameters.

    Calling it is calling `function`: the first time of each kind of input that is what happens, and what it does is
    traced. From the second time on a plan computes the same, until the parameters are others.

    `static_alloc`: plans keep all memory that their calls have used. `static_shape`: there is a plan for the last kind
    of inputs alone.
    """

    def __init__(self, static_alloc: bool = False, static_shape: bool = False) -> None:
        self._static_alloc = static_alloc
        self._max = 1 if static_shape else MAX_PLANS
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._taped: deque[Entry] = deque()
        self._lists: list[Any] = []
        self.pays = True
        """False once it was seen that the function has too few operators for a plan."""

    def __call__(self, function: Function, data: list[NDArray], params: Sequence[Any]) -> Any:
        """`function(*data)`. `params` are Parameters, with values in the context of the data."""
        if Operator.__call__ is not _CALL:  # the profiler has taken its place, and times operators
            return function(*data)
        ctx = data[0]._ctx
        lists = list(map(_LISTS, params))
        if len(lists) != len(self._lists) or not all(map(operator.is_, lists, self._lists)):
            self.clear()
            self._lists = lists
        entry = self._entry(ctx, data)
        if entry.refusal is None and entry.tape is not None:
            self._compile(entry, [p.data(ctx) for p in params])
        if entry.refusal is not None:
            return function(*data)
        call = _Call(self, entry, function, data, [p.data(ctx) for p in params])
        if entry.compiled is not None:
            return call.planned()
        result = call.traced()
        self.pays = entry.refusal is not FEW_CALLS
        return result

    def hold(self, entry: Entry, tape: Tape) -> None:
        """Keep the tape for the next call of its kind."""
        entry.tape = tape
        self._taped.append(entry)
        if len(self._taped) > MAX_TAPES:
            oldest = self._taped.popleft()
            if oldest not in self._taped:
                oldest.tape = None

    def __reduce__(self) -> Any:
        """Copied and pickled without plans: these have addresses of memory."""
        return Plans, (self._static_alloc, self._max == 1)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._taped.clear()
        self.pays = True

    def _entry(self, ctx: Context, data: Sequence[NDArray]) -> Entry:
        mode = autograd.mode
        recording = mode.recording
        kinds = [(x._data.shape, x._data.dtype.char, recording and x._in_graph()) for x in data]
        key = recording, mode.training, ctx.device_type, ctx.device_id, *kinds
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry()
            while len(self._entries) > self._max:
                self._entries.popitem(last=False)
        elif self._max > 1:
            self._entries.move_to_end(key)
        return entry

    def _compile(self, entry: Entry, params: Sequence[NDArray]) -> None:
        tape, entry.tape = entry.tape, None
        assert tape is not None
        if len(tape.forward) + len(tape.backward) > MAX_CALLS:
            entry.refusal = "it has too many operators"
            return
        try:
            lowered = lower(tape, [p._data for p in params])
        except NotTraceable as error:
            entry.refusal = error.args[0]
        else:
            if all(isinstance(step, PythonStep) for step in (*lowered.forward, *lowered.backward)):
                entry.refusal, self.pays = NO_KERNELS, False
            else:
                entry.compiled = Compiled(lowered, len(tape.data), len(params), self._static_alloc)


class _Call:
    """One call, and the operator of its node in the graph: all that it computes is one node there."""

    name = "plan"

    def __init__(
        self, plans: Plans, entry: Entry, function: Function, data: list[NDArray], params: list[NDArray]
    ) -> None:
        self._plans = plans
        self._entry, self._function, self._data, self._params = entry, function, data, params
        self._tape: Tape | None = None
        self._memory: Memory | None = None
        self._draws = generator.bit_generator.state if entry.compiled is None or entry.draws else None

    # ------------------------------------------------------------ there

    def traced(self) -> Any:
        """The result, computed as ever; what computes it is kept."""
        entry = self._entry
        try:
            result, tape = trace(self._function, self._data, self._params)
        except NotTraceable as error:
            entry.refusal = error.args[0]
            generator.bit_generator.state = self._draws
            return self._function(*self._data)
        if len(tape.forward) < MIN_CALLS:
            entry.refusal = FEW_CALLS
        entry.like, entry.draws = emptied(result), tape.draws
        if autograd.mode.recording:
            self._tape = tape
        elif entry.refusal is None:
            self._plans.hold(entry, tape)
        return self._finished([x._data for x in tape.outputs])

    def planned(self) -> Any:
        """The result, computed by the plan."""
        compiled = self._entry.compiled
        assert compiled is not None
        outputs, self._memory = compiled.forward([x._data for x in (*self._data, *self._params)])
        return self._finished(outputs)

    def _finished(self, outputs: list[np.ndarray]) -> Any:
        ctx = self._data[0]._ctx
        node = None
        if autograd.mode.recording:
            parents = [x._node if x._in_graph() else None for x in (*self._data, *self._params)]
            if any(p is not None for p in parents):
                node = autograd.Node(self, parents, [], tuple(outputs), {}, ctx)
        return nested(self._entry.like, iter(wrap(tuple(outputs), ctx, node)))

    # ------------------------------------------------------------ and back

    def pull(self, node: autograd.Node, g: Any) -> Iterator[tuple[Any, NDArray]]:
        """Pairs of the node of an input and its gradient."""
        flows = [g.get(i) for i in range(len(node.output))]
        has_flow = {i for i, flow in enumerate(flows) if flow is not None}
        if autograd.mode.recording:
            gradients = self._again(flows)
        elif self._tape is not None:
            gradients = self._traced(node, flows)
        elif has_flow <= set(self._entry.heads):
            gradients = self._planned(node, flows)
        else:
            gradients = self._again(flows)
        pairs = zip(node.parents, gradients, strict=True)
        return iter([(parent, dx) for parent, dx in pairs if parent is not None and dx is not None])

    def _traced(self, node: autograd.Node, flows: list[NDArray | None]) -> list[NDArray | None]:
        tape, entry = self._tape, self._entry
        assert tape is not None
        nodes = [x._node for x in (*tape.data, *self._params)]
        wanted = [i for i, parent in enumerate(node.parents) if parent is not None]
        try:
            gradients = gradients_of(tape, flows, [nodes[i] for i in wanted])
        except NotTraceable as error:
            entry.refusal = error.args[0]
            gradients = tape.gradients
        else:
            if entry.compiled is None and entry.refusal is None:
                entry.heads = [i for i, flow in enumerate(flows) if flow is not None]
                entry.wanted = wanted
                self._plans.hold(entry, tape)
        return _spread(gradients, wanted, len(nodes))

    def _planned(self, node: autograd.Node, flows: list[NDArray | None]) -> list[NDArray | None]:
        entry = self._entry
        assert entry.compiled is not None and self._memory is not None
        heads = [np.zeros_like(node.output[i]) if (g := flows[i]) is None else g._data for i in entry.heads]
        inputs = [*(x._data for x in (*self._data, *self._params)), *heads]
        pairs = zip((node.parents[i] for i in entry.wanted), entry.compiled.gradients, strict=True)
        lent = [_lent(parent, dx) for parent, dx in pairs]
        places = [None if x is None else x._data for x in lent]
        gradients = entry.compiled.backward(inputs, node.output, places, self._memory)
        arrays = [
            None if x is None else NDArray(x, node.ctx) if to is None else to
            for x, to in zip(gradients, lent, strict=True)
        ]
        return _spread(arrays, entry.wanted, len(self._data) + len(self._params))

    def _again(self, flows: list[NDArray | None]) -> list[NDArray | None]:
        """The gradients by the function's operators, recorded if the thread records.

        The function is computed once more, with the random numbers that it drew.
        """
        with generator.replayed(self._draws), autograd.Scope(True, None):
            handles = [handle(x) if x._in_graph() else x.detach() for x in self._data]
            outputs = flat(self._function(*handles))
        pairs = [(y, g) for y, g in zip(outputs, flows, strict=True) if g is not None]
        return autograd.pull_back(*map(list, zip(*pairs, strict=True)), [*handles, *self._params])

    def __del__(self) -> None:
        if self._memory is not None and self._entry.compiled is not None:
            self._entry.compiled.give_back(self._memory)


def _lent(parent: Any, gradient: Array | None) -> NDArray | None:
    """The array that a variable receives its gradient in, if it can be written there at once."""
    if gradient is None or not isinstance(parent, autograd.Variable) or parent.grad.dtype != gradient.dtype:
        return None
    return parent.lend()


def _spread(found: Sequence[NDArray | None], places: Sequence[int], n: int) -> list[NDArray | None]:
    """A list of n, with what was found at its places, else None."""
    result: list[NDArray | None] = [None] * n
    for i, x in zip(places, found, strict=True):
        result[i] = x
    return result
