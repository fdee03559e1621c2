"""An update rule bound to tensors: a step is one native call."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

from optgen import arguments
from optgen.diagnostics import suggest
from optgen.execute import buffers, state, watch
from optgen.execute.apart import Apart
from optgen.execute.buffers import Tensor
from optgen.execute.cpu import pool
from optgen.execute.cpu.chain import Chain
from optgen.execute.evaluate import evaluate, grouped
from optgen.execute.gradients import Gradients, how_many
from optgen.execute.hyper import Hyper
from optgen.execute.kernel import Kernel
from optgen.execute.piece import Exchange, Piece, is_left_out
from optgen.execute.sparse import RowSparse
from optgen.execute.state import Columns, State
from optgen.execute.watch import Watch
from optgen.model import FlagValue

if TYPE_CHECKING:
    from optgen.execute.rule import UpdateRule

ID_LIMIT, SEED_LIMIT = 1 << 20, 1 << 64

Step = TypeVar("Step", bound="BoundStep")
P = ParamSpec("P")
R = TypeVar("R")


def alone(method: Callable[Concatenate[Step, P], R]) -> Callable[Concatenate[Step, P], R]:
    """The method of a step, which raises RuntimeError while another such method of the same step runs: two would write
    the same memory. It does not wait, as an exchange that calls its own step would wait for ever."""

    @functools.wraps(method)
    def called(self: Step, /, *args: P.args, **kwargs: P.kwargs) -> R:
        me = (threading.get_ident(),)
        # A list and no lock: wherever an interrupt (ctrl-C) comes, who has entered leaves.
        try:
            self._users.append(me)
            first = self._users[0]
            if first is not me:
                by = "its own exchange" if first == me else "another thread"
                raise RuntimeError(f"{self.rule!r}: this step is in use by {by}")
            return method(self, *args, **kwargs)
        finally:
            self._users.remove(me)

    return called


class BoundStep:
    """A step over fixed tensors: calling it updates all of them in place, in one native call.

    Keyword arguments are hyper-parameters: a number, or a sequence with one for each tensor. They stay until changed.
    """

    def __init__(
        self,
        rule: UpdateRule,
        params: Sequence[Any],
        grads: Iterable[Any] | None,
        kept: State | None,
        inputs: Mapping[str, Iterable[Any]] | None,
        *,
        lazy: bool,
        flags: Mapping[str, Iterable[Any]] | None,
        ids: Iterable[int] | None,
        pieces: Sequence[Piece | None],
        exchange: Exchange | None,
    ) -> None:
        self.rule = rule
        self._users: list[tuple[int]] = []  # the first one is inside, the others are about to be told so
        self._params = rule.tensors(params, "params")
        self._device = rule.target.device(self._params)
        self._pieces, self._exchange = pieces, exchange
        n = len(self._params)
        self._flags = arguments.per_param(rule.spec, flags, n)
        given = [None] * n if grads is None else buffers.listed(grads, "grads", n)
        sparse = [isinstance(g, RowSparse) for g in given]
        decided = {name: [own[name] for own in self._flags] for name in flags or {}}  # an iterator is read only once
        self.state = rule.init(params, sparse, decided, pieces) if kept is None else kept
        by_row = [lazy and x for x in sparse]
        self._kernels = rule.kernels(self._params, by_row, self._flags, pieces, _how_many(given))
        self._columns = state.columns(self.state, self._kernels, self._params, repr(rule), self._device)
        self._columns["copy" if rule.master else "w"] = self._params
        self._counts = state.counts(self.state, n)
        self._high, self._zeros = state.high_parts(self._counts), bytes(2 * n)
        self._reads: Watch | None = None
        self._inputs = self._check_inputs(inputs or {})
        written, read = self._written_tensors(), [t for tensors in self._inputs.values() for t in tensors]
        self._apart, self._watch = Apart(written, read), Watch([*written, *read])
        self._is_watched = bool(self._watch.owners)
        self._ids = _check_ids(range(n) if ids is None else ids, n)
        self._seed = 0
        shapes = [p.shape if piece is None else piece.shape for p, piece in zip(self._params, pieces, strict=True)]
        decide = _decider(rule, self._kernels, list(map(len, shapes)), self._flags)
        self._hyper = Hyper(rule.spec, rule.values, [k.variant.flags for k in self._kernels], decide)
        self._values = self._hyper.values
        in_rows = state.by_row(self._columns, self._kernels)
        self._gradients = Gradients(self._params, self._kernels, in_rows, lazy, self._device)
        self._sources = list(params) if grads is None else None
        here = zip(pieces, self._params, self._kernels, strict=True)
        self._arrange([i for i, of in enumerate(here) if not is_left_out(*of)])
        if grads is None:
            self._apart.check([])
        else:
            self._bind_gradients(given)

    @alone
    def __call__(self, /, **changes: Any) -> None:
        """One update of every tensor; each update count advances by one before it is used."""
        self._prepare(changes)
        try:
            self._run(self._address)
        finally:
            if self._of_pytorch:
                watch.written(self._of_pytorch)
        if self._exchange is not None:
            for table in self._tables:
                assert table.share is not None
                table.share.check()

    def __repr__(self) -> str:
        rule = repr(self.rule).removeprefix("<optgen ").removesuffix(">")
        size, n = sum(p.size for p in self._params), len(self._params)
        return f"<optgen step of {rule}: {size:,} elements in {n} tensor{'s' * (n != 1)}, {state.counted(self.state)}>"

    def _repr_markdown_(self) -> str:
        """A line of what it is and the equations, as notebooks show them."""
        return f"`{self!r}`\n\n{self.rule.spec._repr_latex_()}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.rule!r}: a step cannot be copied or pickled, as it is bound to the memory of its tensors; copy the "
            "parameters and step.state (its `arrays` and `t`), and bind the copies: rule.bind(params, grads, state)"
        )

    def _prepare(self, changes: Mapping[str, Any]) -> None:
        """Have hyper-parameters and gradients where kernels read them; counts may have been set since the last step."""
        if self._is_watched:
            self._check_memory()
        if self._high.tobytes() != self._zeros:  # a quick look, as this is on every step's path
            state.check_counts(self._counts.view())
        changed = {}
        for name, value in changes.items():
            # Only a number cannot have changed its value while it stayed the same object.
            if self._values.get(name, self) is not value or not isinstance(value, float | int):
                changed[name] = value
        if changed:
            new = self._hyper.change(changed)
            for table in self._tables:
                table.set(new)
        if self._sources is not None:
            self._read_gradients(self._sources)

    def _check_memory(self) -> None:
        """ValueError naming a tensor that is no longer the memory that was bound."""
        self._watch.check("bind anew, with state=step.state")
        if self._sources is None and self._reads is not None:
            self._reads.check("rebind the gradients")

    @alone
    def rebind(self, grads: Iterable[Any]) -> None:
        """Take the gradients from other tensors of the same shapes."""
        self._bind_gradients(buffers.listed(grads, "grads", len(self._params)))
        if self._sources is not None:
            self._reads = None  # the next step looks for itself

    @alone
    def evaluate(self) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none."""
        self._watch.check("bind anew, with state=step.state")
        return evaluate(self.rule, self._params, self._flags, self.state, self._values, self._pieces)

    @property
    def seed(self) -> int:
        """What draws and stochastic rounding depend on, together with the parameters' ids and counts; 0 at first."""
        return self._seed

    @seed.setter
    @alone
    def seed(self, value: int) -> None:
        seed = operator.index(value)
        if not 0 <= seed < SEED_LIMIT:
            raise ValueError(f"the seed must be from 0 to 2^64 - 1, not {seed}")
        self._seed = seed
        for table in self._tables:
            table.step.seed = self._seed

    # ------------------------------------------------------------ gradients

    def _bind_gradients(self, grads: Sequence[Any]) -> None:
        self._take(dict(enumerate(grads)))

    def _take(self, grads: Mapping[int, Any]) -> None:
        checked = self._gradients.check(grads)
        tensors = [t for g in checked.values() for t in g.tensors]
        self._apart.check(tensors)
        for table in self._tables:
            table.take([self._gradients.place(i, checked[i]) for i in table.members])
        self._reads = Watch(tensors)
        self._is_watched = bool(self._watch.owners or self._reads.owners)

    def _read_gradients(self, sources: Sequence[Any]) -> None:
        grads: dict[int, Any] = {}
        for i, param in enumerate(sources):
            if not hasattr(param, "grad"):
                raise ValueError(f"params[{i}]: a {type(param).__name__} has no .grad; pass grads to bind")
            if param.grad is not None:
                grads[i] = param.grad
        if (members := list(grads)) != self._members:
            self._arrange(members)
        if self._reads is None or not self._reads.finds(list(grads.values())):
            self._take(grads)

    # ------------------------------------------------------------ what a native call needs

    def _arrange(self, members: list[int]) -> None:
        """Have these parameters updated, those with one kernel in one table."""
        self._members = members
        self._reads = None
        columns: Columns = {**self._columns, **self._inputs}
        groups = grouped(self._kernels, members)
        self._check_whole(groups)
        self._tables = [
            self._device.table(kernel, own, self._params, columns, self._ids, self._pieces)
            for kernel, own in groups.items()
        ]
        for table in self._tables:
            if self._exchange is not None:
                table.exchange_by(self._exchange)
            table.set(self._values)
            table.step.seed = self._seed
        if pool.num_threads() > 1 and sum(self._params[i].size for i in members) >= pool.SMALL:
            for table in self._tables:
                table.use_threads()
        self._run, self._address = self._entry()
        self._of_pytorch = watch.of_pytorch([self._counts, *self._written_by(groups)])

    def _written_by(self, groups: Mapping[Kernel, list[int]]) -> list[Tensor]:
        """What a step of these parameters writes of them and of their states."""
        written = [
            self._columns[b.name][i]
            for kernel, members in groups.items()
            for b in kernel.native.buffers
            if b.written and b.name in self._columns
            for i in members
        ]
        return [t for t in written if t is not None]

    def _entry(self) -> tuple[Callable[[int], Any], int]:
        """What to call with what; one kernel for everything is called directly."""
        if not self._tables:
            return _nothing, 0
        first = self._tables[0]
        if len(first.members) == len(self._params) and first.shared_count is None:
            first.use_counts(self._counts)
            return first.kernel.run, first.address
        self._chain = Chain(self._tables, self._counts)
        return self._chain.run, self._chain.address

    def _check_whole(self, groups: Mapping[Kernel, list[int]]) -> None:
        """What depends on all parameters can neither leave some out nor see only those of one kernel."""
        if not any(kernel.native.shared for kernel in groups):
            return
        name = self.rule.spec.name
        missing = set(range(len(self._params))) - set(self._members)
        if missing:
            raise ValueError(f"params[{min(missing)}].grad: there is none, and {name} sums over all parameters")
        if len(groups) > 1:
            (first, *_), (second, *_), *_ = groups.values()
            raise ValueError(
                f"{name} sums over all parameters, so they need one kernel, but params[{first}] and params[{second}] "
                f"need different ones: {_difference(self._kernels[first], self._kernels[second])}; "
                "compute the sum or norm outside of the spec, and pass it as a param, or as rescale_grad"
            )

    # ------------------------------------------------------------ checks

    def _check_inputs(self, given: Mapping[str, Iterable[Any]]) -> dict[str, list[Tensor]]:
        spec = self.rule.spec
        names = [i.name for i in spec.inputs]
        for name in given:
            if name not in names:
                hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
                raise TypeError(f"{spec.name} has no input '{name}'; {hint}")
        columns: dict[str, list[Tensor]] = {}
        for name in names:
            if name not in given:
                raise ValueError(
                    f"{spec.name} reads '{name}': give inputs={{'{name}': [...]}}, a tensor for each parameter"
                )
            listed = buffers.listed(given[name], f"inputs[{name!r}]", len(self._params))
            found = [self._device.tensor(x, f"inputs[{name!r}][{i}]") for i, x in enumerate(listed)]
            for t, p in zip(found, self._params, strict=True):
                buffers.check(t, self.rule.dtype, p.shape, "its parameter")
            columns[name] = found
        return columns

    def _written_tensors(self) -> list[Tensor]:
        """Parameters, states and counts, each once: the arrays of a shared state are all the same one."""
        found = [self._counts]
        for name, tensors in self._columns.items():
            present = [t for t in tensors if t is not None]
            found += present[:1] if state.is_shared(name, self._kernels) else present
        for t in self._params:
            buffers.check_writable(t)
        return found


