"""Named arrays in a file: safetensors under any file name, written whole or not at all, checked when read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from runtime.base import MXNetError


def save(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` to `path`. The file that was there stays until the new one is complete."""
    from safetensors.numpy import save as to_bytes

    path = Path(path)
    content = to_bytes(
        {name: np.ascontiguousarray(x) for name, x in arrays.items()}, {"format": "runtime.arrays", "version": "1"}
    )
    handle, temporary = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's files are private; this one is as the user's files are
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, whoever wrote it; MXNetError naming the file if it is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    content = Path(path).read_bytes()
    try:
        return from_bytes(content)
    except (
        SafetensorError,
        KeyError,
        ValueError,
        TypeError,
    ) as error:  # KeyError: an element type that NumPy does not have
        raise MXNetError(f"'{os.fspath(path)}' is not a readable file of arrays (safetensors): {error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
