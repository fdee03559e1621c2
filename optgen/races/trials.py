"""One trial: a task is trained by a contender at one rate with one seed."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optgen.races import Diverged
from optgen.races.contender import Contender
from optgen.races.protocol import SHORT, Attempt
from optgen.races.results import Trial
from optgen.races.task import TrainingTask

if TYPE_CHECKING:
    import torch

WARM_UP = 0.05
"""The part of the steps in which the rate rises."""
Clock = Callable[[], float]


class ShortRunEndedError(Exception):
    """A short run has come to its last step. A task lets it pass."""


@dataclass(frozen=True)
class Outcome:
    """A trial, the bytes of the optimizer's states at its end, and how many numbers were trained."""

    trial: Trial
    state_bytes: int
    parameters: int


def run(task: TrainingTask, contender: Contender, attempt: Attempt, clock: Clock = time.perf_counter) -> Outcome:
    """Train once. `clock` counts seconds.

    A loss that is not finite, and a factorization that fails, as of a matrix with NaN in it, are divergence. Raises
    RuntimeError for a task that does not do what tasks do, and whatever else it raises.
    """
    running = Running(task, contender, attempt, clock)
    try:
        task.train(running.make_optimizer, attempt.seed, running.report)
    except ShortRunEndedError:
        pass
    except (Diverged, ArithmeticError):
        running.has_diverged = True
    return running.outcome()


class Running:
    """A trial that is being made: what a task is given, and what it has reported."""

    def __init__(self, task: TrainingTask, contender: Contender, attempt: Attempt, clock: Clock) -> None:
        self.task, self.contender, self.attempt, self.clock = task, contender, attempt, clock
        self.optimizers: list[torch.optim.Optimizer] = []
        self.steps: list[int] = []
        self.curve: list[tuple[int, float]] = []
        self.has_diverged = False
        self.reached: tuple[int, float] | None = None
        self.begin = clock()

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
        follow(made, number, is_constant=self.contender.has_own_schedule)
        return made

    def report(self, step: int, loss: Any) -> None:
        """Take a held-out loss after a step. Raises Diverged if it is not finite."""
        value = float(loss)
        if not math.isfinite(value):
            self.has_diverged = True
            raise Diverged(f"the loss after step {step} is {value}")
        self.curve.append((operator.index(step), value))
        target = self.task.info.target
        if self.reached is None and target is not None and value <= target:
            self.reached = step, self.clock() - self.begin
        if self.attempt.is_short and self.steps and step >= SHORT * max(self.steps):
            raise ShortRunEndedError

    def outcome(self) -> Outcome:
        """What the trial has come to."""
        seconds = self.clock() - self.begin
        if not self.optimizers:
            raise RuntimeError(f"{self.task.name}: train() did not call make_optimizer(params, steps)")
        if not self.curve and not self.has_diverged:
            raise RuntimeError(f"{self.task.name}: train() did not call report(step, loss) with a held-out loss")
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
