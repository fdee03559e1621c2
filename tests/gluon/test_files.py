"""Files of parameters and of names: what is written, what is read, what is refused."""

from __future__ import annotations

import json
import os
import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, init, nd
from runtime.gluon import nn
from runtime.name import NameManager


def mlp(in_units: int = 0, prefix: str | None = None) -> nn.HybridSequential:
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(
            nn.Dense(5, activation="tanh", in_units=in_units), nn.Flatten(), nn.Dense(2, in_units=5 if in_units else 0)
        )
    return net


def params_file(arrays: dict[str, np.ndarray]) -> bytes:
    """Float32 arrays as MXNet's nd.save writes them."""
    content = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for x in arrays.values():
        content += struct.pack(f"<Iii{x.ndim}qiii", 0xF993FAC9, 0, x.ndim, *x.shape, 1, 0, 0)
        content += x.astype("<f4").tobytes()
    return content + struct.pack("<Q", len(arrays)) + b"".join(struct.pack("<Q", len(k)) + k.encode() for k in arrays)


# ---------------------------------------------------------------- writing and reading


def test_save_and_load(tmp_path: Path) -> None:
    net, other = mlp(), mlp()
    net.initialize(init.Normal(1))
    out = net(nd.ones((2, 4)))
    path = tmp_path / "any.name"
    net.save_parameters(path)
    assert os.listdir(tmp_path) == ["any.name"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    other.load_parameters(path, ctx=[mx.cpu(0), mx.cpu(1)])  # shapes come from the file
    on_cpu = other(nd.ones((2, 4), ctx=mx.cpu(1))).asnumpy()
    np.testing.assert_allclose(on_cpu, out.asnumpy(), rtol=1e-5, atol=1e-6)  # tanh of a GPU differs in the last places
    other.initialize(init.Zero(), force_reinit=True)
    buffer = other[0].weight.data()
    other.load_parameters(str(path))
    assert other[0].weight.data() is buffer  # written in place: a trainer goes on with it
    np.testing.assert_array_equal(other(nd.ones((2, 4))).asnumpy(), out.asnumpy())
    waiting = mlp()
    waiting.initialize(ctx=mx.cpu(3))
    waiting.load_parameters(path)
    assert waiting.collect_params().list_ctx() == [mx.cpu(3)]


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_shared_parameters_are_saved_once_if_asked(tmp_path: Path) -> None:
    net = nn.Sequential()
    net.add(nn.Dense(3, in_units=3, prefix="a_"))
    net.add(nn.Dense(3, in_units=3, params=net[0].params))
    net.initialize()
    for deduplicate, size in ((False, 4), (True, 2)):
        net.save_parameters(tmp_path / "x", deduplicate)
        names = list(nd.load(tmp_path / "x"))
        assert len(names) == size and names[-2:] == ["1.weight", "1.bias"]
        net.load_parameters(tmp_path / "x")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = mlp(4)
    net.initialize()
    path = tmp_path / "x"
    net.save_parameters(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    net[0].weight.data()[:] = 9
    with pytest.raises(OSError, match="disk full"):
        net.save_parameters(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x"]


def test_files_that_mxnet_wrote(tmp_path: Path) -> None:
    path, net = tmp_path / "x.params", mlp(prefix="net_")
    shapes = {"0.weight": (5, 4), "0.bias": (5,), "2.weight": (2, 5), "2.bias": (2,)}
    arrays = {key: np.full(shape, i + 1.0) for i, (key, shape) in enumerate(shapes.items())}
    path.write_bytes(params_file(arrays))
    net.load_parameters(path)
    assert net[2].weight.data().asnumpy().tolist() == [[3] * 5] * 2
    names = ("arg:net_dense0_weight", "arg:net_dense0_bias", "aux:net_dense1_weight", "dense1_bias")
    for prefix, kept in (("", names[:3]), ("net_", ("dense0_weight", "dense0_bias", "dense1_weight", "dense1_bias"))):
        path.write_bytes(params_file({key: 2 * x for key, x in zip(kept, arrays.values(), strict=False)}))
        if prefix:
            net.load_parameters(path)  # by names without the block's prefix
            assert net[2].bias.data().asnumpy().tolist() == [8, 8]
        else:
            net.collect_params().load(path, allow_missing=True)
            assert net[2].weight.data().asnumpy().max() == 6


def test_old_names_of_the_functions(tmp_path: Path) -> None:
    net, other, path = mlp(4), mlp(4), tmp_path / "x"
    net.initialize("ones")
    with pytest.warns(DeprecationWarning, match="use save_parameters"):
        net.save_params(path)
    assert sorted(nd.load(path)) == ["dense0_bias", "dense0_weight", "dense1_bias", "dense1_weight"]
    with pytest.warns(DeprecationWarning, match="use load_parameters"):
        other.load_params(path, mx.cpu())
    assert other[0].weight.data().asnumpy().min() == 1


def test_types_of_files_and_parameters(tmp_path: Path) -> None:
    net, path = nn.Dense(2, in_units=1), tmp_path / "x"
    net.initialize()
    net.save_parameters(path)
    half = nn.Dense(2, in_units=1, dtype="float16")
    half.load_parameters(path, cast_dtype=True)
    assert half.weight.data().dtype == np.float16
    half.load_parameters(path, cast_dtype=True, dtype_source="saved")
    assert half.weight.dtype == half.weight.grad().dtype == np.float32
    with pytest.raises(AssertionError, match="dtype_source is 'current' or 'saved', not 'file'"):
        half.load_parameters(path, cast_dtype=True, dtype_source="file")


# ---------------------------------------------------------------- the names of blocks


class Named(gluon.Block):
    """Calls its parts by their names, which differ from one object to the next."""

    def add(self, block: gluon.Block) -> None:
        self.register_child(block, f"{block.name}_{len(self._children)}")

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        for block in self._children.values():
            x = block(x)
        return x


def named() -> Named:
    net, inside = Named(), Named()
    inside.add(nn.Dense(3, in_units=2))
    net.add(inside)
    net.add(nn.Dense(2, in_units=3))
    return net


def test_names_of_blocks_come_back(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    with NameManager():
        net = named()
    net.initialize(init.Normal(1))
    net.save(prefix)
    assert sorted(os.listdir(tmp_path)) == ["model-model.json", "model-model.params"]
    described = json.loads((tmp_path / "model-model.json").read_bytes())
    assert described["named0"]["children"] == {"named1": "named1_0", "dense1": "dense1_1"}
    assert described["named0"]["dense3"]["orig_name"] == "dense1"
    other = named()
    other.initialize()
    other.load(prefix)
    assert other._children.keys() == net._children.keys()
    assert list(other.collect_params()) == list(net.collect_params())
    assert [p.name for p in other.collect_params().values()] == list(net.collect_params())
    np.testing.assert_array_equal(other(nd.ones((1, 2))).asnumpy(), net(nd.ones((1, 2))).asnumpy())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        '{"named0": 3}',
        '{"named0": {"orig_name": "x", "children": {}}}',
        '{"named0": {"orig_name": 3, "children": {"a": "b"}, "named1": {"orig_name": "a", "children": {}}}}',
    ],
)
def test_what_does_not_describe_the_blocks(content: str, tmp_path: Path) -> None:
    net = named()
    names = list(net.collect_params())
    (tmp_path / "x-model.json").write_text(content)
    with pytest.raises(mx.MXNetError, match=r"x-model\.json' does not describe Named 'named"):
        net.load(str(tmp_path / "x"))
    assert list(net.collect_params()) == names


# ---------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("2.bias"), "lacks '2.bias'"),
        (lambda a: a.update(more=nd.zeros(1)), "has 'more', unknown here"),
        (
            lambda a: a.update({"0.weight": nd.zeros((5, 3))}),
            "'0.weight' has shape (5, 3), but parameter 'p_dense0_weight' has shape (5, 4)",
        ),
        (
            lambda a: a.update({"0.bias": nd.zeros(5, dtype="float64")}),
            "'0.bias' has type float64, but parameter 'p_dense0_bias' has type float32",
        ),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(change: Callable[[dict], object], words: str, tmp_path: Path) -> None:
    net = mlp(4, prefix="p_")
    net.initialize(init.One())
    arrays = {key: nd.zeros(p.shape) for key, p in net._collect_params_with_prefix().items()}
    change(arrays)
    nd.save(tmp_path / "x", arrays)
    with pytest.raises(mx.MXNetError) as caught:
        net.load_parameters(tmp_path / "x")
    assert words in str(caught.value)
    assert f"file '{tmp_path / 'x'}'" in str(caught.value)
    assert net[0].weight.data().asnumpy().min() == 1


def test_a_file_for_another_context(tmp_path: Path) -> None:
    net = mlp(4)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    net.save_parameters(tmp_path / "x")
    net.load_parameters(tmp_path / "x", ctx=[mx.cpu(1), mx.cpu(0)])
    with pytest.raises(AssertionError, match=r"'0.weight' is to go to \[cpu\(1\)\], but .* in \[cpu\(0\), cpu\(1\)\]"):
        net.load_parameters(tmp_path / "x", ctx=mx.cpu(1))


def test_what_load_can_be_told_to_accept(tmp_path: Path) -> None:
    net = mlp(4)
    net.initialize(init.One())
    nd.save(tmp_path / "x", {"0.bias": nd.full(5, 2, dtype="float64"), "more": nd.zeros(1)})
    net.load_parameters(tmp_path / "x", allow_missing=True, ignore_extra=True, cast_dtype=True)
    assert net[0].bias.data().dtype == np.float32
    assert net[0].bias.data().asnumpy().tolist() == [2] * 5
    assert net[0].weight.data().asnumpy().min() == 1
    nd.save(tmp_path / "list", [nd.ones(1)])
    with pytest.raises(AssertionError, match="list' holds a list of arrays without names"):
        net.load_parameters(tmp_path / "list")


def malformed() -> dict[str, bytes]:
    def file(header: object, data: bytes = b"") -> bytes:
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    def entry(dtype: str = "F32", shape: tuple = (1,), span: tuple = (0, 4)) -> dict:
        return {"x": {"dtype": dtype, "shape": shape, "data_offsets": span}}

    good = file(entry(), b"\0" * 4)
    return {
        "empty": b"",
        "text": b"not a file of arrays at all",
        "pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94.",
        "cut": good[:-1],
        "longer": good + b"\0",
        "huge header": struct.pack("<Q", 2**62) + b"{}",
        "no json": struct.pack("<Q", 4) + b'{"x"',
        "no object": file([1]),
        "unknown type": file(entry("Q9"), b"\0" * 4),
        "type without a counterpart": file(entry("F8_E4M3", (4,)), b"\0" * 4),
        "negative shape": file(entry(shape=(-1,)), b"\0" * 4),
        "wrong size": file(entry(shape=(2,)), b"\0" * 4),
        "overflowing shape": file(entry(shape=(2**62, 4)), b"\0" * 4),
        "outside": file(entry(span=(0, 400)), b"\0" * 4),
        "backwards": file(entry(span=(4, 0)), b"\0" * 4),
    }


@pytest.mark.parametrize("kind", malformed())
def test_malformed_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.params"
    path.write_bytes(malformed()[kind])
    net = mlp(4)
    net.initialize()
    with pytest.raises(mx.MXNetError, match=r"bad\.params' is not a readable file of arrays"):
        net.load_parameters(path)


def test_random_damage_is_an_error_or_harmless(tmp_path: Path) -> None:
    net = mlp(4)
    net.initialize()
    path = tmp_path / "x"
    net.save_parameters(path)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(good)
        for at in rng.integers(0, 400, size=rng.integers(1, 4)):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            net.load_parameters(path)
        except mx.MXNetError:
            refused += 1
    assert refused > 100


def test_a_missing_file() -> None:
    net = mlp()
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 3)))
    opened: list[tuple[Callable[[], object], str]] = [
        (lambda: net.load_parameters("nowhere.params"), r"nowhere\.params"),
        (lambda: net.save_parameters("nowhere/net.params"), r"nowhere/net\.params"),
        (lambda: net.export("nowhere/net"), "nowhere/net-symbol.json"),
        (lambda: mx.model.load_checkpoint("nowhere", 1), "nowhere-symbol.json"),
        (lambda: mx.recordio.MXRecordIO("nowhere.rec", "r"), r"nowhere\.rec"),
        (lambda: mx.io.CSVIter("nowhere.csv", (2,), batch_size=1), r"nowhere\.csv"),
        (lambda: mx.io.LibSVMIter("nowhere.txt", (2,), batch_size=1), r"nowhere\.txt"),
    ]
    for open_it, name in opened:
        for error in (FileNotFoundError, mx.MXNetError):  # Python's, and that of MXNet, which programs catch
            with pytest.raises(error, match=name):
                open_it()


def test_a_block_without_parameters(tmp_path: Path) -> None:
    nn.Flatten().save_parameters(tmp_path / "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Flatten().load_parameters(tmp_path / "x")
