"""When updates are made: in a step of all groups, which all ranks make or none, or within `backward`, each as soon as a
gradient is complete."""

from __future__ import annotations

import functools
import gc
import hashlib
import weakref
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _python_dispatch as dispatch

from optgen.torch.group import GroupStep
from optgen.torch.hooks import outside_graphs, refuse_fake
from optgen.torch.memory import local_tensor, sharding_of
from optgen.torch.owned import OwnedTensors
from optgen.torch.owners import ShardGroup, Traveller, from_owners, to_owners
from optgen.torch.rules import Owner, load
from optgen.torch.spelling import KINDS, kind_of
from optgen.torch.values import GroupValues

# ---------------------------------------------------------------- all ranks or none

ERRORS = {kind.__name__: kind for kind in KINDS}


class Intent(NamedTuple):
    """What must be the same on all ranks: an entry for each parameter, and the words of errors for such an entry."""

    entries: Sequence[Hashable] = ()
    words: Callable[[int, Any], str] = lambda k, entry: str(entry)

    def digest(self) -> int:
        """Equal for equal entries: from 0 to 2^62 - 1."""
        return int.from_bytes(hashlib.blake2b(repr(self.entries).encode(), digest_size=8).digest()) >> 2


class Ranks:
    """The processes of some device meshes. Without any, this process is alone."""

    def __init__(self, meshes: Iterable[Any] = ()) -> None:
        self._meshes = list(dict.fromkeys(meshes))
        self._groups = [(mesh, mesh.get_group(dim)) for mesh in self._meshes for dim in range(mesh.ndim)]

    def all_do(self, what: Callable[[], Any], plan: Callable[[], Intent] = Intent) -> None:
        """Call `what`, which exchanges nothing, on all ranks.

        If it raises on one, all raise: that rank its error, and the others one of the same kind that begins with the
        rank. `plan()` is what all are about to do then: RuntimeError, on all of them, where that differs.
        """
        if not self._groups:
            what()
            return
        error, own = None, Intent()
        try:
            what()
            own = plan()
        except Exception as raised:
            error = raised
        if self._are_alike(error is not None, own.digest()):
            return
        reports = self._reports((dist.get_rank(), error and (kind_of(error).__name__, str(error)), list(own.entries)))
        if error is not None:
            raise error
        _raise_for(reports, own)

    def any(self, flag: bool) -> bool:
        """Whether this holds on some rank."""
        return not self._are_alike(flag, 0)

    def _are_alike(self, has_failed: bool, digest: int) -> bool:
        """Whether no rank has failed, and all have this digest."""
        for mesh in self._meshes:
            found = torch.tensor([has_failed, digest, -digest], dtype=torch.int64, device=mesh.device_type)
            for of, group in self._groups:
                if of is mesh:
                    dist.all_reduce(found, dist.ReduceOp.MAX, group=group)
            failed, largest, negative_of_least = found.tolist()
            if failed or largest != -negative_of_least:
                has_failed = True
        return not has_failed

    def _reports(self, own: tuple[Any, ...]) -> dict[int, tuple[Any, Any]]:
        """What each rank reports, by its number: what was raised, and the entries of its plan."""
        reports = [own]
        for _, group in self._groups:
            gathered: list[Any] = [None] * dist.get_world_size(group)
            dist.all_gather_object(gathered, reports, group=group)
            reports = list(chain.from_iterable(gathered))
        return {rank: (raised, entries) for rank, raised, entries in sorted(reports, key=lambda report: report[0])}


ALONE = Ranks()
"""This process alone."""


def _raise_for(reports: dict[int, tuple[Any, Any]], own: Intent) -> None:
    for rank, (raised, _) in reports.items():
        if raised is not None:
            kind, message = raised
            raise ERRORS.get(kind, RuntimeError)(f"rank {rank}: {message}")
    (first, (_, entries)), *others = reports.items()
    for rank, (_, theirs) in others:
        if len(theirs) != len(entries):
            raise RuntimeError(
                f"rank {first} updates {len(entries)} parameters together with others, and rank {rank} {len(theirs)}; "
                "all ranks must update the same ones"
            )
        for k, (a, b) in enumerate(zip(entries, theirs, strict=True)):
            if a != b:
                raise RuntimeError(
                    f"{own.words(k, a)} on rank {first}, and {own.words(k, b)} on rank {rank}; all ranks must be given "
                    "the same; nothing was updated"
                )


# ---------------------------------------------------------------- a step


