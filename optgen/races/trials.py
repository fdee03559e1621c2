"""One trial: a task is trained by a contender at one rate with one seed."""

from __future__ import annotations

import math
import operator
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optgen.races.contender import Contender
from optgen.races.protocol import SHORT, Attempt
from optgen.races.results import Diverged, Trial
from optgen.races.task import TrainingTask

if TYPE_CHECKING:
    import torch

WARM_UP = 0.05
"""The part of the steps in which the rate rises."""
LONGEST_SHORT = 2 * SHORT
"""The part of its steps by which a short run must have had a held-out loss."""
PACKAGE = Path(__file__).resolve().parents[1]
Clock = Callable[[], float]


class RunEndedError(Exception):
    """A run has come to the last step that is wanted of it. A task lets it pass."""


@dataclass(frozen=True)
class Outcome:
    """A trial, the bytes of the optimizer's states at its end, and how many numbers were trained."""

    trial: Trial
    state_bytes: int
    parameters: int


def run(task: TrainingTask, contender: Contender, attempt: Attempt, clock: Clock = time.perf_counter) -> Outcome:
    """Train once. `clock` counts seconds.

    A loss that is not finite is divergence, and so is a step that fails to factorize, as a matrix with NaN in it. An
    ArithmeticError of the task itself is an error. Raises RuntimeError for a task that does not do what tasks do, and
    whatever else it raises.
    """
    running = Running(task, contender, attempt, clock)
    running.run_task()
    return running.outcome()


def prepare(task: TrainingTask, contender: Contender, attempt: Attempt) -> None:
    """Make the first step of a trial and no more: kernels are compiled then. Errors are those of `run`."""
    Running(task, contender, attempt, time.perf_counter, only_first=True).run_task()


def _is_of_step(error: ArithmeticError) -> bool:
    """Whether an error was raised by the code of an optimizer, and not by a task, whose closures a step calls."""
    frames = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1].is_relative_to(PACKAGE) and not frames[-1].is_relative_to(PACKAGE / "races")


