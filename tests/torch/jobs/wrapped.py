"""Models in DistributedDataParallel and in the first FSDP: what is refused there, and what has the usual numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

import optgen.torch

FLAT = r"a flat parameter of FullyShardedDataParallel \(FSDP1\)"


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4, bias=False))


def sharded(use_orig_params: bool) -> FullyShardedDataParallel:
    cpu = torch.device("cpu")
    return FullyShardedDataParallel(network(), device_id=cpu, use_orig_params=use_orig_params)


def backward(net: nn.Module, step: int, rank: int) -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(10 * step + rank))
    net(x).square().mean().backward()


def trained(net: nn.Module, opt: torch.optim.Optimizer) -> None:
    for step in range(2):
        opt.zero_grad()
        backward(net, step, dist.get_rank())
        opt.step()


def replicas() -> None:
    """Whoever was made first: the optimizer, which may have made updates, or the replicas."""
    for first in ("replicas", "optimizer", "updates"):
        net = network()
        before = [p.detach().clone() for p in net.parameters()]
        if first == "replicas":
            wrapped = DistributedDataParallel(net)
            with pytest.raises(ValueError, match="Lion: in_backward=True with DistributedDataParallel"):
                optgen.torch.Lion(net.parameters(), in_backward=True)
        else:
            opt = optgen.torch.Lion(net.parameters(), in_backward=True)
            if first == "updates":
                backward(net, 0, 0)
                before = [p.detach().clone() for p in net.parameters()]
            wrapped = DistributedDataParallel(net)
            with pytest.raises(ValueError, match="Lion: in_backward=True with DistributedDataParallel"):
                backward(wrapped, 0, dist.get_rank())
            del opt
        assert all(map(torch.equal, net.parameters(), before))
    alone = network()
    optgen.torch.Lion(alone.parameters(), in_backward=True)
    backward(alone, 0, dist.get_rank())


def flat() -> None:
    """What is the same for each element works; what reads shapes or other elements is refused."""
    for use_orig_params in (False, True):
        net, plain = sharded(use_orig_params), DistributedDataParallel(network())
        trained(net, optgen.torch.AdamW(net.parameters(), lr=0.01))
        trained(plain, torch.optim.AdamW(plain.parameters(), lr=0.01))
        with FullyShardedDataParallel.summon_full_params(net):
            for p, q in zip(net.parameters(), plain.parameters(), strict=True):
                torch.testing.assert_close(p, q)
        for name in ("LAMB", "MuonAdamW", "Prodigy", "AdamP"):
            with pytest.raises(ValueError, match=f"parameter 0 .*: {FLAT}.* {name} does not .*fully_shard"):
                getattr(optgen.torch, name)(net.parameters())
        opt: Any = optgen.torch.Adafactor(net.parameters())
        with pytest.raises(ValueError, match=f"parameter 0 .*: {FLAT}"):
            trained(net, opt)
        with pytest.raises(ValueError, match=f"Lion: in_backward=True with {FLAT}"):
            optgen.torch.Lion(net.parameters(), in_backward=True)
        with pytest.raises(ValueError, match=f"Lion: clip_norm=1 with {FLAT}"):
            optgen.torch.Lion(net.parameters(), clip_norm=1.0)
        opt = optgen.torch.Lion(net.parameters())
        with pytest.raises(ValueError, match=f"Lion: clip_norm=1 with {FLAT}"):
            opt.clip_norm = 1.0
        assert opt.clip_norm is None


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    ranks.run(2, replicas, folder)
    ranks.run(2, flat, folder)
