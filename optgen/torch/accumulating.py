"""Gradients of several backward passes for one update, summed by the kernels that read them."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from optgen.torch.memory import FLAT, is_flat, is_of_zeros, local_tensor, sharding_of
from optgen.torch.rules import Owner
from optgen.torch.updating import refuse_evaluating
from optgen.torch.values import is_capturing, options_of

LARGEST = 32
"""The largest number of gradients that a kernel sums; with more, compiling it takes seconds, and memory holds all."""


def _checked_length(k: Any) -> int:
    """A number of calls of `step` for an update; ValueError if it is none."""
    try:
        number = 0 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        number = 0
    if not 1 <= number <= LARGEST:
        raise ValueError(
            f"accumulate: a whole number from 1 to {LARGEST}, not {k!r}; for more, call step() after several backward "
            "passes, which add up in p.grad"
        )
    return number


def check_accumulating(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError naming what of an optimizer, or of a group that is added to it, takes the gradients of one backward
    pass."""
    name, spec, is_outer = type(optimizer).__name__, optimizer.spec, optimizer.outer is not None
    others = {
        "in_backward=True, with which every backward is an update": optimizer.in_backward,
        "donate_grads=True, with which steps write to gradients": optimizer.donate_grads,
        f"phases, {' and '.join(spec.phases)}, each with a gradient of its own": bool(spec.phases) and not is_outer,
        f"{' and '.join(spec.given)}, given to each step": bool(spec.given),
        f"{FLAT}, of whose gradient each process has a part": any(map(is_flat, group["params"])),
    }
    for what, is_so in others.items():
        if is_so:
            raise ValueError(f"{name}: accumulate={optimizer.accumulate}, but there are {what}; leave one of them out")


class Accumulating:
    """An optimizer that makes an update of several backward passes: in every call of `step` with `accumulate=1`, else
    in the last one of so many. `earlier` has the gradients that the update that runs adds to `p.grad`."""

    earlier: Mapping[torch.Tensor, Sequence[torch.Tensor]] = MappingProxyType({})
    _rounds: Rounds | None = None  # None where every step is an update

    @property
    def accumulate(self) -> int:
        """How many calls of `step` make an update, of the sum of their gradients."""
        return 1 if self._rounds is None else self._rounds.length

    @accumulate.setter
    def accumulate(self: Any, k: int) -> None:
        length = _checked_length(k)
        if length == self.accumulate:
            return
        self._check_no_round("change accumulate")
        self._rounds = Rounds(length) if length > 1 else None
        for group in getattr(self, "param_groups", ()) if length > 1 else ():
            check_accumulating(self, group)

    @property
    def accumulated(self) -> int:
        """How many calls of `step` have gradients that wait for an update; 0 behind one."""
        return 0 if self._rounds is None else self._rounds.calls

    def _check_no_round(self, action: str) -> None:
        """RuntimeError while gradients wait for an update, where nobody is to do this."""
        if self.accumulated:
            raise RuntimeError(
                f"{type(self).__name__}: {self.accumulated} of {self.accumulate} calls of step() wait for an update; "
                f"{action} behind one, or call flush()"
            )

    def flush(self) -> None:
        """Make the update of a round that is not complete, of the gradients that there are; nothing without any."""
        if self._rounds is not None:
            self._rounds.flush(self)


