"""The search for races after a launch: bytes that one thread stores and another stores or loads, with nothing between.

Two accesses are ordered if a barrier of their CTA, or one of their warp, lies between them. All accesses are aligned
to their size, a power of two, so that two of them are disjoint or one lies within the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.instruction import Instruction


@dataclass(frozen=True)
class Access:
    """One load or store of a group of threads; `epochs` [2, all threads] counts barriers of the CTA and of the warp."""

    instruction: Instruction
    store: bool
    read_only: bool
    nbytes: int
    addresses: np.ndarray
    threads: np.ndarray
    epochs: np.ndarray


def find_races(notes: list[Access], cta: np.ndarray, warp: np.ndarray) -> None:
    """PtxError for the first race found; `cta` and `warp` number those of every thread."""
    stores = [note for note in notes if note.store]
    if not stores:
        return
    stored = _Stored(stores)
    loads = [note for note in notes if not note.store]
    for note in loads:
        stored.meet(note)
    if not stored.suspicious.any():
        return
    _judge(notes, stored, cta, warp)


class _Stored:
    """Disjoint spans of bytes that were stored to; `suspicious` are those that more than one thread has touched."""

    def __init__(self, stores: list[Access]) -> None:
        starts = np.concatenate([note.addresses for note in stores])
        ends = np.concatenate([note.addresses + np.uint64(note.nbytes) for note in stores])
        threads = np.concatenate([note.threads for note in stores])
        order = np.argsort(starts, kind="stable")
        starts, ends, threads = starts[order], np.maximum.accumulate(ends[order]), threads[order]
        first = np.flatnonzero(np.concatenate(([True], starts[1:] >= ends[:-1])))
        self.starts = starts[first]
        self.ends = np.maximum.reduceat(ends, first)
        self._thread = np.minimum.reduceat(threads, first)
        self.suspicious = np.maximum.reduceat(threads, first) != self._thread

    def meet(self, note: Access) -> None:
        """Mark the spans that a load shares with other threads. A read-only load may meet none at all."""
        low, high = self.spans(note)
        touched = np.flatnonzero(low < high)
        if not len(touched):
            return
        if note.read_only:
            k = touched[0]
            raise note.instruction.fail(
                f"thread {note.threads[k]} reads 0x{int(note.addresses[k]):x} as read-only, but this launch writes it"
            )
        other = touched[self._thread[low[touched]] != note.threads[touched]]
        self.suspicious[low[other]] = True
        for k in touched[high[touched] - low[touched] > 1]:
            self.suspicious[low[k] : high[k]] = True

    def spans(self, note: Access) -> tuple[np.ndarray, np.ndarray]:
        """The first span that each access meets, and the first behind it that it does not."""
        low = np.searchsorted(self.ends, note.addresses, "right")
        return low, np.searchsorted(self.starts, note.addresses + np.uint64(note.nbytes), "left")

    def suspects(self, note: Access) -> np.ndarray:
        """Which accesses touch a suspicious span."""
        low, high = self.spans(note)
        total = np.concatenate(([0], np.cumsum(self.suspicious)))
        return total[np.maximum(high, low)] > total[low]


def _judge(notes: list[Access], stored: _Stored, cta: np.ndarray, warp: np.ndarray) -> None:
    """Compare the accesses to suspicious bytes with each other, byte by byte."""
    kept = [(k, which) for k, note in enumerate(notes) if (which := stored.suspects(note)).any()]
    piece = min(notes[k].nbytes for k, _ in kept)
    columns = [np.concatenate(c) for c in zip(*(_pieces(notes[k], k, which, piece) for k, which in kept), strict=True)]
    address, note, thread, cta_epoch, warp_epoch = columns
    store = np.array([n.store for n in notes])[note]
    for keys, who in (
        ((address,), cta[thread]),
        ((address, cta[thread], cta_epoch), warp[thread]),
        ((address, warp[thread], cta_epoch, warp_epoch), thread),
    ):
        for same in _conflicts(keys, who, store):
            k = same[np.argmax(store[same])]
            other = same[np.argmax(who[same] != who[k])]
            a, b = notes[note[k]].instruction, notes[note[other]].instruction
            does = "stores to it" if store[other] else "loads it"
            raise PtxError(
                f"{a.fail(f'a race: thread {thread[k]} stores to 0x{int(address[k]):x}')}, and thread {thread[other]} "
                f"{does} in line {b.statement.line} with no barrier between ({b.statement.text})"
            )


def _pieces(note: Access, number: int, which: np.ndarray, size: int) -> tuple[np.ndarray, ...]:
    """Accesses cut to pieces: address, number of the note, thread, and the thread's two epochs."""
    count = note.nbytes // size
    addresses = (note.addresses[which][:, None] + np.arange(count, dtype=np.uint64) * np.uint64(size)).ravel()
    threads = np.repeat(note.threads[which], count)
    return addresses, np.full(len(threads), number), threads, *note.epochs[:, threads]


def _conflicts(keys: tuple[np.ndarray, ...], who: np.ndarray, store: np.ndarray) -> Iterator[np.ndarray]:
    """Of accesses with the same keys: groups with a store in which not all are by the same."""
    order = np.lexsort(keys[::-1])
    change = np.zeros(len(order), bool)
    change[0] = True
    for key in keys:
        change[1:] |= key[order][1:] != key[order][:-1]
    first = np.flatnonzero(change)
    who, store = who[order], store[order]
    bad = (np.minimum.reduceat(who, first) != np.maximum.reduceat(who, first)) & np.logical_or.reduceat(store, first)
    for k in np.flatnonzero(bad):
        end = first[k + 1] if k + 1 < len(first) else len(order)
        yield order[first[k] : end]
