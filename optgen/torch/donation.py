"""Which gradients a step may be given, to use their memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optgen.execute.donation import check_donated
from optgen.torch.naming import naming
from optgen.torch.protocols import Owner
from optgen.torch.rules import dtype_of, has_memory


def check(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError naming what of an optimizer, or of a group that is added to it, makes gradients no memory to use."""
    name = type(optimizer).__name__
    if optimizer.in_backward:
        raise ValueError(
            f"{name}: donate_grads=True with in_backward=True: within backward, the memory of a gradient may be that "
            "of another, which is still needed there; leave one of the two out"
        )
    for p in group["params"]:
        if has_memory(p) and p.requires_grad:
            with naming([p], optimizer.describe):
                try:
                    check_donated(dtype_of(p), p.device.type)
                except ValueError as error:
                    raise ValueError(f"params[0]: {error}") from None
