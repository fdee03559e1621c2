"""Descriptions of the arrays of batches: what `bind` is given, and what batches have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.base import ArgumentError, did_you_mean
from runtime.io import DataDesc


def described(shapes: Iterable[Any] | None) -> list[DataDesc]:
    """DataDesc or tuples of their arguments, as DataDesc."""
    return [x if isinstance(x, DataDesc) else DataDesc(*x) for x in shapes or ()]


def check_shapes(names: Sequence[str], shapes: Sequence[DataDesc]) -> None:
    """ValueError unless the descriptions are those of data of these names."""
    found = [x.name for x in shapes]
    if sorted(found) != sorted(names):
        raise ArgumentError(f"data_shapes are of {found}, and data_names are {list(names)}")


def check_names(what: str, names: Sequence[str], arguments: Sequence[str]) -> None:
    """ValueError for a name that is no argument of the symbol. It hints at arguments that look like inputs."""
    for name in names:
        if name not in arguments:
            endings = ("_weight", "_bias", "_gamma", "_beta")
            inputs = [x for x in arguments if not x.endswith(endings)]
            raise ArgumentError(
                f"Module({what}={list(names)}): '{name}' is no argument of the symbol{did_you_mean(name, inputs)}; its "
                f"inputs may be {', '.join(inputs) or 'none'}"
            )


def of_batch(bound: Sequence[DataDesc], provided: Any, arrays: Sequence[Any] | None) -> list[DataDesc]:
    """The descriptions of a batch's arrays: those it provides, or those of `bound` with the arrays' own shapes."""
    if provided:
        return described(provided)
    if arrays is not None and len(arrays) != len(bound):
        raise ArgumentError(f"the batch has {len(arrays)} arrays for {', '.join(x.name for x in bound) or 'nothing'}")
    if not arrays:
        return list(bound)
    return [DataDesc(x.name, tuple(a.shape), x.dtype, x.layout) for x, a in zip(bound, arrays, strict=True)]