def _decider(
    rule: UpdateRule, kernels: Sequence[Kernel], ranks: Sequence[int], flags: Sequence[Mapping[str, FlagValue]]
) -> Callable[[int, Mapping[str, float | None]], Mapping[str, FlagValue]]:
    """Which flags tensor i has with these values. It knows nothing of the step, which would otherwise be in a cycle
    with it, and keep the arrays until the garbage collector comes by."""

    def decide(i: int, values: Mapping[str, float | None]) -> Mapping[str, FlagValue]:
        sparse = bool(kernels[i].variant.flags.get("sparse"))
        return rule.decide(ranks[i], flags[i], values, sparse=sparse)

    return decide


def _how_many(grads: Sequence[Any]) -> int:
    """How many gradients of each parameter are summed."""
    counts = set(map(how_many, grads))
    if len(counts) > 1 or 0 in counts:
        raise ValueError(f"grads: as many for each parameter are summed, and not {sorted(counts)}")
    return counts.pop() if counts else 1


def _check_ids(ids: Iterable[int], n: int) -> list[int]:
    checked = [operator.index(x) for x in ids]
    if len(checked) != n or len(set(checked)) != n or not all(0 <= x < ID_LIMIT for x in checked):
        raise ValueError(f"ids: expected {n} different numbers from 0 to 2^20 - 1, one for each parameter, not {ids!r}")
    return checked


def _difference(a: Kernel, b: Kernel) -> str:
    """What two kernels were compiled for, as far as it is not the same."""
    words = []
    for x, y in ((a.variant.flags, b.variant.flags), (a.variant.storage, b.variant.storage)):
        words += [f"{name} is {x.get(name)} and {y.get(name)}" for name in {**x, **y} if x.get(name) != y.get(name)]
    return ", ".join(words)


def _nothing(address: int) -> None:
    """A step of no tensors."""
