"""An update rule bound to tensors: one native call a step on the CPU, one launch for each sweep on a GPU."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Protocol

from optgen import arguments
from optgen.execute import buffers, state
from optgen.execute.buffers import Array, Tensor
from optgen.execute.hyper import HyperParameters, flag_decider
from optgen.execute.kernel import LoadedKernel, group_by_kernel, smallest_first
from optgen.execute.overlap import OverlapCheck
from optgen.execute.piece import AnyPiece, Exchange, is_left_out
from optgen.execute.protocols import Device, Launches
from optgen.execute.scaler import Scaler
from optgen.execute.state import State
from optgen.execute.steps import evaluation
from optgen.execute.steps.active import ActiveSet, MovingGradients, written_by
from optgen.execute.steps.exclusive import exclusive
from optgen.execute.tensors import checks, watch
from optgen.execute.tensors.donation import Donation
from optgen.execute.tensors.gradients import CheckedGradient, GivenGradients, Gradients, are_bound, found_gradients
from optgen.execute.tensors.watch import Watch
from optgen.execute.transaction import Transaction
from optgen.model import PHASE, FlagValue

SEED_LIMIT = 1 << 64
KEPT_SETS = 8
"""The sets of parameters with gradients whose tables are kept, those that were used last: experts take turns."""


class Rule(evaluation.EvaluatingRule, Protocol):
    """What a step asks of the rule that bound it."""

    values: Mapping[str, float | None]
    each: Mapping[str, list[float | None]]
    master: bool
    scales_gradient: bool

    def decide(
        self, shape: Sequence[int], flags: Mapping[str, FlagValue], values: Mapping[str, float | None], *, sparse: bool
    ) -> Mapping[str, FlagValue]:
        """All flags of a parameter of this shape, given those that are set for it."""

    def bundle(self, line: str) -> dict[str, str]:
        """What notebooks show of something that updates by this rule, below a line of what it is."""


class BoundStep:
    """A step over fixed tensors of one device: calling it updates all of them in place.

    Keyword arguments are hyper-parameters: a number, or a sequence with one for each tensor. They stay until changed.

    On a GPU, a call is `advance` and then `launch`, on the caller's current stream: PyTorch's for PyTorch tensors,
    CuPy's for CuPy arrays, else the default one. Both return before the GPU is done. A captured graph holds launches:
    call `launch` alone while it is captured, and `advance` before each replay. A capturable step is called itself while
    it is captured, and each replay is a step.

    A call is also `prepare`, which refuses what a step cannot use, and then `run`: of several steps all can be prepared
    before one of them runs. So a step can take part in a `Transaction`.
    """

    def __init__(
        self,
        rule: Rule,
        device: Device,
        params: Sequence[Tensor],
        kernels: Sequence[LoadedKernel],
        initial: State,
        inputs: Mapping[str, Iterable[Any]] | None,
        given: GivenGradients,
        *,
        flags: Sequence[Mapping[str, FlagValue]],
        ids: Iterable[int] | None,
        pieces: Sequence[AnyPiece | None],
        exchange: Exchange | None,
    ) -> None:
        """Arguments are what `UpdateRule.bind` makes of its own."""
        self.rule, self.state = rule, initial
        self._users: list[tuple[int]] = []  # the first one is inside, the others are about to be told so
        self._transaction = Transaction(rule)
        self._device, self._params, self._kernels = device, params, kernels
        self._flags, self._pieces, self._exchange = flags, pieces, exchange
        n = len(params)
        self._tensors: dict[str, Sequence[Tensor | None]] = state.tensors(initial, kernels, params, repr(rule), device)
        self._tensors["copy" if rule.master else "w"] = params
        self._counts = state.counts(initial, n, device)
        self._high_count_bits = state.high_16_bits(self._counts)
        self._zero_bits = bytes(self._high_count_bits.nbytes)
        in_pieces = any(piece is not None for piece in pieces)
        checked_inputs = checks.check_inputs(rule.spec, inputs or {}, params, kernels, device, in_pieces=in_pieces)
        written, read = (
            self._written_tensors(),
            [t for tensors in checked_inputs.values() for t in tensors if t is not None],
        )
        self._tensors |= checked_inputs
        self._overlap, self._watch = OverlapCheck(written, read), Watch([*written, *read])
        self._gradient_watch: Watch | None = None
        self._is_watched = bool(self._watch.owners)
        self._ids = checks.check_ids(range(n) if ids is None else ids, n)
        self._seed, self._scaler = 0, Scaler()
        shapes = [p.shape if piece is None else piece.shape for p, piece in zip(params, pieces, strict=True)]
        decide_flags = flag_decider(rule.decide, kernels, shapes, flags)
        self._hyper = HyperParameters(
            rule.spec, rule.dtype, rule.values, [k.variant.flags for k in kernels], decide_flags, device.scalar
        )
        self._hyper.change(rule.each)
        phase = next((str(own[PHASE]) for own in flags if PHASE in own), None)
        self._values, self._given = self._hyper.values, rule.spec.given_in(phase)
        self._gradients = Gradients(
            params, kernels, state.by_row(self._tensors, kernels), given.lazy, device, given.donated
        )
        self._held: Any = None  # keeps the gradients alive
        self._donation = Donation() if given.donated else None
        self._grad_sources = list(given.sources) if given.listed is None else None
        self._kept_sets: dict[tuple[int, ...], ActiveSet] = {}
        self._use_tables([i for i in range(n) if not is_left_out(pieces[i], params[i], kernels[i])])
        if given.listed is None:
            self._overlap.check_no_overlap([])
        else:
            self._bind_listed(given.listed)

    def __repr__(self) -> str:
        rule = repr(self.rule).removeprefix("<optgen ").removesuffix(">")
        size, n = sum(p.size for p in self._params), len(self._params)
        return f"<optgen step of {rule}: {size:,} elements in {n} tensor{'s' * (n != 1)}, {state.counted(self.state)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show."""
        return self.rule.bundle(repr(self))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.rule!r}: a step cannot be copied or pickled, as it is bound to the memory of its tensors; copy the "
            "parameters and step.state (its `arrays` and `t`), and bind the copies: rule.bind(params, grads, state)"
        )

    @exclusive
    def __call__(self, /, **changes: Any) -> None:
        """One update of every tensor; each update count advances by one before it is used."""
        self._prepare(changes)
        if self.may_fail:
            self._transaction.begin(self._active.participants)
        self._update(self._run)

    @exclusive
    def prepare(self, /, **changes: Any) -> None:
        """Take hyper-parameters, tensors and gradients as they are now, for `run`, which has to follow before any of
        them changes. Raises what a call raises, and then no weight, state or count has changed."""
        self._prepare(changes)
        self._transaction.begin(self._active.participants)

    @exclusive
    def run(self) -> None:
        """One update of every tensor, with what `prepare` has taken; RuntimeError if it was not called before."""
        self._update(self._transaction.run)

    @exclusive
    def attempt(self) -> None:
        """After `prepare`, make those updates that may fail, for `run` to make the others; `undo` takes them back.

        An ArithmeticError names a parameter whose matrices have no factorization. Then nothing has changed.
        """
        self._transaction.attempt()

    @exclusive
    def undo(self) -> None:
        """Have everything be as before `attempt`."""
        self._transaction.undo()

    def _update(self, run: Callable[[], Any]) -> None:
        try:
            run()
        finally:
            if self._mark_written is not None:
                self._mark_written()
            if self._donation is not None:
                self._donation.use()
            if self._grad_sources is not None and self._launches is None and not self._device.is_capturable:
                self._held = None  # on a CPU nothing reads them later, and the next `backward` has their memory

    @exclusive
    def advance(self, /, **changes: Any) -> None:
        """Count one update, and send the next launches their numbers; keyword arguments are hyper-parameters.

        RuntimeError on the CPU, where a step has no launches.
        """
        launches = self._require_launches()
        self._prepare(changes)
        launches.advance()
        if self._mark_written is not None:
            self._mark_written()  # a graph that is replayed now writes, and autograd does not see it

    @exclusive
    def launch(self) -> None:
        """Update every tensor, once, with the numbers that were sent last; RuntimeError on the CPU."""
        launches = self._require_launches()
        if self._grad_sources is not None and self._held is None:
            raise RuntimeError("call advance() once before launch(): it looks for the gradients")
        self._check_memory()
        try:
            launches.launch()
        finally:
            if self._mark_written is not None:
                self._mark_written()

    def _require_launches(self) -> Launches:
        if self._launches is None:
            raise RuntimeError(
                f"{self.rule!r}: advance() and launch() are the halves of a step on a GPU, for captured graphs; a step "
                "on the CPU, or a capturable one, is one call: call the step itself"
            )
        return self._launches

    @property
    def members(self) -> list[int]:
        """The numbers of the parameters that the last step that was prepared updates."""
        return self._members

    @property
    def counts(self) -> Array:
        """The update counts of all parameters, which steps advance, in the memory of the CPU."""
        return self._counts.view()

    @exclusive
    def rebind(self, grads: Iterable[Any]) -> None:
        """Take the gradients from other tensors of the same shapes."""
        self._bind_listed(buffers.as_list(grads, "grads", len(self._params)))
        if self._grad_sources is not None:
            # The next step looks for its gradients again.
            self._gradient_watch = self._active.moving = self._held = None

    @exclusive
    def evaluate(self) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none."""
        self._watch.check("bind anew, with state=step.state")
        values = self._hyper.numbers(self._device.get)
        return evaluation.evaluate(self.rule, self._params, self.state, self._flags, self._pieces, values)

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
            table.set_seed(self._seed)

    @property
    def gradient_factor(self) -> float:
        """What every gradient is multiplied by as it is read; 1 at first. Each product is rounded once, to the dtype of
        the arithmetic. Setting it is a ValueError if the rule has no `scales_gradient`."""
        return self._scaler.factor

    @gradient_factor.setter
    @exclusive
    def gradient_factor(self, value: float) -> None:
        self._check_scaling()
        self._set_scaler(replace(self._scaler, factor=float(value)))

    @property
    def grad_scale(self) -> Any:
        """A float32 number on the GPU, by which a capturable step divides every gradient as it reads it; None at first.

        It divides the `gradient_factor`, in double, so a gradient is rounded once. Setting it is a ValueError if the
        rule has no `scales_gradient`, or the step is not capturable.
        """
        return self._scaler.grad_scale and self._scaler.grad_scale.owner

    @grad_scale.setter
    @exclusive
    def grad_scale(self, value: Any) -> None:
        self._check_scaling()
        self._set_scaler(replace(self._scaler, grad_scale=self._scaler_tensor(value, "grad_scale")))

    @property
    def found_inf(self) -> Any:
        """A float32 number on the GPU: where it is not 0, a capturable step changes nothing, no weight, no state and no
        count. None at first; setting it is a ValueError if the step is not capturable."""
        return self._scaler.found_inf and self._scaler.found_inf.owner

    @found_inf.setter
    @exclusive
    def found_inf(self, value: Any) -> None:
        self._set_scaler(replace(self._scaler, found_inf=self._scaler_tensor(value, "found_inf")))

    def _check_scaling(self) -> None:
        if not self.rule.scales_gradient:
            raise ValueError(f"{self.rule!r} does not scale gradients; load it with scales_gradient=True")

    def _scaler_tensor(self, value: Any, name: str) -> Tensor | None:
        if not self._device.is_capturable:
            raise ValueError(f"{name}: capturable steps read it; bind with capturable=True, for tensors of a GPU")
        return None if value is None else checks.check_one_float32(self._device.tensor(value, name))

    def _set_scaler(self, scaler: Scaler) -> None:
        self._scaler = scaler
        for table in self._tables:
            table.set_scaler(scaler)

    # ------------------------------------------------------------ before each step

    def _prepare(self, changes: Mapping[str, Any]) -> None:
        """Check what may have changed since the last step, and give kernels the hyper-parameters and gradients."""
        if self._transaction.is_begun:
            self._transaction.cancel()
        if self._given:
            arguments.check_given(self.rule.spec, self._given, changes)
        if self._launches is not None:
            self._launches.check_not_capturing()
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
        elif self._donation is not None:
            self._donation.check()

    def _check_memory(self) -> None:
        """ValueError naming a tensor that is no longer the memory that was bound."""
        if self._watch.owners:
            self._watch.check("bind anew, with state=step.state")
        if self._gradient_watch is not None:
            self._gradient_watch.check("rebind the gradients")

    def _read_gradients(self, sources: Sequence[Any]) -> None:
        """Have the step read the `.grad` of each parameter that has one."""
        found = found_gradients(sources)
        if self._donation is not None:
            self._donation.give_found(found)
        if self._move_gradients(found):
            return
        members = [i for i, grad in enumerate(found) if grad is not None]
        if members != self._active.members:
            self._use_tables(members)
            if self._move_gradients(found):
                return
        self._bind_found(found)

    def _move_gradients(self, found: list[Any]) -> bool:
        """Have the tables read these gradients, if they differ in nothing but their addresses from those before."""
        moving = self._active.moving
        if moving is None or not moving.move(found):
            return False
        self._held = found
        return True

    def _bind_found(self, found: list[Any]) -> None:
        """Bind the `.grad` of each parameter, None where there is none."""
        self._active.moving = None
        checked = self._bind_gradients({i: found[i] for i in self._active.members})
        if self.rule.spec.needs_gradients and all(
            g.index is None and hasattr(found[i], "data_ptr") for i, g in checked.items()
        ):
            dense = {i: g.tensors[0] for i, g in checked.items()}
            apart = self._donation is not None
            self._active.moving = MovingGradients(found, dense, self._tables, self._overlap, apart=apart)

    def _bind_listed(self, grads: Sequence[Any]) -> None:
        """Have the next steps read these gradients, and refuse them once they are elsewhere."""
        if not are_bound(grads, self._held):
            checked = self._bind_gradients(dict(enumerate(grads)))
            self._gradient_watch = Watch([t for g in checked.values() for t in g.tensors])
            self._is_watched = bool(self._watch.owners or self._gradient_watch.owners)
        if self._donation is not None:
            self._donation.give(self._gradient_watch.owners if self._gradient_watch else [])

    def _bind_gradients(self, grads: Mapping[int, Any]) -> dict[int, CheckedGradient]:
        """Have the next steps read these gradients, by the parameters' numbers."""
        checked = self._gradients.check(grads)
        # What nothing reads may be anywhere.
        tensors = [t for g in checked.values() for t in g.tensors] if self.rule.spec.needs_gradients else []
        self._overlap.check_no_overlap(tensors, written=self._donation is not None)
        for table in self._tables:
            table.bind_gradients([self._gradients.reads(i, checked[i]) for i in table.members])
        self._held = checked
        return checked

    # ------------------------------------------------------------ tables

    def _use_tables(self, members: list[int]) -> None:
        """Have steps update these parameters, with the tables that were kept for them, or new ones."""
        self._members = members
        active = self._kept_sets.pop(tuple(members), None) or self._make_tables(members)
        self._kept_sets[tuple(members)] = self._active = active
        if len(self._kept_sets) > KEPT_SETS:
            del self._kept_sets[next(iter(self._kept_sets))]
        self._tables = active.tables
        for table in self._tables:
            table.set_hyper(self._values)
            table.set_scaler(self._scaler)
            table.set_seed(self._seed)
        runner, self._mark_written = active.runner, active.mark_written
        self.may_fail, self._launches = runner.may_fail, runner.launches
        self._run = self._transaction.run if runner.may_fail else runner.run

    def _make_tables(self, members: list[int]) -> ActiveSet:
        """The tables of these parameters, those of one kernel in one table."""
        groups = group_by_kernel(self._kernels, members)
        if self._exchange is None:
            groups = {kernel: smallest_first(kernel, own, self._params) for kernel, own in groups.items()}
        checks.check_shared_values(self.rule.spec.name, groups)
        tables = [
            self._device.table(kernel, own, self._params, self._tensors, self._ids, self._pieces)
            for kernel, own in groups.items()
        ]
        runner = self._device.runner(tables, self._counts, self._exchange)
        written = [self._counts, *written_by(groups, self._tensors)]
        return ActiveSet(members, tables, runner, watch.marker(watch.pytorch_owners(written)))

    # ------------------------------------------------------------ checks

    def _written_tensors(self) -> list[Tensor]:
        """Parameters, states and counts, each once: the arrays of a shared state are all the same one."""
        found = [self._counts]
        for name, tensors in self._tensors.items():
            present = [t for t in tensors if t is not None]
            found += present[:1] if state.is_shared(name, self._kernels) else present
        for t in self._params:
            buffers.check_writable(t)
        return found
