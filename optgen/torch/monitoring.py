"""Numbers about steps, as the norms of updates: of each parameter one for each expression over the names of the spec,
which kernels of the step compute of what they read and write anyway."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist

from optgen import pipeline
from optgen.diagnostics import SpecErrors
from optgen.model import Optimizer
from optgen.torch.forms import count_of
from optgen.torch.group import GroupStep
from optgen.torch.memory import FLAT, has_sparse_rows, is_flat, sharding_of
from optgen.torch.owners import Owners, ShardGroup
from optgen.torch.rules import Owner
from optgen.torch.state import STEP
from optgen.torch.values import is_capturing, same_objects

Numbers = dict[str, dict[str, float]]
"""By names of parameters and expressions."""


class Monitor:
    """What is computed of every n-th step of an optimizer, and who is told.

    Such a step is another one than the optimizer's: of a spec that has a state of kind tensor for each expression,
    bound to the same parameters and states, but to dicts of states of its own. So `state[p]` has no further keys.
    """

    def __init__(self, optimizer: Any, expressions: Sequence[str], every: int, to: Any) -> None:
        """SpecErrors about an expression; TypeError or ValueError for other arguments, and for an optimizer whose steps
        cannot be monitored."""
        self._name = type(optimizer).__name__
        self._expressions, self._every, self._tell = list(expressions), _checked_every(every), _teller(to)
        self._check(optimizer)
        self._spec, self._states, self._phases = _derived(optimizer, self._expressions)
        self._step: GroupStep | None = None
        self._states_of: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self._own_states: Any = None  # of the optimizer, for the time of a monitored step
        self._places: list[int] = []
        self._updated: set[torch.Tensor] = set()
        self._found: Numbers = {}
        self.follow(optimizer)

    def _check(self, optimizer: Any) -> None:
        if optimizer.in_backward:
            raise ValueError(
                f"{self._name}: monitor() with in_backward=True: backward updates parameters one by one, and there is "
                "no step to look at; leave one of the two out"
            )
        if optimizer.outer is not None:
            raise ValueError(
                f"{self._name}: monitor() with outer steps: an update is computed in two parts then, by kernels of "
                "which neither has what the equations read and write; monitor the optimizer without them"
            )
        if any(is_flat(p) for group in optimizer.param_groups for p in group["params"]):
            raise ValueError(f"{self._name}: monitor() with {FLAT}, of which each process has a part; shard with FSDP2")

    def follow(self, optimizer: Owner) -> None:
        """Count from the states that the optimizer has now: the largest count of a parameter."""
        counts = [count_of(kept[STEP], STEP) for kept in optimizer.state.values() if STEP in kept]
        self._count = max(counts, default=0)

    # ------------------------------------------------------------ a step

    def begin(self, optimizer: Any, phase: str | None) -> GroupStep:
        """The step that computes a phase: a monitored one if it is due. `finish` has to follow."""
        self._refuse(optimizer)
        main: GroupStep = optimizer._current_step()
        if (self._count + 1) % self._every or phase not in self._phases:
            return main
        if not self._is_current(optimizer):
            self._step = None
            self._states_of = defaultdict(dict, {p: dict(kept) for p, kept in optimizer.state.items()})
        self._places = _places(optimizer.state)
        self._own_states, optimizer.state = optimizer.state, self._states_of
        vars(optimizer)["spec"] = self._spec
        if self._step is None:
            try:
                self._step = GroupStep(optimizer, optimizer.param_groups)
            except BaseException:
                self._give_back(optimizer)
                raise
        self._step.learning = main.learning
        self._updated = {p for group in optimizer.param_groups for p in group["params"] if p.grad is not None}
        return self._step

    def _is_current(self, optimizer: Any) -> bool:
        """Whether the step that was made goes on with the optimizer's groups and states; numbers of Python are taken.

        Each phase of a step takes a new one, as others may have gone on in between; so does each round of gradients.
        """
        if self._step is None or self._spec.phases or optimizer.accumulate > 1:
            return False
        if self._step.ids != list(map(id, optimizer.param_groups)):
            return False
        if _places(optimizer.state) != self._places:
            return False
        for p, own in optimizer.state.items():
            kept = self._states_of[p]
            kept.update({key: x for key, x in own.items() if not isinstance(x, torch.Tensor)})
            if own.keys() != kept.keys() - {*self._states} or any(kept[key] is not x for key, x in own.items()):
                return False
        return True

    def _refuse(self, optimizer: Owner) -> None:
        if is_capturing():
            raise RuntimeError(f"{self._name}: monitor(): a step that is captured tells nobody; call monitor() alone")
        for group in optimizer.param_groups:
            for p in group["params"]:
                if has_sparse_rows(p.grad) and optimizer.updates_rows(group, p):
                    raise ValueError(
                        f"the gradient of {optimizer.describe(p)} is sparse, and what is monitored is of a whole "
                        "parameter; call monitor() without arguments to end that"
                    )

    def finish(self, optimizer: Any, phase: str | None) -> None:
        """After a step, or what it has raised: have the optimizer be as it was, with its new states, and tell what was
        found in it, last of all, as what is told may raise."""
        if self._own_states is not None:
            self._give_back(optimizer)
            assert self._step is not None
            if optimizer._has_updated:
                optimizer._step.learning = self._step.learning
                self._keep(optimizer)
                self._collect(optimizer, phase)
            else:
                self._step = None
        if optimizer._has_updated and phase in (None, *self._spec.phases[-1:]):
            self._count += 1
            if self._found:
                optimizer.monitored, self._found = self._found, {}
                self._tell(self._count, optimizer.monitored)

    def _give_back(self, optimizer: Any) -> None:
        """Have an optimizer be of its own spec, with its own dicts of states."""
        optimizer.state, self._own_states = self._own_states, None
        del vars(optimizer)["spec"]

    def _keep(self, optimizer: Any) -> None:
        """Have the optimizer's own dicts hold what a monitored step has in its own: converted and new states."""
        for p, kept in self._states_of.items():
            new = {key: x for key, x in kept.items() if key not in self._states}
            if new or p in optimizer.state:
                own = optimizer.state[p]
                if not same_objects(list(map(new.get, own)), list(own.values())) or new.keys() != own.keys():
                    own.clear()
                    own.update(new)
        places = _places(optimizer.state)
        if places != self._places:  # where the optimizer's own step does not see what was written
            optimizer._step.rebind()
        self._places = places

    # ------------------------------------------------------------ what is found

    def _collect(self, optimizer: Owner, phase: str | None) -> None:
        """Take the numbers of a phase, those of the owners of parameters too."""
        if phase in (None, *self._spec.phases[:1]):
            self._found = {}
        names, states = dict(_named(optimizer.param_groups)), self._states_of
        own: dict[torch.Tensor, dict[str, float]] = {}
        tensors = [
            (p, expression, states[p][state])
            for expression, state, of in zip(self._expressions, self._states, self._phases, strict=True)
            for p in names
            if of == phase and p in self._updated and state in states.get(p, {})
        ]
        for (p, expression, _), number in zip(tensors, _on_host([x for _, _, x in tensors]), strict=True):
            own.setdefault(p, {})[expression] = number
        for p, numbers in {**own, **_of_owners(optimizer.owners, list(names), own)}.items():
            self._found.setdefault(names[p], {}).update(numbers)


