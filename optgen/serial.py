"""Checked models and texts as JSON, so that a spec is parsed only once: the cache keeps the result."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from optgen import axes, diagnostics, expressions, model

_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for module in (expressions, model, diagnostics)
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls)
}
_FIELDS = {name: tuple(f.name for f in fields(cls)) for name, cls in _CLASSES.items()}


T = TypeVar("T", model.Optimizer, diagnostics.Source)


def dumps(x: model.Optimizer | diagnostics.Source) -> bytes:
    return json.dumps(_encode(x), separators=(",", ":")).encode()


def loads(data: bytes, expected: type[T]) -> T:
    x = _decode(json.loads(data))
    assert isinstance(x, expected)
    return x


def _encode(x: Any) -> Any:
    """JSON of a model: a dataclass is ["Name", field, ...], a tuple ["", item, ...], `When` ["When", word]."""
    if isinstance(x, axes.When):
        return ["When", x.value]
    if is_dataclass(x):
        name = type(x).__name__
        return [name, *(_encode(getattr(x, f)) for f in _FIELDS[name])]
    if isinstance(x, tuple):
        return ["", *map(_encode, x)]
    return x


def _decode(x: list[Any]) -> Any:
    name, *items = x
    if name == "When":
        return axes.When(items[0])
    values = [_decode(i) if type(i) is list else i for i in items]
    return tuple(values) if name == "" else _CLASSES[name](*values)
