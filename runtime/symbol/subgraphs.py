"""Operators that run graphs of their own: which input of the operator is which variable of each of its subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.base import MXNetError

_WIRING: Mapping[str, tuple[str, ...]] = {
    "_while_loop": ("cond_input_locs", "func_input_locs"),
    "_cond": ("cond_input_locs", "then_input_locs", "else_input_locs"),
}
"""The attributes that say so: the number of the input, for each variable of a subgraph."""


def wiring(operator: str, values: Mapping[str, Any], inputs: int, variables: Sequence[int]) -> list[tuple[int, ...]]:
    """For each subgraph the number of the input that each of its variables stands for, in the order of a walk.

    `inputs` is how many inputs there are, and `variables` how many variables each subgraph has. MXNetError if the
    attributes `values` do not say so for each, or name what is not there.
    """
    if operator == "_foreach":
        places = values["in_data_locs"] + values["in_state_locs"] + values["remain_locs"]
        if sorted(places, key=str) != sorted(range(inputs), key=str):
            raise MXNetError(f"in_data_locs, in_state_locs and remain_locs must number {inputs} inputs, not {places}")
        found = [tuple(places.index(i) for i in range(inputs))]
    else:
        found = [values[key] for key in _WIRING[operator]]
    for locations, count in zip(found, variables, strict=True):
        if len(locations) != count or not all(isinstance(i, int) and 0 <= i < inputs for i in locations):
            raise MXNetError(
                f"a subgraph of {count} variables reads the inputs {locations}, and must read one of {inputs} for each"
            )
    return found


def loop_inputs(operator: str, values: Mapping[str, Any], outputs: int) -> tuple[int, ...]:
    """The numbers of the inputs that are the states of a loop. MXNetError if there are not that many outputs."""
    if operator == "_foreach":
        first = len(values["in_data_locs"])
        states = tuple(range(first, first + len(values["in_state_locs"])))
    else:
        reads, own = values["func_input_locs"], values["func_var_locs"]
        if not all(isinstance(i, int) and 0 <= i < len(reads) for i in own):
            raise MXNetError(f"func_var_locs is {own}: each must be a variable of the body, which has {len(reads)}")
        states = tuple(reads[i] for i in own)
    if not 0 <= values["num_out_data"] == outputs - len(states):
        raise MXNetError(
            f"{values['num_out_data']} outputs of steps and {len(states)} states are not {outputs} outputs"
        )
    return states