def update(step: GroupStep, prepare: Callable[[], None], ranks: Ranks) -> None:
    """Prepare a step, and run its transaction. What `prepare` or an attempt raises, all ranks raise; then no weight,
    state or count has changed."""
    ranks.all_do(prepare, lambda: _plan(step.owned))
    if not step.starts():
        return
    owned = step.owned
    if owned:
        for group, travellers in by_group(x for bound in owned for x in bound.coming()).items():
            to_owners(group, travellers)
    transaction = step.transaction
    try:
        ranks.all_do(transaction.attempt)
    except BaseException:
        transaction.undo()  # on ranks whose own attempt did not fail
        raise
    try:
        transaction.run()
    finally:
        if owned and transaction.has_run:  # even if an interrupt is raised then
            for group, travellers in by_group(x for bound in owned for x in bound.going()).items():
                from_owners(group, travellers)


def has_gradients(optimizer: Owner) -> bool:
    """Whether some parameter has a gradient."""
    return any(p.grad is not None for group in optimizer.param_groups for p in group["params"])


@contextmanager
def weights_as_gradients(optimizer: Owner) -> Iterator[None]:
    """For the time of a step that reads no gradients, and where none are: each parameter that learns stands in the
    place of its own, so that it is updated."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if not params:
        raise RuntimeError(f"{type(optimizer).__name__}: no parameter has requires_grad=True, so none is updated")
    try:
        for p in params:
            p.grad = p.detach()
        yield
    finally:
        for p in params:
            p.grad = None


def refuse_evaluating(optimizer: Owner) -> None:
    """RuntimeError: a step while parameters hold the weights to evaluate with, at which its gradients were taken."""
    raise RuntimeError(
        f"{type(optimizer).__name__}: a step after eval(): parameters hold the weights to evaluate with; call train() "
        "before the gradients of a step are computed, or evaluate in `with optimizer.evaluating():`"
    )


def ranks_of(optimizer: Owner) -> Ranks:
    """The processes that update parameters together, of a spec with stages: those that share parameters that are taken
    whole."""
    every = (p for group in optimizer.param_groups for p in group["params"])
    return Ranks(sharding.mesh for p in every if (sharding := sharding_of(p)) is not None)


def _plan(owned: Sequence[OwnedTensors]) -> Intent:
    """What all ranks are to do alike with the parameters that they update whole."""
    entries, words = [], []
    for bound in owned:
        own = bound.plan()
        entries += own
        words += [(bound, k) for k in range(len(own))]
    return Intent(entries, lambda k, entry: words[k][0].words(words[k][1], entry))


def by_group(travellers: Iterable[tuple[ShardGroup, Traveller]]) -> dict[ShardGroup, list[Traveller]]:
    """What travels among the processes of each group."""
    found: dict[ShardGroup, list[Traveller]] = {}
    for group, traveller in travellers:
        found.setdefault(group, []).append(traveller)
    return found


# ---------------------------------------------------------------- within backward


class BackwardUpdates:
    """Hooks on the parameters of an optimizer, which update a parameter and free its gradient.

    The optimizer owns it. It does not keep the optimizer alive, and the hooks are removed with it.
    """

    def __init__(self, optimizer: Owner) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._groups: dict[torch.Tensor, dict[str, Any]] = {}
        self._steps: dict[torch.Tensor, GroupStep] = {}
        self._hooks: dict[torch.Tensor, Any] = {}
        self._checked_of = -1
        _count_replicas()
        weakref.finalize(self, _remove, self._hooks)

    def follow(self, groups: Sequence[dict[str, Any]]) -> None:
        """Have a hook on each parameter of these groups that requires a gradient, and on no other."""
        before, self._groups = self._groups, {p: group for group in groups for p in group["params"]}
        for p, group in before.items():
            if self._groups.get(p) is not group:
                self._steps.pop(p, None)
            if p not in self._groups and p in self._hooks:
                self._hooks.pop(p).remove()
        updates = weakref.ref(self)

        def hook(p: torch.Tensor) -> None:
            owner = updates()
            if owner is not None:
                owner.update(p)

        for p in self._groups:
            if p.requires_grad and p not in self._hooks:
                self._checked_of = -1
                self._hooks[p] = p.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]

    @outside_graphs
    def update(self, p: torch.Tensor) -> None:
        """One update of a parameter with its gradient, which is freed.

        ValueError if DistributedDataParallel has some of the parameters, by whatever time it was made.
        """
        if dispatch._is_in_torch_dispatch_mode:
            refuse_fake(type(self._owner()).__name__)
        owner = self._optimizer()
        if owner is not None and owner.training_weights is not None:
            refuse_evaluating(owner)
        if self._checked_of != Replicas.count:
            count = Replicas.count
            refuse_replicas(type(self._owner()).__name__, self._groups)
            self._checked_of = count
        step = self._steps.get(p)
        if step is None:
            alone: Mapping[str, Any] = ChainMap({"params": [p]}, self._groups[p])  # a view: values may change
            step = self._steps[p] = GroupStep(self._owner(), [alone])
        elif not step.keeps_states():
            step.rebind()
        step.prepare(1.0)
        try:
            if step.starts():
                step.transaction.run()
        except (KeyboardInterrupt, SystemExit):
            if step.transaction.has_run:
                p.grad = None  # or it would be used twice
            raise
        p.grad = None

    def _owner(self) -> Owner:
        optimizer = self._optimizer()
        assert optimizer is not None  # it is what holds this
        return optimizer

    def finish(self) -> None:
        """What is left for `step()`: the gradients that no `backward` has made, but the caller.

        RuntimeError if a GradScaler makes the step; ValueError if gradients shall be clipped.
        """
        optimizer = self._owner()
        name = type(optimizer).__name__
        if getattr(optimizer, "grad_scale", None) is not None or getattr(optimizer, "found_inf", None) is not None:
            raise RuntimeError(
                f"{name}: in_backward=True with a GradScaler: backward has updated the parameters with gradients that "
                "were still scaled and not yet checked; leave one of the two out"
            )
        refuse_clipping(name, optimizer.clip_norm)
        self.follow(optimizer.param_groups)
        for p in self._groups:
            if p.grad is not None:
                self.update(p)


class Replicas:
    """How often a module was put into DistributedDataParallel, since the first BackwardUpdates was made.

    Parameters that were checked at one count need no other check until there is another.
    """

    count = 0


@functools.cache
def _count_replicas() -> None:
    """Have `Replicas.count` count, from the first call on: by a hook of PyTorch's on modules that get submodules."""

    def hook(module: torch.nn.Module, name: str, submodule: torch.nn.Module | None) -> None:
        if isinstance(module, DistributedDataParallel):
            Replicas.count += 1

    register_module_module_registration_hook(hook)


