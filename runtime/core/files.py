"""Files of named arrays, in the format safetensors: written atomically, and checked by a checksum when read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from runtime.base import MissingFileError, MXNetError
from runtime.core.dtypes import element_type

FORMAT = "runtime.arrays"
"""The metadata `format` of files that `save` writes, which have a checksum."""

_DTYPES = {
    **{f"F{8 * n}": f"float{8 * n}" for n in (2, 4, 8)},
    **{f"{kind[0].upper()}{8 * n}": f"{kind}{8 * n}" for kind in ("int", "uint") for n in (1, 2, 4, 8)},
    "BF16": "bfloat16",
    "BOOL": "bool",
}
"""The element types, by their names in a file."""


def save(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], header: Any) -> None:
    """Write `arrays` and a header, any value that JSON can hold, as `write` does; `parse` reads the content."""
    text = json.dumps(header)
    metadata = {"format": FORMAT, "version": "1", "header": text, "sha256": digest(text, arrays)}
    write(path, to_bytes(arrays, metadata))


def parse(content: bytes, name: str) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays (read-only) and the header in the content of a safetensors file.

    The checksum of files that `save` wrote is checked. Files of other programs have an empty header. Raises MXNetError,
    which calls the file `name`, for content that is damaged or is no such file.
    """
    arrays, metadata = from_bytes(content, name)
    if metadata.get("format") != FORMAT:
        return arrays, {}
    text = metadata.get("header", "")
    if metadata.get("version") != "1":
        raise MXNetError(f"{name} has version {metadata.get('version')}, and this library reads 1")
    if metadata.get("sha256") != digest(text, arrays):
        raise MXNetError(f"{name} is damaged: its checksum is not that of its content")
    try:
        return arrays, json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MXNetError(f"{name} has a header that cannot be read: {error}") from None


def digest(header: str, arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of a header, and of the names, types, shapes and elements of arrays."""
    sha = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(f"{name} {array.dtype} {array.shape} ".encode())
        sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return sha.hexdigest()


@contextmanager
def opening() -> Iterator[None]:
    """Raise a MissingFileError where there is a FileNotFoundError."""
    try:
        yield
    except FileNotFoundError as error:
        known = (error.errno, error.strerror, error.filename)
        raise MissingFileError(*(known if error.errno else error.args)) from None


@opening()
def read(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; MissingFileError if there is none."""
    return Path(path).read_bytes()


def write(path: str | os.PathLike[str], content: bytes, follow: bool = True) -> None:
    """Write a file. A file that was at `path` stays until the new one is complete."""
    with replacing(path, follow) as file:
        file.write(content)


def without_link(path: Path) -> Path:
    """The path of a file to write, whose name no user chose: a symbolic link that is there is removed, so that it leads
    nowhere else."""
    if path.is_symlink():
        path.unlink(missing_ok=True)
    return path


def replacing(path: str | os.PathLike[str], follow: bool = True) -> AbstractContextManager[BinaryIO]:
    """`with replacing(path) as file:` what is written to `file` is at `path` once the block has ended without an error.

    It then survives a power failure. See `optgen.files.replacing`.
    """
    from optgen import files  # here: a program that writes nothing need not import optgen

    return files.replacing(path, durable=True, follow=follow)


def to_bytes(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The content of a safetensors file. The same arrays and metadata give the same bytes."""
    names = {dtype: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    parts, end = [], 0
    for key, array in arrays.items():
        parts.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        begin, end = end, end + len(parts[-1])
        header[key] = {"dtype": names[array.dtype.name], "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that arrays begin at a multiple of 8 bytes
    return b"".join((len(text).to_bytes(8, "little"), text, *parts))


def from_bytes(content: bytes, name: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays (read-only) and the metadata in the content of a safetensors file; MXNetError naming it `name`."""
    from safetensors import SafetensorError, deserialize

    try:
        arrays = {
            key: np.frombuffer(x["data"], _dtype(x["dtype"])).reshape(x["shape"]) for key, x in deserialize(content)
        }
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise MXNetError(f"{name} is not a readable file of arrays (safetensors): {error}") from None
    in_order = {key: arrays[key] for key in header if key != "__metadata__"}
    return in_order, header.get("__metadata__") or {}


def _dtype(name: str) -> np.dtype:
    name = _DTYPES[name]
    return element_type(name) if name == "bfloat16" else np.dtype(name)
