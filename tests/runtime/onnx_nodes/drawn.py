"""Random nodes of ONNX's operators: all their attributes, and inputs that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Draw = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """A node. Of its inputs, arrays are data or constants, as is drawn; those in `fixed` are constants, and None stands
    for one that is left out. Inputs of truth values are arrays of bool."""

    inputs: Sequence[np.ndarray | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    fixed: Sequence[int] = ()
    outputs: int = 1
    opset: int = 18


def floats(draw: Draw, shape: Sequence[int], low: float = -2, high: float = 2) -> np.ndarray:
    return draw.uniform(low, high, shape).astype(np.float32)


def whole(values: int | Sequence[int]) -> np.ndarray:
    return np.array(values, np.int64)


def shape_of(draw: Draw, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(draw.integers(1, 5, draw.integers(least, most + 1)).tolist())


def some(draw: Draw, **attributes: Any) -> dict[str, Any]:
    """Some of the attributes; the others have their defaults."""
    return {key: x for key, x in attributes.items() if draw.random() < 0.6}


def one_of(draw: Draw, values: Sequence[Any]) -> Any:
    return values[draw.integers(len(values))]


def beside(draw: Draw, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that is broadcast to another."""
    kept = tuple(1 if draw.random() < 0.3 else n for n in shape)
    return kept[draw.integers(len(shape)) if draw.random() < 0.3 else 0 :]
