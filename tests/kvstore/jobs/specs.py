"""All ranks together come to the bits of one process: of the specs that are named, or of all."""

from __future__ import annotations

import sys

import numpy as np
from common import MATRICES, RANK, RANKS, SHAPES, STORE, both, started, steps

import runtime as mx
from runtime.core import optgen_bridge

HALF, DOUBLE = "float16", "float64"
CASES = [
    ("adam", {"multi_precision": True}, HALF),
    ("lamb", {"multi_precision": True, "storage": "int8_dynamic"}, "bfloat16"),
    ("sgd", {"momentum": 0.9}, HALF),
    ("adam", {}, DOUBLE),
    ("muon_adamw", {"multi_precision": True, "storage": {"adam_v": "int8_dynamic"}}, "bfloat16"),
]
names = [(name, {}, "float32") for name in sys.argv[1:] or optgen_bridge.names() if not optgen_bridge.read(name).given]


def trained(kind: str, name: str, arguments: dict, dtype: str) -> list[np.ndarray]:
    optimizer = mx.optimizer.create(name, **arguments)
    try:
        optimizer.cut_of(0, dtype, (3,))
        shapes = SHAPES
    except ValueError:  # some update matrices alone
        shapes = MATRICES
    store, found = started(kind, optimizer, dtype, shapes), []
    for k, phase in enumerate(optimizer.phases * 3):
        optimizer.phase = phase
        found = steps(store, [k], dtype, shapes)
    return found or steps(store, range(3), dtype, shapes)


for case in (names + CASES)[RANK::RANKS]:
    trained("local", *case)  # each rank compiles some of the kernels, for all
STORE.barrier()
for case in names + CASES:
    both(lambda kind: trained(kind, *case), case)  # noqa: B023 (called at once)
both(lambda kind: steps(started(kind, None, "float32", SHAPES), range(1), "float32", SHAPES), "sums")
STORE.barrier()
