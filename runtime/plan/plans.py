"""The plans of one block: one for each kind of input, made from the first call of that kind."""

from __future__ import annotations

import operator
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.loops.kernel import address
from runtime import autograd
from runtime.context import Context
from runtime.core.generator import generator
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import handle, wrap
from runtime.plan.compiled import Compiled, Memory
from runtime.plan.lower import lower
from runtime.plan.outputs import own_memory, own_outputs
from runtime.plan.steps import Array, PythonStep
from runtime.plan.tape import NotTraceable, Tape, emptied, flat, gradients_of, nested, trace

MIN_CALLS = 2
"""Fewer calls of operators than this are faster without a plan."""
FEW_CALLS, NO_KERNELS = "it has few operators", "it has no kernels"
MAX_CALLS = 10_000
"""With more calls, those of the gradient included, it would take too long to make a plan."""
MAX_TAPES = 4
"""The most tapes that wait for a second call of their kind: each holds what a call has computed."""
MAX_WITH_MEMORY = 4
"""The most plans of a block that keep memory between calls."""
MAX_PLANS = 64
"""The most kinds of inputs that a block has plans for; the one that was not used for the longest time is dropped."""

Function = Callable[..., Any]
_VALUES_OF, _NODE_OF = operator.attrgetter("_data"), operator.attrgetter("_node")


@dataclass(eq=False)
class Entry:
    """What is known of one kind of input: a tape, then what was compiled of it; or why there is neither."""

    tape: Tape | None = None
    compiled: Compiled | None = None
    refusal: str | None = None
    was_dropped: bool = False
    """A tape of this kind had to make room for others: the next one is compiled at once."""


