"""The generators of random numbers that a script draws from, as JSON: this library's, NumPy's and Python's."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.generator import generator

States = Mapping[str, Any]
"""Of each generator its state, in JSON."""


def current() -> States:
    """The states now."""
    return {
        "runtime": _to_json(generator.bit_generator.state),
        "numpy": _to_json(np.random.get_state(legacy=False)),
        "python": _to_json(random.getstate()),
    }


def restore(states: States) -> None:
    """Go on from these states; MXNetError for what `current` does not give."""
    try:
        generator.bit_generator.state = _of_json(states["runtime"])
        np.random.set_state(_of_json(states["numpy"]))
        version, words, gauss = _of_json(states["python"])
        random.setstate((version, tuple(words), gauss))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise MXNetError(f"these are no states of generators of random numbers: {error!r}") from None


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
        return np.array(state["values"], state["dtype"])
    return {key: _of_json(x) for key, x in state.items()}
