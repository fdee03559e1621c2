"""Optimizer states and snapshots of all shards are joined, and cut again for another number of shards.

In files, both have the form of a single shard. So any number of shards can read what any other number wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.kvstore.base import Key
from runtime.kvstore.servers import messages
from runtime.kvstore.servers.messages import Arrays, Message, Place
from runtime.ndarray import NDArray
from runtime.optimizer import state_sharding, states

Places = Mapping[Key, Place]

# ---------------------------------------------------------------- optimizer states


def join_states(contents: Sequence[bytes], places: Places) -> bytes:
    """The state files of all shards as one; `places` are those of all keys."""

    def share(key: Key) -> state_sharding.Share:
        place = places[key]
        return state_sharding.Share(place.owners[0], place.shape if place.is_cut else None)

    return state_sharding.merged(contents, share)


def cut_states(content: bytes, places: Places, shards: int) -> tuple[list[bytes], Message]:
    """A state file as one for each shard, of its keys (in whole), and its header.

    Raises MXNetError for a file that is damaged, and for keys that are not in `places`.
    """
    header, arrays = states.checked(content)
    unknown = [p["index"] for p in header["parameters"] if p["index"] not in places]
    if unknown:
        raise MXNetError(f"the file has states of key {unknown[0]!r}, which this kvstore has not")
    own = [[key for key, place in places.items() if s in place.owners] for s in range(shards)]
    return [state_sharding.only(header, arrays, keys) for keys in own], header


# ---------------------------------------------------------------- snapshots

Snapshot = tuple[Message, Arrays]
"""What `Shard.snapshot` gives."""


def join_snapshots(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The snapshots of all shards as that of a single one."""
    first = snapshots[0][0]
    places = {key: Place.load(place) for key, place in first["places"]}
    feeds = [iter(arrays) for _, arrays in snapshots]
    arrays: Arrays = []
    of_shards = list(_with_feeds(snapshots, feeds))
    held = [_values(content, places, s, feed) for s, (content, feed) in enumerate(of_shards)]
    pulled = [_pulled_weights(content, places, s, feed) for s, (content, feed) in enumerate(of_shards)]
    content = first | {
        "places": [[key, _alone(place).dump()] for key, place in places.items()],
        "values": [[key, messages.put(_together(held, key, place), None, arrays)] for key, place in places.items()],
        "pushes": _numbers(snapshots),
        "optimizers": min(first["optimizers"], 1),
        "assigned": 0,
        "restores": 0,
        "barriers": [],
        "here": [],
        "incarnations": [],
    }
    if first["backups"] is not None:
        names = dict.fromkeys(name for found in pulled for name in found)
        content["backups"] = []
        for w, key in names:
            value = _together([{key: found[w, key]} if (w, key) in found else {} for found in pulled], key, places[key])
            content["backups"].append([w, key, list(value.shape), messages.put(value, None, arrays)])
    if first["optimizer"] is not None:
        files = [next(feed).tobytes() for feed in feeds]
        arrays.append(np.frombuffer(join_states(files, places), np.uint8))
    return content, arrays


def cut_snapshot(snapshot: Snapshot, places: Places, shards: int) -> list[Snapshot]:
    """A snapshot of a single shard as one for each of `shards`, among which `places` cut the keys."""
    content, feed = snapshot[0], iter(snapshot[1])
    whole = {key: Place.load(place) for key, place in content["places"]}
    held = _values(content, whole, 0, feed)
    pulled = _pulled_weights(content, whole, 0, feed)
    files: list[bytes] = []
    if content["optimizer"] is not None:
        files, _ = cut_states(next(feed).tobytes(), places, shards)
    found = []
    for s in range(shards):
        own = [key for key, place in places.items() if s in place.owners]
        arrays: Arrays = []
        part = {key: places[key].part(s) if places[key].is_cut else None for key in own}
        cut = content | {
            "number": s,
            "places": [[key, place.dump()] for key, place in places.items() if s == 0 or key in part],
            "values": [[key, messages.put(held[key], part[key], arrays)] for key in own],
        }
        if content["backups"] is not None:
            cut["backups"] = []
            for (w, key), value in pulled.items():
                if key in part:
                    form = messages.put(value, part[key], arrays)
                    shape = value.shape if part[key] is None else arrays[-1].shape
                    cut["backups"].append([w, key, list(shape), form])
        if files:
            arrays.append(np.frombuffer(files[s], np.uint8))
        found.append((cut, arrays))
    return found


def _with_feeds(
    snapshots: Sequence[Snapshot], feeds: Sequence[Iterator[np.ndarray]]
) -> Iterator[tuple[Message, Iterator]]:
    """Each shard's content, with the arrays that were not read yet."""
    return zip((content for content, _ in snapshots), feeds, strict=True)


def _alone(place: Place) -> Place:
    """The place on a single shard."""
    return Place(place.shape, place.dtype, place.stype, (0, place.cuts[-1]))


def _values(content: Message, places: Places, shard: int, feed: Iterator[np.ndarray]) -> dict[Key, NDArray]:
    return {key: messages.take(form, places[key].shape_on(shard), feed) for key, form in content["values"]}


def _pulled_weights(
    content: Message, places: Places, shard: int, feed: Iterator[np.ndarray]
) -> dict[tuple[Any, Key], NDArray]:
    return {(w, key): messages.take(form, tuple(shape), feed) for w, key, shape, form in content["backups"] or ()}


def _together(held: Sequence[Mapping[Key, NDArray]], key: Key, place: Place) -> NDArray:
    pieces = [held[s][key] for s in place.owners]
    if len(pieces) == 1:
        return pieces[0]
    return NDArray(np.concatenate([piece._data for piece in pieces]).reshape(place.shape), cpu())


def _numbers(snapshots: Sequence[Snapshot]) -> list[list[int]]:
    """Workers with the numbers of their last pushes that are done."""
    tables = [{w: (number, shards) for w, number, _, _, shards in content["pushes"]} for content, _ in snapshots]
    return [[w, completed([table.get(w, (0, ())) for table in tables])] for w in sorted({w for t in tables for w in t})]


def completed(pushes: Sequence[tuple[int, Sequence[int]]]) -> int:
    """The last push of a worker that is done by all shards that it went to.

    `pushes` has, for each shard, the number of the last one that it has done, and where that went. A worker pushes when
    the push before is done: so only the last one of all may not be.
    """
    last = max(number for number, _ in pushes)
    went = {shard for number, shards in pushes if number == last for shard in shards}
    return last if all(pushes[shard][0] == last for shard in went) else last - 1