class Plans:
    """The plans of a function of arrays whose other inputs are parameters.

    Calling it is calling `function`: the first time of each kind of input that is what happens, and what it does is
    traced. From the second time on a plan computes the same, until the parameters are others.

    `static_alloc`: plans keep all memory that their calls have used; otherwise the last plans keep that of one call
    each. `static_shape`: there is a plan for the last kind of inputs alone.
    """

    def __init__(self, static_alloc: bool = False, static_shape: bool = False) -> None:
        self._static_alloc = static_alloc
        self._max = 1 if static_shape else MAX_PLANS
        self._lock = threading.RLock()
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._taped: list[Entry] = []
        self._recent: list[Compiled] = []
        self._values: list[Any] = []
        self.pays = True
        """False once it was seen that the function has too few operators for a plan."""
        _all.add(self)

    def __call__(self, function: Function, data: list[NDArray], params: Sequence[Any]) -> Any:
        """`function(*data)`. `params` are Parameters, with values in the context of the data."""
        ctx = data[0]._ctx
        if autograd.watching:
            autograd.takes([x._data for x in data])
        with self._lock:
            values = list(map(_VALUES_OF, params))
            if len(values) != len(self._values) or not all(map(operator.is_, values, self._values)):
                self.clear()
                self._values = values
            entry = self._entry(ctx, data)
            if entry.tape is not None:
                self._compile(entry)
        arrays = [
            x[0] if type(x) is list and x[0]._ctx is ctx else p.data(ctx) for p, x in zip(params, values, strict=True)
        ]
        if entry.refusal is not None:
            return own_outputs(function(*data), [*data, *arrays])
        if autograd.mode.recording:
            for x in data:
                if x._node is not None and not x._node.parents and x._node in map(_NODE_OF, arrays):
                    # A parameter's gradients would be added up in an order of their own.
                    return own_outputs(function(*data), [*data, *arrays])
        call = _Call(self, entry, function, data, arrays)
        return call.traced() if call._compiled is None else call.planned()

    def __reduce__(self) -> Any:
        """Copied and pickled without plans: these have addresses of memory."""
        return Plans, (self._static_alloc, self._max == 1)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._taped.clear()
            self._recent.clear()
            self.pays = True

    def refuse(self, entry: Entry, reason: str) -> None:
        """No plan for this kind of inputs; where another thread was in the way, none of this call."""
        if reason == autograd.TAKEN:
            entry.tape = None
            return
        with self._lock:
            entry.refusal, entry.tape = reason, None
            self.pays = not all(x.refusal in (FEW_CALLS, NO_KERNELS) for x in self._entries.values())

    def hold(self, entry: Entry, tape: Tape) -> None:
        """Keep the tape for the next call of its kind."""
        with self._lock:
            if entry.compiled is not None or entry.refusal is not None:
                return
            entry.tape = tape
            if entry.was_dropped:
                self._compile(entry)
                return
            self._taped = [x for x in self._taped if x is not entry] + [entry]
            if len(self._taped) > MAX_TAPES:
                oldest = self._taped.pop(0)
                oldest.tape, oldest.was_dropped = None, True

    def forget(self, entry: Entry) -> None:
        """Trace the next call of this kind again."""
        with self._lock:
            self._recent = [x for x in self._recent if x is not entry.compiled]
            entry.compiled = None

    def use(self, compiled: Compiled) -> None:
        """Have the last plans that were used keep memory, and no others."""
        if self._recent[-1:] == [compiled]:
            return
        with self._lock:
            self._recent = [x for x in self._recent if x is not compiled] + [compiled]
            compiled.keeps_memory = True
            if len(self._recent) > MAX_WITH_MEMORY:
                self._recent.pop(0).forget_memory()

    def _entry(self, ctx: Context, data: Sequence[NDArray]) -> Entry:
        mode = autograd.mode
        recording = mode.recording
        kinds: list[Any] = [(x._data.shape, x._data.dtype.char, recording and x._in_graph()) for x in data]
        if data[1:]:  # which of them are one array
            for same in ([id(x._node) for x in data], [id(x._data) for x in data]):
                kinds += map(same.index, same)
        key = recording, mode.training, ctx.device_type, ctx.device_id, *kinds
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry()
            while len(self._entries) > self._max:
                _, oldest = self._entries.popitem(last=False)
                self._taped = [x for x in self._taped if x is not oldest]
                self._recent = [x for x in self._recent if x is not oldest.compiled]
        elif self._max > 1:
            self._entries.move_to_end(key)
        return entry

    def _compile(self, entry: Entry) -> None:
        tape, entry.tape = entry.tape, None
        self._taped = [x for x in self._taped if x is not entry]
        assert tape is not None
        if len(tape.forward) + len(tape.backward) > MAX_CALLS:
            return self.refuse(entry, "it has too many operators")
        try:
            lowered = lower(tape)
        except NotTraceable as error:
            return self.refuse(entry, error.args[0])
        if all(isinstance(step, PythonStep) for step in (*lowered.forward, *lowered.backward)):
            return self.refuse(entry, NO_KERNELS)
        entry.compiled = Compiled(lowered, tape, self._static_alloc)


_all: weakref.WeakSet[Plans] = weakref.WeakSet()


def _forked() -> None:
    """Renew the locks in a forked child, where a thread that held one does not exist. What it was compiling is traced
    again."""
    for plans in _all:
        plans._lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)