def _remove(hooks: Mapping[torch.Tensor, Any]) -> None:
    for hook in hooks.values():
        hook.remove()


def check_in_backward(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError naming what of an optimizer, or of a group that is added to it, needs more than one gradient."""
    name = type(optimizer).__name__
    refuse_clipping(name, optimizer.clip_norm)
    if optimizer.spec.phases:
        phases = " and ".join(optimizer.spec.phases)
        raise ValueError(f"{name}: in_backward=True, but a step has phases, {phases}; leave in_backward out")
    if optimizer.spec.given:
        names = " and ".join(optimizer.spec.given)
        raise ValueError(f"{name}: in_backward=True, but each step is given {names}; leave in_backward out")
    if optimizer.spec.joins_params:
        raise ValueError(
            f"{name}: in_backward=True, but {name} shares values between all parameters, whose gradients are not "
            "complete before backward has ended; leave in_backward out"
        )
    refuse_replicas(name, group["params"])
    for k, p in enumerate(group["params"]):
        placements = getattr(p, "placements", ())
        if all(x.is_replicate() for x in placements):
            continue
        values = GroupValues(optimizer.spec, optimizer.spelling, group)
        kernel = load(optimizer, p, values.arguments, values.options).kernel(tuple(local_tensor(p).shape))
        if kernel.native.cut != "anywhere":
            raise ValueError(
                f"{name}: in_backward=True, but params[{k}] is a shard ({', '.join(map(str, placements))}), and {name} "
                "sums over whole parameters, for which all processes would have to update them in the same order; "
                "leave in_backward out"
            )


def refuse_clipping(name: str, clip_norm: float | None) -> None:
    """ValueError if norms are limited."""
    if clip_norm is not None:
        raise ValueError(
            f"{name}: in_backward=True with clip_norm={clip_norm:g}: the norm of all gradients is not known before "
            "backward has ended; leave one of the two out"
        )


def refuse_replicas(name: str, params: Iterable[torch.Tensor]) -> None:
    """ValueError if a parameter is of a module in DistributedDataParallel: its gradient is complete in each process
    before the processes have summed theirs."""
    if has_replicas(params):
        raise ValueError(
            f"{name}: in_backward=True with DistributedDataParallel, which sums gradients over the processes after "
            "they are complete here, so each process would update by its own; leave in_backward out, or shard the "
            "model with FSDP2, torch.distributed.fsdp.fully_shard"
        )


def has_replicas(params: Iterable[torch.Tensor]) -> bool:
    """Whether a parameter is of a module in DistributedDataParallel.

    Nothing on a parameter tells it, so this looks at all objects, where there are several processes.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return False
    wrappers = [x for x in gc.get_objects() if issubclass(type(x), DistributedDataParallel)]
    replicated = {id(p) for wrapper in wrappers for p in getattr(wrapper, "_module_parameters", ())}
    return not replicated.isdisjoint(map(id, params))
