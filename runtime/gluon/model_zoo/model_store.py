"""Files of trained weights, by the names of networks. Nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.base import ArgumentError, MXNetError, data_dir

__all__ = ["get_model_file", "purge", "short_hash"]


_model_sha1: dict[str, str] = {}
"""SHA-1 hashes of files of weights, in hexadecimal digits, by the names of networks: libraries enter theirs."""


def short_hash(name: str) -> str:
    """The first 8 digits of the hash of a network's file; ValueError for a network that nobody has entered."""
    if name not in _model_sha1:
        raise ArgumentError(f"there are no weights of '{name}'; known are those of {', '.join(_model_sha1) or 'none'}")
    return _model_sha1[name][:8]


def _folder(root: str | os.PathLike[str] | None) -> Path:
    return Path(data_dir(), "models") if root is None else Path(root).expanduser()


def get_model_file(name: str, root: str | os.PathLike[str] | None = None) -> str:
    """The path of the weights of a network: `NAME.params`, or `NAME-HASH.params` as MXNet calls it, in the folder
    `root`, by default `$MXNET_HOME/models`, or `~/.mxnet/models`. MXNetError if there is none, or more than one."""
    folder = _folder(root)
    found = sorted(
        path for path in (folder / f"{name}.params", *folder.glob(f"{name}-????????.params")) if path.is_file()
    )
    if len(found) == 1:
        return str(found[0])
    if found:
        raise MXNetError(f"there are several files of weights of '{name}': {', '.join(map(str, found))}; keep one")
    raise MXNetError(
        f"'{folder}' has no file '{name}.params' or '{name}-HASH.params', and nothing is downloaded: get the file that "
        "MXNet's model zoo has for the network, and put it there"
    )


def purge(root: str | os.PathLike[str] | None = None) -> None:
    """Delete all files of weights in the folder."""
    for path in _folder(root).glob("*.params"):
        path.unlink()
