"""Files of arrays: what is written is read again, MXNet's files are read, and no other content does harm."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import runtime as mx
from runtime import MXNetError, autograd, nd
from runtime.core import files, params_file

MXNET = {path.stem: path.read_bytes() for path in (Path(__file__).parent / "mxnet_files").glob("*.params")}
DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
DENSE = np.float32([[0, 1, 0], [0, 0, 0], [2, 0, 3]])


def equal(x: nd.NDArray, y: nd.NDArray) -> None:
    assert (x.stype, x.shape, x.dtype, x.context) == (y.stype, y.shape, y.dtype, mx.current_context())
    np.testing.assert_array_equal(x.asnumpy().astype("float64"), y.asnumpy().astype("float64"))
    for part in ("data", "indices", "indptr")[: x._num_aux + 1 if x.stype != "default" else 0]:
        np.testing.assert_array_equal(getattr(x, part).asnumpy(), getattr(y, part).asnumpy())


# ---------------------------------------------------------------- our own files

ELEMENTS = st.one_of(
    *(
        arrays(dtype, array_shapes(max_dims=2, min_side=0, max_side=4)).map(lambda x: nd.array(x, dtype=x.dtype))
        for dtype in DTYPES
    )
)


@settings(max_examples=60, deadline=None)
@given(
    data=st.one_of(st.lists(ELEMENTS, max_size=12), st.dictionaries(st.text(st.characters(codec="utf-8")), ELEMENTS))
)
def test_what_is_saved_is_loaded(data: list | dict) -> None:
    data.pop("__metadata__", None) if isinstance(data, dict) else None
    for content in (saved(data), bytearray(saved(data))):
        loaded = nd.load_frombuffer(content)
        assert type(loaded) is type(data)
        pairs = zip(loaded, data, strict=True) if isinstance(data, list) else ((loaded[k], x) for k, x in data.items())
        for x, y in pairs:
            np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
            assert x.shape == y.shape and x.dtype == y.dtype
    if isinstance(data, dict):
        assert list(loaded) == list(data)


def saved(data: object) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        nd.save(path, data)
        return path.read_bytes()


def test_sparse_arrays_types_and_names(tmp_path: Path) -> None:
    dense = nd.array(DENSE)
    data = {
        "r": dense.tostype("row_sparse"),
        "r.indices": dense.astype("bfloat16"),  # what the parts of r would be called
        "c.indptr": nd.ones(1),
        "c": dense.astype("float64").tostype("csr"),
        "none": nd.sparse.zeros("csr", (3, 0)),
        "": nd.empty((0, 3)),
    }
    path = tmp_path / "no particular name"
    nd.save(path, data)
    assert os.listdir(tmp_path) == [path.name]
    loaded = nd.load(str(path))
    assert list(loaded) == list(data)
    for key, x in data.items():
        equal(loaded[key], x)
    nd.save(path, data["c"])
    (x,) = nd.load(path)
    equal(x, data["c"])
    loaded["r"][:] = 0  # copies, which can be written to
    loaded["r.indices"][0] = 5


def test_other_programs_read_and_write_it(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "file"
    nd.save(path, {"x": nd.array(DENSE), "s": nd.array(DENSE).tostype("csr")})
    found = load_file(path)
    np.testing.assert_array_equal(found["x"], DENSE)
    assert found["s.indptr"].tolist() == [0, 1, 1, 3]
    save_file({"a": DENSE, "b": np.array(3, "int64")}, path)
    loaded = nd.load(path)
    equal(loaded["a"], nd.array(DENSE))
    equal(loaded["b"], nd.array([3], dtype="int64"))


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({1: nd.ones(1)}, TypeError, "strings for their names: 1 is"),
        ([nd.ones(1), np.ones(1)], TypeError, "'1' is ndarray"),
        (np.ones(1), ValueError, "an array, a list or a dict of arrays, not ndarray"),
        ({"__metadata__": nd.ones(1)}, ValueError, "cannot be called '__metadata__'"),
        ({"\ud800": nd.ones(1)}, ValueError, "which the file has no place for"),
    ],
)
def test_what_cannot_be_saved(tmp_path: Path, data: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        nd.save(tmp_path / "x", data)
    assert not os.listdir(tmp_path)


# ---------------------------------------------------------------- MXNet's


def test_mxnets_files(tmp_path: Path) -> None:
    dense = nd.load_frombuffer(MXNET["dense"])
    assert list(dense) == [("arg:" if d[0] == "f" else "aux:") + d for d in DTYPES]
    for key, x in dense.items():
        equal(x, nd.array([[0, 1], [2, 3]], dtype=key[4:]))
    wanted = nd.array(DENSE)
    sparse = nd.load_frombuffer(MXNET["sparse"])
    for x, y in zip(
        sparse,
        [*map(wanted.tostype, ("csr", "row_sparse")), *(nd.zeros((3, 2), stype=s) for s in ("csr", "row_sparse"))],
        strict=True,
    ):
        equal(x, y)
    for version in "01":
        equal(nd.load_frombuffer(MXNET["version" + version])["w"], nd.arange(6).reshape((2, 3)))
    assert nd.load_frombuffer(MXNET["none"]) == []
    (tmp_path / "x").write_bytes(MXNET["version1"])
    assert list(nd.load(tmp_path / "x")) == ["w"]


def test_files_keep_the_meaning_of_their_shapes(tmp_path: Path) -> None:
    inside, outside = str(tmp_path / "inside"), str(tmp_path / "outside")
    nd.save(outside, [nd.ones((2, 3))])
    with mx.np_shape():
        nd.save(inside, [nd.array(np.float32(3)), nd.ones((2, 3))])
        assert [x.shape for x in nd.load(inside)] == [(), (2, 3)]
        with pytest.raises(MXNetError, match=r"outside' was saved outside np_shape\(\): load it there, too"):
            nd.load(outside)
    with pytest.raises(MXNetError, match=r"inside' was saved inside np_shape\(\): load it there, too"):
        nd.load(inside)
    assert nd.load(outside)[0].shape == (2, 3)


def test_shapes_as_numpy_has_them() -> None:
    """A number has shape (1,), as there are no scalars here; an array may be empty."""
    loaded = nd.load_frombuffer(MXNET["version3"])
    assert {key: x.shape for key, x in loaded.items()} == {"scalar": (1,), "empty": (2, 0), "x": (1, 2)}
    assert loaded["scalar"].asscalar() == 7


# ---------------------------------------------------------------- pickles


@settings(max_examples=60, deadline=None)
@given(x=ELEMENTS, stype=st.sampled_from(["default", "row_sparse", "csr"]))
def test_states_are_the_bytes_of_mxnet(x: nd.NDArray, stype: str) -> None:
    if stype != "default":
        x = nd.array(DENSE).tostype(stype)
    y = nd.NDArray(None) if stype == "default" else nd.sparse.zeros(stype, (1, 1))
    with autograd.record():
        state = x.__getstate__()
    y.__setstate__({"handle": bytearray(state["handle"])})
    equal(x, y)
    if x.ndim and min(x.shape):
        in_file = nd.load_frombuffer(mxnet_list(state["handle"])[:-56])[0]
        equal(x, in_file)


def test_a_pickle_of_mxnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pickle has for `mx.nd.array([[1, 2]], dtype="uint8")` with MXNet 1.9.1."""
    state = bytes.fromhex("c9fa93f9 00000000 02000000 0100000000000000 0200000000000000 01000000 00000000 030000000102")
    start = b"\x80\x02cmxnet.ndarray.ndarray\nNDArray\nN\x85R}X\x06\x00\x00\x00handle"
    pickled = start + b"C" + bytes([len(state)]) + state + b"sb."
    monkeypatch.setitem(sys.modules, "mxnet", mx)
    x = pickle.loads(pickled)
    assert (x.asnumpy().tolist(), x.dtype, type(x)) == ([[1, 2]], np.uint8, nd.NDArray)
    assert x.__getstate__() == {"handle": state}


