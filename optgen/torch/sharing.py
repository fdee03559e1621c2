"""Parameters of a group that are one tensor, or have memory in common: a step that updates both is refused."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch

from optgen.torch.memory import is_here, local_tensor
from optgen.torch.protocols import Owner


def warn_of_sharing(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """Warn of the first two parameters of a group that a step will refuse, if both need a gradient."""
    found = _shared([p for p in group["params"] if p.requires_grad and is_here(p)])
    if found is None:
        return
    first, second = map(optimizer.describe, found)
    what = f"{first} stands twice in its group" if found[0] is found[1] else f"{first} and {second} share memory"
    warnings.warn(
        f"{type(optimizer).__name__}: {what}; a step with their gradients is refused: pass what is used twice once",
        stacklevel=2,
    )


def _shared(params: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Two parameters that are the same, or whose memory overlaps; None if there are none."""
    places = [(*_place(local_tensor(p)), k) for k, p in enumerate(params)]
    for (_, end, k), (begin, _, i) in pairwise(sorted(place for place in places if place[0])):
        if begin < end:
            return params[k], params[i]
    return None


def _place(x: torch.Tensor) -> tuple[int, int]:
    """Where a tensor begins, 0 if it is nowhere or fake, and where what it surely fills ends: with gaps, after its
    first element."""
    is_somewhere = x.layout == torch.strided and x.numel() and x.untyped_storage().device.type != "meta"
    begin = x.data_ptr() if is_somewhere else 0
    return begin, begin + (x.nbytes if x.is_contiguous() else x.itemsize)
