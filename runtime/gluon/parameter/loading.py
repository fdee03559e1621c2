"""Gives many parameters values at once: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.context import Context
from runtime.gluon.parameter.checks import checked_contexts
from runtime.gluon.parameter.parameter import Parameter
from runtime.ndarray import NDArray


def load_into(
    params: Mapping[str, Parameter],
    loaded: Mapping[str, NDArray],
    where: str,
    ctx: Context | Sequence[Context] | None = None,
    allow_missing: bool = False,
    ignore_extra: bool = False,
    cast_dtype: bool = False,
    dtype_source: str = "current",
) -> None:
    """Give `params` the values `loaded`, by key; ArgumentError, naming `where`, before anything has changed.

    Several keys may stand for one parameter; one of them is enough. Arguments as in `Block.load_parameters`.
    """
    if dtype_source not in ("current", "saved"):
        raise ArgumentError(f"dtype_source is 'current' or 'saved', not {dtype_source!r}")
    given = {id(params[key]) for key in loaded if key in params}
    missing = [key for key, param in params.items() if id(param) not in given]
    extra = [key for key in loaded if key not in params]
    if missing and not allow_missing:
        raise ArgumentError(
            f"{where} lacks {_some(missing)}; it has {_some(loaded)} (allow_missing=True leaves them as they are)"
        )
    if extra and not ignore_extra:
        raise ArgumentError(
            f"{where} has {_some(extra)}, unknown here; there are {_some(params)} (ignore_extra=True passes over them)"
        )
    contexts = None if ctx is None else checked_contexts(ctx)
    pairs = {key: (params[key], value) for key, value in loaded.items() if key in params}
    for key, (param, value) in pairs.items():
        _check_fit(where, key, param, value, contexts, cast_dtype)
    for param, value in pairs.values():
        if dtype_source == "saved" and value.dtype != param.dtype:
            param.cast(value.dtype)
        param._load(value, contexts)


def _load_init(
    param: Parameter,
    data: NDArray,
    ctx: Context | Sequence[Context] | None = None,
    cast_dtype: bool = False,
    dtype_source: str = "current",
) -> None:
    """Take `data` as the values, in `ctx`, initialized or not; ArgumentError where shape, type or `ctx` differ.

    Arguments as in `load_into`.
    """
    named = {param.name: param}, {param.name: data}
    load_into(*named, "the data", ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)


Parameter._load_init = _load_init  # type: ignore[attr-defined]  # libraries fill networks parameter by parameter with it


def _check_fit(
    where: str, key: str, param: Parameter, value: NDArray, contexts: list[Context] | None, cast_dtype: bool
) -> None:
    name = f"parameter '{param.name}'"
    if not param._fits(value.shape):
        raise ArgumentError(f"{where}: '{key}' has shape {value.shape}, but {name} has shape {param.shape}")
    if value.dtype != param.dtype and not cast_dtype:
        raise ArgumentError(
            f"{where}: '{key}' has type {np.dtype(value.dtype)}, but {name} has type {np.dtype(param.dtype)} "
            "(cast_dtype=True converts)"
        )
    if contexts is not None and (param._data or param._deferred_init) and set(contexts) != set(param.list_ctx()):
        raise ArgumentError(
            f"{where}: '{key}' is to go to {contexts}, but {name} is in {param.list_ctx()}; see reset_ctx()"
        )


def _some(keys: Iterable[Any]) -> str:
    """The first names of many, for an error."""
    keys = list(keys)
    shown = ", ".join(f"'{key}'" for key in keys[:8]) or "no parameters"
    return shown + (f" and {len(keys) - 8} more" if len(keys) > 8 else "")