def test_states_that_are_none() -> None:
    x, state = nd.ones((2, 2)), nd.ones((2, 2)).__getstate__()["handle"]
    for wrong, words in (
        (state[:-1], r"the state of an array is not a readable array, at byte 40: .* 15 are left"),
        (state + b"0", "1 bytes after the end"),
        (pickle.dumps(print), "version .* of an array is unknown"),
        (None, "a dict that has bytes under 'handle', unlike {'handle': None}"),
        (nd.sparse.zeros("csr", (1, 1)).__getstate__()["handle"], "'default' cannot be .* 'csr'"),
    ):
        with pytest.raises(MXNetError, match=words):
            x.__setstate__({"handle": wrong})
    for wrong in ({}, [1], None):
        with pytest.raises(MXNetError, match="a dict that has bytes under 'handle', unlike"):
            x.__setstate__(wrong)
    assert x.asnumpy().tolist() == [[1, 1], [1, 1]]


# ---------------------------------------------------------------- damaged files


@pytest.mark.parametrize("name", MXNET)
def test_every_truncation_is_told(name: str, tmp_path: Path) -> None:
    content = MXNET[name]
    for n in range(len(content)):
        with pytest.raises(MXNetError, match="the buffer is not a readable"):
            nd.load_frombuffer(content[:n])
    with pytest.raises(MXNetError, match=r"at byte \d+: 1 bytes after the end"):
        nd.load_frombuffer(content + b"\0")
    path = tmp_path / "damaged"
    path.write_bytes(content[:-1])
    with pytest.raises(MXNetError, match=rf"'{path}' is not a readable list of arrays, at byte \d+"):
        nd.load(path)


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_flipped_bytes_do_no_harm(data: st.DataObject) -> None:
    check_flipped(data)


