"""The weights to evaluate with, which the `eval:` section of a spec computes, in the place of those that are trained,
and these back to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from optgen.execute.rule import UpdateRule
from optgen.execute.state import State
from optgen.expressions import Call, walk
from optgen.model import Optimizer
from optgen.torch import state as states
from optgen.torch.bound import kernel_of, memory_of, restarts_at_rows
from optgen.torch.checksums import checksum
from optgen.torch.forms import count_of
from optgen.torch.memory import box_of, is_here, local_tensor, sharding_of
from optgen.torch.owned import states_in_shards, take_whole
from optgen.torch.owners import ShardGroup, Traveller, from_owners, is_owned, to_owners
from optgen.torch.replaced import refuse_evaluation
from optgen.torch.rules import Owner, blocks_by_row, dtype_of, load
from optgen.torch.spelling import naming
from optgen.torch.state import STEP, StateKeys
from optgen.torch.updating import ALONE, Intent, Ranks, by_group, ranks_of
from optgen.torch.values import GroupValues

# ---------------------------------------------------------------- the two modes


class Evaluating:
    """The modes of an optimizer, which is in that of training at first.

    In the mode of evaluation, parameters hold the weights that the `eval:` section of the spec computes, those that
    were never updated but what they held, and `training_weights` has what they held before. It is None in the mode of
    training, and always if the spec has no such section: then both modes are the same.
    """

    training_weights: TrainingWeights | None = None

    def eval(self: Any) -> None:
        """Have parameters hold the weights to evaluate with; nothing if they do. RuntimeError between the phases of a
        step, ValueError for a parameter of which they cannot be computed, and then nothing has changed.

        With sharded parameters that products take whole, all ranks must call it, and `train`.
        """
        if self.training_weights is not None or not self.spec.evaluate:
            return
        self._check_whole("evaluate")
        found = _Found(self).all()
        kept = self.training_weights = TrainingWeights()
        try:
            while found:
                kept.exchange(*found.pop())
        except BaseException:
            self.train()
            raise

    def train(self: Any) -> None:
        """Have parameters hold the weights that are trained, bit for bit; nothing if they do.

        A parameter that somebody has written since `eval`, as `model.load_state_dict` does, keeps that, also if it was
        through `.data`. One that was moved or got another dtype gets the trained weights where it is now. RuntimeError
        if one has no memory.
        """
        if self.training_weights is not None:
            self.training_weights.restore(self)
            self.training_weights = None

    @contextmanager
    def evaluating(self: Any) -> Iterator[None]:
        """`with optimizer.evaluating():` is `eval()`, and at the end `train()` unless it was evaluated before."""
        before = self.training_weights
        self.eval()
        try:
            yield
        finally:
            if before is None:
                self.train()


class Kept(NamedTuple):
    """What a parameter held in training, and what it has as long as nobody else has written it: the version, and the
    checksum of the weight that it is evaluated with, as `.data` does not share the version."""

    weight: torch.Tensor
    version: int
    evaluated: int | None  # which of a parameter without memory is not known


class TrainingWeights:
    """The weights that are trained, of parameters that hold others."""

    def __init__(self, weights: Mapping[torch.Tensor, torch.Tensor] | None = None) -> None:
        self._kept = {
            p: Kept(weight, local_tensor(p)._version, checksum(p) if is_here(p) else None)
            for p, weight in (weights or {}).items()
        }

    def exchange(self, param: torch.Tensor, new: torch.Tensor) -> None:
        """Have a parameter hold another weight, and keep what it held."""
        local = local_tensor(param).detach()
        kept = Kept(local.clone(memory_format=torch.preserve_format), local._version, checksum(new))
        self._kept[param] = kept
        local.copy_(new)
        self._kept[param] = kept._replace(version=local._version)

    def by_param(self) -> dict[torch.Tensor, torch.Tensor]:
        """What `train` would bring back, by parameters."""
        return {p: kept.weight for p, kept in self._kept.items() if _is_as_left(p, kept)}

    def restore(self, optimizer: Owner) -> None:
        """Have parameters hold what they held; RuntimeError for one without memory, and then none does."""
        weights = self.by_param()
        for p in weights:
            if not is_here(p):
                raise RuntimeError(
                    f"{type(optimizer).__name__}: {optimizer.describe(p)} has no memory now, where its trained weights "
                    "are to come back; bring it back before train()"
                )
        for p, weight in weights.items():
            local_tensor(p).detach().copy_(weight)


def _is_as_left(param: torch.Tensor, kept: Kept) -> bool:
    """Whether nobody has written a parameter. One that was moved is another tensor of the same version; the bits of one
    that has another dtype now, or no memory, do not tell."""
    local = local_tensor(param)
    if local._version != kept.version or local.shape != kept.weight.shape:
        return False
    if local.dtype != kept.weight.dtype or kept.evaluated is None or not is_here(param):
        return True
    return checksum(param) == kept.evaluated


def warn_of_saving(optimizer: Owner) -> None:
    """Warn that what the model saves now is not what the states that are saved go on from."""
    warnings.warn(
        f"{type(optimizer).__name__}: state_dict() after eval(): these are the states of training, and parameters hold "
        "the weights to evaluate with; to go on from a checkpoint, save the model after train()",
        stacklevel=4,
    )


# ---------------------------------------------------------------- what to evaluate with


class _Found:
    """The search for what the parameters of an optimizer are evaluated with."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer: Owner = optimizer
        self._keys: StateKeys = optimizer.state_keys

    @torch.no_grad()
    def all(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The parameters that have been updated, and for each what is here of the weights to evaluate with."""
        optimizer = self._optimizer
        ranks = ranks_of(optimizer) if optimizer.spec.has_stages else ALONE
        sorts: list[tuple[UpdateRule, list[torch.Tensor]]] = []
        ranks.all_do(lambda: sorts.extend(self._sorts()), lambda: self._plan(sorts))
        whole = [(rule, [p for p in params if is_owned(rule, p)]) for rule, params in sorts]
        found = self._by_owners([(rule, params) for rule, params in whole if params], ranks)
        for rule, params in sorts:
            own = [p for p in params if not is_owned(rule, p)]
            found += zip(own, self._computed(rule, own, own) if own else [], strict=True)
        return found

    def _sorts(self) -> list[tuple[UpdateRule, list[torch.Tensor]]]:
        """The parameters that have been updated, with the rule of each sort of them."""
        optimizer, sorts = self._optimizer, dict[Any, list[torch.Tensor]]()
        groups = [GroupValues(optimizer.spec, optimizer.spelling, group) for group in optimizer.param_groups]
        for k, values in enumerate(groups):
            for p in values.group["params"]:
                kept = optimizer.state.get(p, {})
                if self._count(kept):
                    self._check(p)
                    dtype = self._keys.scalar_dtype(kept)
                    sorts.setdefault((k, p.dtype, p.device, sharding_of(p), blocks_by_row(p), dtype), []).append(p)
        if len(sorts) > 1 and _sums_over_params(optimizer.spec):
            raise ValueError(
                f"{optimizer.spec.name} evaluates with a sum over all parameters, which must be in one group, of one "
                "dtype, device and layout"
            )
        return [(self._rule(params[0], groups[key[0]]), params) for key, params in sorts.items()]

    def _count(self, kept: Mapping[str, Any]) -> int:
        """How often a parameter has been updated: as far as is known, once if it has states and no count."""
        return count_of(kept[STEP], STEP) if STEP in kept else int(self._keys.is_started(kept))

    def _check(self, param: torch.Tensor) -> None:
        optimizer = self._optimizer
        refuse_evaluation(optimizer, param)
        if not is_here(param):
            raise ValueError(f"{optimizer.describe(param)} has no memory; bring it back before eval()")

    def _rule(self, like: torch.Tensor, values: GroupValues) -> UpdateRule:
        optimizer = self._optimizer
        flags = self._keys.rule_flags(optimizer.state[like])
        with naming([like], optimizer.describe):
            return load(optimizer, like, values.arguments, values.options, dtype=dtype_of(like), **flags)

    def _computed(
        self, rule: UpdateRule, params: Sequence[torch.Tensor], described: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """What to evaluate with in the place of parameters, or of their parts that are here, in new tensors of their
        shapes. `described` are the parameters that states belong to, and that errors name."""
        with naming(described, self._optimizer.describe):
            mirrors = self._optimizer.mirrors
            here = [p if rule.target.name == p.device.type else mirrors.holding(p) for p in params]
            memories = [memory_of(rule, p) for p in here]
            kernels = [kernel_of(rule, m) for m in memories]
            every_kept = [dict(self._optimizer.state[p]) for p in described]  # converted states are used here alone
            shared = states.shared_states(kernels[0], every_kept, self._keys)
            arrays: dict[str, list[Any]] = {}
            for i, memory in enumerate(memories):
                memory.load()
                by_row = restarts_at_rows(rule, memory)
                bound = states.bindable(
                    kernels[i], every_kept[i], memory, rule.values, shared, self._keys, by_row=by_row
                )
                for name, x in bound.items():
                    arrays.setdefault(name, [None] * len(params))[i] = x
            counts = np.array([self._count(kept) for kept in every_kept], np.int64)
            out = [torch.empty_like(m.tensor, requires_grad=False) for m in memories]
            rule.evaluate([m.tensor for m in memories], State(arrays, counts), list(map(box_of, params)), out=out)
        found = [m.like_param(x) for m, x in zip(memories, out, strict=True)]
        return [torch.view_as_complex(x) if m.is_complex else x for m, x in zip(memories, found, strict=True)]

    # ------------------------------------------------------------ sharded parameters that are taken whole

    def _plan(self, sorts: Sequence[tuple[UpdateRule, Sequence[torch.Tensor]]]) -> Intent:
        """What all ranks must have alike: which states of the parameters that are taken whole are in shards."""
        owned = [p for rule, params in sorts for p in params if is_owned(rule, p)]
        describe = self._optimizer.describe
        entries = [tuple(states_in_shards(self._optimizer.state[p])) for p in owned]
        return Intent(entries, lambda k, entry: f"{describe(owned[k])} has states {entry or 'that are no DTensors'}")

    def _by_owners(
        self, sorts: Sequence[tuple[UpdateRule, Sequence[torch.Tensor]]], ranks: Ranks
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """What owners compute, in one all-to-all there and one back."""
        owners = self._optimizer.owners
        for rule, params in sorts:
            owners.assign(rule, params)
        every = [p for _, params in sorts for p in params]
        for group, travellers in by_group(chain.from_iterable(map(self._coming, every))).items():
            to_owners(group, travellers)
        computed: dict[torch.Tensor, torch.Tensor] = {}

        def compute() -> None:
            for rule, params in sorts:
                own = [p for p in params if owners.is_here(p)]
                if own:
                    computed.update(zip(own, self._computed(rule, list(map(owners.whole, own)), own), strict=True))

        ranks.all_do(compute)
        new = {p: torch.empty_like(local_tensor(p), requires_grad=False) for p in every}
        going = [self._traveller(p, part, computed.get(p)) for p, part in new.items()]
        for group, travellers in by_group(going).items():
            from_owners(group, travellers)
        return list(new.items())

    def _coming(self, param: torch.Tensor) -> list[tuple[ShardGroup, Traveller]]:
        """What the owner needs: the parameter, and those of its states that are in shards."""
        owners = self._optimizer.owners
        group, owner = owners.group_of(param), owners.places[param].rank
        found = [(group, x) for x in take_whole(self._optimizer.state[param], group, owner)]
        whole = owners.whole(param) if owners.is_here(param) else None
        return [*found, self._traveller(param, local_tensor(param).detach(), whole)]

    def _traveller(self, param: Any, part: torch.Tensor, whole: torch.Tensor | None) -> tuple[ShardGroup, Traveller]:
        """A tensor of the parameter's shape that is cut like it, of which the owner has the whole."""
        owners = self._optimizer.owners
        group = owners.group_of(param)
        bounds = group.bounds(param.shape, param.placements)
        return group, Traveller(owners.places[param].rank, bounds, part, whole)


def _sums_over_params(spec: Optimizer) -> bool:
    """Whether the weights to evaluate with of a parameter depend on the others."""
    return any(isinstance(e, Call) and e.scope == "params" for line in spec.evaluate for e in walk(line.value))
