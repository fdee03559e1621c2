"""Where a script is in its data: the epoch, how many of its batches are done, and what the generators were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runtime.base import MXNetError
from runtime.checkpoint import generators
from runtime.gluon.data import BatchSampler

_END = object()


class Position:
    """A place in the data of a script, which can be written as JSON and gone back to.

    The batches of an epoch follow from the states of the generators at its begin. To go back into an epoch, they are
    made again from there, and those that are done are passed over.
    """

    def __init__(self) -> None:
        self.epoch = self.batch = 0
        self._start: generators.States | None = None  # at the begin of the epoch; None: it has not begun
        self._left: list[int] | None = None  # the samples that a 'rollover' loader then had left
        self._length: int | None = None  # how many batches the loader then had, if it said so
        self._now: generators.States | None = None  # what to go on from when the batches that are done are passed over
        self._loader: Any = None

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The batches of this epoch that are not done; `batch` counts them, and their end begins the next epoch."""
        if self._now is None and self._start is not None:  # the last one was left before its end
            self._next()
        self._loader = loader
        if self._left is not None:
            _carry(loader, self._left)
        length = _length(loader)
        if self._now is None:
            self._start, self._left, self._length = generators.current(), _carried(loader), length
        else:
            generators.restore(self._start)
        found = iter(loader)
        for done in range(self.batch):
            if self._length != length or next(found, _END) is _END:
                of, given = "" if self._length is None else f" of {self._length}", done if length is None else length
                raise MXNetError(
                    f"the checkpoint was taken after {self.batch} batches{of}, and this loader gives {given}: it must "
                    "be one of the same data and the same size of batches"
                )
        if self._now is not None:
            generators.restore(self._now)
            self._now = None
        for batch in found:
            self.batch += 1
            yield batch
        self._next()

    def _next(self) -> None:
        self.epoch, self.batch = self.epoch + 1, 0
        self._start = self._left = None

    def to_json(self) -> dict[str, Any]:
        """All of it, and the states of the generators now."""
        started = self._start is not None
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "left": self._left if started else _carried(self._loader),
            "length": self._length,
            "start": self._start,
            "now": generators.current() if self._now is None else self._now,
        }

    def go_to(self, content: dict[str, Any]) -> None:
        """Go to where `to_json` was called."""
        self.epoch, self.batch = content["epoch"], content["batch"]
        self._start, self._left, self._length = content["start"], content["left"], content["length"]
        generators.restore(content["now"])
        self._now = None if self._start is None else content["now"]

    def go_to_epoch(self, contents: list[dict[str, Any]], rank: int) -> None:
        """Go, as one of another number of ranks than those that were at `contents`, to the begin of their epoch."""
        starts = [content["start"] or content["now"] for content in contents]
        self.epoch, self.batch = contents[0]["epoch"], 0
        self._start = self._left = self._now = None
        generators.restore(generators.shared_out(starts, rank))


def _length(loader: Any) -> int | None:
    """How many batches a loader gives; None if it does not say."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def _sampler(loader: Any) -> BatchSampler | None:
    """The sampler of a DataLoader that has samples left for the next epoch."""
    sampler = getattr(loader, "_batch_sampler", None)
    return sampler if isinstance(sampler, BatchSampler) else None


def _carried(loader: Any) -> list[int] | None:
    sampler = _sampler(loader)
    return None if sampler is None else list(map(int, sampler._left))


def _carry(loader: Any, left: list[int]) -> None:
    sampler = _sampler(loader)
    if sampler is not None:
        sampler._left = list(left)
