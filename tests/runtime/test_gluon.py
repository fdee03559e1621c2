"""Blocks and parameters: names, first values, shapes that become known late, losses, files."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, init, nd
from runtime.gluon import nn
from runtime.name import NameManager


def mlp(in_units: int = 0) -> nn.HybridSequential:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.Dense(5, activation="tanh", in_units=in_units), nn.Flatten(), nn.Dense(2, in_units=5 if in_units else 0)
        )
    return net


# ---------------------------------------------------------------- names


def test_names_are_counted_by_kind_and_scope() -> None:
    with NameManager():
        first, second = mlp(), mlp()
        alone = nn.Dense(1)
        named = nn.Dense(1, prefix="out_")
    assert list(first.collect_params()) == [
        f"hybridsequential0_dense{i}_{what}" for i in (0, 1) for what in ("weight", "bias")
    ]
    assert second.name == "hybridsequential1"
    assert (alone.prefix, named.name) == ("dense0_", "out")
    assert list(second.collect_params(".*weight")) == [f"hybridsequential1_dense{i}_weight" for i in (0, 1)]
    assert repr(second).splitlines()[1] == "  (0): Dense(None -> 5, Activation(tanh))"


def test_a_block_with_an_empty_prefix_leaves_names_to_the_scope_around_it() -> None:
    outer = nn.Sequential(prefix="net_")
    with outer.name_scope():
        inner = nn.Sequential(prefix="")
        with inner.name_scope():
            layers = [nn.Dense(1), nn.Dense(1)]
    assert [layer.name for layer in layers] == ["net_dense0", "net_dense1"]
    assert inner.prefix == "net_"


def test_blocks_share_parameters() -> None:
    a = nn.Dense(3, in_units=2, prefix="a_")
    b = nn.Dense(3, in_units=2, prefix="b_", params=a.params)
    assert b.weight is a.weight
    with pytest.raises(mx.MXNetError, match=r"'a_weight' has shape \(3, 2\), which cannot become \(4, 2\)"):
        nn.Dense(4, in_units=2, params=a.params)


def test_two_parameters_of_one_name_are_an_error() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1, prefix="same_"), nn.Dense(1, prefix="same_"))
    with pytest.raises(ValueError, match="two different parameters are called 'same_weight'"):
        net.collect_params()


def test_containers() -> None:
    net = mlp()
    assert len(net) == 3
    assert net[0] is next(iter(net))
    assert [type(b) for b in net[1:]] == [nn.Flatten, nn.Dense]
    seen: list[str] = []
    net.apply(lambda block: seen.append(type(block).__name__))
    assert seen == ["Activation", "Dense", "Flatten", "Dense", "HybridSequential"]
    with pytest.raises(ValueError, match="takes HybridBlocks"):
        nn.HybridSequential().add(gluon.Block())
    net.hybridize(static_alloc=True)


# ---------------------------------------------------------------- first values


def test_initializers() -> None:
    def first(initializer: object, shape: tuple[int, ...] = (200, 100), name: str = "x_weight") -> np.ndarray:
        p = gluon.Parameter(name, shape=shape)
        p.initialize(initializer)
        return p.data().asnumpy()

    assert (first("zeros") == 0).all() and (first(init.One()) == 1).all() and (first(init.Constant(3)) == 3).all()
    assert 0.068 < np.abs(first(init.Uniform())).max() <= 0.07
    assert 0.45 < first(init.Normal(0.5)).std() < 0.55
    assert np.abs(first(init.Xavier())).max() == pytest.approx((3 / 150) ** 0.5, rel=0.01)
    assert first(init.Xavier("gaussian", "in", 2)).std() == pytest.approx((2 / 100) ** 0.5, rel=0.05)
    assert first(init.Xavier("gaussian", "out", 2), (4, 5, 6, 7)).std() == pytest.approx((2 / (4 * 42)) ** 0.5, rel=0.1)
    with pytest.raises(mx.MXNetError, match=r"Xavier needs .* 'x_weight' has shape \(3,\)"):
        first(init.Xavier(), (3,))
    with pytest.raises(ValueError, match="unknown initializer 'xaver'; did you mean 'xavier'"):
        first("xaver")


def test_the_name_decides_what_a_default_initializer_does() -> None:
    def first(name: str) -> float:
        p = gluon.Parameter(name, shape=(1,))
        p.initialize(default_init=init.Constant(5) if name.endswith("weight") else init.Uniform())
        return float(p.data().asscalar())

    assert [first(f"x_{end}") for end in ("weight", "bias", "beta", "gamma", "running_var")] == [5, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="no default for a parameter named 'x_other'"):
        first("x_other")


def test_a_registered_initializer() -> None:
    @init.register
    class Ramp(init.Initializer):
        def _init_weight(self, name: str, arr: nd.NDArray) -> None:
            arr[:] = nd.arange(arr.size).reshape(arr.shape)

    layer = nn.Dense(2, in_units=3, weight_initializer="ramp")
    layer.initialize(init.Xavier())
    assert layer.weight.data().asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_initialization_follows_the_seed_and_happens_once() -> None:
    def weights() -> list:
        mx.random.seed(3)
        net = mlp(4)
        net.initialize(init.Xavier())
        net.initialize(init.Zero())
        return [p.data().asnumpy().tolist() for p in net.collect_params().values()]

    assert weights() == weights()
    net = mlp(4)
    net.initialize()
    net.initialize(init.One(), force_reinit=True)
    assert net[0].weight.data().asnumpy().min() == 1


# ---------------------------------------------------------------- shapes that become known late


def test_deferred_initialization() -> None:
    net = mlp()
    with pytest.raises(mx.MXNetError, match=r"'.*dense0_weight' has no values yet: call initialize"):
        net(nd.ones((2, 4)))
    net.initialize(init.Xavier())
    assert net[0].weight.shape == (5, 0)
    with pytest.raises(gluon.DeferredInitializationError, match="not fully known before the first forward pass"):
        net[0].weight.data()
    assert net(nd.ones((2, 2, 2))).shape == (2, 2)
    assert net[0].weight.shape == (5, 4)
    assert net[0].weight.data().grad.shape == (5, 4)
    with pytest.raises(mx.MXNetError, match=r"data of shape \(2, 3\) has 3 values a sample, weight \(5, 4\) takes 4"):
        net(nd.ones((2, 3)))


def test_dense_on_the_last_axis() -> None:
    layer = nn.Dense(3, flatten=False, use_bias=False)
    layer.initialize(init.One())
    assert layer(nd.ones((2, 5, 4))).asnumpy().tolist() == np.full((2, 5, 3), 4).tolist()


def test_a_hybrid_block_of_the_users_own() -> None:
    class Scale(gluon.HybridBlock):
        def __init__(self, shape: tuple[int, ...], **kwargs: object) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.factor = self.params.get("factor", shape=shape, init="ones", allow_deferred_init=True)

        def hybrid_forward(self, F: object, x: nd.NDArray, factor: nd.NDArray) -> nd.NDArray:
            return F.broadcast_mul(x, factor)

    known, late = Scale((2,)), Scale((0,))
    for block in (known, late):
        block.initialize()
    assert known(nd.ones((3, 2))).shape == (3, 2)
    with pytest.raises(mx.MXNetError, match=r"Scale 'scale[0-9]+' cannot tell the shape of .*factor"):
        late(nd.ones((3, 2)))
    with pytest.raises(ValueError, match=r"'x_weight' cannot be initialized: its shape \(0, 2\)"):
        gluon.Parameter("x_weight", shape=(0, 2)).initialize()


def test_parameters_explain_themselves() -> None:
    p = gluon.Parameter("x_weight", shape=(2,), grad_req="null")
    p.initialize()
    with pytest.raises(mx.MXNetError, match="'x_weight' has no gradient"):
        p.grad()
    p.grad_req = "add"
    assert p.grad().asnumpy().tolist() == [0, 0]
    with pytest.raises(
        mx.MXNetError, match=r"'x_weight' has shape \(2,\), and cannot be set to values of shape \(3,\)"
    ):
        p.set_data(nd.ones(3))
    p.set_data(nd.ones(2))
    with autograd.record():
        y = (p.data() * 3).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert p.grad().asnumpy().tolist() == [6, 6]
    p.zero_grad()
    assert p.list_grad()[0].asnumpy().tolist() == [0, 0]
    with pytest.raises(mx.MXNetError, match=r"lives in cpu\(0\), not in cpu\(1\)"):
        p.data(mx.cpu(1))
    with pytest.raises(ValueError, match="grad_req of parameter 'x_weight'"):
        p.grad_req = "maybe"


# ---------------------------------------------------------------- losses


def test_l2_loss() -> None:
    pred, label = nd.array([[1, 2], [3, 4]]), nd.array([1, 1, 1, 1])
    np.testing.assert_allclose(gluon.loss.L2Loss()(pred, label).asnumpy(), [0.25, 3.25])
    weights = nd.array([[2], [0]])
    np.testing.assert_allclose(gluon.loss.L2Loss(weight=2)(pred, label, weights).asnumpy(), [1, 0])


def test_softmax_cross_entropy_loss() -> None:
    scores, labels = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, 1])
    pred = nd.array(scores, dtype="float64")
    pred.attach_grad()
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(pred, nd.array(labels, dtype="int64"))
    loss.backward()
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(loss.asnumpy(), -np.log(probabilities[range(4), labels]))
    np.testing.assert_allclose(pred.grad.asnumpy(), probabilities - np.eye(3)[labels])
    dense = gluon.loss.SoftmaxCELoss(sparse_label=False)(pred, nd.array(np.eye(3)[labels], dtype="float64"))
    given = gluon.loss.SoftmaxCELoss(from_logits=True)(nd.log_softmax(pred), nd.array(labels))
    np.testing.assert_allclose(dense.asnumpy(), loss.asnumpy())
    np.testing.assert_allclose(given.asnumpy(), loss.asnumpy())


# ---------------------------------------------------------------- files


def test_save_and_load(tmp_path: Path) -> None:
    net, other = mlp(), mlp()
    net.initialize(init.Normal(1))
    out = net(nd.ones((2, 4)))
    path = tmp_path / "any.name"
    net.save_parameters(path)
    assert os.listdir(tmp_path) == ["any.name"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    other.load_parameters(path, ctx=mx.cpu())  # shapes come from the file
    np.testing.assert_array_equal(other(nd.ones((2, 4))).asnumpy(), out.asnumpy())
    other.initialize(init.Zero(), force_reinit=True)
    buffer = other[0].weight.data()
    other.load_parameters(str(path))
    assert other[0].weight.data() is buffer  # written in place: a trainer goes on with it
    np.testing.assert_array_equal(other(nd.ones((2, 4))).asnumpy(), out.asnumpy())


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
        assert len(mx.files.load(tmp_path / "x")) == size
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("2.bias"), "lacks '2.bias'"),
        (lambda a: a.update(more=np.zeros(1, np.float32)), "has 'more', unknown here"),
        (
            lambda a: a.update({"0.weight": np.zeros((5, 3), np.float32)}),
            "'0.weight' has shape (5, 3), but parameter 'p_dense0_weight' has shape (5, 4)",
        ),
        (
            lambda a: a.update({"0.bias": np.zeros(5)}),
            "'0.bias' has type float64, but parameter 'p_dense0_bias' has type float32",
        ),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(change: Callable[[dict], object], words: str, tmp_path: Path) -> None:
    net = nn.HybridSequential(prefix="p_")
    with net.name_scope():
        net.add(nn.Dense(5, in_units=4), nn.Flatten(), nn.Dense(2, in_units=5))
    net.initialize(init.One())
    arrays = {key: np.zeros(p.shape, np.float32) for key, p in net._structured_params().items()}
    change(arrays)
    mx.files.save(tmp_path / "x", arrays)
    with pytest.raises(mx.MXNetError) as caught:
        net.load_parameters(tmp_path / "x")
    assert words in str(caught.value)
    assert f"file '{tmp_path / 'x'}'" in str(caught.value)
    assert net[0].weight.data().asnumpy().min() == 1


def test_what_load_can_be_told_to_accept(tmp_path: Path) -> None:
    net = mlp(4)
    net.initialize(init.One())
    mx.files.save(tmp_path / "x", {"0.bias": np.full(5, 2.0), "more": np.zeros(1)})
    net.load_parameters(tmp_path / "x", allow_missing=True, ignore_extra=True, cast_dtype=True)
    assert net[0].bias.data().dtype == np.float32
    assert net[0].bias.data().asnumpy().tolist() == [2] * 5
    assert net[0].weight.data().asnumpy().min() == 1


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
    with pytest.raises(FileNotFoundError, match=r"nowhere\.params"):
        mlp().load_parameters("nowhere.params")
