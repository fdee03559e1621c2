"""Writes the values that servers send to the arrays they were pulled into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from runtime.context import cpu
from runtime.core.dtypes import element_type
from runtime.kvstore.base import Key
from runtime.kvstore.groups import Groups
from runtime.kvstore.servers import messages
from runtime.kvstore.servers.messages import Arrays, Message, Place
from runtime.ndarray import NDArray


def wanted(groups: Groups, ignore_sparse: bool) -> Groups:
    """The arrays that are to be written, of the keys that have some."""
    found = {k: [a for a in arrays if a.stype == "default" or not ignore_sparse] for k, arrays in groups.items()}
    return {k: arrays for k, arrays in found.items() if arrays}


def by_shard(places: Mapping[Key, Place]) -> dict[int, list[Key]]:
    """The keys of which each shard has something."""
    found: dict[int, list[Key]] = {}
    for key, place in places.items():
        for shard in place.owners:
            found.setdefault(shard, []).append(key)
    return found


def write(answers: Mapping[int, tuple[Message, Arrays]], places: Mapping[Key, Place], arrays: Groups) -> None:
    """Write what the shards sent to the arrays of each key. Pieces are put together in the first of these."""
    whole: dict[Key, np.ndarray] = {}
    for shard, (answer, sent) in sorted(answers.items()):
        feed = iter(sent)
        for key, form in answer["keys"]:
            place = places[key]
            value = messages.take(form, place.shape_on(shard), feed)
            if not place.is_cut:
                _spread(value, arrays[key])
                continue
            if key not in whole:
                whole[key] = _memory(arrays[key][0], place)
            whole[key].reshape(-1)[place.part(shard)] = value._data
    for key, data in whole.items():
        first, *others = arrays[key]
        _spread(NDArray(data, cpu()), others if data is first._data else arrays[key])


def _memory(array: NDArray, place: Place) -> np.ndarray:
    """Where pieces of a key are put together: in the array itself if its memory is as it should be."""
    data = array._data if array.stype == "default" and array.context.on_cpu else None
    if data is not None and data.flags.c_contiguous and data.dtype.name == place.dtype:
        return data
    return np.empty(place.shape, element_type(place.dtype))


def _spread(value: NDArray, arrays: Sequence[NDArray]) -> None:
    for array in arrays:
        value.copyto(array)
