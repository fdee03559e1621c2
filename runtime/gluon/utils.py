"""Splitting batches over contexts, clipping gradients, downloading files."""

from __future__ import annotations

import hashlib
import itertools
import os
import urllib.parse
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.base import ArgumentError, count
from runtime.context import Context
from runtime.core import files
from runtime.core.backend import device_scope, is_array, to_host
from runtime.ndarray import NDArray
from runtime.util import is_np_shape

__all__ = ["check_sha1", "clip_global_norm", "download", "replace_file", "split_and_load", "split_data"]

# ---------------------------------------------------------------- batches


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Split `data` into `num_slice` parts along `batch_axis`. Parts along axis 0 share its memory.

    ValueError where the parts would not be equal, unless `even_split` is False: the first are then longer by one.
    """
    num_slice = count("split_data: num_slice", num_slice)
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ArgumentError(
            f"split_data: data of shape {data.shape} cannot be cut into {num_slice} equal parts along axis "
            f"{batch_axis}; use a batch size that is a multiple of {num_slice}, or even_split=False"
        )
    length, longer = divmod(size, num_slice)
    ends = np.cumsum([0] + [length + 1] * longer + [length] * (num_slice - longer)).tolist()
    if batch_axis == 0:
        return [data[begin:end] for begin, end in itertools.pairwise(ends)]
    return [nd.slice_axis(data, axis=batch_axis, begin=b, end=e) for b, e in itertools.pairwise(ends)]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Split `data`, anything that `nd.array` takes, into one part for each context, and copy it there."""
    if not isinstance(data, NDArray):
        data = nd.array(data, ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


# ---------------------------------------------------------------- gradients


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> float | NDArray:
    """Scale the arrays in place so that their joint 2-norm is at most `max_norm`.

    Returns the norm before that: a number, with a warning if it is not finite; an array of shape (1,) without
    `check_isfinite`.
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: there are no arrays")
    norm = np.sqrt(sum(_on_host([_sum_of_squares(x) for x in arrays])))
    if check_isfinite and not np.isfinite(norm):
        warnings.warn(
            "clip_global_norm: there are values that are nan or inf; the results have no meaning", stacklevel=2
        )
    scale = max_norm / (norm + 1e-8)
    for x in arrays:
        x *= float(scale if not scale > 1 else 1)
    return norm if check_isfinite else nd.array([norm], arrays[0].context)


def _sum_of_squares(x: NDArray) -> np.float32:
    """Over what is stored, in float32 (float64 for float64); an array without axes where x is on a GPU."""
    with device_scope(x.context):
        values = (x if x.stype == "default" else x.data)._data.reshape(-1)
        values = values if values.dtype.itemsize > 2 else values.astype(np.float32)
        return np.dot(values, values)


def _on_host(numbers: Sequence[Any]) -> list[Any]:
    """The values of scalars, some of them on GPUs. One copy fetches all scalars of a GPU."""
    fetched = list(numbers)
    while left := [i for i, x in enumerate(fetched) if is_array(x)]:
        device = fetched[left[0]].device
        here = [i for i in left if fetched[i].device == device]
        with device:
            values = to_host(np.stack([fetched[i] for i in here]))
        for i, x in zip(here, values, strict=True):
            fetched[i] = x
    return fetched


# ---------------------------------------------------------------- files


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Whether the file's SHA-1 hash is `sha1_hash`, in hexadecimal digits."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Replace the file `dst` by `src`, atomically. If that fails, `src` is removed."""
    try:
        os.replace(src, dst)
    except OSError:
        Path(src).unlink(missing_ok=True)
        raise


def download(
    url: str,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Download a file (http, https or file) and return its path. The path never holds an incomplete file.

    Parameters
    ----------
    path: a file, or a folder, whose file is called as in the url; by default the current folder.
    overwrite: fetch it even if it is there.
    sha1_hash: what its SHA-1 hash must be, in hexadecimal digits; a file with another one is fetched again.
    retries: how often to try at most after a failure, the last of which is raised.
    verify_ssl: check the server's certificate.
    """
    if retries < 0:
        raise ArgumentError(f"download: retries must be at least 0, not {retries}")
    target = _target(url, path)
    if not verify_ssl:
        warnings.warn("Unverified HTTPS request: with verify_ssl=False anyone may be answering", stacklevel=2)
    if target.exists() and not overwrite and (not sha1_hash or check_sha1(target, sha1_hash)):
        return str(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in range(max(retries, 1) - 1, -1, -1):
        try:
            print(f"downloading {target} from {url} ...")
            _fetch(url, target, sha1_hash, verify_ssl)
            break
        except Exception as error:
            if not left:
                raise
            print(f"failed: {error!r}; trying again, {left} more after that" if left > 1 else f"failed: {error!r}")
    return str(target)


def _target(url: str, path: str | os.PathLike[str] | None) -> Path:
    """The file that `url` goes to. The url may name a file of the folder, and nothing else."""
    target = Path() if path is None else Path(path).expanduser()
    if not target.is_dir():
        return target
    name = urllib.parse.unquote(url.split("/")[-1])
    if name in ("", ".", "..") or set(name) & {"/", "\\", "\0"} or (target / name).is_dir():
        raise ArgumentError(f"download: there is no name for a file in {url}; give a path")
    return target / name


def _fetch(url: str, target: Path, sha1_hash: str | None, verify_ssl: bool) -> None:
    """Bring `url` to `target`, whole and checked."""
    with files.replacing(target) as file:
        for chunk in _content(url, verify_ssl):
            file.write(chunk)
        file.flush()
        if sha1_hash and not check_sha1(file.name, sha1_hash):
            raise OSError(f"what came from {url} is not the file with the SHA-1 hash {sha1_hash}")


def _content(url: str, verify_ssl: bool) -> Iterator[bytes]:
    """The content of `url` in pieces: by `requests`, which knows of more proxies and certificates, where it is."""
    try:
        import requests
    except ImportError:
        requests = None
    if requests is not None and url.startswith("http"):
        response = requests.get(url, stream=True, verify=verify_ssl, timeout=60)
        if response.status_code != 200:
            raise OSError(f"{url} answers with status {response.status_code}")
        yield from response.iter_content(1 << 20)
        return
    import ssl  # imported here, as these two take as long to import as all of gluon
    import urllib.request

    secure = ssl.create_default_context() if verify_ssl else ssl._create_unverified_context()
    with urllib.request.urlopen(url, timeout=60, context=secure) as response:
        while chunk := response.read(1 << 20):
            yield chunk


def _get_repo_url() -> str:
    """The address of Gluon's data sets and models: `MXNET_GLUON_REPO`, by default MXNet's."""
    url = os.environ.get("MXNET_GLUON_REPO", "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return url.removesuffix("/") + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The address of the file of a data set or model."""
    return f"{_get_repo_url()}{namespace}/{filename}"


# ---------------------------------------------------------------- blocks


class HookHandle:
    """The handle of a hook in `hooks`: `detach()`, or the end of a `with` block, removes the hook."""

    def __init__(self, hooks: dict[object, Callable], hook: Callable) -> None:
        self._hooks = hooks
        self._key = object()  # not the id of the handle, which a later object may have
        self._hooks[self._key] = hook

    def detach(self) -> None:
        self._hooks.pop(self._key, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Whether a shape is given and all its lengths are known. An unknown length is 0, or -1 inside
    `util.np_shape()`."""
    if shape is None:
        return False
    if is_np_shape():
        return -1 not in shape
    return len(shape) > 0 and 0 not in shape and -1 not in shape
