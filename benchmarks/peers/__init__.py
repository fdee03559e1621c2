"""Other implementations of the same updates, each in a file that says why it is absent where it is.

A peer is a function of an optimizer's name and the tensors; it returns a call that makes one step, or None where it has
no such optimizer, or raises Absent.
"""

from __future__ import annotations

from collections.abc import Callable

from workloads import Tensors

from peers import deepspeed_cpu, optax_jit, pytorch
from peers.absent import Absent

Step = Callable[[], object]
Peer = Callable[[str, Tensors], Step | None]

PEERS: dict[str, Peer] = {
    "torch-fused": pytorch.fused,
    "torch-foreach": pytorch.foreach,
    "torch-compiled": pytorch.compiled,
    "deepspeed": deepspeed_cpu.step,
    "optax": optax_jit.step,
}

__all__ = ["PEERS", "Absent", "Peer", "Step"]
