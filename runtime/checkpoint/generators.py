"""The generators of random numbers that a script draws from, as JSON: this library's, NumPy's and Python's."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core.generator import generator

States = Mapping[str, Any]
"""The state of each generator, in JSON."""


def current() -> States:
    """The states now."""
    return {
        "runtime": _to_json(generator.bit_generator.state),
        "numpy": _to_json(np.random.get_state(legacy=False)),
        "python": _to_json(random.getstate()),
    }


def restore(states: States) -> None:
    """Go on from these states; MXNetError, with nothing changed, for what `current` does not give."""
    ours, numpys, pythons = check(states, "what to go on from")
    generator.bit_generator.state = ours
    np.random.set_state(numpys)
    random.setstate(pythons)


def check(states: Any, what: str) -> tuple[Any, Any, Any]:
    """The states as the generators take them; MXNetError calling them `what` for what `current` does not give."""
    try:
        ours, numpys = _of_json(states["runtime"]), _of_json(states["numpy"])
        version, words, gauss = _of_json(states["python"])
        pythons = version, tuple(words), gauss
        # Others take them first. NumPy believes what they say of the place in their buffers.
        type(generator.bit_generator)().state = ours
        np.random.RandomState().set_state(numpys)
        random.Random().setstate(pythons)
        if not 0 <= ours["buffer_pos"] <= len(ours["buffer"]) or not 0 <= numpys["state"]["pos"] <= 624:
            raise ValueError("a place that is in no buffer")
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        raise MXNetError(f"{what}: these are no states of generators of random numbers: {error!r}") from None
    return ours, numpys, pythons


def shared_out(states: Sequence[States], rank: int) -> States:
    """For this one of any number of processes, what to go on from where there were as many processes as states.

    A generator that was the same in all of them (that of a common order of samples, say) stays so. Any other is seeded
    anew, differently in each process, from what they all were.
    """
    digest = hashlib.sha256(json.dumps([states, rank]).encode()).digest()
    seed = int.from_bytes(digest, "little")
    fresh = {
        "runtime": np.random.Philox(seed).state,
        "numpy": np.random.RandomState(np.random.MT19937(seed)).get_state(legacy=False),
        "python": random.Random(seed).getstate(),
    }
    return {
        name: states[0][name] if all(s[name] == states[0][name] for s in states) else _to_json(state)
        for name, state in fresh.items()
    }


def _to_json(state: Any) -> Any:
    match state:
        case dict():
            return {key: _to_json(x) for key, x in state.items()}
        case np.ndarray():
            return {"dtype": state.dtype.name, "values": state.tolist()}
        case tuple():
            return [_to_json(x) for x in state]
        case np.generic():
            return state.item()
    return state


def _of_json(state: Any) -> Any:
    """What `_to_json` was given, but that tuples are lists."""
    if not isinstance(state, dict):
        return state
    if state.keys() == {"dtype", "values"}:
        if state["dtype"] not in ("uint32", "uint64"):
            raise ValueError(f"an array of type {state['dtype']!r}")
        return np.array(state["values"], state["dtype"])
    return {key: _of_json(x) for key, x in state.items()}
