"""Checks the headers of checkpoint files before anything is restored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from runtime.base import MXNetError
from runtime.checkpoint import generators
from runtime.optimizer.counts import count, shown

Check = Callable[[Any, str], Any]


def check(header: Any, where: str) -> None:
    """Raise MXNetError, which names the file `where` and the entry, for a header that no rank writes."""
    try:
        _entries(header, "header", position=_position, optimizer=_optimizer, store=_optional(_store))
    except MXNetError as error:
        raise MXNetError(f"{where}: {error}") from None


def check_pushes(header: Any, where: str) -> None:
    """Raise MXNetError, as `check` does, for a header of the servers' file that no store writes."""
    try:
        _entries(header, "header", pushes=_list_of(_pair(count, count)), optimizer=_optional(_text))
    except MXNetError as error:
        raise MXNetError(f"{where}: {error}") from None


# ---------------------------------------------------------------- entries


def _position(value: Any, what: str) -> None:
    states = _optional(generators.check)
    _entries(value, what, epoch=count, batch=count, left=_optional(_list_of(count)), length=_optional(count))
    _entries(value, what, start=states, now=generators.check)


def _optimizer(value: Any, what: str) -> None:
    table = _list_of(_pair(_index, _factor))
    parameters = _list_of(_pair(_index, _factor, _factor))
    _entries(value, what, lr_mult=table, wd_mult=table, updates=count, parameters=parameters, schedule=_text)
    _entries(value, what, attributes=_dict)


def _store(value: Any, what: str) -> None:
    _entries(value, what, pushes=count, barriers=count, run=_optional(_text))


# ---------------------------------------------------------------- kinds


def _entries(value: Any, what: str, **checks: Check) -> None:
    _dict(value, what)
    for name, check_entry in checks.items():
        if name not in value:
            raise MXNetError(f"{what} lacks '{name}'")
        check_entry(value[name], f"{what}.{name}")


def _optional(check_value: Check) -> Check:
    return lambda value, what: None if value is None else check_value(value, what)


def _list_of(check_value: Check) -> Check:
    def check_all(value: Any, what: str) -> None:
        if not isinstance(value, list):
            raise _wrong(what, "a list", value)
        for k, x in enumerate(value):
            check_value(x, f"{what}[{k}]")

    return check_all


def _pair(*checks: Check) -> Check:
    def check_each(value: Any, what: str) -> None:
        if not isinstance(value, list) or len(value) != len(checks):
            raise _wrong(what, f"a list of {len(checks)}", value)
        for k, (check_value, x) in enumerate(zip(checks, value, strict=True)):
            check_value(x, f"{what}[{k}]")

    return check_each


def _index(value: Any, what: str) -> None:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise _wrong(what, "an index or a name", value)


def _factor(value: Any, what: str) -> None:
    if not isinstance(value, float) or not math.isfinite(value):
        raise _wrong(what, "a finite number", value)


def _text(value: Any, what: str) -> None:
    if not isinstance(value, str):
        raise _wrong(what, "a text", value)


def _dict(value: Any, what: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(what, "a dict", value)


def _wrong(what: str, expected: str, value: Any) -> MXNetError:
    return MXNetError(f"{what} is {expected}, not {shown(value)}")
