"""Checksums, by which the bits of tensors are compared without a copy of them."""

from __future__ import annotations

import functools

import torch

from optgen.torch.memory import as_pairs, local_tensor

LENGTH = 1 << 16
"""How many elements are multiplied together: their products take 512 KiB, which a cache holds."""
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@torch.no_grad()
def checksum(x: torch.Tensor) -> int:
    """A number below 2^64 for the elements that are here of a tensor, their bits and their order.

    Elements as whole numbers are multiplied by odd numbers drawn for their places, and summed modulo 2^64. So a change
    of one element always shows, and one of several is overlooked in some 2^-60 of all cases. The host waits for a GPU.
    """
    local = as_pairs(local_tensor(x).detach()).contiguous().view(-1)
    return int(_summed(local.view(INTEGERS[local.element_size()]))) % 2**64


def _summed(x: torch.Tensor) -> torch.Tensor:
    factors = _factors(x.device)
    sums = [(part.long() * factors[: len(part)]).sum() for part in torch.split(x, LENGTH)]
    return sums[0] if len(sums) == 1 else _summed(torch.stack(sums))


@functools.lru_cache(maxsize=8)
def _factors(device: torch.device) -> torch.Tensor:
    """Odd numbers, the same ones in all processes."""
    with torch.inference_mode(mode=False):  # or they could be read there alone
        draws = torch.randint(-(2**63), 2**63 - 1, (LENGTH,), generator=torch.Generator().manual_seed(0))
        return (draws | 1).to(device)
