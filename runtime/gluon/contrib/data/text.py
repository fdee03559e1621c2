"""Texts as sequences of token numbers: WikiText (Merity et al. 2016), from files that are there."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, count, data_dir
from runtime.core.tokens import Vocabulary, count_tokens_from_str
from runtime.gluon.data.dataset import Dataset
from runtime.ndarray import NDArray

__all__ = ["WikiText2", "WikiText103"]

EOS_TOKEN = "<eos>"
"""What ends each line."""


class _WikiText(Dataset):
    """Samples are a sequence of `seq_len` token numbers and that of the tokens after each, both int32.

    Lines are joined, and what is left at the end is dropped.

    Parameters
    ----------
    root: the folder of the files `wiki.train.tokens`, `wiki.valid.tokens` and `wiki.test.tokens`; by default
        `$MXNET_HOME/datasets/NAME`, or `~/.mxnet/datasets/NAME`. Nothing is downloaded.
    segment: 'train', 'validation' or 'test'.
    vocab: the vocabulary; by default that of all tokens of the segment.
    seq_len: the length of a sample.
    """

    name: ClassVar[str]
    segments: ClassVar = {"train": "train", "validation": "valid", "test": "test"}

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        if segment not in self.segments:
            raise ArgumentError(f"segment must be one of {', '.join(self.segments)}, not {segment!r}")
        self._vocab = vocab
        self._counter: Counter[str] | None = None
        folder = Path(data_dir(), "datasets", self.name) if root is None else Path(root).expanduser()
        self._read(folder / f"wiki.{self.segments[segment]}.tokens", count("seq_len", seq_len))

    def _read(self, path: Path, length: int) -> None:
        if not path.is_file():
            raise MXNetError(
                f"{type(self).__name__}: '{path}' is not there, and nothing is downloaded: unpack the archive "
                f"{self.name}-v1.zip into this folder"
            )
        content = path.read_text(encoding="utf8")
        self._counter = count_tokens_from_str(content)
        if self._vocab is None:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[EOS_TOKEN])
        lines = [line.split() for line in content.splitlines()]
        numbers = self._vocab.to_indices([token for line in lines if line for token in (*line, EOS_TOKEN)])
        samples = max(len(numbers) - 1, 0) // length
        for name, start in (("_data", 0), ("_label", 1)):
            part = np.asarray(numbers[start : start + samples * length], np.int32)
            setattr(self, name, nd.array(part.reshape(samples, length), dtype=np.int32))

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocab

    @property
    def frequencies(self) -> Counter[str]:
        """How often each token occurs in the segment."""
        return self._counter

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


class WikiText2(_WikiText):
    __doc__ = f"WikiText-2, two million tokens. {_WikiText.__doc__}"
    name = "wikitext-2"


class WikiText103(_WikiText):
    __doc__ = f"WikiText-103, a hundred million tokens. {_WikiText.__doc__}"
    name = "wikitext-103"
