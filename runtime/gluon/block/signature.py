"""The inputs of a hybridized block: arrays of one context and None, nested in lists, with the same structure in each
call.

MXNet builds a graph in the first call, and raises an error for a later call with another structure. So does this
library. Blocks that a hybridized block calls are part of its graph and are not checked.
"""

from __future__ import annotations

import threading
from typing import Any

from runtime.base import ArgumentError
from runtime.context import Context
from runtime.gluon.block.protocols import HybridBlockLike
from runtime.ndarray import NDArray


class Calls(threading.local):
    """Whether this thread is inside the call of a hybridized block."""

    inside = False


def structure_of(block: HybridBlockLike, inputs: Any) -> list | str:
    """The nested lists of the inputs, with "array" and "None" in place of what is in them."""
    if isinstance(inputs, NDArray):
        return "array"
    if inputs is None:
        return "None"
    if isinstance(inputs, (list, tuple)):
        return [structure_of(block, x) for x in inputs]
    raise ArgumentError(
        f"{type(block).__name__} '{block.name}' is hybridized and so takes arrays, None and lists of these, and no "
        f"{type(inputs).__name__}: call hybridize(False), or set what is not an array when the block is made"
    )


def check_structure(block: HybridBlockLike, inputs: tuple[Any, ...], before: list | None) -> list:
    """The structure of the inputs, without None at the end; ArgumentError if it differs from the one `before`."""
    structure: list = ["array" if type(x) is NDArray else structure_of(block, x) for x in inputs]
    while structure and structure[-1] == "None":
        structure.pop()
    if before is not None and structure != before:
        raise ArgumentError(
            f"{type(block).__name__} '{block.name}' is hybridized and was first called with {_text(before)}, and now "
            f"with {_text(structure)}: call hybridize() again in between, or not at all"
        )
    return structure


def check_contexts(block: HybridBlockLike, inputs: Any) -> None:
    """ArgumentError if the inputs are in several contexts; pinned and shared memory goes with any other."""
    contexts = _contexts(inputs)
    if not contexts or contexts.count(contexts[0]) == len(contexts):  # soon seen, and most often so
        return
    if len({ctx for ctx in contexts if ctx.device_type in ("cpu", "gpu")}) > 1:
        places = " and in ".join(dict.fromkeys(map(str, contexts)))
        raise ArgumentError(
            f"{type(block).__name__} '{block.name}' is hybridized and takes inputs in one context, and these live in "
            f"{places}: bring them together with as_in_context()"
        )


def _contexts(inputs: Any) -> list[Context]:
    """Those of the arrays in nested lists."""
    if isinstance(inputs, NDArray):
        return [inputs._ctx]
    return [ctx for x in inputs for ctx in _contexts(x)] if isinstance(inputs, (list, tuple)) else []


def _text(structure: list | str) -> str:
    return structure if isinstance(structure, str) else f"({', '.join(map(_text, structure))})"
