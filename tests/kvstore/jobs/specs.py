"""All ranks together come to the bits of one process: of the specs that are named, or of all."""

from __future__ import annotations

import sys

import numpy as np
from common import MATRICES, RANK, RANKS, SHAPES, STORE, both, started, steps

import runtime as mx
from runtime.core import optgen_bridge

HALF, DOUBLE = "float16", "float64"
for text in (
    """\
optimizer NamedRates "numbers of parameters by names, in elements and products"
param eta per param = 1 in [0, inf)
flag  matrix        = rank == 2
state m = eta
update:
  m' = 0.9*m + eta*g
  u  = m'@(m'^T@m')  if matrix
  u  = m'            otherwise
  w' = w - lr*eta*u
""",
    """\
optimizer NamedTotals "numbers of parameters by names, in a sum over all of them"
param eta per param = 1 in [0, inf)
state m = eta
state n: shared = 0
update:
  m' = 0.9*m + eta*g
  n' = n + sum(eta*m', over params)
  w' = w - lr*eta*m'/(1 + n'^2)
""",
):
    mx.optimizer.register_spec(text)
ETAS = {"eta": {str(key): 0.5 + k for k, key in enumerate(SHAPES)}}
CASES = [
    ("namedrates", ETAS, DOUBLE),
    ("namedtotals", ETAS, "float32"),
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
