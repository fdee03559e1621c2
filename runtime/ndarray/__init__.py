"""Arrays and what can be computed with them.

Read `ndarray` and `operator` first. Each family of operators is one file, whose `__all__` says what users see of it,
`METHODS` which of these are methods of NDArray too, and `CONTRIB` what is in `nd.contrib`. To add a family, add its
file to FAMILIES.
"""

from __future__ import annotations

from runtime import autograd
from runtime.core import backend
from runtime.ndarray import (
    _internal,  # noqa: F401 (nd._internal)
    contrib,
    creation,
    custom,
    dlpack,
    elementwise,
    image,  # noqa: F401 (nd.image)
    linalg,
    methods,
    op,  # noqa: F401 (nd.op)
    random,  # noqa: F401 (nd.random)
    serialization,
    sparse,
)
from runtime.ndarray.elementwise import straight_through
from runtime.ndarray.linalg import matrices, products
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.nn import (
    activation,
    attention,
    convolution,
    ctc,
    layers,
    normalization,
    output_ops,
    pooling,
    softmax,
)
from runtime.ndarray.operator import public
from runtime.ndarray.random import densities, sampling
from runtime.ndarray.reduce import local_norms, ordering, reduce
from runtime.ndarray.rnn import rnn
from runtime.ndarray.shape import gather, reshape, sequence, slicing
from runtime.ndarray.updates import multi, operators
from runtime.ndarray.vision import boxes, correlation, grid_sample, multibox, regions, resize

FAMILIES = (
    creation,
    elementwise,
    reduce,
    reshape,
    slicing,
    gather,
    ordering,
    sequence,
    serialization,
    multi,
    dlpack,
    custom,
    products,
    attention,
    matrices,
    activation,
    softmax,
    normalization,
    local_norms,
    layers,
    ctc,
    output_ops,
    sparse,
    sampling,
    densities,
    convolution,
    pooling,
    resize,
    regions,
    grid_sample,
    correlation,
    boxes,
    multibox,
    rnn,
    straight_through,
    operators,
)

for _family in FAMILIES:
    for _name in _family.__all__:
        globals()[_name] = public(sparse.sparse_aware(_name, getattr(_family, _name)))
    for _name in getattr(_family, "METHODS", ()):
        setattr(NDArray, _name, globals().get(_name) or public(sparse.sparse_aware(_name, getattr(_family, _name))))
    for _name in getattr(_family, "CONTRIB", ()):
        setattr(contrib, _name, public(getattr(_family, _name)))
for _name in matrices.__all__:
    setattr(linalg, _name.removeprefix("linalg_"), globals()[_name])  # nd.linalg.gemm2 is nd.linalg_gemm2
methods.install()
autograd.NDArray = NDArray  # a name that users of `from mxnet.autograd import *` rely on


def waitall() -> None:
    """Return when everything is computed: at once on the CPU, where operators are computed when they are called."""
    backend.synchronize_all()
