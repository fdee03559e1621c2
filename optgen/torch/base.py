"""An optimizer of PyTorch whose step is a spec's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, ClassVar

import torch

from optgen.execute.step import SEED_LIMIT
from optgen.model import Call, Kind, Optimizer, walk
from optgen.torch import loading, naming
from optgen.torch.group import GroupStep
from optgen.torch.hooks import hooked
from optgen.torch.spelling import OPTIONS, Spelling, checked
from optgen.torch.state import StateKeys
from optgen.torch.values import options_of


class SpecClass(type):
    """The class of optimizer classes; `optgen.torch.classes` says how they are pickled."""


class SpecOptimizer(torch.optim.Optimizer, metaclass=SpecClass):
    """What all optimizers of `optgen.torch` have in common. Their classes set these:

    `spec` is the spec, and `source` the name or text that `optgen.torch.optimizer` makes the class of. `spelling` has
    its arguments as keys of groups. `state_keys` says what is kept beside the spec's states.
    `makes_states_at_construction` is false where PyTorch's own class makes them at the first step.
    """

    spec: ClassVar[Optimizer]
    source: ClassVar[str]
    spelling: ClassVar[Spelling]
    state_keys: ClassVar[StateKeys]
    makes_states_at_construction: ClassVar[bool] = True

    _step_supports_amp_scaling = True
    grad_scale: torch.Tensor | None = None
    """What a GradScaler has multiplied the loss by, set by it for the time of a step."""
    found_inf: torch.Tensor | None = None
    """Whether a GradScaler has found gradients that are no numbers, set by it for the time of a step."""

    def __init__(
        self, params: Any, defaults: dict[str, Any], *, seed: int = 0, storage: Any = None, master: bool = False
    ) -> None:
        self.seed = seed
        super().__init__(params, {**defaults, "storage": storage, "master": master})
        self._group_steps()

    @property
    def seed(self) -> int:
        """The seed of draws and of random rounding."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        if not isinstance(seed, int) or not 0 <= seed < SEED_LIMIT:
            raise ValueError(f"seed: a whole number from 0 to 2^64 - 1, not {seed!r}")
        self._seed = seed
        self._forget_steps()

    def _forget_steps(self) -> None:
        """Have the next step bind everything anew."""
        self._steps: list[GroupStep] = []
        self._stepped_groups: list[int] = []
        self._state_dicts: list[int] = []

    # ------------------------------------------------------------ the step

    @hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have gradients; `closure` computes the loss anew before, which is returned.

        TypeError or ValueError names a value of a group, or a parameter, that is wrong; then nothing has changed.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._update()
        return loss

    def _update(self) -> None:
        """One update of all groups."""
        if self.found_inf is not None and self.found_inf.item():
            return
        factor = self._gradient_factor()
        steps = self._group_steps()
        for step in steps:
            step.prepare(factor)
        self._state_dicts = list(map(id, self.state.values()))
        for step in steps:
            step.run()

    def _gradient_factor(self) -> float:
        """What all gradients are multiplied by: 1/`grad_scale`, in the digits that `GradScaler.unscale_` has."""
        scale = self.grad_scale
        return 1.0 if scale is None else scale.double().reciprocal().float().item()

    def _group_steps(self) -> list[GroupStep]:
        """The steps of all groups, bound to the states that are in `state` now."""
        groups = self.param_groups
        if self._stepped_groups != list(map(id, groups)):
            together = [groups] if self._sums_over_params else [[group] for group in groups]
            before = {id(step.groups[0]): step for step in self._steps if len(step.groups) == 1}
            self._steps = [
                (len(some) == 1 and before.get(id(some[0]))) or GroupStep(self, list(some)) for some in together
            ]
            self._stepped_groups = list(map(id, groups))
        elif self._state_dicts != list(map(id, self.state.values())):
            for step in self._steps:
                if not step.keeps_states():
                    step.rebind()
        return self._steps

    def numbers_of(self, params: Sequence[torch.Tensor]) -> list[int]:
        """The numbers of parameters among those of all groups."""
        every = chain.from_iterable(group["params"] for group in self.param_groups)
        numbers = {id(p): k for k, p in enumerate(every)}
        return [numbers[id(p)] for p in params]

    def describe(self, param: torch.Tensor) -> str:
        """A parameter as errors call it: by its name, if it has one, else by its place and shape."""
        return naming.describe(self.param_groups, param)

    # ------------------------------------------------------------ groups and states

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with values of their own; TypeError or ValueError naming a value that is wrong."""
        known = dict.fromkeys(self.state)
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            given = checked(self.spec, self.spelling, group).values
            options_of(group)
            for name in ("lr", "wd"):
                if (given[name] or 0.0) < 0:
                    raise ValueError(f"{self.spec.name}: '{self.spelling.key_of(name)}' must not be negative")
            if self.makes_states_at_construction:
                loading.make_states(self, group, self.state, self._shared_states())
        except BaseException:
            self.param_groups.pop()
            for p in self.state.keys() - known.keys():
                del self.state[p]
            raise

    def _shared_states(self) -> dict[str, torch.Tensor]:
        """The states that all parameters share, as one that has states has them."""
        names = [s.name for s in self.spec.states if s.kind is Kind.SHARED]
        kept: dict[str, Any] = next(iter(self.state.values()), {})
        return {name: kept[name] for name in names if name in kept}

    @property
    def _sums_over_params(self) -> bool:
        calls = [e for line in self.spec.update for e in walk(line.value) if isinstance(e, Call)]
        return any(call.scope == "params" for call in calls)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the states and group values of `state_dict()`; states are kept as this optimizer keeps them.

        Codes of 8 bits, states of 16 bits and float32 masters are taken as they are, if they are kept so here, and
        converted if not. ValueError if groups or shapes differ; then nothing has changed.
        """
        loading.load_state_dict(self, state_dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_seed": self._seed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget_steps()
        for group in self.param_groups:
            for key in (*self.spelling.defaults, *OPTIONS):
                if key in self.defaults:
                    group.setdefault(key, self.defaults[key])