class Running:
    """A trial that is being made: what a task is given, and what it has reported."""

    def __init__(
        self, task: TrainingTask, contender: Contender, attempt: Attempt, clock: Clock, only_first: bool = False
    ) -> None:
        self.task, self.contender, self.attempt, self.clock = task, contender, attempt, clock
        self.only_first = only_first
        self.optimizers: list[torch.optim.Optimizer] = []
        self.steps: list[int] = []
        self.made: list[int] = []
        self.curve: list[tuple[int, float]] = []
        self.has_diverged = self.was_ended = False
        self.reached: tuple[int, float] | None = None
        self.begin = clock()

    def run_task(self) -> None:
        """Have the task train, until it or the run ends."""
        try:
            self.task.train(self.make_optimizer, self.attempt.seed, self.report)
        except RunEndedError:
            self.was_ended = True
        except Diverged:
            self.has_diverged = True
        except ArithmeticError as error:
            if not _is_of_step(error):
                raise
            self.has_diverged = True
        except SystemExit as error:
            raise RuntimeError(f"{self.task.name}: train() ends the program: sys.exit({error.code!r})") from error

    def make_optimizer(self, params: Any, steps: int) -> torch.optim.Optimizer:
        """The contender's optimizer of a network, or of parameters, which will make `steps` steps."""
        try:
            number = operator.index(steps)
        except TypeError:
            number = 0
        if number < 1:
            raise ValueError(f"make_optimizer(params, steps): steps is a whole number from 1, not {steps!r}")
        made = self.contender.make(params, self.attempt.rate, self.attempt.seed)
        self.optimizers.append(made)
        self.steps.append(number)
        self.made.append(0)
        which = len(self.made) - 1
        made.register_step_pre_hook(lambda *_: self._before_step(which))
        follow(made, number, is_constant=self.contender.has_own_schedule)
        return made

    def _before_step(self, which: int) -> None:
        """Count a step of an optimizer. Raises RunEndedError where no more steps are wanted."""
        made = self.made[which]
        if made == 1 and which == 0:
            if self.only_first:
                raise RunEndedError
            self.begin = self.clock()
        if self.attempt.is_short and made >= SHORT * self.steps[which]:
            if self.curve:
                raise RunEndedError
            if made >= LONGEST_SHORT * self.steps[which]:
                raise RuntimeError(
                    f"{self.task.name}: train() has reported no loss in {made} of {self.steps[which]} steps, and short "
                    "runs find the first rate by it: call report(step, loss) each tenth of the steps"
                )
        self.made[which] += 1

    def report(self, step: int, loss: Any) -> None:
        """Take a held-out loss after a step. Raises Diverged if it is not finite."""
        if not self.optimizers:
            raise RuntimeError(f"{self.task.name}: train() did not call make_optimizer(params, steps) before report")
        value, step = float(loss), self._checked(step)
        if not math.isfinite(value):
            self.has_diverged = True
            raise Diverged(f"the loss after step {step} is {value}")
        self.curve.append((step, value))
        target = self.task.info.target
        if self.reached is None and target is not None and value <= target:
            self.reached = step, self.clock() - self.begin
        if self.attempt.is_short and step >= SHORT * max(self.steps):
            raise RunEndedError

    def _checked(self, step: Any) -> int:
        """The step of a report. Raises ValueError for one that cannot be."""
        try:
            number = operator.index(step)
        except TypeError:
            number = -1
        least = self.curve[-1][0] + 1 if self.curve else 0
        most = max(self.steps)
        if not least <= number <= most:
            of = f"from {least} to {most}" if least <= most else f"and a loss of step {most}, the last, was reported"
            raise ValueError(f"{self.task.name}: report(step, loss): step is a whole number {of}, not {step!r}")
        return number

    def outcome(self) -> Outcome:
        """What the trial has come to."""
        seconds = self.clock() - self.begin
        if not self.optimizers:
            raise RuntimeError(f"{self.task.name}: train() did not call make_optimizer(params, steps)")
        if not self.curve and not self.has_diverged:
            raise RuntimeError(f"{self.task.name}: train() did not call report(step, loss) with a held-out loss")
        if not (self.has_diverged or self.was_ended) and self.made != self.steps:
            made, told = next((x, y) for x, y in zip(self.made, self.steps, strict=True) if x != y)
            raise RuntimeError(
                f"{self.task.name}: train() made {made} of the {told} steps that it told make_optimizer; the rate "
                "falls over these, so make them all, by optimizer.step(closure)"
            )
        trial = Trial(
            rate=self.attempt.rate,
            seed=self.attempt.seed,
            loss=None if self.has_diverged else self.curve[-1][1],
            curve=tuple(self.curve),
            seconds=seconds,
            steps_to_target=None if self.reached is None else self.reached[0],
            seconds_to_target=None if self.reached is None else self.reached[1],
        )
        params = [p for made in self.optimizers for group in made.param_groups for p in group["params"]]
        tensors = {id(x): x for made in self.optimizers for own in made.state.values() for x in _tensors(own)}
        size = sum(x.numel() * x.element_size() for x in tensors.values())
        return Outcome(trial, size, sum(p.numel() for p in params))


def follow(optimizer: torch.optim.Optimizer, steps: int, *, is_constant: bool) -> None:
    """Have the rates of an optimizer rise to what they are, and fall to 0 over its steps, unless they are constant."""
    rates = [group["lr"] for group in optimizer.param_groups]
    made = 0

    def before_step(*_: Any) -> None:
        nonlocal made
        if made == steps:
            raise RuntimeError(f"train() makes more steps than the {steps} that it told make_optimizer")
        if not is_constant:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * schedule(made, steps)
        made += 1

    optimizer.register_step_pre_hook(before_step)


def schedule(made: int, steps: int) -> float:
    """What a rate is multiplied by after `made` of the steps: it rises in WARM_UP of them, and falls in a line that
    comes to 0 behind the last one."""
    rising = max(1, round(WARM_UP * steps))
    return min((made + 1) / rising, (steps - made) / max(1, steps - rising + 1))


def _tensors(x: Any) -> Iterator[torch.Tensor]:
    """The tensors in the state of a parameter."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, list | tuple):
        for item in x:
            yield from _tensors(item)
    elif hasattr(x, "element_size"):
        yield x
