"""Sends batches and errors from a worker process, as bytes and as files in memory that have no name.

The files hold large arrays. The receiver maps them, and copies nothing. They are sent through a socket, as descriptors.
A file exists as long as a process has it open or mapped. So nothing is left, however a process ends.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import functools
import io
import mmap
import os
import socket
import struct
import tempfile
import traceback
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import numpy as np

from runtime.base import MXNetError
from runtime.context import Context
from runtime.core.backend import to_host
from runtime.ndarray import NDArray
from runtime.ndarray.creation import place

MIN_FILE_BYTES = 1 << 16
"""Arrays of at least so many bytes go through a file. For smaller ones the socket is faster."""
MAX_FILES = 16
"""The most files of a batch. Further large arrays share them, so that few descriptors are open."""
ALIGNMENT_BYTES = 64
"""An array begins at a multiple of so many bytes."""


class Batch(NamedTuple):
    """A batch as it has arrived."""

    pickled: bytes
    arrays: list[np.ndarray]

    def unpacked(self) -> Any:
        return ForkingPickler.loads(self.pickled, buffers=self.arrays)


# ---------------------------------------------------------------- messages


def send(link: socket.socket, data: bytes | memoryview, files: Sequence[int] = ()) -> None:
    """Send bytes, and open files by their descriptors."""
    header = struct.pack("=Q", len(data))
    link.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else [])
    link.sendall(data)


def receive(link: socket.socket) -> tuple[bytearray, list[int]]:
    """What `send` has sent, the files opened anew; EOFError where the other end is closed."""
    descriptors = array.array("i")
    space = socket.CMSG_LEN(MAX_FILES * descriptors.itemsize)
    header, ancillary, _, _ = link.recvmsg(8, space, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    for _, _, content in ancillary:
        descriptors.frombytes(content)
    try:
        (length,) = struct.unpack("=Q", header + _exactly(link, 8 - len(header)))
        return _exactly(link, length), descriptors.tolist()
    except BaseException:
        _close(descriptors)
        raise


def _exactly(link: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        count = link.recv_into(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return data


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


# ---------------------------------------------------------------- in a worker process


def send_batch(link: socket.socket, batch: Any) -> None:
    """Send a batch for `received`; MXNetError if it cannot be pickled, OSError where the other end is closed."""
    buffers: list[memoryview] = []
    try:
        pickled = _pickled(batch, buffers)
    except Exception as error:
        raise MXNetError(
            f"DataLoader: a worker process cannot send its batch: {error}. Give what can be pickled, such as arrays, "
            "numbers and lists, or have threads, thread_pool=True"
        ) from error
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_file(buffers[i::MAX_FILES])) for i in range(min(MAX_FILES, len(buffers)))]
        send(link, _pickled((pickled, [len(b) for b in buffers], None)), files)


def send_error(link: socket.socket, error: BaseException) -> None:
    """Send an error for `received`: the exception itself, if it survives pickling, its text, and its traceback."""
    words = "".join(traceback.format_exception_only(error)).strip()
    send(link, _pickled((None, _copied(error), (words, "".join(traceback.format_exception(error))))))


def _pickled(value: Any, buffers: list[memoryview] | None = None) -> bytes:
    """A value as bytes; large arrays are appended to `buffers`, if it is given, and left out of the bytes."""

    def kept(buffer: Any) -> bool:
        raw = buffer.raw()
        if len(raw) < MIN_FILE_BYTES:
            return True
        buffers.append(raw)
        return False

    file = io.BytesIO()
    _Pickler(file, 5, True, None if buffers is None else kept).dump(value)
    return file.getvalue()


class _Pickler(ForkingPickler):
    """Arrays are pickled with their contexts. NumPy leaves out what is contiguous and of a type of its own."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, NDArray) and value.stype == "default":
            return _in_context, (to_host(value._data), value.context.device_type, value.context.device_id)
        if type(value) is np.ndarray and value.nbytes >= MIN_FILE_BYTES and not value.dtype.hasobject:
            if not value.flags.forc:
                return _same, (np.ascontiguousarray(value),)
            if value.dtype.isbuiltin != 1:  # such as bfloat16
                return _typed, (np.ascontiguousarray(value).reshape(-1).view(np.uint8), value.dtype, value.shape)
        return NotImplemented


