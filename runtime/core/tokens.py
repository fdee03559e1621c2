"""Texts as numbers: counting tokens, and vocabularies, which have a number for each."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

from runtime.base import ArgumentError, count

UNKNOWN_IDX = 0
"""The number of all tokens that are not in a vocabulary."""


class Vocabulary:
    """Tokens and their numbers: first the unknown token, then reserved ones, then those of a counter.

    Parameters
    ----------
    counter: tokens with how often they occur. Frequent ones come first; of equally frequent ones, smaller ones do.
    most_freq_count: how many tokens of the counter are taken at most; None: all.
    min_freq: how often a token must occur to be taken.
    unknown_token: what stands for all others.
    reserved_tokens: tokens that are taken in any case, such as those for padding and the end of a sentence.
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: list[Any] | None = None,
    ) -> None:
        count("Vocabulary: min_freq", min_freq)
        reserved = list(reserved_tokens or [])
        if unknown_token in reserved or len(set(reserved)) != len(reserved):
            raise ArgumentError(
                f"Vocabulary: reserved_tokens must differ from each other and from the unknown token "
                f"{unknown_token!r}, not {reserved}"
            )
        if counter is not None and not isinstance(counter, Counter):
            raise ArgumentError(f"Vocabulary: counter must be a collections.Counter, not {type(counter).__name__}")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else reserved
        self._idx_to_token = [unknown_token, *reserved]
        by_frequency = sorted(sorted(counter.items()), key=lambda item: -item[1]) if counter else []
        taken = [token for token, n in by_frequency if n >= min_freq and token not in self._idx_to_token]
        self._idx_to_token += taken[: None if most_freq_count is None else max(most_freq_count, 0)]
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens, by their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or of each in a list; UNKNOWN_IDX for one that is not there."""
        if not isinstance(tokens, list):
            return self.token_to_idx.get(tokens, UNKNOWN_IDX)
        return [self.token_to_idx.get(token, UNKNOWN_IDX) for token in tokens]

    def to_tokens(self, indices: int | list[int]) -> Any:
        """The token of a number, or of each in a list; ValueError for a number that no token has."""
        if isinstance(indices, list):
            return [self._token(index) for index in indices]
        return self._token(indices)

    def _token(self, index: int) -> Any:
        try:
            number = operator.index(index)
        except TypeError:
            number = -1
        if not 0 <= number < len(self):
            raise ArgumentError(f"no token has the number {index!r}; there are {len(self)}")
        return self.idx_to_token[number]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """How often each token occurs. Tokens end where one of the two regular expressions matches, or the text does.

    With `counter_to_update` the counts are added to it, and it is returned. Empty tokens do not count.
    """
    tokens = [token for token in re.split(f"{token_delim}|{seq_delim}", source_str) if token]
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() for token in tokens) if to_lower else counter.update(tokens)
    return counter
