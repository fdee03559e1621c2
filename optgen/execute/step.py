"""An update rule bound to tensors: one native call a step on the CPU, one launch for each sweep on a GPU."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from optgen.diagnostics import suggest
from optgen.execute import buffers, state, watch
from optgen.execute.buffers import Tensor
from optgen.execute.gradients import Gradients
from optgen.execute.hyper import HyperParameters, Values
from optgen.execute.kernel import LoadedKernel, group_by_kernel
from optgen.execute.overlap import OverlapCheck
from optgen.execute.piece import AnyPiece, Exchange, is_left_out
from optgen.execute.protocols import Device, Launches
from optgen.execute.state import State
from optgen.execute.watch import Watch
from optgen.model import FlagValue, Optimizer

ID_LIMIT, SEED_LIMIT = 1 << 20, 1 << 64

AnyStep = TypeVar("AnyStep", bound="BoundStep")
P = ParamSpec("P")
R = TypeVar("R")


def exclusive(method: Callable[Concatenate[AnyStep, P], R]) -> Callable[Concatenate[AnyStep, P], R]:
    """A method of a step that raises RuntimeError while another such method of the same step runs.

    Two at once would write the same memory. The second one does not wait: an exchange that calls its own step would
    wait for ever.
    """

    @functools.wraps(method)
    def called(self: AnyStep, /, *args: P.args, **kwargs: P.kwargs) -> R:
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


class Rule(Protocol):
    """What a step asks of the rule that bound it."""

    spec: Optimizer
    values: Mapping[str, float | None]
    dtype: str
    master: bool

    def decide(
        self, rank: int, flags: Mapping[str, FlagValue], values: Mapping[str, float | None], *, sparse: bool
    ) -> Mapping[str, FlagValue]:
        """All flags of a parameter of this rank, given those that are set for it."""

    def evaluate_tensors(
        self,
        params: Sequence[Tensor],
        state: State,
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        values: Values,
    ) -> list[Any]:
        """New arrays with the weights to evaluate with."""


class BoundStep:
    """A step over fixed tensors of one device: calling it updates all of them in place.

    Keyword arguments are hyper-parameters: a number, or a sequence with one for each tensor. They stay until changed.

    On a GPU, a call is `advance` and then `launch`, on the caller's current stream: PyTorch's for PyTorch tensors,
    CuPy's for CuPy arrays, else the default one. Both return before the GPU is done. A captured graph holds launches:
    call `launch` alone while it is captured, and `advance` before each replay.
    """

    def __init__(
        self,
        rule: Rule,
        device: Device,
        params: Sequence[Tensor],
        kernels: Sequence[LoadedKernel],
        initial: State,
        inputs: Mapping[str, Iterable[Any]] | None,
        *,
        grads: Sequence[Any] | None,
        grad_sources: Sequence[Any],
        lazy: bool,
        flags: Sequence[Mapping[str, FlagValue]],
        ids: Iterable[int] | None,
        pieces: Sequence[AnyPiece | None],
        exchange: Exchange | None,
    ) -> None:
        """Arguments are what `UpdateRule.bind` makes of its own; without `grads`, gradients are `x.grad` of
        `grad_sources`."""
        self.rule, self.state = rule, initial
        self._users: list[tuple[int]] = []  # the first one is inside, the others are about to be told so
        self._device, self._params, self._kernels = device, params, kernels
        self._flags, self._pieces, self._exchange = flags, pieces, exchange
        n = len(params)
        self._tensors: dict[str, Sequence[Tensor | None]] = state.tensors(initial, kernels, params, repr(rule), device)
        self._tensors["copy" if rule.master else "w"] = params
        self._counts = state.counts(initial, n)
        self._high_count_bits, self._zero_bits = state.high_16_bits(self._counts), bytes(2 * n)
        checked_inputs = self._check_inputs(inputs or {})
        written, read = self._written_tensors(), [t for tensors in checked_inputs.values() for t in tensors]
        self._tensors |= checked_inputs
        self._overlap, self._watch = OverlapCheck(written, read), Watch([*written, *read])
        self._gradient_watch: Watch | None = None
        self._is_watched = bool(self._watch.owners)
        self._ids = _check_ids(range(n) if ids is None else ids, n)
        self._seed = 0
        shapes = [p.shape if piece is None else piece.shape for p, piece in zip(params, pieces, strict=True)]
        decide_flags = _flag_decider(rule, kernels, list(map(len, shapes)), flags)
        self._hyper = HyperParameters(rule.spec, rule.values, [k.variant.flags for k in kernels], decide_flags)
        self._values = self._hyper.values
        self._gradients = Gradients(params, kernels, state.by_row(self._tensors, kernels), lazy, device)
        self._grad_sources = list(grad_sources) if grads is None else None
        self._make_tables([i for i in range(n) if not is_left_out(pieces[i], params[i], kernels[i])])
        if grads is None:
            self._overlap.check_no_overlap([])
        else:
            self._bind_gradients(dict(enumerate(grads)))

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

    @exclusive
    def __call__(self, /, **changes: Any) -> None:
        """One update of every tensor; each update count advances by one before it is used."""
        if self._launches is not None:
            self._launches.check_not_capturing()
        self._prepare(changes)
        try:
            self._run()
        finally:
            if self._of_pytorch:
                watch.mark_written(self._of_pytorch)

    @exclusive
    def advance(self, /, **changes: Any) -> None:
        """Count one update, and send the next launches their numbers; keyword arguments are hyper-parameters.

        RuntimeError on the CPU, where a step has no launches.
        """
        launches = self._require_launches()
        launches.check_not_capturing()
        self._prepare(changes)
        launches.advance()
        watch.mark_written(self._of_pytorch)  # a graph that is replayed now writes, and autograd does not see it

    @exclusive
    def launch(self) -> None:
        """Update every tensor, once, with the numbers that were sent last; RuntimeError on the CPU."""
        launches = self._require_launches()
        if self._grad_sources is not None and self._gradient_watch is None:
            raise RuntimeError("call advance() once before launch(): it looks for the gradients")
        self._check_memory()
        try:
            launches.launch()
        finally:
            watch.mark_written(self._of_pytorch)

    def _require_launches(self) -> Launches:
        if self._launches is None:
            raise RuntimeError(
                f"{self.rule!r}: advance() and launch() are the halves of a step on a GPU, for captured graphs; on the "
                "CPU a step is one native call: call the step itself"
            )
        return self._launches

    @exclusive
    def rebind(self, grads: Iterable[Any]) -> None:
        """Take the gradients from other tensors of the same shapes."""
        self._bind_gradients(dict(enumerate(buffers.as_list(grads, "grads", len(self._params)))))
        if self._grad_sources is not None:
            self._gradient_watch = None  # the next step looks for its gradients again

    @exclusive
    def evaluate(self) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none."""
        self._watch.check("bind anew, with state=step.state")
        return self.rule.evaluate_tensors(self._params, self.state, self._flags, self._pieces, self._values)

    @property
    def seed(self) -> int:
        """The seed of draws and stochastic rounding, which depend on the parameters' ids and counts as well; 0 at
        first."""
        return self._seed

    @seed.setter
    @exclusive
    def seed(self, value: int) -> None:
        seed = operator.index(value)
        if not 0 <= seed < SEED_LIMIT:
            raise ValueError(f"the seed must be from 0 to 2^64 - 1, not {seed}")
        self._seed = seed
        for table in self._tables:
            table.step.seed = self._seed

    # ------------------------------------------------------------ before each step

    def _prepare(self, changes: Mapping[str, Any]) -> None:
        """Check what may have changed since the last step, and give kernels the hyper-parameters and gradients."""
        if self._is_watched:
            self._check_memory()
        if self._high_count_bits.tobytes() != self._zero_bits:  # a quick look, as this is on every step's path
            state.check_counts(self._counts.view())
        changed = {}
        for name, value in changes.items():
            # Only a number cannot have changed its value while it stayed the same object.
            if self._values.get(name, self) is not value or not isinstance(value, float | int):
                changed[name] = value
        if changed:
            new = self._hyper.change(changed)
            for table in self._tables:
                table.set_hyper(new)
        if self._grad_sources is not None:
            self._read_gradients(self._grad_sources)

    def _check_memory(self) -> None:
        """ValueError naming a tensor that is no longer the memory that was bound."""
        self._watch.check("bind anew, with state=step.state")
        if self._grad_sources is None and self._gradient_watch is not None:
            self._gradient_watch.check("rebind the gradients")

    def _read_gradients(self, sources: Sequence[Any]) -> None:
        """Bind the `.grad` of each parameter that has one, unless they are what they were at the last step."""
        grads: dict[int, Any] = {}
        for i, param in enumerate(sources):
            if not hasattr(param, "grad"):
                raise ValueError(f"params[{i}]: a {type(param).__name__} has no .grad; pass grads to bind")
            if param.grad is not None:
                grads[i] = param.grad
        if (members := list(grads)) != self._members:
            self._make_tables(members)
        if self._gradient_watch is None or not self._gradient_watch.matches(list(grads.values())):
            self._bind_gradients(grads)

    def _bind_gradients(self, grads: Mapping[int, Any]) -> None:
        """Have the next steps read these gradients, by the parameters' numbers."""
        checked = self._gradients.check(grads)
        tensors = [t for g in checked.values() for t in g.tensors]
        self._overlap.check_no_overlap(tensors)
        for table in self._tables:
            table.bind_gradients([self._gradients.reads(i, checked[i]) for i in table.members])
        self._gradient_watch = Watch(tensors)
        self._is_watched = bool(self._watch.owners or self._gradient_watch.owners)

    # ------------------------------------------------------------ tables

    def _make_tables(self, members: list[int]) -> None:
        """Have steps update these parameters, those of one kernel in one table."""
        self._members = members
        self._gradient_watch = None
        groups = group_by_kernel(self._kernels, members)
        self._check_sums_over_params(groups)
        self._tables = [
            self._device.table(kernel, own, self._params, self._tensors, self._ids, self._pieces)
            for kernel, own in groups.items()
        ]
        for table in self._tables:
            table.set_hyper(self._values)
            table.step.seed = self._seed
        self._runner = self._device.runner(self._tables, self._counts, self._exchange)
        self._run, self._launches = self._runner.run, self._runner.launches
        self._of_pytorch = watch.pytorch_owners([self._counts, *self._written_by(groups)])

    def _written_by(self, groups: Mapping[LoadedKernel, list[int]]) -> list[Tensor]:
        """The parameters and states that kernels write, each for its members."""
        written = [
            self._tensors[b.name][i]
            for kernel, members in groups.items()
            for b in kernel.native.buffers
            if b.written and b.name in self._tensors
            for i in members
        ]
        return [t for t in written if t is not None]

    def _check_sums_over_params(self, groups: Mapping[LoadedKernel, list[int]]) -> None:
        """ValueError if there is a sum over all parameters, and some are left out or have another kernel."""
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

    def _check_inputs(self, inputs: Mapping[str, Iterable[Any]]) -> dict[str, list[Tensor]]:
        """The tensors of each input, by name; TypeError or ValueError where one is unknown, missing or does not fit."""
        spec = self.rule.spec
        names = [i.name for i in spec.inputs]
        for name in inputs:
            if name not in names:
                hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
                raise TypeError(f"{spec.name} has no input '{name}'; {hint}")
        tensors: dict[str, list[Tensor]] = {}
        for name in names:
            if name not in inputs:
                raise ValueError(
                    f"{spec.name} reads '{name}': give inputs={{'{name}': [...]}}, a tensor for each parameter"
                )
            listed = buffers.as_list(inputs[name], f"inputs[{name!r}]", len(self._params))
            found = [self._device.tensor(x, f"inputs[{name!r}][{i}]") for i, x in enumerate(listed)]
            for t, p in zip(found, self._params, strict=True):
                buffers.check(t, self.rule.dtype, p.shape, "its parameter")
            tensors[name] = found
        return tensors

    def _written_tensors(self) -> list[Tensor]:
        """Parameters, states and counts, each once: the arrays of a shared state are all the same one."""
        found = [self._counts]
        for name, tensors in self._tensors.items():
            present = [t for t in tensors if t is not None]
            found += present[:1] if state.is_shared(name, self._kernels) else present
        for t in self._params:
            buffers.check_writable(t)
        return found


