"""ONNX files: what onnxruntime computes from them is what the graphs compute here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, nd, sym
from tests.sweeps import swept
from tests.symbol.cases import CASES

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the files, is not installed")


def ran(path: str, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes from a file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return session.run(None, {x.name: inputs[x.name] for x in session.get_inputs()})


def check(
    graph: Any, shapes: Mapping[str, tuple], path: Path, whole: tuple[str, ...] = (), **kwargs: Any
) -> list[np.ndarray]:
    """Write a graph whose inputs are those with shapes, run the file, and compare with what the graph computes."""
    draw = np.random.RandomState(0)
    known = dict(zip(graph.list_arguments(), graph.infer_shape(**shapes)[0], strict=True))
    values = {
        key: (draw.randint(0, 3, shape) if key in whole else draw.uniform(-1, 1, shape)).astype(np.float32)
        for key, shape in known.items()
    }
    states = dict(zip(graph.list_auxiliary_states(), graph.infer_shape(**shapes)[2], strict=True))
    states = {key: draw.uniform(0.5, 1, shape).astype(np.float32) for key, shape in states.items()}
    arrays = {key: nd.array(x) for key, x in (values | states).items()}
    params = {key: x for key, x in arrays.items() if key not in shapes}
    name = str(path / "model.onnx")
    inputs = [key for key in graph.list_inputs() if key in shapes]
    mx.onnx.export_model(graph, params, [shapes[key] for key in inputs], onnx_file_path=name, **kwargs)
    args, auxiliary = ({key: arrays[key] for key in part} for part in (values, states))
    expected = graph.bind(mx.cpu(), args, None, "null", auxiliary).forward()
    found = ran(name, values)
    for y, z in zip(found, expected, strict=True):
        assert y.shape == z.shape and y.dtype == z.dtype
        np.testing.assert_allclose(y, z.asnumpy(), 1e-4, 1e-5)
    return found


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    graph = case.make(sym, sym.var("x"), sym.var("y"))
    nodes = (node["op"] for node in json.loads(graph.tojson())["nodes"] if node["inputs"])
    if name == "bn3" or not set(nodes) <= set(mx.onnx.get_operator_support()):  # bn3 has the statistics as outputs
        with pytest.raises(mx.MXNetError, match=r"'\w+' cannot be written as ONNX: .* (no|not) transla"):
            check(graph, case.shapes, tmp_path, case.whole)
    else:
        check(graph, case.shapes, tmp_path, case.whole)


IMAGES = (2, 3, 7, 6)
SEQUENCES = {"x": (4, 2, 6), "y": (2,)}
MORE: dict[str, tuple[Callable[[Any, Any], Any], dict[str, tuple]]] = {
    "full means": (
        lambda x, y: sym.Pooling(x, (3, 3), "avg", stride=(2, 2), pad=(1, 1), pooling_convention="full"),
        {"x": (2, 3, 6, 5)},
    ),
    "full means without padding": (
        lambda x, y: sym.Pooling(
            x, (3, 2), "avg", stride=(2, 2), pad=(1, 0), pooling_convention="full", count_include_pad=False
        ),
        {"x": IMAGES},
    ),
    "padded means": (lambda x, y: sym.Pooling(x, kernel=(3, 3), pool_type="avg", pad=(1, 1)), {"x": IMAGES}),
    "full sums": (
        lambda x, y: sym.Pooling(x, kernel=(3,), pool_type="sum", stride=(2,), pooling_convention="full"),
        {"x": (2, 3, 6)},
    ),
    "maxima, same": (
        lambda x, y: sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="same"),
        {"x": IMAGES},
    ),
    "norms": (lambda x, y: sym.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=2), {"x": IMAGES}),
    "all": (lambda x, y: sym.Pooling(x, global_pool=True, pool_type="sum", kernel=(1, 1)), {"x": IMAGES}),
    "adaptive": (lambda x, y: sym.contrib.AdaptiveAvgPooling2D(x, output_size=(3, 4)), {"x": IMAGES}),
    "volumes": (
        lambda x, y: sym.Convolution(x, kernel=(2, 2, 1), num_filter=4, num_group=2, dilate=(1, 2, 1)),
        {"x": (1, 2, 4, 5, 3)},
    ),
    "target_shape": (
        lambda x, y: sym.Deconvolution(
            x, kernel=(4, 3), stride=(3, 2), target_shape=(20, 12), num_filter=4, no_bias=False
        ),
        {"x": IMAGES},
    ),
    "upsampling of two": (
        lambda x, y: sym.UpSampling(x, y, scale=2, sample_type="nearest", num_args=2),
        {"x": (1, 2, 4, 4), "y": (1, 3, 2, 2)},
    ),
    "half pixels": (
        lambda x, y: sym.contrib.BilinearResize2D(x, height=9, width=4, align_corners=False),
        {"x": IMAGES},
    ),
    "channels last": (lambda x, y: sym.BatchNorm(x, axis=-1), {"x": IMAGES}),
    "layer norm of channels": (lambda x, y: sym.LayerNorm(x, axis=1), {"x": IMAGES}),
    "lrn of channels": (lambda x, y: sym.L2Normalization(x, mode="channel"), {"x": IMAGES}),
    "slope per channel": (lambda x, y: sym.LeakyReLU(x, act_type="prelu"), {"x": IMAGES}),
    "rrelu": (lambda x, y: sym.LeakyReLU(x, act_type="rrelu"), {"x": IMAGES}),
    "softmax of lengths": (
        lambda x, y: sym.softmax(x, y, axis=1, use_length=True, temperature=2.0),
        {"x": (2, 5), "y": (2,)},
    ),
    "codes": (
        lambda x, y: sym.reshape(sym.reshape(x, shape=(-4, 2, -1, -2)), shape=(0, -3, 0, 0)),
        {"x": (4, 2, 3, 5)},
    ),
    "reversed codes": (lambda x, y: sym.reshape(x, shape=(0, -1, 3), reverse=True), {"x": (2, 3, 6)}),
    "slices": (lambda x, y: sym.slice(x, begin=(None, -1), end=(-1, None), step=(2, -2)), {"x": (6, 7)}),
    "reflection": (
        lambda x, y: sym.pad(sym.pad(x, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1)), "edge", (0,) * 6 + (1, 1)),
        {"x": IMAGES},
    ),
    "wrap": (lambda x, y: sym.take(x, y - 5, axis=1, mode="wrap"), SEQUENCES),
    "clip": (lambda x, y: sym.take(x, y * 4, axis=1), SEQUENCES),
    "picks": (lambda x, y: sym.pick(x, sym.broadcast_add(y, sym.zeros((4, 2))), axis=-1, keepdims=True), SEQUENCES),
    "pick": (lambda x, y: sym.pick(x, y, axis=0), {"x": (5,), "y": (1,)}),
    "rows": (lambda x, y: sym.where(y, x, -x), {"x": (2, 4), "y": (2,)}),
    "mask": (lambda x, y: sym.SequenceMask(x, y, True, value=-7, axis=1), {"x": (2, 3, 6), "y": (2,)}),
    "last": (lambda x, y: sym.SequenceLast(x, y + 1, True), SEQUENCES),
    "reverse": (lambda x, y: sym.SequenceReverse(x, y + 1, True), SEQUENCES),
    "constants": (lambda x, y: sym.Group([x, sym.ones((2, 3)), sym.BlockGrad(x), x + 1]), {"x": (2, 3)}),
    "smallest": (lambda x, y: sym.topk(x, k=3, axis=0, ret_typ="value", is_ascend=True), {"x": (4, 2, 6)}),
    "remainders": (lambda x, y: sym.Group([sym.broadcast_mod(x, y), 3 % x, x % -2, x % 0]), {"x": (4, 6), "y": (6,)}),
    "halves": (
        lambda x, y: sym.Group([f(sym.round(x * 4) / 2) for f in (sym.rint, sym.round, sym.trunc)]),
        {"x": (5, 6)},
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_attributes(name: str, tmp_path: Path) -> None:
    make, shapes = MORE[name]
    check(make(sym.var("x"), sym.var("y")), {key: shapes[key] for key in shapes}, tmp_path, ("y",))


ZOO = {
    "resnet18_v1": 32,
    "resnet18_v2": 32,
    "vgg11_bn": 32,
    "alexnet": 67,
    "squeezenet1.1": 210,
    "densenet121": 224,
    "mobilenet0.25": 32,
    "mobilenetv2_0.25": 32,
    "inceptionv3": 299,
}
"""A network of each family, and a small size of pictures that it takes."""


KEPT = ("resnet18_v2", "squeezenet1.1", "mobilenetv2_0.25", "inceptionv3")
"""These have all the operators of the others."""


@pytest.mark.parametrize("name", swept(ZOO, KEPT))
def test_networks_of_the_model_zoo(name: str, tmp_path: Path) -> None:
    net = gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(1, 3, ZOO[name], ZOO[name]))
    y = net(x).asnumpy()
    params = {key: p.data() for key, p in net.collect_params().items()}
    file = mx.onnx.export_model(net(sym.var("data")), params, [x.shape], onnx_file_path=tmp_path / "net.onnx")
    np.testing.assert_allclose(ran(file, {"data": x.asnumpy()})[0], y, 1e-4, 1e-4 * abs(y).max())


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks(layer: str, tmp_path: Path) -> None:
    """From the files of `export`: an embedding, two layers in both directions, LayerNorm, a dense layer, softmax."""

    class Tagger(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = gluon.nn.Embedding(9, 5)
            self.recurrent = getattr(gluon.rnn, layer)(4, 2, bidirectional=True)
            self.norm = gluon.nn.LayerNorm()
            self.tags = gluon.nn.Dense(3, flatten=False)

        def hybrid_forward(self, F: Any, words: Any, *states: Any) -> Any:
            y, states = self.recurrent(self.embedding(words), list(states))
            return F.softmax(self.tags(self.norm(y))), *states

    net = Tagger()
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    words = nd.array(np.random.RandomState(0).randint(0, 9, (6, 2)))
    states = [nd.random.normal(shape=(4, 2, 4)) for _ in range(2 if layer == "LSTM" else 1)]
    expected = net(words, *states)
    files = net.export(str(tmp_path / "net"))
    given = {f"data{i}": x for i, x in enumerate([words, *states])}
    shapes = [x.shape for x in given.values()]
    file = mx.contrib.onnx.export_model(*files, input_shape=shapes, onnx_file_path=str(tmp_path / "net.onnx"))
    for y, z in zip(ran(file, {key: x.asnumpy() for key, x in given.items()}), expected, strict=True):
        np.testing.assert_allclose(y, z.asnumpy(), 1e-4, 1e-5)


def test_sequences_of_several_lengths(tmp_path: Path) -> None:
    x, y = sym.var("x"), sym.var("y") + 1
    graph = sym.RNN(
        x, state_size=3, num_layers=2, mode="gru", bidirectional=True, use_sequence_length=True, sequence_length=y
    )
    check(graph, {"x": (4, 2, 5), "y": (2,)}, tmp_path, ("y",))


@pytest.mark.parametrize("open_", [None, [(None, 3, None, "width")]])
def test_lengths_that_are_left_open(open_: Any, tmp_path: Path) -> None:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, in_channels=3),
        gluon.nn.MaxPool2D(3, 2, ceil_mode=True),
        gluon.nn.BatchNorm(in_channels=4),
        gluon.nn.HybridLambda(lambda F, x: F.reshape(F.clip(x, 0, 6), shape=(0, 0, -1))),
        gluon.nn.HybridLambda(lambda F, x: F.swapaxes(x, 1, 2)),
        gluon.rnn.GRU(5, layout="NTC", input_size=4),
        gluon.nn.HybridLambda(lambda F, x: F.mean(x, axis=1)),
    )
    net.initialize(mx.init.Normal(0.5))
    params = {key: p.data() for key, p in net.collect_params().items()}
    file = mx.onnx.export_model(
        net(sym.var("data")),
        params,
        [(1, 3, 9, 9)],
        onnx_file_path=tmp_path / "net.onnx",
        dynamic=True,
        dynamic_input_shapes=open_,
        run_shape_inference=True,
    )
    lengths = [x.dim_param or x.dim_value for x in onnx.load(file).graph.input[0].type.tensor_type.shape.dim]
    assert lengths == ([0] * 4 if open_ is None else [0, 3, 0, "width"])
    for shape in ((2, 3, 8, 11), (1, 3, 9, 6)):
        x = nd.random.uniform(shape=shape)
        np.testing.assert_allclose(ran(file, {"data": x.asnumpy()})[0], net(x).asnumpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_element_types(dtype: str, tmp_path: Path) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu", in_units=3), gluon.nn.LayerNorm(in_channels=4))
    net.initialize()
    net.cast(dtype)
    params = {key: p.data() for key, p in net.collect_params().items()}
    x = nd.random.uniform(shape=(2, 3)).astype(dtype)
    file = mx.onnx.export_model(net(sym.var("data")), params, [x.shape], dtype, tmp_path / "net.onnx")
    y = ran(file, {"data": x.asnumpy()})[0]
    assert y.dtype == dtype
    np.testing.assert_allclose(y, net(x).asnumpy(), 1e-2 if dtype == "float16" else 1e-6, 1e-3)


def test_labels_are_no_inputs_and_names_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    layer = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    graph = sym.SoftmaxOutput(sym.broadcast_add(layer, sym.var("more")), name="softmax")
    params = [{"fc_weight": nd.ones((3, 2)), "fc_bias": nd.zeros(3), "more": nd.zeros(3)}, {}]
    file = mx.onnx.export_model(graph, params, [(4, 2)], np.float32, str(tmp_path / "net.onnx"), verbose=True)
    assert "softmax_output = Softmax" in capsys.readouterr().out
    model = onnx.load(file)
    assert [x.name for x in model.graph.input] == ["data"]
    assert [x.name for x in model.graph.initializer] == ["fc_weight", "fc_bias", "more"]
    assert [x.name for x in model.graph.output] == ["softmax_output"]
    assert [x.version for x in model.opset_import] == [17]
    assert ran(file, {"data": np.ones((4, 2), np.float32)})[0].tolist() == pytest.approx(np.full((4, 3), 1 / 3))


@pytest.mark.parametrize(
    ("make", "kwargs", "words"),
    [
        (lambda x: sym.gammaln(x, name="g"), {}, "gammaln 'g' cannot be written as ONNX: there is no translation"),
        (lambda x: sym.topk(x, ret_typ="mask", name="t"), {}, "topk 't' cannot .* ret_typ is 'mask'"),
        (lambda x: sym.Dropout(x, mode="always", name="d"), {}, "Dropout 'd' cannot .* draws"),
        (lambda x: sym.slice_like(x, x), {"dynamic": True}, "length of axis 0 of 'x' must be known"),
        (lambda x: x + 1, {"in_shapes": [(2, 3), (2,)]}, "2 shapes for 1 inputs, .* no parameters: x"),
        (lambda x: x + sym.var("y"), {}, "1 shapes for 2 inputs, .*: x, y"),
        (lambda x: x + 1, {"in_shapes": [(2, None)]}, r"'x', \(2, None\), is not complete; use dynamic"),
        (lambda x: x + 1, {"in_types": "bfloat16"}, r"bfloat16 cannot be written as ONNX here: .*cast\('float32'\)"),
        (lambda x: sym.FullyConnected(x, sym.var("p"), num_hidden=4, no_bias=True), {}, "does not fit its inputs"),
    ],
)
def test_errors(make: Callable, kwargs: dict, words: str, tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(b"kept")
    with pytest.raises((mx.MXNetError, ValueError), match=words):
        mx.onnx.export_model(
            make(sym.var("x")), {"p": nd.ones((3, 2))}, **{"in_shapes": [(2, 3)], "onnx_file_path": file} | kwargs
        )
    assert file.read_bytes() == b"kept"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"Convolution", "RNN", "LayerNorm"} < set(mx.onnx.get_operator_support())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'onnx"):
        mx.onnx.export_model(sym.var("x") + 1, {}, [(2,)])