@pytest.mark.stress
@settings(max_examples=20_000, deadline=None)
@given(data=st.data())
def test_many_flipped_bytes_do_no_harm(data: st.DataObject) -> None:
    check_flipped(data)


def check_flipped(data: st.DataObject) -> None:
    """Either an error of ours, or arrays; never anything else, nor much memory."""
    content = bytearray(data.draw(st.sampled_from([*MXNET.values(), OURS])))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.one_of(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), st.integers(0, 255)))
    try:
        loaded = nd.load_frombuffer(bytes(content))
    except MXNetError as error:
        assert "the buffer" in str(error)
    else:
        for x in loaded if isinstance(loaded, list) else loaded.values():
            assert (x if x.stype == "default" else x.data).size <= len(content)


OURS = saved({"x": nd.array(DENSE), "s": nd.array(DENSE).tostype("csr")})


def test_every_flipped_bit_of_our_own_files_is_told() -> None:
    where = OURS.index(b'"sha256"') - 300, len(OURS)
    for at in range(max(where[0], 0), where[1]):
        if OURS[at : at + 1] == b" ":
            continue  # between the parts of JSON any space will do
        content = bytearray(OURS)
        content[at] ^= 1 << at % 8
        try:
            loaded = nd.load_frombuffer(bytes(content))
        except MXNetError:
            continue
        assert b"runtime.core.backend" not in content or sorted(loaded) != ["s", "x"]  # not known as ours


def mxnet_list(*parts: bytes) -> bytes:
    return params_file.HEADER + struct.pack("<Q", 1) + b"".join(parts) + bytes(64)


