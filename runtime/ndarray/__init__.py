"""Arrays and what can be computed with them.

Read `ndarray` and `operator` first. Each family of operators is one file, whose `__all__` says what users see of it,
`METHODS` which of these are methods of NDArray too, and `CONTRIB` what is in `nd.contrib`. To add a family, add its
file to FAMILIES.
"""

from __future__ import annotations

from runtime import arrays, autograd
from runtime.ndarray import (
    _internal,  # noqa: F401 (nd._internal)
    activation,
    attention,
    boxes,
    contrib,
    convolution,
    correlation,
    creation,
    ctc,
    custom,
    densities,
    dlpack,
    elementwise,
    heads,
    image,  # noqa: F401 (nd.image)
    index,
    layers,
    linalg,
    magnitude,
    methods,
    multi,
    multibox,
    normalization,
    op,  # noqa: F401 (nd.op)
    ordering,
    pooling,
    products,
    random,  # noqa: F401 (nd.random)
    reduce,
    regions,
    resize,
    rnn,
    sampler,
    sampling,
    sequence,
    serialization,
    shape,
    slicing,
    softmax,
    sparse,
    straight_through,
    updates,
)
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import public

FAMILIES = (
    creation,
    elementwise,
    reduce,
    shape,
    slicing,
    index,
    ordering,
    sequence,
    serialization,
    multi,
    dlpack,
    custom,
    products,
    attention,
    linalg,
    activation,
    softmax,
    normalization,
    magnitude,
    layers,
    ctc,
    heads,
    sparse,
    sampling,
    densities,
    convolution,
    pooling,
    resize,
    regions,
    sampler,
    correlation,
    boxes,
    multibox,
    rnn,
    straight_through,
    updates,
)

for _family in FAMILIES:
    for _name in _family.__all__:
        globals()[_name] = public(sparse.sparse_aware(_name, getattr(_family, _name)))
    for _name in getattr(_family, "METHODS", ()):
        setattr(NDArray, _name, globals().get(_name) or public(sparse.sparse_aware(_name, getattr(_family, _name))))
    for _name in getattr(_family, "CONTRIB", ()):
        setattr(contrib, _name, public(getattr(_family, _name)))
for _name in linalg.__all__:
    setattr(linalg, _name.removeprefix("linalg_"), globals()[_name])  # nd.linalg.gemm2 is nd.linalg_gemm2
methods.install()
autograd.NDArray = NDArray  # a name that users of `from mxnet.autograd import *` rely on


def waitall() -> None:
    """Return when everything is computed: at once on the CPU, where operators are computed when they are called."""
    arrays.synchronize_all()
