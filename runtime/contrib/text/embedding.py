"""Embeddings: a vector for each token, read from a text file.

A line has a token and the elements of its vector. GloVe and FastText find files under their well-known names in
`embedding_root`; nothing is downloaded.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
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


_LANGUAGES = """
    aa ab ace ady af ak als am an ang ar arc arz as ast av ay az azb ba bar bat_smg bcl be bg bh bi bjn bm bn bo bpy
    br bs bug bxr ca cbk_zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da de diq dsb dv dz ee el eml en
    eo es et eu ext fa ff fi fiu_vro fj fo fr frp frr fur fy ga gag gan gd gl glk gn gom got gu gv ha hak haw he hi
    hif ho hr hsb ht hu hy hz ia id ie ig ii ik ilo io is it iu ja jam jbo jv ka kaa kab kbd kg ki kj kk kl km kn ko
    koi kr krc ks ksh ku kv kw ky la lad lb lbe lez lg li lij lmo ln lo lrc lt ltg lv mai map_bms mdf mg mh mhr mi min
    mk ml mn mo mr mrj ms mt mus mwl my myv mzn na nah nap nds nds_nl ne new ng nl nn no nov nrm nso nv ny oc olo om
    or os pa pag pam pap pcd pdc pfl pi pih pl pms pnb pnt ps pt qu rm rmy rn ro roa_rup roa_tara ru rue rw sa sah sc
    scn sco sd se sg sh si simple sk sl sm sn so sq sr srn ss st stq su sv sw szl ta tcy te tet tg th ti tk tl tn to
    tpi tr ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war wo wuu xal xh xmf yi yo za zea zh
    zh_classical zh_min_nan zh_yue zu
"""
"""The codes of the Wikipedias that FastText has vectors of."""

_ALIGNED = "ar bg ca cs da de el en es et fi fr he hr hu id it mk nl no pl pt ro ru sk sl sv tr uk vi"
"""Those whose vectors lie in one space."""


class _TokenEmbedding(Vocabulary):
    """The base class: a vocabulary whose tokens have vectors."""

    pretrained_file_names: ClassVar[tuple[str, ...]] = ()
    """The well-known files."""

    pretrained_file_name_sha1: ClassVar[Mapping[str, str]] = {}
    """More of them: classes written for MXNet name theirs as the keys. The hashes are not looked at."""

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
    def _file_names(cls) -> list[str]:
        return [*cls.pretrained_file_names, *cls.pretrained_file_name_sha1]

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        """KeyError for a name that no well-known file has."""
        if pretrained_file_name not in cls._file_names():
            names = ", ".join(cls._file_names()[:10])
            raise KeyError(f"{cls.__name__} has no file '{pretrained_file_name}', but {names or 'none'}, ...")

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str | os.PathLike[str] | None, pretrained_file_name: str) -> str:
        """The path of the file of this name below the root; MXNetError if it is not there."""
        folder = Path(data_dir(), "embeddings") if embedding_root is None else Path(embedding_root).expanduser()
        path = folder / cls.__name__.lower() / pretrained_file_name
        if not path.is_file():
            raise MXNetError(
                f"{cls.__name__}: '{path}' is not there, and nothing is downloaded: put the file there, or read one "
                "from elsewhere with text.embedding.CustomEmbedding"
            )
        return str(path)


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
    names = {name: cls._file_names() for name, cls in registry.get_registry(_TokenEmbedding).items()}
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
        self._check_pretrained_file_names(pretrained_file_name)
        path = self._get_pretrained_file(embedding_root, pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class FastText(_TokenEmbedding):
    """The vectors of Bojanowski, Grave, Joulin and Mikolov (2016), from `embedding_root/fasttext/`; arguments as those
    of GloVe. There is a file `wiki.LANGUAGE.vec` for each language of Wikipedia."""

    pretrained_file_names = (
        *(f"wiki.{language}.vec" for language in _LANGUAGES.split()),
        *(f"wiki.multi.{language}.vec" for language in _ALIGNED.split()),
        "wiki-news-300d-1M.vec",
        "wiki-news-300d-1M-subword.vec",
        "crawl-300d-2M.vec",
    )

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str | os.PathLike[str] | None = None,
        init_unknown_vec: InitUnknown = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        path = self._get_pretrained_file(embedding_root, pretrained_file_name)
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