V2 = struct.pack("<I", 0xF993FAC9)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (params_file.HEADER + struct.pack("<Q", 2**60) + bytes(8), r"byte 16: 1152921504606846976 arrays, but 8 bytes"),
        (mxnet_list(struct.pack("<I", 77)), "byte 24: version 0x4d of an array is unknown"),
        (mxnet_list(V2, struct.pack("<i", 9)), "kind of storage 9 is unknown"),
        (mxnet_list(V2, struct.pack("<ii", 0, 0)), "a shape of 0 axes, as of an array that MXNet never"),
        (mxnet_list(V2, struct.pack("<ii", 0, 99)), "a shape of 99 axes"),
        (mxnet_list(V2, struct.pack("<iiq", 0, 1, -5)), r"a shape of \(-5,\)"),
        (mxnet_list(V2, struct.pack("<iiqq", 0, 2, 2**40, 2**40)), "a shape of"),
        (mxnet_list(V2, struct.pack("<iiqiii", 0, 1, 2**40, 1, 0, 0)), "float32 values of shape .* bytes, but .* are"),
        (mxnet_list(V2, struct.pack("<iiqiii", 0, 1, 1, 1, 0, 8)), "type 8 is unknown"),
        (mxnet_list(V2, struct.pack("<iiqiiiB", 0, 1, 1, 1, 0, 7, 2)), "a bool that is neither"),
        (MXNET["version1"][:-1] + b"\xff", "a name that is no UTF-8 text"),
        (pickle.dumps({"x": 1}), "the buffer is not a readable file"),
        (b"", "the buffer is not a readable file"),
        (struct.pack("<Q", 2**62) + b"{}", "the buffer is not a readable file"),
    ],
)
def test_what_is_wrong_and_where(content: bytes, words: str) -> None:
    with pytest.raises(MXNetError, match=words):
        nd.load_frombuffer(content)


def test_indices_that_are_nonsense() -> None:
    at = MXNET["sparse"].index(struct.pack("<qqqq", 0, 1, 1, 3))
    content = bytearray(MXNET["sparse"])
    content[at + 8] = 9
    with pytest.raises(MXNetError, match="the buffer: array 0: indptr of a csr array must not descend"):
        nd.load_frombuffer(bytes(content))


@pytest.mark.parametrize(
    "sparse",
    [{"x": {}}, {"x": 1}, 3, {"x": {"stype": "csr", "shape": [3], "indices": ["i"]}},
     {"x": {"stype": "csr", "shape": [3, "a"], "indices": ["i", "p"]}},
     {"x": {"stype": "other", "shape": [3, 3], "indices": ["i", "p"]}}],
)  # fmt: skip
def test_headers_that_are_nonsense(sparse: object, tmp_path: Path) -> None:
    files.save(tmp_path / "x", {"x": np.ones(2), "i": np.arange(2), "p": np.arange(3)}, {"sparse": sparse})
    with pytest.raises(MXNetError, match="x'"):
        nd.load(tmp_path / "x")
    files.save(tmp_path / "x", {}, [])
    with pytest.raises(MXNetError):
        nd.load(tmp_path / "x")


@pytest.mark.parametrize("header", ["", "{", "[" * 100_000])
def test_headers_that_are_no_json(header: str) -> None:
    metadata = {"format": files.FORMAT, "version": "1", "header": header, "sha256": files.digest(header, {})}
    with pytest.raises(MXNetError, match="the buffer has a header that cannot be read"):
        nd.load_frombuffer(files.to_bytes({}, metadata))


def test_a_file_without_metadata() -> None:
    content = json.dumps({"__metadata__": None}).encode()
    assert nd.load_frombuffer(struct.pack("<Q", len(content)) + content) == {}


def test_a_failed_write_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    nd.save(path, [nd.ones(1)])
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        nd.save(path, [nd.zeros(5)])
    assert os.listdir(tmp_path) == ["x"]
    assert nd.load(path)[0].asscalar() == 1
    with pytest.raises(FileNotFoundError):
        nd.load(tmp_path / "nothing")
    with pytest.raises(TypeError, match="the name of a file, not int"):
        nd.load(3)
    with pytest.raises(TypeError, match="takes bytes, not str"):
        nd.load_frombuffer("x")
