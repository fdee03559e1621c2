"""Record files: bytes one after the other, as MXNet's tools write them, with an index for random access.

A record is parts that each begin at a multiple of 4 bytes: the number MAGIC, a number with the kind of the part in its
upper 3 bits and its length in the lower 29, then so many bytes, and zeros up to the multiple. Most records are one part
(kind 0). Where a record itself has MAGIC at a multiple of 4 bytes it is cut there: the four bytes are left out between
a first (1), further (2) and a last part (3), so that MAGIC marks parts alone. All numbers are little-endian.
(The format is that of dmlc-core, `recordio.h`.)

Nothing of a file is executed. The index, a file of its own, has a line `key<tab>offset` for each record.
"""

from __future__ import annotations

import numbers
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from runtime.base import ArgumentError, MXNetError
from runtime.core import files, pictures

MAGIC = 0xCED7230A
_MAGIC = MAGIC.to_bytes(4, "little")
_LENGTH_BITS = 29
_WHOLE, _FIRST, _FURTHER, _LAST = range(4)
_PART = struct.Struct("<II")


class MXRecordIO:
    """A file of records, written ('w') or read ('r') from its beginning.

    A process that was forked from the one that opened the file must `reset()` before it reads or writes. Pickling keeps
    the name of a file that is read, and unpickling opens it anew.
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self.open()

    @files.opening()
    def open(self) -> None:
        """Open the file, at its beginning; what is written replaces what was there."""
        if self.flag not in ("r", "w"):
            raise ArgumentError(f"'{self.uri}': flag must be 'r' to read or 'w' to write, not {self.flag!r}")
        self.writable = self.flag == "w"
        self.handle: BinaryIO = open(self.uri, "wb" if self.writable else "rb")  # noqa: SIM115 (close() closes it)
        self._at = 0
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file; nothing happens if it is closed."""
        if self.is_open:
            self.handle.close()
            self.is_open = False
            self.pid = None

    def __del__(self) -> None:
        if getattr(self, "is_open", False):  # open() may have failed
            self.close()

    def __enter__(self) -> MXRecordIO:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self.is_open and self.writable:
            raise TypeError(f"'{self.uri}' is open to be written, and cannot be pickled: close() it first")
        state.pop("handle", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["is_open"]:
            self.is_open = False
            self.open()

    def reset(self) -> None:
        """Go back to the first record; a file that is written becomes empty."""
        self.close()
        self.open()

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Add a record."""
        self._check_pid("w")
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise TypeError(f"'{self.uri}': a record is bytes, not {type(buf).__name__}")
        content = encoded(bytes(buf))
        self.handle.write(content)
        self.handle.flush()  # else a forked process would hold, and write, a second copy
        self._at += len(content)

    def read(self) -> bytes | None:
        """The next record; None after the last."""
        self._check_pid("r")
        record, self._at = self._record_at(self._at)
        return record

    def offsets(self) -> list[int]:
        """Where the records begin, in bytes."""
        self._check_pid("r")
        found, at, within = [], 0, False
        while header := os.pread(self.handle.fileno(), _PART.size, at):
            kind, length = self._part(header, at, first=not within)
            if not within:
                found.append(at)
            within = kind in (_FIRST, _FURTHER)
            at += _PART.size + length + -length % 4
        return found

    def read_at(self, offset: int) -> bytes:
        """The record that begins at an offset. Threads may do this at a time."""
        self._check_pid("r", allow_reset=True)
        record, _ = self._record_at(offset)
        if record is None:
            raise self._damaged(offset, "the file ends before this record")
        return record

    def _check_pid(self, flag: str, allow_reset: bool = False) -> None:
        """Raise an error unless the file is open for this, here. A forked process begins anew, if allowed."""
        if not self.is_open:
            raise MXNetError(f"'{self.uri}' is closed; open() or reset() opens it")
        if self.flag != flag:
            raise ArgumentError(f"'{self.uri}' is open with flag '{self.flag}', and this needs '{flag}'")
        if self.pid != os.getpid():
            if not allow_reset:
                raise MXNetError(
                    f"'{self.uri}' was opened by another process, from which this one was forked: reset() first"
                )
            # The descriptor is shared with the other process; reading at an offset does not move it.
            self.pid, self._at = os.getpid(), 0

    def _record_at(self, start: int) -> tuple[bytes | None, int]:
        """The record whose first part is at `start`, and where the next one is. Threads may do this at a time."""
        parts: list[bytes] = []
        at = start
        while True:
            header = os.pread(self.handle.fileno(), _PART.size, at)
            if not header and not parts:
                return None, at
            kind, length = self._part(header, at, first=not parts)
            padded = length + -length % 4
            content = os.pread(self.handle.fileno(), padded, at + _PART.size)
            if len(content) < padded:
                raise self._damaged(at, f"{padded} bytes are announced, and {len(content)} are left")
            parts.append(content[:length])
            at += _PART.size + padded
            if kind in (_WHOLE, _LAST):
                return _MAGIC.join(parts), at

    def _part(self, header: bytes, at: int, first: bool) -> tuple[int, int]:
        """The kind and the length of the part that begins so at `at`."""
        if len(header) < _PART.size:
            raise self._damaged(
                at,
                f"the file ends within a record: {len(header)} bytes are left of the {_PART.size} of a part's header",
            )
        magic, packed = _PART.unpack(header)
        if magic != MAGIC:
            raise self._damaged(at, f"no record begins here: {magic:#010x} in the place of {MAGIC:#010x}")
        kind, length = packed >> _LENGTH_BITS, packed & ((1 << _LENGTH_BITS) - 1)
        if kind not in ((_WHOLE, _FIRST) if first else (_FURTHER, _LAST)):
            raise self._damaged(at, f"a part of kind {kind}, which cannot {'begin' if first else 'continue'} a record")
        return kind, length

    def _damaged(self, at: int, what: str) -> MXNetError:
        return MXNetError(f"'{self.uri}', offset {at}: {what}")


def encoded(record: bytes) -> bytes:
    """The record as it is in a file."""
    if len(record) >> _LENGTH_BITS:
        raise ArgumentError(f"a record has less than 2**{_LENGTH_BITS} bytes, not {len(record)}")
    cuts = _cuts(record)
    if not cuts:
        return _part_of(_WHOLE, record)
    starts, stops = [0, *(cut + 4 for cut in cuts)], [*cuts, len(record)]
    kinds = [_FIRST, *[_FURTHER] * (len(cuts) - 1), _LAST]
    return b"".join(_part_of(kind, record[i:j]) for kind, i, j in zip(kinds, starts, stops, strict=True))


def _cuts(record: bytes) -> list[int]:
    """The multiples of 4 at which the record has the bytes of MAGIC."""
    cuts = []
    at = record.find(_MAGIC)
    while at >= 0:
        if at % 4 == 0:
            cuts.append(at)
        at = record.find(_MAGIC, at + 1)
    return cuts


def _part_of(kind: int, content: bytes) -> bytes:
    return _PART.pack(MAGIC, kind << _LENGTH_BITS | len(content)) + content + bytes(-len(content) % 4)


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with keys, and the file of their index.

    Parameters
    ----------
    idx_path: the file of the index.
    uri: the file of the records.
    flag: 'w' to write, 'r' to read.
    key_type: makes a key of its text.

    `keys` are the keys in the order of the index, and `idx` has their offsets. `read_idx` may be called by several
    threads at a time, and by forked processes.
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Any] = int,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: BinaryIO | None = None
        super().__init__(uri, flag)

    @files.opening()
    def open(self) -> None:
        super().open()
        try:
            self.idx, self.keys = {}, []
            if self.writable:
                self.fidx = open(self.idx_path, "wb")  # noqa: SIM115 (close() closes it)
            else:
                self._read_index()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        super().close()
        if self.fidx is not None:
            self.fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def _read_index(self) -> None:
        for number, line in enumerate(Path(self.idx_path).read_bytes().splitlines(), 1):
            try:
                key, offset = line.decode().strip().split("\t")[:2]
                if not 0 <= int(offset) < 1 << 63:
                    raise ValueError(offset)
                self.idx[self.key_type(key)] = int(offset)
                self.keys.append(self.key_type(key))
            except ValueError:
                raise MXNetError(
                    f"'{self.idx_path}', line {number}: {line[:80]!r} is no key and offset with a tab between"
                ) from None

    def seek(self, idx: Any) -> None:
        """Have `read` go on with the record of key `idx`."""
        self._at = self._offset(idx)

    def tell(self) -> int:
        """The offset of the record that is written next."""
        self._check_pid("w")
        return self._at

    def read_idx(self, idx: Any) -> bytes:
        """The record of key `idx`; KeyError if there is none. `read` goes on after it."""
        at = self._offset(idx)
        record, self._at = self._record_at(at)
        if record is None:
            raise self._damaged(at, f"the file ends before the record of key {idx!r} of '{self.idx_path}'")
        return record

    def _offset(self, idx: Any) -> int:
        self._check_pid("r", allow_reset=True)
        try:
            return self.idx[idx]
        except KeyError:
            raise KeyError(f"'{self.idx_path}' has no key {idx!r}") from None

    def write_idx(self, idx: Any, buf: bytes | bytearray | memoryview) -> None:
        """Add a record of key `idx`."""
        key = self.key_type(idx)
        at = self.tell()
        self.write(buf)
        assert self.fidx is not None
        self.fidx.write(f"{key}\t{at}\n".encode())
        self.fidx.flush()
        self.idx[key] = at
        self.keys.append(key)


# ---------------------------------------------------------------- what records of images hold


class IRHeader(NamedTuple):
    """What precedes the content of a packed record: the number of labels (0 for one number), the label, and an id."""

    flag: int
    label: Any
    id: int
    id2: int


_HEADER = struct.Struct("<IfQQ")


def pack(header: IRHeader | tuple[Any, ...], s: bytes) -> bytes:
    """A record of a header and bytes. A label that is an array is written as float32, and `flag` has its length."""
    header = IRHeader(*header)
    if isinstance(header.label, numbers.Number):
        return _HEADER.pack(0, header.label, header.id, header.id2) + s
    label = np.asarray(header.label, "<f4")
    return _HEADER.pack(label.size, 0, header.id, header.id2) + label.tobytes() + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """The header and the bytes of a packed record. Several labels are an array of float32."""
    if len(s) < _HEADER.size:
        raise MXNetError(f"a packed record begins with {_HEADER.size} bytes of a header, and this one has {len(s)}")
    header = IRHeader(*_HEADER.unpack_from(s))
    if not header.flag:
        return header, s[_HEADER.size :]
    end = _HEADER.size + 4 * header.flag
    if len(s) < end:
        raise MXNetError(f"a packed record of {header.flag} labels has {end} bytes at least, and this one {len(s)}")
    return header._replace(label=np.frombuffer(s, "<f4", header.flag, _HEADER.size)), s[end:]


def pack_img(header: IRHeader | tuple[Any, ...], img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of a header and a picture in uint8, whose colours are in the order blue, green, red, as OpenCV's.

    `quality` is that of a JPEG, 1 to 100, or the compression of a PNG, 1 to 9.
    """
    return pack(header, pictures.encode(_reordered(np.asarray(img)), img_fmt, quality))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """The header and the pixels of a record: (height, width) of grey, or (height, width, channels) in the order blue,
    green, red.

    `iscolor` is 1 for three channels, 0 for grey, -1 for what the picture has.
    """
    header, content = unpack(s)
    return header, _reordered(pictures.decode(content, iscolor, f"the record with id {header.id}"))


def _reordered(pixels: np.ndarray) -> np.ndarray:
    """Red and blue exchanged."""
    if pixels.ndim < 3 or pixels.shape[2] < 3:
        return pixels
    return np.ascontiguousarray(pixels[..., [2, 1, 0, *range(3, pixels.shape[2])]])
