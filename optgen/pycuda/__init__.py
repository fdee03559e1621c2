"""optgen.pycuda: steps with PyCUDA, of kernels that `optgen build SPEC --target cuda --kernels` wrote.

import pycuda.autoprimaryctx
from optgen.pycuda import load_built
step = load_built("build/adam").bind(params, grads)
step(lr=1e-3)

PyCUDA alone loads, allocates, copies and launches. Nothing of the spec is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from optgen import api
from optgen.emit import reading
from optgen.execute.rule import UpdateRule
from optgen.precision import Precision
from optgen.pycuda.device import BuiltPlatform
from optgen.pycuda.gpu import PyCudaGpu

__all__ = ["load_built"]


def load_built(
    folder: str | os.PathLike[str],
    dtype: str = "float32",
    *,
    master: bool = False,
    storage: str | Mapping[str, str] | None = None,
    **values: Any,
) -> UpdateRule:
    """The optimizer of a folder of kernels, as `optgen.load` makes one, for GPUArrays of PyCUDA's current context.

    `folder` is one that `optgen build` wrote: it has a `cuda.json`. The other arguments are those of `optgen.load`:
    `dtype`, `master` and `storage` choose among the kernels that were built, and so do the flags among `values`; others
    are hyper-parameters. The arrays of states are GPUArrays, too. Of `bind`, `stream` is a `pycuda.driver.Stream`; the
    default stream without it. A step is called in the thread and the context that the kernels were loaded in.

    Raises FileNotFoundError for a folder that has no kernels; ValueError for kernels of another version of optgen, of
    newer GPUs or another CPU; RuntimeError if no context is current. `bind` raises ValueError for variants that were
    not built.
    """
    built = reading.read(folder)
    platform = BuiltPlatform(built, PyCudaGpu())
    return api.rule_for(platform, built.spec, Precision(str(dtype), master, storage=storage), values)
