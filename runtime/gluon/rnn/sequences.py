"""Sequences as one array with an axis of time, or as a list of steps: from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime import symbol
from runtime.base import ArgumentError
from runtime.ndarray import NDArray

Steps = NDArray | Sequence[NDArray]
Whole = (NDArray, symbol.Symbol)
"""The classes of sequences that are one array, or stand for one."""


def operators(steps: Any) -> Any:
    """`sym` for symbols, `nd` for arrays, or lists of them."""
    first = steps[0] if isinstance(steps, (list, tuple)) else steps
    return symbol if isinstance(first, symbol.Symbol) else nd


def first_states(
    infos: Sequence[dict[str, Any]], name: str, func: Callable[..., Any], arguments: dict[str, Any]
) -> list[Any]:
    """The states before the first step, each made by `func(shape=..., **arguments)`, with its dtype if that is known.
    Functions of symbols get all that is known, and the name with a number."""
    if getattr(func, "__module__", "").startswith(symbol.__name__):
        return [func(name=f"{name}_{i}", **(info | arguments)) for i, info in enumerate(infos)]
    known = [{key: x for key, x in info.items() if key != "__layout__"} for info in infos]
    return [func(**(info | arguments)) for info in known]


def check_states(block: Any, inputs: NDArray, states: Sequence[NDArray], infos: Sequence[Mapping[str, Any]]) -> None:
    """ArgumentError unless the states are those of `infos`, which `state_info` gives."""
    wanted = [info["shape"] for info in infos]
    given = [state.shape for state in states]
    if given != wanted:
        raise ArgumentError(
            f"{type(block).__name__} '{block.name}': for inputs of shape {inputs.shape}, states must be a list of "
            f"arrays of shapes {wanted}, not {given}; begin_state(batch_size) makes the first"
        )


def time_axis(layout: str) -> int:
    """The axis of time in a layout such as 'NTC' or 'TNC'."""
    if sorted(layout) != ["C", "N", "T"]:
        raise ArgumentError(f"layout must be 'NTC' or 'TNC', not {layout!r}")
    return layout.index("T")


def as_steps(inputs: Steps, layout: str, length: int | None = None) -> list[NDArray]:
    """The steps of a sequence, (N, C) each; with `length`, there must be so many."""
    axis = time_axis(layout)
    if isinstance(inputs, symbol.Symbol) and len(inputs) == 1:
        if length is None:
            raise ArgumentError("the length of a sequence that is a symbol must be given")
        return list(symbol.split(inputs, num_outputs=length, axis=axis, squeeze_axis=True))
    found = inputs.shape[axis] if isinstance(inputs, NDArray) else len(inputs)
    if length not in (None, found):
        raise ArgumentError(f"unroll over {length} steps, but the inputs have {found}")
    if not isinstance(inputs, NDArray):
        return list(inputs)
    steps = nd.split(inputs, num_outputs=found, axis=axis, squeeze_axis=True)
    return list(steps) if isinstance(steps, (list, tuple)) else [steps]


def as_array(steps: Steps, layout: str) -> NDArray:
    """A sequence as one array in `layout`."""
    return steps if isinstance(steps, Whole) else operators(steps).stack(*steps, axis=time_axis(layout))


def merged(steps: Steps, layout: str, merge: bool | None) -> Steps:
    """The sequence as one array (True), as a list (False), or as it is (None)."""
    if merge is None:
        return steps
    return as_array(steps, layout) if merge else as_steps(steps, layout)


def masked(steps: Steps, layout: str, valid_length: NDArray) -> NDArray:
    """The sequence as one array, with 0 from each `valid_length` on."""
    data = as_array(steps, layout)
    return operators(data).SequenceMask(data, valid_length, use_sequence_length=True, axis=time_axis(layout))


def reverse(steps: list[NDArray], valid_length: NDArray | None) -> list[NDArray]:
    """The steps from last to first; with `valid_length`, only so many of each sequence change places."""
    if valid_length is None:
        return steps[::-1]
    F = operators(steps)
    data = F.SequenceReverse(F.stack(*steps, axis=0), valid_length, use_sequence_length=True)
    return as_steps(data, "TNC", len(steps))


def last_valid(steps: Sequence[NDArray], valid_length: NDArray) -> NDArray:
    """What each sequence of the batch has at the last step that counts."""
    F = operators(steps)
    return F.SequenceLast(F.stack(*steps, axis=0), valid_length, use_sequence_length=True)
