"""Records whose file is written by MXNet and here, to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MAGIC = b"\x0a\x23\xd7\xce"
"""What begins each part of a record in a file."""

RECORDS = {
    0: b"",
    3: b"a",
    6: b"four",
    9: MAGIC,
    12: b"abcd" + MAGIC + b"e",
    15: MAGIC * 3,
    18: b"x" + MAGIC,  # at no multiple of 4 bytes
    21: b"abcd" + MAGIC,
    24: bytes(range(256)) * 2,
    27: MAGIC[:3],
}
PACKED = {100: ((7, 2.5, 12, 3), b"payload"), 101: ((0, [1, 2, 3.5], 2**40, 0), b"p")}
"""Headers and contents of further records."""


def write(recordio: Any, folder: Path, name: str) -> None:
    """Write `name.rec` and `name.idx` by the module `recordio`, MXNet's or this library's."""
    file = recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w")
    for key, record in RECORDS.items():
        file.write_idx(key, record)
    for key, (header, content) in PACKED.items():
        file.write_idx(key, recordio.pack(recordio.IRHeader(*header), content))
    file.close()
