"""Sentences as numbers, in batches of about the same length."""

from __future__ import annotations

import bisect
import logging
import random
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.io import DataBatch, DataDesc, DataIter

_log = logging.getLogger(__name__)
"""Not the root logger's functions, which would keep a later `logging.basicConfig` from doing anything."""


def encode_sentences(
    sentences: Sequence[Sequence[Hashable]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Hashable = "\n",
    start_label: int = 0,
    unknown_token: Hashable | None = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """The numbers of the words of each sentence, and the vocabulary.

    Without `vocab` one is made, in which `invalid_key` is `invalid_label` and words count from `start_label`. With one,
    words that it lacks are `unknown_token`, which is entered if need be, or else an error.
    """
    words: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label

    def number(word: Hashable) -> int:
        nonlocal following
        if word not in words and vocab is not None:
            if unknown_token is None:
                raise ArgumentError(f"'{word}' is not in the vocabulary: give unknown_token")
            word = unknown_token
        if word not in words:
            following += following == invalid_label
            words[word] = following
            following += 1
        return words[word]

    return [[number(word) for word in sentence] for sentence in sentences], words


class BucketSentenceIter(DataIter):
    """Batches of sentences of one bucket each, in an order that is drawn at each start. Labels are the next words.

    Parameters
    ----------
    sentences: lists of numbers of words.
    batch_size: sentences in a batch; a last, smaller batch of a bucket is dropped.
    buckets: lengths, to which sentences are filled up with `invalid_label`; by default those of which there is a batch.
        Longer sentences are dropped.
    data_name, label_name, dtype: of the arrays.
    layout: 'NT', or 'TN' for arrays (length, batch); what follows, as in 'NTC', is ignored.

    A subclass may define another `reset`: it shuffles `idx`, pairs of the number of a bucket and of its row that a
    batch begins with, and the arrays `data` of each bucket, and sets `curr_idx`, the number of the next batch, to 0,
    and `nddata` and `ndlabel` to NDArrays (sentences, length), one for each bucket.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout[:2] not in ("NT", "TN"):
            raise ArgumentError(f"layout is 'NT' or 'TN', not {layout!r}")
        if buckets is None:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, n in enumerate(counts) if n >= batch_size]
        if not buckets:
            raise ArgumentError(f"no length has {batch_size} sentences: give buckets")
        self.buckets = sorted(buckets)
        self.data_name, self.label_name, self.dtype = data_name, label_name, dtype
        self.invalid_label, self.layout = invalid_label, layout
        self.default_bucket_key = self.buckets[-1]
        self.data = self._filled(sentences)
        self.provide_data = [self._described(data_name, self.default_bucket_key)]
        self.provide_label = [self._described(label_name, self.default_bucket_key)]
        self.idx = [
            (i, start) for i, rows in enumerate(self.data) for start in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _filled(self, sentences: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """For each bucket an array (sentences, length)."""
        rows: list[list[np.ndarray]] = [[] for _ in self.buckets]
        longer = 0
        for sentence in sentences:
            i = bisect.bisect_left(self.buckets, len(sentence))
            if i == len(self.buckets):
                longer += 1
                continue
            row = np.full(self.buckets[i], self.invalid_label, self.dtype)
            row[: len(sentence)] = sentence
            rows[i].append(row)
        if longer:
            _log.warning("%d sentences are longer than the longest bucket, and dropped", longer)
        return [np.array(x, self.dtype).reshape(-1, n) for x, n in zip(rows, self.buckets, strict=True)]

    def _described(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length) if self.layout[0] == "N" else (length, self.batch_size)
        return DataDesc(name, shape, np.dtype(self.dtype).type, self.layout)

    def reset(self) -> None:
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata: list[nd.NDArray] = []
        self.ndlabel: list[nd.NDArray] = []
        for rows in self.data:
            np.random.shuffle(rows)
            labels = np.full_like(rows, self.invalid_label)
            labels[:, :-1] = rows[:, 1:]
            self.nddata.append(nd.array(rows, dtype=self.dtype))
            self.ndlabel.append(nd.array(labels, dtype=self.dtype))

    def next(self) -> DataBatch:
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        length = self.buckets[i]
        arrays = [x[i][start : start + self.batch_size] for x in (self.nddata, self.ndlabel)]
        if self.layout[0] == "T":
            arrays = [x.T for x in arrays]
        return DataBatch(
            arrays[:1],
            arrays[1:],
            0,
            bucket_key=length,
            provide_data=[self._described(self.data_name, length)],
            provide_label=[self._described(self.label_name, length)],
        )
