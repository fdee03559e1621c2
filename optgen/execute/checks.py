"""Checks of what a step is bound with, and words for their errors."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from optgen.execute.buffers import Tensor
from optgen.execute.kernel import LoadedKernel

ID_LIMIT = 1 << 20


def check_ids(ids: Iterable[int], n: int) -> list[int]:
    """The ids of n parameters; ValueError unless they are different numbers below ID_LIMIT."""
    checked = [operator.index(x) for x in ids]
    if len(checked) != n or len(set(checked)) != n or not all(0 <= x < ID_LIMIT for x in checked):
        raise ValueError(f"ids: expected {n} different numbers from 0 to 2^20 - 1, one for each parameter, not {ids!r}")
    return checked


def difference(a: LoadedKernel, b: LoadedKernel) -> str:
    """The flags and storages in which the variants of two kernels differ."""
    words = []
    for x, y in ((a.variant.flags, b.variant.flags), (a.variant.storage, b.variant.storage)):
        words += [f"{name} is {x.get(name)} and {y.get(name)}" for name in {**x, **y} if x.get(name) != y.get(name)]
    return ", ".join(words)


def check_one_float32(tensor: Tensor) -> Tensor:
    """ValueError naming a tensor that is not one float32."""
    if tensor.dtype != "float32" or tensor.size != 1:
        raise ValueError(f"{tensor.name}: expected one float32, got {tensor.dtype} of shape {tensor.shape}")
    return tensor