def _in_context(data: np.ndarray, device_type: str, device_id: int) -> NDArray:
    return place(np.require(data, requirements="CW"), Context(device_type, device_id))


def _same(value: np.ndarray) -> np.ndarray:
    return value


def _typed(data: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    return data.view(dtype).reshape(shape)


@contextlib.contextmanager
def _file(buffers: Sequence[memoryview]) -> Iterator[int]:
    """A file in memory without a name that holds these bytes, each from a multiple of ALIGNMENT_BYTES on."""
    with open(os.memfd_create("batch"), "wb") if hasattr(os, "memfd_create") else tempfile.TemporaryFile() as file:
        for buffer in buffers:
            file.write(buffer)
            file.write(bytes(-len(buffer) % ALIGNMENT_BYTES))
        file.flush()
        yield file.fileno()


def _copied(error: BaseException) -> bytes | None:
    """The error pickled, if what comes back is of its class and says the same.

    A class may want other arguments than an error keeps: then it is made without them, at worst of its text. That fails
    for a class known to a function alone, or one whose text cannot be had.
    """
    for made in (_itself, _of_parts, _of_text):
        with contextlib.suppress(Exception):
            pickled = _pickled(made(error))
            copy = ForkingPickler.loads(pickled)
            if type(copy) is type(error) and str(copy) == str(error):
                return pickled
    return None


def _itself(error: BaseException) -> Any:
    return error


def _of_parts(error: BaseException) -> Any:
    return _Again(type(error), error.args, error.__dict__)


def _of_text(error: BaseException) -> Any:
    return _Again(type(error), (str(error),), {})


class _Again(NamedTuple):
    """An error, as it is pickled, that is made again without its `__init__`."""

    cls: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    def __reduce__(self) -> Any:
        return _made_again, tuple(self)


def _made_again(cls: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = cls.__new__(cls, *arguments)
    error.__dict__.update(attributes)
    return error


# ---------------------------------------------------------------- back here


class WorkerTraceback(Exception):
    """The cause of an error from a worker: where the error was raised there."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def received(data: bytearray, files: Sequence[int]) -> Batch:
    """The batch that was sent; the error that was sent, or that its files cannot be opened here, is raised."""
    try:
        pickled, rest, told = ForkingPickler.loads(data)
        if told is not None:
            raise _error(rest, *told)
        if len(files) < min(MAX_FILES, len(rest)):
            raise OSError(errno.EMFILE, f"DataLoader: no file for an array of a batch: {os.strerror(errno.EMFILE)}")
        maps = [_mapped(file) for file in files]
    finally:
        _close(files)
    arrays, starts = [], [0] * MAX_FILES
    for i, size in enumerate(rest):
        start = starts[i % MAX_FILES]
        arrays.append(maps[i % MAX_FILES][start : start + size])
        starts[i % MAX_FILES] += size + -size % ALIGNMENT_BYTES
    return Batch(pickled, arrays)


def _error(pickled: bytes | None, words: str, where: str) -> BaseException:
    error: BaseException = MXNetError(f"DataLoader: a worker raised {words}")
    if pickled is not None:
        with contextlib.suppress(Exception):  # a class of the worker's alone
            error = ForkingPickler.loads(pickled)
    error.__cause__ = WorkerTraceback(where)
    return error


def _mapped(file: int) -> np.ndarray:
    """The bytes of a file, which can be written to; the file need not stay open, as for `mmap.mmap` it does."""
    size = os.fstat(file).st_size
    library = _library()
    address = library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
    if address == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, f"DataLoader: an array of a batch cannot be mapped: {os.strerror(code)}")
    memory = (ctypes.c_uint8 * size).from_address(address)
    weakref.finalize(memory, library.munmap, address, size).atexit = False  # arrays may be used to the very end
    return np.frombuffer(memory, np.uint8)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library
