"""Parameters that are updated within `backward`, each as soon as its gradient is complete."""

from __future__ import annotations

import functools
import gc
import weakref
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch._compile import _disable_dynamo
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _python_dispatch as dispatch

from optgen.torch.group import GroupStep
from optgen.torch.hooks import refuse_fake
from optgen.torch.memory import local_tensor
from optgen.torch.protocols import Owner
from optgen.torch.rules import load
from optgen.torch.values import GroupValues


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

    @_disable_dynamo
    def update(self, p: torch.Tensor) -> None:
        """One update of a parameter with its gradient, which is freed.

        ValueError if DistributedDataParallel has some of the parameters, by whatever time it was made.
        """
        if dispatch._is_in_torch_dispatch_mode:
            refuse_fake(type(self._owner()).__name__)
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
        if step.starts():
            step.transaction.run()
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


def check(optimizer: Owner, group: Mapping[str, Any]) -> None:
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
    before the processes have summed theirs.

    Nothing on a parameter tells it, so this looks at all objects, where there are several processes.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return
    wrappers = [x for x in gc.get_objects() if issubclass(type(x), DistributedDataParallel)]
    replicated = {id(p) for wrapper in wrappers for p in getattr(wrapper, "_module_parameters", ())}
    if not replicated.isdisjoint(map(id, params)):
        raise ValueError(
            f"{name}: in_backward=True with DistributedDataParallel, which sums gradients over the processes after "
            "they are complete here, so each process would update by its own; leave in_backward out, or shard the "
            "model with FSDP2, torch.distributed.fsdp.fully_shard"
        )
