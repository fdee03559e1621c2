"""Attributes of operators: Python values, and the strings that graphs and files have in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.base import MXNetError, did_you_mean
from runtime.core.dtypes import element_type
from runtime.initializer import Initializer
from runtime.ndarray.shape.reshape import old_target

_ITEM = re.compile(r"((?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf|nan|None))L?")
_BOOLEANS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_DTYPES_BY_NUMBER = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
"""MXNet's numbers of element types, which files have as `__dtype__` of variables."""

HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")
"""Attributes that are no operator's. Graphs have them as `__lr_mult__`, and symbols show them under both names."""


def stored_key(key: str) -> str:
    """The name that a graph has an attribute under."""
    return f"__{key}__" if key in HIDDEN else key


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator: its name, its type as the table has it, and the string of its default.

    `default` is None for an attribute that is required.
    """

    name: str
    kind: str
    default: str | None

    @property
    def required(self) -> bool:
        return self.default is None

    @property
    def default_value(self) -> Any:
        """The value that it has where it is not given; None if it is required."""
        return None if self.default is None else self.value(self.default)

    def value(self, text: str) -> Any:
        """The value of a string; ValueError says what it must be."""
        kind = self.kind.removesuffix("?")
        if text == "None" and kind != self.kind:
            return None
        if kind in _READERS:
            return _READERS[kind](text)
        if text in kind.split("|"):
            return text
        raise ValueError(f"must be {kind.replace('|', ', ')}{did_you_mean(text, kind.split('|'))}")

    def text(self, value: Any) -> str:
        """The string of a value, as MXNet writes it; ValueError if the value does not fit."""
        if self.kind.startswith("dtype") and value is not None:
            text = value if isinstance(value, str) else element_type(value).name
        else:
            text = text_of(value)
        self.value(text)
        return text


def text_of(value: Any) -> str:
    """The string of a value of unknown type: numbers as Python writes them, tuples as `(1, 2)`, initializers dumped."""
    if isinstance(value, Initializer):
        return value.dumps()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        items = [text_of(x) for x in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})" if isinstance(value, tuple) else f"[{', '.join(items)}]"
    return str(value.item() if isinstance(value, np.generic) else value)


def dtype_of_variable(text: str) -> np.dtype:
    """The element type of a variable's `__dtype__`: MXNet's number, or a name."""
    if text.isdecimal() and int(text) < len(_DTYPES_BY_NUMBER):
        text = _DTYPES_BY_NUMBER[int(text)]
    elif text == "12":
        text = "bfloat16"
    return element_type(text)


def number_of_dtype(dtype: Any) -> str:
    """What a variable has as `__dtype__`."""
    name = element_type(dtype).name
    return "12" if name == "bfloat16" else str(_DTYPES_BY_NUMBER.index(name))


def parse_shape(text: str) -> tuple[int | None, ...]:
    """The integers of `(1, 2)`, `[1, 2]`, `1` or `(1L, 2L)`; None in place of `None`; ValueError for what is none."""
    return tuple(None if x == "None" else _integer(x) for x in _items(text))


def reshape_target(values: Mapping[str, Any]) -> tuple[int, ...]:
    """What the `target_shape` of Reshape in files of old versions says as `shape`."""
    return old_target(values["target_shape"], values["keep_highest"])


# ---------------------------------------------------------------- from strings, by type


def _items(text: str) -> list[str]:
    inside = text.strip().removeprefix("(").removeprefix("[").removesuffix(")").removesuffix("]").strip()
    inside = inside.removesuffix(",")
    found = [_ITEM.fullmatch(part.strip()) for part in inside.split(",")] if inside else []
    if None in found:
        raise ValueError("must be a tuple of numbers")
    return [item[1] for item in found if item]


def _integer(text: str) -> int:
    number = float(text)
    if not number.is_integer():
        raise ValueError("must be of whole numbers")
    return int(number) if abs(number) < 2**53 else int(text)


def _read_int(text: str) -> int:
    try:
        return _integer({"True": "1", "False": "0"}.get(text, text.removesuffix("L")))
    except (ValueError, OverflowError):
        raise ValueError("must be a whole number") from None


def _read_float(text: str) -> float:
    try:
        return float({"True": "1", "False": "0"}.get(text, text))
    except ValueError:
        raise ValueError("must be a number") from None


def _read_bool(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError("must be True or False")
    return _BOOLEANS[text.lower()]


def _read_floats(text: str) -> tuple[float, ...]:
    return tuple(map(float, _items(text)))


def _read_dtype(text: str) -> str:
    try:
        return element_type(text).name
    except TypeError as error:
        raise ValueError(f"must be an element type: {error}") from None


_READERS: dict[str, Callable[[str], Any]] = {
    "int": _read_int,
    "float": _read_float,
    "bool": _read_bool,
    "shape": parse_shape,
    "floats": _read_floats,
    "str": str,
    "dtype": _read_dtype,
}


def misfit(operator: str, name: str, text: str, error: ValueError) -> MXNetError:
    """The error for an attribute whose string does not fit."""
    line = " ".join(text.split())
    shown = line if len(line) <= 60 else f"{line[:60]}..."
    return MXNetError(f"{operator}: {name} is '{shown}', and {error}")