def _places(states: Mapping[Any, Mapping[str, Any]]) -> list[int]:
    """Where the single numbers among states are, which a step that is bound puts side by side."""
    numbers = (x for kept in states.values() for x in kept.values() if isinstance(x, torch.Tensor) and x.dim() == 0)
    return [x.data_ptr() for x in numbers]


def _checked_every(every: Any) -> int:
    try:
        number = 0 if isinstance(every, bool) else operator.index(every)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"every: a whole number of steps from 1 on, not {every!r}")
    return number


def _teller(to: Any) -> Callable[[int, Numbers], Any]:
    """What is called with the number of a step and what was found in it: `to` itself, or for a writer of TensorBoard's
    kind its `add_scalar`, with the tag EXPRESSION/NAME."""
    if hasattr(to, "add_scalar"):

        def write(step: int, numbers: Numbers) -> None:
            for name, found in numbers.items():
                for expression, x in found.items():
                    to.add_scalar(f"{expression}/{name}", x, step)

        return write
    if to is not None and not callable(to):
        raise TypeError(f"to: a function of a step and its numbers, or a writer with add_scalar, not {to!r}")
    return to or (lambda step, numbers: None)


def _derived(optimizer: Owner, expressions: Sequence[str]) -> tuple[Optimizer, tuple[str, ...], tuple[Any, ...]]:
    """The spec that computes expressions, and for each of these the name of its state, and its phase."""
    name, spec = type(optimizer).__name__, optimizer.spec
    for x in expressions:
        if not isinstance(x, str) or not x.strip() or "\n" in x:
            raise TypeError(f"{name}: monitor() takes expressions, each a line of text, as 'norm(g)', not {x!r}")
    try:
        found = pipeline.monitored(spec.source, expressions)
    except SpecErrors as errors:
        raise errors.with_traceback(None) from None  # it is about the expression
    if found.spec.joins_params and not spec.joins_params:
        raise ValueError(f"{name}: monitor(): a number of each parameter is of that alone; leave 'over params' out")
    if found.spec.has_stages and not spec.has_stages:
        raise ValueError(f"{name}: monitor(): products of matrices, and functions of them, need steps of their own")
    return replace(found.spec, params=spec.params), found.names, found.phases


def _named(groups: Sequence[Mapping[str, Any]]) -> Iterator[tuple[torch.Tensor, str]]:
    """The parameters with their names; those without have the numbers of their group and in it."""
    for k, group in enumerate(groups):
        names = group.get("param_names") or [f"{k}.{i}" for i in range(len(group["params"]))]
        yield from zip(group["params"], names, strict=True)


def _on_host(numbers: Sequence[torch.Tensor]) -> list[float]:
    """Numbers of float64, by one copy from each device."""
    found = [0.0] * len(numbers)
    for device in {x.device for x in numbers}:
        places = [k for k, x in enumerate(numbers) if x.device == device]
        for k, number in zip(places, torch.stack([numbers[k] for k in places]).tolist(), strict=True):
            found[k] = number
    return found


def _of_owners(
    owners: Owners, params: Sequence[torch.Tensor], own: Mapping[torch.Tensor, dict[str, float]]
) -> dict[torch.Tensor, dict[str, float]]:
    """What the owners of parameters have found, on all ranks that share them."""
    found: dict[torch.Tensor, dict[str, float]] = {}
    shared: dict[ShardGroup, list[torch.Tensor]] = {}
    for p in params:
        if p in owners.places and sharding_of(p) is not None:
            shared.setdefault(owners.group_of(p), []).append(p)
    for group, members in shared.items():
        gathered: list[Any] = [None] * group.size
        dist.all_gather_object(gathered, {k: own[p] for k, p in enumerate(members) if p in own}, group=group.group)
        found |= {members[k]: numbers for some in gathered for k, numbers in some.items()}
    return found
