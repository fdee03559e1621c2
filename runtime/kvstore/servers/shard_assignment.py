"""Assigns keys, or parts of them, to shards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core.dtypes import element_type
from runtime.kvstore.base import Key
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.layout import layout
from runtime.kvstore.servers import messages
from runtime.kvstore.servers.messages import Arrays, Message, Place
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray
from runtime.optimizer import Optimizer

_MIN_CUT_ELEMENTS = 1 << 18
"""Keys of fewer elements are not cut among shards."""


def places_for(values: Mapping[Key, NDArray], loads: Sequence[int], optimizer: Optimizer | None) -> dict[Key, Place]:
    """Where new keys go: large ones to all shards if they can be cut, others to the one that has least to do.

    `loads` are what each shard has to do, as `load_of` has it. Without an optimizer keys are not cut, for who knows
    which will come.
    """
    places = {}
    loads = list(loads)
    for key, value in values.items():
        dtype = np.dtype(value.dtype)
        cut = "tensors" if optimizer is None else optimizer.cut_of(key, dtype.name, value.shape)
        if cut == "anywhere" and value.size >= _MIN_CUT_ELEMENTS and not _has_rows(value):
            cuts = layout({key: value.shape}, {key: "anywhere"}, len(loads)).cuts
        else:
            owner = 0 if cut == "never" else loads.index(min(loads))
            cuts = tuple(0 if shard <= owner else value.size for shard in range(len(loads) + 1))
        places[key] = Place(value.shape, dtype.name, value.stype, cuts)
        loads = [a + b for a, b in zip(loads, load_of(key, places[key], optimizer), strict=True)]
    return places


def load_of(key: Key, place: Place, optimizer: Optimizer | None) -> list[int]:
    """What each shard has to do for a key: the bytes of its elements, and as many more as products take the time of."""
    work = math.prod(place.shape) if optimizer is None else optimizer.work_of(key, place.dtype, place.shape)
    of_each = work / max(math.prod(place.shape), 1) * element_type(place.dtype).itemsize
    return [int(n * of_each) for n in np.diff(place.cuts).tolist()]


def _has_rows(value: NDArray) -> bool:
    """Whether the value, or its gradient, is row-sparse: then rows travel, and the key must be whole."""
    return (value.stype, value._grad_stype) != ("default", "default")


def places_again(
    content: Message, here: Mapping[Key, Place], optimizer: Optimizer | None, shards: int
) -> dict[Key, Place]:
    """Where the keys of a snapshot go: where they are by now, or where new ones would go.

    Raises MXNetError for a key that the snapshot has not, or otherwise.
    """
    whole = {key: Place.load(place) for key, place in content["places"]}
    for key, place in here.items():
        if key not in whole or (whole[key].shape, whole[key].dtype, whole[key].stype) != (
            place.shape,
            place.dtype,
            place.stype,
        ):
            raise MXNetError(f"the snapshot has no value of shape {place.shape} and type {place.dtype} for key {key!r}")
    new = places_for({key: _blank(p) for key, p in whole.items() if key not in here}, [0] * shards, optimizer)
    return {key: here.get(key) or new[key] for key in whole}


def _blank(place: Place) -> NDArray:
    """A value of that shape and type, in no memory."""
    dtype = element_type(place.dtype)
    if place.stype == "row_sparse":
        return RowSparseNDArray(np.zeros((0, *place.shape[1:]), dtype), np.zeros(0, np.int64), place.shape, cpu())
    return NDArray(np.broadcast_to(np.zeros((), dtype), place.shape), cpu())


def check(places: Mapping[Key, Place], optimizer: Optimizer) -> None:
    """MXNetError where keys are cut as the optimizer cannot update them."""
    for key, place in places.items():
        cut = optimizer.cut_of(key, place.dtype, place.shape)
        if (place.is_cut and cut != "anywhere") or (cut == "never" and place.owners != [0]):
            what = "all keys together" if cut == "never" else "whole keys"
            raise MXNetError(
                f"{type(optimizer).__name__} updates {what}, and key {key!r} is on servers {place.owners} by now: "
                "call set_optimizer before init"
            )


def part_of(place: Place, shard: int) -> slice | None:
    """What a shard has of a key that is cut; None for a key that is not."""
    return place.part(shard) if place.is_cut else None


def given(values: Mapping[Key, NDArray], places: Mapping[Key, Place], shard: int) -> tuple[list[list[Any]], Arrays]:
    """For a shard, keys with their places and the forms of what it has of their values, and arrays.

    Shard 0 gets the places of all keys, with None for the form where it has nothing of one.
    """
    arrays: Arrays = []
    keys: list[list[Any]] = []
    for key, value in values.items():
        place = places[key]
        if shard in place.owners:
            keys.append([key, place.dump(), messages.put(value, part_of(place, shard), arrays)])
        elif shard == 0:
            keys.append([key, place.dump(), None])
    return keys, arrays


def check_same(key: Key, value: NDArray, place: Place, rank: int) -> None:
    """MXNetError where the value that a worker begins with is not like that of worker 0."""
    own = value.shape, np.dtype(value.dtype).name, value.stype
    theirs = place.shape, place.dtype, place.stype
    if own != theirs:
        described = [f"'{stype}' of shape {shape} and type {dtype}" for shape, dtype, stype in (own, theirs)]
        raise MXNetError(
            f"init: the value of key {key!r} is {described[0]} on worker {rank}, and on the servers, which have it "
            f"from worker 0, {described[1]}"
        )


def gradients(
    sums: Mapping[Key, NDArray], places: Mapping[Key, Place], packing: GradientCompression | None, shards: int
) -> list[tuple[list[Any], Arrays]]:
    """For each shard, keys with the forms of their gradients, and arrays; `packing` compresses dense ones."""
    found: list[tuple[list[Any], Arrays]] = [([], []) for _ in range(shards)]
    for key, grad in sums.items():
        place = places[key]
        if place.is_cut and grad.stype != "default":
            grad = grad.tostype("default")
        packed = packing is not None and grad.stype == "default"
        words = packing.pack(key, 0, grad._data) if packed else None
        for shard in place.owners:
            keys, arrays = found[shard]
            part = part_of(place, shard)
            if packed:
                form = messages.put_packed(words, part, packing, grad._data.dtype, arrays)
            else:
                form = messages.put(grad, part, arrays)
            keys.append([key, form])
    return found
