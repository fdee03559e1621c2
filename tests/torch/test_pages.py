"""Large states on the CPU lie on huge pages where the system has them."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest
import torch

import optgen.torch
from optgen.torch.features import MIN_BYTES

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system has no madvise for huge pages")


def _asks_for_huge_pages(x: torch.Tensor) -> bool:
    """Whether the memory in the middle of a tensor is marked `hg` in /proc/self/smaps."""
    middle, is_here = x.data_ptr() + x.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, _, _ = line.partition(" ")
        if "-" in first and not first.endswith(":"):
            start, end = (int(address, 16) for address in first.split("-"))
            is_here = start <= middle < end
        elif is_here and first == "VmFlags:":
            return "hg" in line.split()
    raise AssertionError("no such memory")


@pytest.mark.parametrize("storage", [None, "bfloat16", "int8_dynamic"])
def test_states_lie_on_huge_pages(storage: str | None) -> None:
    p = torch.nn.Parameter(torch.randn(5, MIN_BYTES))
    p.grad = torch.randn_like(p)
    first = optgen.torch.Lion([p], storage=storage)
    first.step()
    second = optgen.torch.Lion([p], storage=storage)
    second.load_state_dict(first.state_dict())
    for optimizer in (first, second):
        assert _asks_for_huge_pages(optimizer.state[p]["m"])
