"""What attributes of parameters and arguments promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.llvm.values import Poison, Value


def broken(attributes: Mapping[str, tuple[int, ...]], type: Any, value: Value) -> str:
    """What is wrong with a parameter or an argument; empty if nothing is."""
    if value.__class__ is Poison:
        return f"is noundef, and undefined: {value.why}" if attributes.keys() - {"noalias", "readonly"} else ""
    if "nonnull" in attributes and value.address == 0:
        return "is nonnull, and null"
    if "align" in attributes and value.address % attributes["align"][0]:
        return f"is no multiple of {attributes['align'][0]}"
    if "range" in attributes:
        low, high = attributes["range"]
        if not (value - low) % (1 << type.bits) < (high - low) % (1 << type.bits):
            return f"is {value}, and not from {low} to {high}"
    return ""
