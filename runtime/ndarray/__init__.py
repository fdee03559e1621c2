"""`nd`: arrays and what can be computed with them.

Read `ndarray`, the array, and `operator`, a function of arrays with its gradient, first. Each family of operators is
one file, in the folder of its kind:

    elementwise/   one element, or one of each of two arrays: arithmetic, comparisons, exp, erf, casts
    shape/         reshaping, broadcasting, slicing, x[key], gathering by index, padded sequences
    reduce/        sums, means, extremes, norms over axes; sorting and top-k
    linalg/        products of matrices, triangles, factorizations
    nn/            what layers compute: activations, convolution, pooling, normalization, softmax, dropout
    vision/        resizing, grids, regions of interest, boxes, single-shot detection
    rnn/           recurrent networks
    random/        draws from distributions, and their densities
    updates/       the steps of optimizers as operators, and sums of gradients
    sparse/        row-sparse and csr arrays, and what operators do with them

A family's `__all__` names the functions of `nd`, `METHODS` those that are methods of NDArray as well, and `CONTRIB`
those of `nd.contrib`. To add a family, add its file to FAMILIES. Imports point one way: see
`tests/ndarray/test_order.py`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from runtime import autograd
from runtime.core import backend
from runtime.ndarray import _internal, contrib, image, linalg, methods, ndarray, op, random, sparse  # noqa: F401
from runtime.ndarray.linalg import matrices
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public

FAMILIES: tuple[ModuleType, ...] = tuple(
    importlib.import_module(f"{__name__}.{name}")
    for name in (
        "creation",
        "serialization",
        "dlpack",
        "custom",
        "elementwise",
        "elementwise.straight_through",
        "shape.reshape",
        "shape.broadcast",
        "shape.slicing",
        "shape.gather",
        "shape.pick",
        "shape.sequence",
        "reduce.reductions",
        "reduce.ordering",
        "linalg.products",
        "linalg.matrices",
        "linalg.transforms",
        "nn.activation",
        "nn.softmax",
        "nn.normalization",
        "nn.batch_norm",
        "nn.local_norms",
        "nn.fully_connected",
        "nn.dropout",
        "nn.convolution",
        "nn.pooling",
        "nn.attention",
        "nn.ctc",
        "nn.output_ops",
        "nn.contrib",
        "nn.first_versions",
        "nn.quantized",
        "nn.point_processes",
        "vision.resize",
        "vision.regions",
        "vision.grid_sample",
        "vision.deformable",
        "vision.proposals",
        "vision.correlation",
        "vision.boxes",
        "vision.multibox",
        "rnn.stacked",
        "random.operators",
        "random.densities",
        "updates.multi_tensor",
        "updates.optimizer_ops",
        "sparse",
    )
)


__all__ = ["NDArray", "contrib", "image", "linalg", "op", "random", "sparse", "waitall"]
"""What `from runtime.ndarray import *` brings, as in MXNet: besides these, the functions of the families. The folders
`nn` and `vision` must not hide those of `gluon`."""


def _offer(family: ModuleType) -> None:
    """Make the functions of a family those of `nd`, methods and functions of `nd.contrib`, as it says."""
    __all__.extend(family.__all__)
    for name in family.__all__:
        globals()[name] = public(sparse.sparse_aware(name, getattr(family, name)))
    for name in getattr(family, "METHODS", ()):
        setattr(NDArray, name, globals().get(name) or public(sparse.sparse_aware(name, getattr(family, name))))
    for name in getattr(family, "CONTRIB", ()):
        setattr(contrib, name, public(sparse.sparse_aware(name, getattr(family, name))))


def _forward(module: ModuleType, names: tuple[str, ...] | None = None) -> None:
    """Make functions of `nd`, all or those of `names`, attributes of a module of it, which is imported before them."""

    def find(name: str) -> object:
        if name.startswith("__") or name not in globals() or (names is not None and name not in names):
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
        return globals()[name]

    module.__getattr__ = find


for _family in FAMILIES:
    _offer(_family)
for _name in matrices.__all__:  # nd.linalg.gemm2 and nd.linalg.linalg_gemm2 are nd.linalg_gemm2
    setattr(linalg, _name, globals()[_name])
    setattr(linalg, _name.removeprefix("linalg_"), globals()[_name])
linalg.__all__ = list(matrices.__all__)
_forward(op)
_forward(ndarray)
_forward(sparse, sparse.OPERATORS)
methods.install()
autograd.NDArray = NDArray  # a name that users of `from mxnet.autograd import *` rely on


def waitall() -> None:
    """Return when everything is computed: at once on the CPU, where operators are computed when they are called."""
    backend.synchronize_all()
