"""A step of several phases, each of which has gradients of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from optgen.execute.buffers import Array
from optgen.execute.steps.step import BoundStep
from optgen.execute.transaction import Transaction


class LaterPhase:
    """A phase of these parameters that is not the first. Only the first phase of a step counts, but every kernel
    advances the counts that it reads: so they are lowered by 1 before, and restored afterwards."""

    may_fail = True

    def __init__(self, step: BoundStep, members: Sequence[int]) -> None:
        self._step, self._members = step, members
        self._counts: Array | None = None

    def attempt(self) -> None:
        counts = self._step.counts
        self._counts = counts.copy()
        counts[self._members] -= 1
        if self._step.may_fail:
            self._step.attempt()

    def undo(self) -> None:
        self._step.undo()
        self._restore()

    def run(self) -> None:
        try:
            self._step.run()
        finally:
            self._restore()

    def _restore(self) -> None:
        if self._counts is not None:
            self._step.counts[:] = self._counts


class PhasedStep:
    """A step over fixed tensors whose spec has phases, as `phase ascend:` and `phase descend:`.

    Each phase is a method: `step.ascend()`, then with new gradients `step.descend()`. Keyword arguments are
    hyper-parameters, as of a `BoundStep`, and stay for the phases that follow. RuntimeError for a phase that is not
    `due`. An update count advances in the first phase; the others see it as it is then. All phases update the
    parameters that have had a gradient in the first one: ValueError if others have one later.
    """

    may_fail = True

    def __init__(self, steps: Mapping[str, BoundStep]) -> None:
        """`steps` are those of the phases, in order, bound to one state. Each of them advances counts."""
        self._steps = dict(steps)
        self.phases = tuple(steps)
        self.due = self.phases[0]
        first = steps[self.due]
        self.rule, self.state = first.rule, first.state
        self._later: dict[str, dict[str, Any]] = {phase: {} for phase in self.phases}
        self._members: list[int] = []
        self._transaction = Transaction(self.rule)

    def __repr__(self) -> str:
        return f"{self._steps[self.phases[0]]!r}".removesuffix(">") + f", {self.due} is due>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show."""
        return self.rule.bundle(repr(self))

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name in self.__dict__.get("phases", ()):
            return functools.partial(self._phase, name)
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}; its phases are {', '.join(self.phases)}"
        )

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self.phases]

    def __call__(self, /, **changes: Any) -> NoReturn:
        calls = ", new gradients, ".join(f"step.{phase}()" for phase in self.phases)
        raise TypeError(f"{self.rule!r}: a step has phases, each with gradients of its own: {calls}")

    def __reduce__(self) -> NoReturn:
        self._steps[self.phases[0]].__reduce__()

    def _phase(self, phase: str, /, **changes: Any) -> None:
        self.prepare(phase, **changes)
        self.run()

    @property
    def is_whole(self) -> bool:
        """Whether all phases of a step, or none, have been computed: then weights and states can be saved."""
        return self.due == self.phases[0]

    def resume(self, phase: str, members: Sequence[int]) -> None:
        """Go on within a step whose phases before this one, of these parameters, another `PhasedStep` has computed."""
        if phase != self.due:
            self.due, self._members = phase, list(members)

    def prepare(self, phase: str, /, **changes: Any) -> None:
        """`BoundStep.prepare` of a phase, for `run`; RuntimeError if another phase is due."""
        self._transaction.cancel()
        if phase != self.due:
            raise RuntimeError(f"{self.rule!r}: the phase '{self.due}' is due, and not '{phase}'")
        step = self._steps[phase]
        step.prepare(**self._later[phase] | changes)
        if not self.is_whole:
            self._check_members(step)
        kept = {name: x for name, x in changes.items() if name not in self.rule.spec.given}
        for others in self._later.values():
            others |= kept
        self._later[phase] = {}
        self._transaction.begin([step if self.is_whole else LaterPhase(step, self._members)])

    def attempt(self) -> None:
        """`BoundStep.attempt` of the phase that was prepared."""
        self._transaction.attempt()

    def undo(self) -> None:
        """`BoundStep.undo` of that phase."""
        self._transaction.undo()

    def run(self) -> None:
        """The phase that was prepared."""
        self._transaction.attempt()
        if self.is_whole:
            self._members = list(self._steps[self.due].members)
        try:
            self._transaction.run()
        finally:
            if self._transaction.has_run:  # even if an interrupt is raised then
                at = self.phases.index(self.due) + 1
                self.due = self.phases[at % len(self.phases)]

    def _check_members(self, step: BoundStep) -> None:
        """ValueError naming a parameter that has a gradient in one phase of a step only."""
        for i in sorted({*step.members} ^ {*self._members}):
            has, had = ("a", "none") if i in step.members else ("no", "one")
            raise ValueError(
                f"params[{i}] has {has} gradient in the phase '{self.due}', and had {had} in '{self.phases[0]}': all "
                "phases of a step update the same parameters"
            )

    def rebind(self, grads: Iterable[Any]) -> None:
        """Take the gradients of all phases from other tensors of the same shapes."""
        listed = list(grads)
        for step in self._steps.values():
            step.rebind(listed)

    def evaluate(self) -> list[Any]:
        """`BoundStep.evaluate`; RuntimeError within a step."""
        if not self.is_whole:
            raise RuntimeError(f"{self.rule!r}: the phase '{self.due}' is due; the weights are those within a step")
        return self._steps[self.due].evaluate()

    @property
    def seed(self) -> int:
        """The seed of draws and stochastic rounding, as of a `BoundStep`."""
        return self._steps[self.phases[0]].seed

    @seed.setter
    def seed(self, value: int) -> None:
        for step in self._steps.values():
            step.seed = value

    @property
    def gradient_factor(self) -> float:
        """What every gradient is multiplied by as it is read, as of a `BoundStep`."""
        return self._steps[self.phases[0]].gradient_factor

    @gradient_factor.setter
    def gradient_factor(self, value: float) -> None:
        for step in self._steps.values():
            step.gradient_factor = value
