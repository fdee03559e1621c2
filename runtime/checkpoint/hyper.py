"""What determines updates and is in no state file: multipliers, the schedule's attributes, inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core.backend import to_host
from runtime.ndarray import NDArray
from runtime.optimizer import Optimizer, SpecOptimizer
from runtime.optimizer.counts import shown

_TABLES = ("lr_mult", "wd_mult")


def to_json(optimizer: Optimizer) -> dict[str, Any]:
    """The multipliers, those of `Parameter`s by index, and the schedule's attributes that JSON can hold."""
    schedule = optimizer.lr_scheduler
    return {
        **{table: [[i, float(x)] for i, x in getattr(optimizer, table).items()] for table in _TABLES},
        "updates": optimizer.num_update,
        "parameters": [[i, float(p.lr_mult), float(p.wd_mult)] for i, p in optimizer.param_dict.items()],
        "schedule": type(schedule).__name__,
        "attributes": {name: x for name, x in getattr(schedule, "__dict__", {}).items() if _is_plain(x)},
    }


def inputs(optimizer: Optimizer) -> dict[str, np.ndarray]:
    """The arrays of `set_input`, by names that are JSON: `["h_hat", 0]`."""
    held = optimizer._inputs.arrays() if isinstance(optimizer, SpecOptimizer) else ()
    return {json.dumps([name, i]): to_host(array._data) for name, i, array in held}


def check(optimizer: Optimizer, content: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> None:
    """MXNetError for other parameters and inputs, and for attributes that the schedule cannot have.

    `content` is such as `runtime.checkpoint.header` has checked.
    """
    if {i for i, _, _ in content["parameters"]} != set(optimizer.param_dict):
        raise MXNetError("the checkpoint is of a Trainer with other parameters")
    schedule = optimizer.lr_scheduler
    if content["schedule"] == type(schedule).__name__:
        for name, value in content["attributes"].items():
            if not _can_become(schedule, name, value):
                kind = content["schedule"]
                raise MXNetError(f"the schedule's attribute '{name}' is {shown(value)}, which a {kind} cannot have")
    names = list(optimizer._inputs) if isinstance(optimizer, SpecOptimizer) else []
    for key in inputs:
        try:
            name, i = json.loads(key)
            known = name in names and i in optimizer.param_dict
        except (ValueError, TypeError):
            known = False
        if not known:
            raise MXNetError(f"the checkpoint has an input {shown(key)}, which {type(optimizer).__name__} has not")


def restore(optimizer: Optimizer, content: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> None:
    """Give an optimizer what `to_json` and `inputs` gave; a schedule of another class stays as it is.

    Raises what `check` does, with nothing changed.
    """
    check(optimizer, content, inputs)
    for table in _TABLES:
        setattr(optimizer, table, dict(content[table]))
    optimizer.num_update = content["updates"]
    for i, lr_mult, wd_mult in content["parameters"]:
        optimizer.param_dict[i].lr_mult, optimizer.param_dict[i].wd_mult = lr_mult, wd_mult
    if content["schedule"] == type(optimizer.lr_scheduler).__name__ and content["attributes"]:
        vars(optimizer.lr_scheduler).update(content["attributes"])
    for key, array in inputs.items():
        name, i = json.loads(key)
        optimizer.set_input(name, {i: NDArray(array.copy(), cpu())})


def _can_become(schedule: Any, name: str, value: Any) -> bool:
    """Whether an attribute of a schedule can have been this value. A number stays one, and a method stays a method."""
    own, before = getattr(schedule, "__dict__", None), getattr(schedule, name, None)
    if own is None or not _is_plain(value):
        return False
    if not _is_plain(before):
        return name in own
    if before is None or value is None:
        return True
    kinds = [float if isinstance(x, int | float) and not isinstance(x, bool) else type(x) for x in (before, value)]
    return kinds[0] is kinds[1]


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, int, float, str)) or (isinstance(x, list) and all(map(_is_plain, x)))