def _flag_decider(
    rule: Rule, kernels: Sequence[LoadedKernel], ranks: Sequence[int], flags: Sequence[Mapping[str, FlagValue]]
) -> Callable[[int, Mapping[str, float | None]], Mapping[str, FlagValue]]:
    """The function that decides the flags of tensor i for hyper-parameters.

    It does not refer to the step. A step in a cycle of references would keep its arrays until the garbage collector
    finds it.
    """

    def flags_of(i: int, values: Mapping[str, float | None]) -> Mapping[str, FlagValue]:
        sparse = bool(kernels[i].variant.flags.get("sparse"))
        return rule.decide(ranks[i], flags[i], values, sparse=sparse)

    return flags_of


def _check_ids(ids: Iterable[int], n: int) -> list[int]:
    checked = [operator.index(x) for x in ids]
    if len(checked) != n or len(set(checked)) != n or not all(0 <= x < ID_LIMIT for x in checked):
        raise ValueError(f"ids: expected {n} different numbers from 0 to 2^20 - 1, one for each parameter, not {ids!r}")
    return checked


def _difference(a: LoadedKernel, b: LoadedKernel) -> str:
    """The flags and storages in which the variants of two kernels differ."""
    words = []
    for x, y in ((a.variant.flags, b.variant.flags), (a.variant.storage, b.variant.storage)):
        words += [f"{name} is {x.get(name)} and {y.get(name)}" for name in {**x, **y} if x.get(name) != y.get(name)]
    return ", ".join(words)
