"""Files of records: MXNet's, and ours, which have the same bytes; damaged ones; processes and threads."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime as mx
from runtime import gluon, recordio
from tests.runtime.peers import records

DATA = Path(__file__).parent / "peers" / "data"
MAGIC = records.MAGIC


def mxnets() -> recordio.MXIndexedRecordIO:
    return recordio.MXIndexedRecordIO(DATA / "mxnet.idx", DATA / "mxnet.rec", "r")


def test_mxnets_files_are_read_and_ours_have_their_bytes(tmp_path: Path) -> None:
    file = mxnets()
    assert file.keys == [*records.RECORDS, *records.PACKED]
    assert {key: file.read_idx(key) for key in records.RECORDS} == records.RECORDS
    header, content = recordio.unpack(file.read_idx(100))
    assert (header, content) == ((0, 2.5, 12, 3), b"payload")
    header, content = recordio.unpack(file.read_idx(101))
    assert (header.flag, header.label.tolist(), header.id, content) == (3, [1, 2, 3.5], 2**40, b"p")
    assert file.read() is None
    records.write(recordio, tmp_path, "ours")
    for suffix in ("rec", "idx"):
        assert (tmp_path / f"ours.{suffix}").read_bytes() == (DATA / f"mxnet.{suffix}").read_bytes()


@given(st.lists(st.lists(st.sampled_from([b"", b"x", b"abcd", MAGIC, MAGIC[:2]])).map(b"".join), max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("rec") / "x.rec"
    with recordio.MXRecordIO(path, "w") as file:
        for content in contents:
            file.write(content)
    file = recordio.MXRecordIO(path, "r")
    for _ in range(2):
        assert [file.read() for _ in contents] == contents and file.read() is None
        file.reset()


def test_every_truncation_is_an_error_that_names_the_file_and_the_offset(tmp_path: Path) -> None:
    whole = (DATA / "mxnet.rec").read_bytes()
    ends = [*mxnets().idx.values(), len(whole)]
    path = tmp_path / "short.rec"
    for length in [*range(1, 132), len(whole) - 1, len(whole) - 4]:
        path.write_bytes(whole[:length])
        file = recordio.MXRecordIO(path, "r")
        for _ in range(sum(0 < end <= length for end in ends)):
            assert file.read() is not None
        if length in ends:
            assert file.read() is None
        else:
            with pytest.raises(mx.MXNetError, match=r"short.rec', offset \d+: .* left"):
                file.read()


def damaged(at: int, content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        whole = bytearray((DATA / "mxnet.rec").read_bytes())
        whole[at : at + len(content)] = content
        path.write_bytes(whole)

    return write


def packed(kind: int, length: int) -> bytes:
    return struct.pack("<I", kind << 29 | length)


@pytest.mark.parametrize(
    ("write", "key", "message"),
    [
        (damaged(0, b"JPEG"), 0, "offset 0: no record begins here: 0x4745504a in the place of 0xced7230a"),
        (damaged(4, packed(2, 0)), 0, "offset 0: a part of kind 2, which cannot begin a record"),
        (damaged(4, packed(5, 0)), 0, "offset 0: a part of kind 5, which cannot begin a record"),
        (damaged(36, packed(0, 0)), 9, None),
        (damaged(44, packed(1, 0)), 9, "offset 40: a part of kind 1, which cannot continue a record"),
        (damaged(4, packed(0, 2**29 - 1)), 0, "offset 0: 536870912 bytes are announced, and 752 are left"),
        (lambda path: path.write_bytes(b""), 0, "offset 0: the file ends before the record of key 0 of"),
    ],
)
def test_damaged_files(tmp_path: Path, write: Callable[[Path], None], key: int, message: str | None) -> None:
    write(tmp_path / "x.rec")
    file = recordio.MXIndexedRecordIO(DATA / "mxnet.idx", tmp_path / "x.rec", "r")
    if message is None:
        assert file.read_idx(key) == b""
        return
    with pytest.raises(mx.MXNetError) as error:
        file.read_idx(key)
    assert f"'{tmp_path / 'x.rec'}', {message}" in str(error.value)


def test_errors(tmp_path: Path) -> None:
    for offset in ("-5", "99999999999999999999"):
        (tmp_path / "bad.idx").write_text(f"0\t{offset}\n")
        with pytest.raises(mx.MXNetError, match=rf"bad.idx', line 1: .*{offset}' is no key and offset"):
            recordio.MXIndexedRecordIO(tmp_path / "bad.idx", DATA / "mxnet.rec", "r")
    (tmp_path / "bad.idx").write_text("0\t0\n1 8\n")
    with pytest.raises(mx.MXNetError, match=r"bad.idx', line 2: b'1 8' is no key and offset with a tab between"):
        recordio.MXIndexedRecordIO(tmp_path / "bad.idx", DATA / "mxnet.rec", "r")
    with pytest.raises(KeyError, match=r"mxnet.idx' has no key 1"):
        mxnets().read_idx(1)
    with pytest.raises(ValueError, match="flag must be 'r' to read or 'w' to write, not 'a'"):
        recordio.MXRecordIO(tmp_path / "x.rec", "a")
    with pytest.raises(FileNotFoundError):
        recordio.MXRecordIO(tmp_path / "x.rec", "r")
    file = recordio.MXRecordIO(tmp_path / "x.rec", "w")
    with pytest.raises(AssertionError, match="open with flag 'w', and this needs 'r'"):
        file.read()
    with pytest.raises(TypeError, match="a record is bytes, not str"):
        file.write("text")
    with pytest.raises(TypeError, match="cannot be pickled: close"):
        pickle.dumps(file)
    file.close()
    with pytest.raises(mx.MXNetError, match="is closed"):
        file.write(b"")
    with pytest.raises(mx.MXNetError, match="begins with 24 bytes of a header, and this one has 3"):
        recordio.unpack(b"abc")
    with pytest.raises(mx.MXNetError, match="of 9 labels has 60 bytes at least, and this one 25"):
        recordio.unpack(struct.pack("<IfQQ", 9, 0, 0, 0) + b"x")


def in_a_child(function: Callable[[], bool]) -> bool:
    """What the function answers in a forked process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if function() else 1)
    return os.waitpid(pid, 0)[1] == 0


def test_forks_pickles_and_threads() -> None:
    file = mxnets()
    file.read_idx(24)

    def child() -> bool:
        try:
            file.read()
        except RuntimeError as error:
            refused = "opened by another process" in str(error)
        return refused and file.read_idx(12) == records.RECORDS[12] and file.read() == records.RECORDS[15]

    assert in_a_child(child)
    assert file.read() == records.RECORDS[27]  # the child has not moved this position
    copy = pickle.loads(pickle.dumps(file))
    assert copy.read() == records.RECORDS[0] and file.is_open
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(file.read_idx, list(records.RECORDS) * 50)) == list(records.RECORDS.values()) * 50


@pytest.mark.parametrize("threads", [False, True])
def test_a_data_set_of_records_is_read_by_workers(threads: bool) -> None:
    dataset = gluon.data.RecordFileDataset(str(DATA / "mxnet.rec"))
    lengths = gluon.data.DataLoader(dataset.transform(len), 4, num_workers=2, thread_pool=threads)
    expected = [len(mxnets().read_idx(key)) for key in mxnets().keys]
    assert np.concatenate([batch.asnumpy() for batch in lengths]).tolist() == expected
