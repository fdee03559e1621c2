"""The values of a network's parameters, as named arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core.backend import to_host
from runtime.ndarray import NDArray

if TYPE_CHECKING:
    from runtime.gluon import Block
    from runtime.gluon.parameter import Parameter


def learning(net: Block) -> dict[str, np.ndarray]:
    """The values of the parameters that learn, which are the same in all contexts."""
    found = {}
    for name, param in _parameters(net).items():
        if param.grad_req != "null":
            array = param._reduce() if param._stype != "default" else param.list_data()[0]
            found[name] = to_host(array.tostype("default")._data)
    return found


def others(net: Block) -> dict[str, np.ndarray]:
    """The values of the others, such as running means, in each context: `0/bn.running_mean`."""
    fixed = {name: param for name, param in _parameters(net).items() if param.grad_req == "null"}
    return {f"{k}/{name}": to_host(x._data) for name, param in fixed.items() for k, x in enumerate(param.list_data())}


def restore(net: Block, learnt: Mapping[str, np.ndarray], fixed: Mapping[str, np.ndarray], where: str) -> None:
    """Give all parameters what `learning` and `others` gave, those that do not learn the first context's values.

    Raises MXNetError, naming `where` it comes from, with nothing changed, for other parameters, shapes or types.
    """
    params = _parameters(net)
    values = {**learnt, **{key[2:]: x for key, x in fixed.items() if key.startswith("0/")}}
    for name in sorted(params.keys() ^ values.keys()):
        lacks = "the network" if name in values else where
        raise MXNetError(f"{lacks} has no parameter '{name}': is this the network that the checkpoint is of?")
    for name, param in params.items():
        value = values[name]
        if not param._fits(value.shape) or value.dtype != np.dtype(param.dtype):
            raise MXNetError(
                f"{where} has parameter '{name}' of shape {value.shape} and type {value.dtype}, and in the network it "
                f"is of shape {param.shape} and type {np.dtype(param.dtype)}"
            )
    for name, param in params.items():
        value = NDArray(values[name].copy(), cpu())
        if param._data is None:
            param._load(value, None)
        else:
            for array in param._data:
                array[:] = value


def restore_others(net: Block, fixed: Mapping[str, np.ndarray]) -> None:
    """Give those that do not learn what `others` gave, once `restore` did; further contexts keep the first one's."""
    for name, param in _parameters(net).items():
        for k, array in enumerate(param._data):
            if f"{k}/{name}" in fixed:
                array[:] = NDArray(fixed[f"{k}/{name}"], cpu())


def _parameters(net: Block) -> dict[str, Parameter]:
    """By their place in the structure; those that several blocks share once."""
    found = net._collect_params_with_prefix()
    first = {id(param): name for name, param in reversed(found.items())}
    return {name: param for name, param in found.items() if first[id(param)] == name}
