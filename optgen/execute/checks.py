"""Checks of what a step is bound with, and words for their errors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

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


def check_shared_values(name: str, groups: Mapping[LoadedKernel, list[int]]) -> None:
    """ValueError if parameters share values, and some have another kernel. Those that are left out add nothing.
    `groups` has the parameters of each kernel, and `name` is the spec's."""
    if len(groups) > 1 and any(kernel.native.shared for kernel in groups):
        (one, (first, *_)), (other, (second, *_)), *_ = groups.items()
        raise ValueError(
            f"{name} shares values between all parameters, so they need one kernel, but params[{first}] and "
            f"params[{second}] need different ones: {difference(one, other)}; "
            "compute the sum or norm outside of the spec, and pass it as a param, or as rescale_grad"
        )


def check_one_float32(tensor: Tensor) -> Tensor:
    """ValueError naming a tensor that is not one float32."""
    if tensor.dtype != "float32" or tensor.size != 1:
        raise ValueError(f"{tensor.name}: expected one float32, got {tensor.dtype} of shape {tensor.shape}")
    return tensor