class Rounds:
    """The gradients that calls of `step` have taken, for the update that the last one of `length` calls makes.

    During the update, `p.grad` is the last gradient of a parameter in the round, and `optimizer.earlier[p]` has those
    before it.
    """

    def __init__(self, length: int) -> None:
        self.length, self.calls = length, 0
        self._kept: dict[torch.Tensor, list[torch.Tensor]] = {}
        self._taken: set[torch.Tensor] = set()
        self._counts: list[int] = []

    def step(self, optimizer: Any) -> None:
        """A call of `step`: take the gradients, and make the update if the round is complete."""
        self._refuse(optimizer)
        if not self.calls and _makes_states(optimizer):
            _update(optimizer)
            return
        self._take(optimizer)
        if self.calls >= self.length:
            self._update(optimizer)

    def flush(self, optimizer: Any) -> None:
        """`Accumulating.flush`."""
        self._refuse(optimizer)
        if any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
            self._take(optimizer)
        if self.calls:
            self._update(optimizer)

    def _refuse(self, optimizer: Owner) -> None:
        if optimizer.training_weights is not None:
            refuse_evaluating(optimizer)
        if is_capturing() or getattr(optimizer, "grad_scale", None) is not None:
            what = "a step that is captured" if is_capturing() else "fused=True with a GradScaler"
            why = "has no rounds" if is_capturing() else "scales the gradients of a round differently"
            raise RuntimeError(f"{type(optimizer).__name__}: accumulate={self.length} and {what}, which {why}")

    def _update(self, optimizer: Any) -> None:
        self._give(optimizer)
        has_ended = False
        try:
            _update(optimizer)
            has_ended = True
        except BaseException:
            has_ended = optimizer._has_updated
            raise
        finally:
            self._finish(optimizer, has_ended=has_ended)

    def _take(self, optimizer: Any) -> None:
        """Take the gradients that there are; parameters have none then. A whole gradient is a reference, no copy."""
        params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self._taken = set(params)
        for p in params:
            kept = self._kept.setdefault(p, [])
            kept.append(_own(p.grad))
            if len({x.layout for x in kept}) > 1:
                kept[:] = [x.to_dense() for x in kept]
            elif kept[0].layout != torch.strided:
                kept[:] = [sum(kept[1:], start=kept[0])]
            p.grad = None
        self.calls += 1

    def _give(self, optimizer: Any) -> None:
        """Have the next update sum what was taken. Of a parameter that goes elsewhere, it is summed here."""
        optimizer.earlier = {}
        lengths = set(map(len, self._kept.values()))
        differ = optimizer.spec.joins_params and len(lengths) > 1  # where one kernel updates all
        afar = {p for group in optimizer.param_groups if options_of(group).on_host for p in group["params"]}
        for p, kept in self._kept.items():
            if differ or p in afar or (p in optimizer.owners.places and sharding_of(p) is not None):
                p.grad = _sum(kept).to(p.dtype)
                continue
            p.grad = kept[-1]
            if len(kept) > 1:
                optimizer.earlier[p] = kept[:-1]
        counts = [len(optimizer.earlier.get(p, ())) for p in self._kept]
        if optimizer._step is not None and counts != self._counts:
            optimizer._step.rebind()
        self._counts = counts

    def _finish(self, optimizer: Any, *, has_ended: bool) -> None:
        """After an update, or what it has raised: begin a new round, or have the call not have been."""
        optimizer.earlier = {}
        for p, kept in self._kept.items():
            p.grad = None if has_ended or p not in self._taken else kept.pop()
        self.calls = 0 if has_ended else self.calls - 1
        self._kept = {} if has_ended else {p: kept for p, kept in self._kept.items() if kept}
        self._taken = set()


def _update(optimizer: Any) -> None:
    """An update of an optimizer, with its outer step if that is due."""
    if optimizer.outer is None:
        optimizer._update()
    else:
        optimizer.outer.update(optimizer)


def _makes_states(optimizer: Any) -> bool:
    """Whether this is a first step with rates and gradients of 0 alone, which torch.distributed.checkpoint makes to
    have states made."""
    return not optimizer.state and is_of_zeros(optimizer.param_groups)


def _own(grad: torch.Tensor) -> torch.Tensor:
    """A gradient, copied where it is a part of other memory, as of a bucket that DistributedDataParallel fills anew."""
    local = local_tensor(grad)
    is_part = local.layout == torch.strided and local.untyped_storage().nbytes() != local.nbytes
    return grad.detach().clone() if is_part or local._is_view() else grad.detach()


def sums(optimizer: Owner) -> Iterator[torch.Tensor]:
    """The gradient of each parameter that has one, summed if there are several: of 16 bits in float32, one by one."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                earlier = optimizer.earlier.get(p)
                yield _sum([*earlier, p.grad]) if earlier else p.grad


def _sum(grads: Sequence[torch.Tensor]) -> torch.Tensor:
    first = grads[0].detach()
    total = first.float() if first.dtype in (torch.float16, torch.bfloat16) else first.clone()
    for grad in grads[1:]:
        total += grad.detach()
    return total