class _Call:
    """One call, and the operator of its node in the graph: all that it computes is one node there."""

    name = "plan"
    _memory: Memory | None = None

    def __init__(
        self, plans: Plans, entry: Entry, function: Function, data: list[NDArray], params: list[NDArray]
    ) -> None:
        self._plans, self._entry, self._function, self._data, self._params = plans, entry, function, data, params
        self._training = autograd.mode.training
        self._tape: Tape | None = None
        self._compiled = entry.compiled
        self._inputs: list[np.ndarray] = []
        draws = self._compiled is None or self._compiled.draws
        self._draws = generator.bit_generator.state if draws else None

    # ------------------------------------------------------------ forwards

    def traced(self) -> Any:
        """The result, computed as ever; what computes it is kept."""
        try:
            result, tape = trace(self._function, self._data, self._params)
        except NotTraceable as error:
            reason, result = error.args
            self._plans.refuse(self._entry, reason)
            return own_outputs(result, [*self._data, *self._params])
        if len(tape.forward) < MIN_CALLS:
            self._plans.refuse(self._entry, FEW_CALLS)
        self._tape = tape
        outputs = own_memory([x._data for x in tape.outputs], [*self._data, *tape.data, *self._params])
        node = self._node(outputs, tape.unused)
        if node is None:
            self._plans.hold(self._entry, tape)
        return self._finished(node, emptied(result), outputs)

    def planned(self) -> Any:
        """The result, computed by the plan."""
        compiled = self._compiled
        assert compiled is not None
        self._plans.use(compiled)
        self._inputs = [x._data for x in (*self._data, *self._params)]
        outputs, self._memory = compiled.forward(self._inputs)
        return self._finished(self._node(outputs, compiled.unused), compiled.like, outputs)

    def _node(self, outputs: list[np.ndarray], unused: list[int]) -> autograd.Node | None:
        if not autograd.mode.recording:
            return None
        parents = [x._node for x in (*self._data, *self._params)]
        if self._data[1:]:  # the gradient of an array that is given twice is that of the first
            for i in range(1, len(self._data)):
                if parents[i] in parents[:i]:
                    parents[i] = None
        for i in unused:
            parents[i] = None
        if any([p is not None and p.released_at for p in parents]):
            parents = [p if p is not None and not p.released_at else None for p in parents]
        if not any(parents):
            return None
        return autograd.SummingNode(self, parents, [], tuple(outputs), {}, self._data[0]._ctx)

    def _finished(self, node: autograd.Node | None, like: Any, outputs: list[np.ndarray]) -> Any:
        ctx = self._data[0]._ctx
        if like is None:
            return NDArray(outputs[0], ctx, node)
        return nested(like, iter(wrap(tuple(outputs), ctx, node)))

    # ------------------------------------------------------------ backwards

    def pull_onto(self, node: autograd.Node, g: Any, sums: dict[Any, Any]) -> Iterator[tuple[Any, NDArray]]:
        """Pairs of the node of an input and its gradient; `sums` lose those that it was added to."""
        flows = [g.get(i) for i in range(len(node.output))] if type(g) is autograd.Gradients else [g]
        recording = autograd.mode.recording
        fits = not recording and self._tape is None and self._fits(node, flows)
        known = _known(node, sums) if not fits or self._compiled.sums else ()
        taken: Sequence[int]
        if fits:
            gradients, taken = self._planned(node, flows, known), self._compiled.sums
        elif self._tape is not None and not recording:
            gradients = self._traced(node, flows, known)
            taken = [i for i, _ in self._tape.sums]
        else:
            gradients, taken = self._again(flows, known), range(len(known))
        for i in taken:
            if known[i] is not None and gradients[i] is not None:
                del sums[node.parents[i]]
        pairs = zip(node.parents, gradients, strict=True)
        return iter([(parent, dx) for parent, dx in pairs if parent is not None and dx is not None])

    def _fits(self, node: autograd.Node, flows: list[NDArray | None]) -> bool:
        """Whether the plan's gradient takes the gradients of these outputs, and computes those that are wanted.

        Where parameters were frozen or thawed since the plan was made, the next call makes another one.
        """
        compiled = self._compiled
        assert compiled is not None
        if tuple([i for i, parent in enumerate(node.parents) if parent is not None]) != compiled.wanted:
            self._plans.forget(self._entry)
            return False
        return tuple([i for i, flow in enumerate(flows) if flow is not None]) == compiled.heads

    def _traced(
        self, node: autograd.Node, flows: list[NDArray | None], known: Sequence[NDArray | None]
    ) -> list[NDArray | None]:
        tape = self._tape
        assert tape is not None
        nodes = [x._node for x in (*tape.data, *self._params)]
        wanted = [i for i, parent in enumerate(node.parents) if parent is not None]
        try:
            gradients = gradients_of(tape, flows, {i: nodes[i] for i in wanted}, known)
        except NotTraceable as error:
            self._plans.refuse(self._entry, error.args[0])
            gradients = tape.gradients
        else:
            tape.wanted = wanted
            self._plans.hold(self._entry, tape)
        return _spread(gradients, wanted, len(nodes))

    def _planned(
        self, node: autograd.Node, flows: list[NDArray | None], known: Sequence[NDArray | None]
    ) -> list[NDArray | None]:
        compiled = self._compiled
        assert compiled is not None and self._memory is not None
        heads = [g._data for g in flows if g is not None]
        if compiled.sums:
            heads += compiled.given_sums([known[i] for i in compiled.sums], self._inputs)
        varying = [*self._inputs[: len(self._data)], *heads, *node.output]
        lent = _lent([node.parents[i] for i in compiled.wanted], compiled.gradients, varying)
        places = [None if x is None else x._data for x in lent]
        gradients = compiled.backward([*self._inputs, *heads], node.output, places, self._memory)
        arrays = [
            None if x is None else NDArray(x, node.ctx) if to is None else to
            for x, to in zip(gradients, lent, strict=True)
        ]
        return _spread(arrays, compiled.wanted, len(self._data) + len(self._params))

    def _again(self, flows: list[NDArray | None], known: Sequence[NDArray | None]) -> list[NDArray | None]:
        """The gradients by the function's operators, recorded if the thread records.

        The function is computed once more, in the mode it was called in, with the random numbers that it drew.
        """
        with generator.replayed(self._draws), autograd.Scope(True, self._training):
            own = {x._node: handle(x) for x in self._data if x._in_graph()}
            handles = [own[x._node] if x._in_graph() else x.detach() for x in self._data]
            outputs = flat(self._function(*handles))
        pairs = [(y, g) for y, g in zip(outputs, flows, strict=True) if g is not None]
        return autograd.pull_back(*map(list, zip(*pairs, strict=True)), [*handles, *self._params], known)

    def __del__(self) -> None:
        if self._memory is not None and self._compiled is not None:
            self._compiled.give_back(self._memory)


