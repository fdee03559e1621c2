"""Ranks of a job: processes of this machine that speak over gloo on the loopback interface, and open no other port."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from tests.compile_once import compile_once

LISTENING = "0A"


def run(ranks: int, function: Callable[..., None], folder: Path, *args: Any) -> None:
    """Call `function(*args)` on each rank, within a process group of its own, whose file is made in `folder`.

    Ranks are forks of this process, which must not have started threads of its own: they need not import PyTorch, nor
    compile what it has compiled.
    """
    store = tempfile.mktemp(prefix="store", dir=folder)
    mp.start_processes(_rank, (ranks, function, store, args), nprocs=ranks, start_method="fork")


def values(shapes: Sequence[tuple[int, ...]], seed: int) -> list[torch.Tensor]:
    """The same numbers in every process."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def _rank(rank: int, ranks: int, function: Callable[..., None], store: str, args: tuple[Any, ...]) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    compile_once()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    try:
        function(*args)
        assert not (open_ports := _ports_beyond_loopback()), open_ports
        dist.barrier()
    finally:
        dist.destroy_process_group()


def _ports_beyond_loopback() -> list[str]:
    """The addresses at which this process listens, but for those of the loopback interface."""
    links = (os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink() and path.exists())
    own = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    found = []
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        address, state, inode = fields[1].split(":")[0], fields[3], fields[9]
        ip = socket.inet_ntoa(struct.pack("<I", int(address, 16)))
        if state == LISTENING and inode in own and not ip.startswith("127."):
            found.append(ip)
    return found
