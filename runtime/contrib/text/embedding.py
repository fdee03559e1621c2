"""Embeddings: a vector for each token, read from a text file.

A line has a token and the elements of its vector. GloVe and FastText find files under their well-known names in
`embedding_root`; nothing is downloaded.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from runtime import ndarray as nd
from runtime import registry
from runtime.base import ArgumentError, MXNetError, data_dir
from runtime.contrib.text.vocab import UNKNOWN_IDX, Vocabulary
from runtime.ndarray import NDArray

InitUnknown = Callable[..., NDArray]
"""Makes the vector of unknown tokens: called with `shape=length`."""


class _TokenEmbedding(Vocabulary):
    """The base class: a vocabulary whose tokens have vectors."""

    pretrained_file_names: ClassVar[tuple[str, ...]] = ()
    """The well-known files."""

    _vec_len: int = 0
    _idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """The length of the vectors."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> NDArray:
        """The vectors, (tokens, vec_len), by the numbers of the tokens."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: str | list[str], lower_case_backup: bool = False) -> NDArray:
        """The vector of a token, or those of a list as the rows of an array.

        With `lower_case_backup` a token that is not there has the vector of its lower case.
        """
        several = tokens if isinstance(tokens, list) else [tokens]
        if lower_case_backup:
            several = [token if token in self.token_to_idx else token.lower() for token in several]
        vectors = self.idx_to_vec.take(nd.array(self.to_indices(several), dtype="int32"))
        return vectors if isinstance(tokens, list) else vectors[0]

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray) -> None:
        """Replace the vectors of tokens: a row for each. ValueError for a token that is not there."""
        several = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, NDArray):
            raise ArgumentError(f"new_vectors must be an NDArray, not {type(new_vectors).__name__}")
        single = new_vectors.ndim == 1 and len(several) == 1
        vectors = new_vectors.reshape((1, -1)) if single else new_vectors
        if vectors.shape != (len(several), self.vec_len):
            raise ArgumentError(
                f"new_vectors of shape {new_vectors.shape} for {len(several)} tokens with vectors of {self.vec_len}"
            )
        unknown = [token for token in several if token not in self.token_to_idx]
        if unknown:
            raise ArgumentError(
                f"no vector belongs to {unknown[0]!r}; that of all unknown tokens is updated as {self.unknown_token!r}"
            )
        for token, vector in zip(several, vectors, strict=True):
            self._idx_to_vec[self.token_to_idx[token]] = vector

    def _load_embedding(
        self, path: str | os.PathLike[str], elem_delim: str, init_unknown_vec: InitUnknown, encoding: str = "utf8"
    ) -> None:
        """Read a file: the tokens follow those that are there already; of a token's vectors the first counts."""
        source = Path(path).expanduser()
        if not source.is_file():
            raise ArgumentError(f"there is no file of embeddings '{source}'")
        unknown: list[float] | None = None
        vectors: list[list[float]] = []
        with open(source, encoding=encoding) as lines:
            for number, line in enumerate(lines, 1):
                token, vector = _parsed(line, elem_delim, f"'{source}', line {number}")
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                elif token in self.token_to_idx:
                    warnings.warn(
                        f"'{source}', line {number}: {token!r} has a vector already; this is ignored", stacklevel=4
                    )
                elif len(vector) == 1:
                    warnings.warn(
                        f"'{source}', line {number}: {line.strip()!r} seems to be a header; it is ignored", stacklevel=4
                    )
                elif vectors and len(vector) != len(vectors[0]):
                    raise ArgumentError(
                        f"'{source}', line {number}: {token!r} has {len(vector)} elements, and those before "
                        f"{len(vectors[0])}"
                    )
                else:
                    vectors.append(vector)
                    self._idx_to_token.append(token)
                    self._token_to_idx[token] = len(self._idx_to_token) - 1
        self._set_vectors(vectors, unknown, init_unknown_vec, source)

    def _set_vectors(
        self, vectors: list[list[float]], unknown: list[float] | None, init_unknown_vec: InitUnknown, source: Path
    ) -> None:
        """Take the vectors of the last tokens; reserved ones get zeros."""
        if not vectors:
            raise ArgumentError(f"'{source}' has no vector")
        self._vec_len = len(vectors[0])
        self._idx_to_vec = nd.zeros((len(self), self._vec_len))
        self._idx_to_vec[len(self) - len(vectors) :] = np.asarray(vectors, np.float32)
        first = init_unknown_vec(shape=self._vec_len) if unknown is None else nd.array(unknown)
        self._idx_to_vec[UNKNOWN_IDX] = first

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Keep the tokens of a vocabulary alone, if there is one."""
        if vocabulary is not None:
            self._take_over(vocabulary, [self])

    def _take_over(self, vocabulary: Vocabulary, embeddings: Sequence[_TokenEmbedding]) -> None:
        """Have the tokens of a vocabulary, each with its vectors in several embeddings one after the other."""
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"vocabulary must be a text.vocab.Vocabulary, not {type(vocabulary).__name__}")
        tokens = vocabulary.idx_to_token
        parts = []
        for embedding in embeddings:
            rows = [UNKNOWN_IDX, *embedding.to_indices(tokens[1:])]
            parts.append(embedding.idx_to_vec.take(nd.array(rows, dtype="int32")))
        self._idx_to_vec = nd.concat(*parts, dim=1)
        self._vec_len = self._idx_to_vec.shape[1]
        self._token_to_idx, self._idx_to_token = dict(vocabulary.token_to_idx), list(tokens)
        self._unknown_token, self._reserved_tokens = vocabulary.unknown_token, vocabulary.reserved_tokens

    @classmethod
    def _well_known(cls, root: str | os.PathLike[str] | None, name: str) -> Path:
        """The file of this name below `root`; MXNetError if it is not there."""
        if cls.pretrained_file_names and name not in cls.pretrained_file_names:
            raise KeyError(f"{cls.__name__} has no file '{name}', but {', '.join(cls.pretrained_file_names)}")
        folder = Path(data_dir(), "embeddings") if root is None else Path(root).expanduser()
        path = folder / cls.__name__.lower() / name
        if not path.is_file():
            raise MXNetError(
                f"{cls.__name__}: '{path}' is not there, and nothing is downloaded: put the file there, or read one "
                "from elsewhere with text.embedding.CustomEmbedding"
            )
        return path


def _parsed(line: str, delimiter: str, where: str) -> tuple[str, list[float]]:
    token, *elements = line.rstrip().split(delimiter)
    try:
        vector = [float(x) for x in elements]
    except ValueError as error:
        raise ArgumentError(f"{where}: {error}") from None
    if not vector:
        raise ArgumentError(f"{where}: a token and the elements of its vector are expected, with {delimiter!r} between")
    return token, vector


_enter = registry.get_register_func(_TokenEmbedding, "token embedding")
_create = registry.get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: type[_TokenEmbedding]) -> type[_TokenEmbedding]:
    """Class decorator: `create` knows the class by its name, in any case."""
    return _enter(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> _TokenEmbedding:
    """An embedding of the class of that name, in any case, with these arguments."""
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """The names of the well-known files of a class (KeyError for an unknown one), or a dict of those of all."""
    names = {name: list(cls.pretrained_file_names) for name, cls in registry.get_registry(_TokenEmbedding).items()}
    if embedding_name is None:
        return names
    if embedding_name.lower() not in names:
        raise KeyError(f"unknown token embedding '{embedding_name}'; known: {', '.join(names)}")
    return names[embedding_name.lower()]


@register
class GloVe(_TokenEmbedding):
    """The vectors of Pennington, Socher and Manning (2014), from `embedding_root/glove/`.

    Parameters
    ----------
    pretrained_file_name: one of `get_pretrained_file_names("glove")`.
    embedding_root: by default `$MXNET_HOME/embeddings`, or `~/.mxnet/embeddings`.
    init_unknown_vec: makes the vector of unknown tokens, unless the file has it.
    vocabulary: the tokens to keep; None: all of the file.
    """

    pretrained_file_names = (
        "glove.42B.300d.txt",
        *(f"glove.6B.{n}d.txt" for n in (50, 100, 200, 300)),
        "glove.840B.300d.txt",
        *(f"glove.twitter.27B.{n}d.txt" for n in (25, 50, 100, 200)),
    )

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str | os.PathLike[str] | None = None,
        init_unknown_vec: InitUnknown = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        path = self._well_known(embedding_root, pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class FastText(_TokenEmbedding):
    """The vectors of Bojanowski, Grave, Joulin and Mikolov (2016), from `embedding_root/fasttext/`; arguments as those
    of GloVe. There is a file `wiki.LANGUAGE.vec` for each language of Wikipedia."""

    pretrained_file_names = ()

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str | os.PathLike[str] | None = None,
        init_unknown_vec: InitUnknown = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        path = self._well_known(embedding_root, pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


class CustomEmbedding(_TokenEmbedding):
    """The vectors of any file, whose lines have a token and the elements of its vector, with `elem_delim` between."""

    def __init__(
        self,
        pretrained_file_path: str | os.PathLike[str],
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: InitUnknown = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """For each token of a vocabulary, its vectors in several embeddings, one after the other."""

    def __init__(self, vocabulary: Vocabulary, token_embeddings: _TokenEmbedding | list[_TokenEmbedding]) -> None:
        several = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for embedding in several:
            if not isinstance(embedding, _TokenEmbedding):
                raise ArgumentError(f"token_embeddings must be embeddings, not {type(embedding).__name__}")
        self._take_over(vocabulary, several)
