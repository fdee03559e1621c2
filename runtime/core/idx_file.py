"""Files of the IDX format (yann.lecun.com/exdb/mnist): arrays of bytes, as MNIST's images and labels are."""

from __future__ import annotations

import gzip
import os

import numpy as np

from runtime.base import MXNetError


def read(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in a file, compressed by gzip or not. MXNetError where it is no complete IDX file of bytes."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise MXNetError(f"'{path}' cannot be read: {error}") from None
    axes = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content[4 : 4 + 4 * axes], ">u4").tolist() if len(content) >= 4 + 4 * axes else []
    if not shape or len(content) - 4 - 4 * axes != np.prod(shape, dtype=object):
        raise MXNetError(f"'{path}' is no complete IDX file of bytes")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
