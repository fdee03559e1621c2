"""Steps that are left out because a gradient has a NaN or an infinity: for all groups and ranks alike, and whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from optgen.torch.accumulating import sums
from optgen.torch.forms import SCALE
from optgen.torch.halves import MASTER
from optgen.torch.memory import FLAT, as_pairs, is_flat, local_tensor, placed_like
from optgen.torch.rules import Owner
from optgen.torch.state import STEP
from optgen.torch.updating import Ranks, ranks_of
from optgen.torch.values import is_capturing

# ---------------------------------------------------------------- what is refused


def check_skipping(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError naming what of an optimizer, or of a group that is added to it, updates before all gradients are known
    to be finite."""
    name = type(optimizer).__name__
    if optimizer.in_backward:
        raise ValueError(
            f"{name}: skip_nonfinite=True with in_backward=True: backward updates parameters before it has computed "
            "all gradients; leave one of the two out"
        )
    if any(map(is_flat, group["params"])):
        raise ValueError(
            f"{name}: skip_nonfinite=True with {FLAT}, of whose gradient each process has a part; shard the model with "
            "FSDP2, torch.distributed.fsdp.fully_shard"
        )


# ---------------------------------------------------------------- which steps


class Skipping:
    """Which steps of an optimizer are left out.

    Of a step with phases, it keeps what the phases before the last one change, for a gradient of a later phase that is
    not finite: then all is as before the step, and what is left of it is left out.
    """

    def __init__(self) -> None:
        self.is_left_out = False
        self._before: dict[torch.Tensor, tuple[torch.Tensor, dict[str, Any]]] = {}

    def leaves_out(
        self, optimizer: Any, phase: str | None, found_inf: torch.Tensor | None, workers: Ranks | None
    ) -> bool:
        """Whether an update, or a phase of one, is left out. `found_inf` is what a GradScaler knows of the gradients.

        With `clip_norm`, the optimizer has measured their norm. `workers` make an update together, and leave it out
        together.
        """
        phases = optimizer.spec.phases
        if phase in (None, *phases[:1]):
            self.is_left_out, self._before = False, {}
        if self.is_left_out:
            return True
        norm = optimizer.grad_norm if optimizer.clip_norm is not None else None
        is_finite = _are_finite(optimizer, norm) if found_inf is None else not found_inf
        if found_inf is None or workers is not None:  # a GradScaler has asked the ranks of a mesh
            is_finite = not (workers or ranks_of(optimizer)).any(not is_finite)
        if is_finite:
            if phase is not None and optimizer.outer is None:  # an outer phase reads no gradients
                self._before = _copies(optimizer) if phase == phases[0] else self._before
            return False
        optimizer.skipped += 1
        self.is_left_out = phase is not None
        _restore(optimizer, self._before)
        self.forget()
        return True

    def forget(self) -> None:
        """Keep nothing, as all phases of a step are made."""
        self._before = {}


def _are_finite(optimizer: Owner, norm: torch.Tensor | None) -> bool:
    """Whether all gradients are finite that are here. Processes may have other answers.

    If their `norm` is known and finite, they are. It may be infinite although they are finite.
    """
    if is_capturing():
        raise RuntimeError(
            f"{type(optimizer).__name__}: skip_nonfinite=True: the host reads whether gradients are finite, so step() "
            "cannot be captured; leave skip_nonfinite out"
        )
    if norm is not None and math.isfinite(norm.item()):
        return True
    largest = [torch.linalg.vector_norm(x, math.inf) for x in _parts(optimizer)]
    return all(map(math.isfinite, _on_host(largest)))


def _parts(optimizer: Owner) -> Iterator[torch.Tensor]:
    """The real numbers of gradients, as far as they are here; duplicate entries of sparse ones are summed, and so are
    those of several backward passes."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    for p, whole in zip(params, sums(optimizer), strict=True):
        grad = local_tensor(placed_like(p, whole)).detach()
        part = as_pairs(grad.coalesce().values() if grad.layout == torch.sparse_coo else grad)
        if part.numel():
            yield part


def _on_host(numbers: Sequence[torch.Tensor]) -> list[float]:
    """Numbers of any dtypes and devices, by one copy from each device."""
    found: dict[torch.device, list[torch.Tensor]] = {}
    for x in numbers:
        found.setdefault(x.device, []).append(x.double())
    return [number for some in found.values() for number in torch.stack(some).tolist()]


# ---------------------------------------------------------------- what phases have changed


@torch.no_grad()
def _copies(optimizer: Owner) -> dict[torch.Tensor, tuple[torch.Tensor, dict[str, Any]]]:
    """The weights of parameters that have a gradient, and those of their states that phases before the last one set."""
    spec, keys = optimizer.spec, optimizer.state_keys
    names = {e.target.id for e in spec.update if e.phase != spec.phases[-1] and e.target.primed}
    changing = {MASTER, STEP, *(keys.key_of(name + part) for name in names for part in ("", SCALE))}
    found = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                kept = optimizer.state.get(p, {})
                copies = {key: x.clone() for key, x in kept.items() if key in changing}
                found[p] = local_tensor(p).detach().clone(), {**kept, **copies}
    return found


@torch.no_grad()
def _restore(optimizer: Owner, copies: Mapping[torch.Tensor, tuple[torch.Tensor, dict[str, Any]]]) -> None:
    """Have parameters and states hold what they held, and no states that they had not."""
    for p, (weight, before) in copies.items():
        local_tensor(p).detach().copy_(weight)
        kept = optimizer.state[p]
        for key in kept.keys() - before.keys():
            del kept[key]
        for key, x in before.items():
            if isinstance(x, torch.Tensor) and x is not kept[key]:
                local_tensor(kept[key]).copy_(local_tensor(x))