def _known(node: autograd.Node, sums: dict[Any, Any]) -> list[NDArray | None]:
    """The sums of gradients that have arrived at the parents, where they are arrays that others can be added to."""
    for parent in node.parents:
        if type(sums.get(parent)) is autograd.Postponed:
            sums[parent] = autograd.complete(sums[parent])
    return [x if type(x := sums.get(parent)) is NDArray else None for parent in node.parents]


def _lent(
    parents: Sequence[Any], gradients: Sequence[Array | None], read: Sequence[np.ndarray]
) -> list[NDArray | None]:
    """For each gradient the array that a variable receives it in, if it can be written there at once: it shares no
    memory with what the plan reads, and with no other gradient."""
    places: list[np.ndarray | None] = []
    for parent, gradient in zip(parents, gradients, strict=True):
        to = parent.grad if gradient is not None and type(parent) is autograd.Variable else None
        dense = to is not None and type(to) is NDArray and to._data.dtype == gradient.dtype
        places.append(to._data if dense else None)
    pairs = zip(parents, _free(places, read), strict=True)
    return [parent.lend() if is_free else None for parent, is_free in pairs]


def _free(places: Sequence[np.ndarray | None], read: Sequence[np.ndarray]) -> list[bool]:
    """Whether each of the places shares no memory with the arrays that are read, nor with a place before it."""
    owners = [x if x.base is None else x.base for x in (*read, *places) if x is not None]
    if all([type(x) is np.ndarray and x.base is None for x in owners]) and len(set(map(id, owners))) == len(owners):
        return [x is not None for x in places]  # no two share an owner
    ranges = [(address(x), address(x) + x.nbytes) for x in read]
    free = []
    for x in places:
        start = 0 if x is None else address(x)
        end = 0 if x is None else start + x.nbytes
        free.append(x is not None and all(stop <= start or end <= begin for begin, stop in ranges))
        if free[-1]:
            ranges.append((start, end))
    return free


def _spread(found: Sequence[NDArray | None], places: Sequence[int], n: int) -> list[NDArray | None]:
    """A list of n, with what was found at its places, else None."""
    result: list[NDArray | None] = [None] * n
    for i, x in zip(places, found, strict=True):
        result[i] = x
    return result
