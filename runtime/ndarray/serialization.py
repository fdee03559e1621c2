"""Arrays in files: `nd.save` and `nd.load`, which write and read parameters too.

Files are written as safetensors. Their metadata say whether the arrays are a list or have names, which tensors are
parts of a sparse array, and what the checksum is. `load` reads these, safetensors files of other programs, and MXNet's
own files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError
from runtime.context import Context, current_context
from runtime.core import backend, files, params_file
from runtime.core.params_file import Stored
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse import from_stored, to_stored
from runtime.util import is_np_shape

__all__ = ("load", "load_frombuffer", "save")

_PARTS = {"default": (), "row_sparse": ("indices",), "csr": ("indices", "indptr")}
"""The names, in a file, of the index arrays of each kind of storage."""


@files.opening()
def save(fname: str | os.PathLike[str], data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Write an array, a list of arrays or a dict of arrays with names, of any storage and type, to a file.

    The file, under whatever name, is safetensors. The one that was there stays until the new one is complete. It is
    loaded with the meaning of shapes that it was saved with: both inside `np_shape()`, or both outside.
    """
    arrays = {"0": data} if isinstance(data, NDArray) else data
    if isinstance(data, (list, tuple)):
        arrays = {str(i): x for i, x in enumerate(data)}
    if not isinstance(arrays, Mapping):
        raise ValueError(f"nd.save takes an array, a list or a dict of arrays, not {type(data).__name__}")
    for key, x in arrays.items():
        if not isinstance(key, str) or not isinstance(x, NDArray):
            raise TypeError(f"nd.save takes arrays, and strings for their names: {key!r} is {type(x).__name__}")
        if key == "__metadata__" or key != key.encode(errors="ignore").decode():
            raise ArgumentError(f"nd.save: an array cannot be called {key!r}, which the file has no place for")
    tensors: dict[str, np.ndarray] = {}
    sparse: dict[str, dict[str, Any]] = {}
    for key, x in arrays.items():
        stored = to_stored(x)
        tensors[key] = backend.to_host(stored.data)
        names = [_unused(f"{key}.{part}", arrays, tensors) for part in _PARTS[stored.stype]]
        tensors.update(zip(names, map(backend.to_host, stored.indices), strict=True))
        if names:
            sparse[key] = {"stype": stored.stype, "shape": stored.shape, "indices": names}
    header: dict[str, Any] = {"kind": "dict" if arrays is data else "list", "sparse": sparse}
    files.save(fname, tensors, header | ({"np_shape": True} if is_np_shape() else {}))


@files.opening()
def save_params(fname: str | os.PathLike[str], arrays: Mapping[str, NDArray] | Sequence[NDArray]) -> None:
    """Write arrays, with names or without, in the format of MXNet's own files, for MXNet to read."""
    named = isinstance(arrays, Mapping)
    stored = [to_stored(x) for x in (arrays.values() if named else arrays)]
    files.write(fname, params_file.to_bytes(stored, arrays if named else ()))


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """The arrays of a file, in the current context: a list, or a dict if they have names.

    The file was written by `nd.save` or `save_parameters`, of this library or of MXNet, or is a safetensors file.
    MXNetError names the file, and what in it cannot be read.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeError(f"nd.load takes the name of a file, not {type(fname).__name__}")
    return _parse(files.read(fname), f"'{os.fspath(fname)}'")


def load_named(fname: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a file by their names; see `load`. ArgumentError for a list of arrays, which have none."""
    found = load(fname)
    if isinstance(found, list):
        if not found:  # MXNet's files of no arrays do not tell
            return {}
        raise ArgumentError(f"'{os.fspath(fname)}' holds a list of arrays without names; parameters need names")
    return found


def without_kinds(arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """The arrays by the names of their parameters, without the `arg:` and `aux:` that files of graphs put before."""
    return {key.removeprefix("arg:").removeprefix("aux:"): x for key, x in arrays.items()}


def load_frombuffer(buf: bytes) -> list[NDArray] | dict[str, NDArray]:
    """The arrays of what a file holds; see `load`."""
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeError(f"nd.load_frombuffer takes bytes, not {type(buf).__name__}")
    return _parse(bytes(buf), "the buffer")


def encoded(x: NDArray) -> bytes:
    """The array as MXNet's files and pickles have it."""
    return params_file.encoded(to_stored(x))


def decoded(state: Any, stype: str) -> NDArray:
    """The array of storage `stype`, in the current context, whose pickled state it is; MXNetError for others."""
    name = "the state of an array"
    content = state.get("handle") if isinstance(state, dict) else None
    if not isinstance(content, (bytes, bytearray)):
        raise MXNetError(f"{name} is a dict that has bytes under 'handle', unlike {state!r:.80}")
    stored = params_file.parse_one(bytes(content), name)
    if stored.stype != stype:
        raise MXNetError(f"{name} whose storage is '{stype}' cannot be that of one whose storage is '{stored.stype}'")
    return _array(stored, current_context(), name)


def _unused(name: str, *taken: Mapping[str, Any]) -> str:
    """`name`, with primes appended until nothing else in the file has that name."""
    while any(name in names for names in taken):
        name += "'"
    return name


def _parse(content: bytes, name: str) -> list[NDArray] | dict[str, NDArray]:
    ctx = current_context()
    if content.startswith(params_file.HEADER):
        stored, names = params_file.parse(content, name)
        if not names:
            return [_array(x, ctx, f"{name}: array {i}") for i, x in enumerate(stored)]
        return {key: _array(x, ctx, f"{name}: '{key}'") for key, x in zip(names, stored, strict=True)}
    tensors, header = files.parse(content, name)
    entries = _entries(tensors, header, name)
    inside = bool(header.get("np_shape"))
    if header and inside != is_np_shape():
        raise MXNetError(f"{name} was saved {'inside' if inside else 'outside'} np_shape(): load it there, too")
    arrays = {key: _array(x, ctx, f"{name}: '{key}'") for key, x in entries.items()}
    return list(arrays.values()) if header.get("kind") == "list" else arrays


def _entries(tensors: dict[str, np.ndarray], header: Mapping[str, Any], name: str) -> dict[str, Stored]:
    """The arrays, in the file's order, that the tensors are parts of."""
    try:
        sparse = header.get("sparse", {})
        parts = {part for entry in sparse.values() for part in entry["indices"]}
        found = {}
        for key, x in tensors.items():
            if key in sparse:
                entry = sparse[key]
                indices = tuple(tensors[part] for part in entry["indices"])
                found[key] = Stored(entry["stype"], tuple(entry["shape"]), x, indices)
            elif key not in parts:
                found[key] = Stored("default", x.shape, x)
    except (AttributeError, KeyError, TypeError) as error:
        raise MXNetError(f"{name} tells nothing sensible about its sparse arrays: {json.dumps(header)}") from error
    return found


def _array(stored: Stored, ctx: Context, what: str) -> NDArray:
    """A copy, which can be written to."""
    try:
        found = from_stored(stored, ctx)
        return found if stored.shape or not is_np_shape() else NDArray(found._data.reshape(()), ctx)
    except (MXNetError, TypeError, ValueError) as error:
        raise MXNetError(f"{what}: {error}") from None
