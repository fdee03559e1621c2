"""Checkpoints of symbolic networks, as MXNet has them: `prefix-symbol.json`, a graph, and `prefix-0001.params`."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime import symbol as sym
from runtime.base import MXNetError
from runtime.ndarray import NDArray, serialization
from runtime.symbol import Symbol

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]


def __getattr__(key: str) -> Any:
    """`FeedForward` is imported when it is asked for: it is made of modules, which save checkpoints."""
    if key == "FeedForward":
        return importlib.import_module("runtime.module.feed_forward").FeedForward
    raise AttributeError(f"module 'runtime.model' has no attribute '{key}'")


Params = dict[str, NDArray]


class BatchEndParam(NamedTuple):
    """The argument of a callback after a batch. `nbatch` is the number of the batch in its epoch."""

    epoch: int
    nbatch: int
    eval_metric: Any = None
    locals: dict[str, Any] | None = None


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write `prefix-symbol.json`, unless `symbol` is None, and `prefix-0001.params` (epoch 1)."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
    file = f"{prefix}-{epoch:04d}.params"
    serialization.save_params(file, with_kinds(arg_params, aux_params))
    logging.info('Saved checkpoint to "%s"', file)


def load_params(prefix: str, epoch: int) -> tuple[Params, Params]:
    """Arguments and auxiliary states in `prefix-0001.params` (epoch 1)."""
    return by_kind(f"{prefix}-{epoch:04d}.params")


def with_kinds(arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Arguments and auxiliary states by the names that files have: `arg:name` and `aux:name`."""
    return {f"arg:{name}": x for name, x in arg_params.items()} | {f"aux:{name}": x for name, x in aux_params.items()}


def by_kind(file: str | os.PathLike[str]) -> tuple[Params, Params]:
    """Arguments and auxiliary states in a file, by their own names; MXNetError for a name that is neither's."""
    found: dict[str, Params] = {"arg": {}, "aux": {}}
    for key, x in serialization.load_named(file).items():
        kind, _, name = key.partition(":")
        if kind not in found or not name:
            raise MXNetError(f"'{os.fspath(file)}': '{key}' is neither 'arg:' nor 'aux:' and a name")
        found[kind][name] = x
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Params, Params]:
    """The graph, arguments and auxiliary states that `save_checkpoint` or `HybridBlock.export` wrote, also MXNet's."""
    return sym.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)
