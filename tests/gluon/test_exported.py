"""Networks as graphs in files: those that MXNet exported run and train here, and ours come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn, rnn
from runtime.gluon.model_zoo import vision
from runtime.name import NameManager

FOLDER = Path(__file__).parent / "exported"
RESULTS = np.load(FOLDER / "results.npz")


@pytest.mark.parametrize(
    "name, inputs",
    [("images", ["data"]), ("words", ["data0", "data1", "data2"]), ("loops", ["data0", "data1", "data2"])],
)
def test_what_mxnet_exported_runs_and_trains(name: str, inputs: list[str]) -> None:
    net = gluon.SymbolBlock.imports(FOLDER / f"{name}-symbol.json", inputs, FOLDER / f"{name}-0000.params")
    given = [nd.array(RESULTS[f"{name}_input{i}"]) for i in range(len(inputs))]
    found = net(*given)
    for i, y in enumerate(found if isinstance(found, list) else [found]):
        np.testing.assert_allclose(y.asnumpy(), RESULTS[f"{name}_output{i}"], 1e-4, 1e-5)
    with autograd.record():
        found = net(*given)
        heads = [y.square().sum() for y in (found if isinstance(found, list) else [found])]
    autograd.backward(heads)
    params = net.collect_params()
    wanted = {key.removeprefix(f"{name}_grad_") for key in RESULTS if key.startswith(f"{name}_grad_")}
    assert wanted and wanted <= {key for key, param in params.items() if param.grad_req != "null"}
    for key in wanted:
        np.testing.assert_allclose(params[key].grad().asnumpy(), RESULTS[f"{name}_grad_{key}"], 1e-3, 1e-4, err_msg=key)
    before = params[next(iter(wanted))].data().asnumpy()
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.1})
    trainer.step(1)
    assert (params[next(iter(wanted))].data().asnumpy() != before).any()
    _, arguments, states = mx.model.load_checkpoint(str(FOLDER / name), 0)
    assert {*arguments, *states} == set(params)


def exported(net: Any, tmp_path: Path, *inputs: Any) -> tuple[Any, Any]:
    """What a network computes, and what its graph does when it comes back from files."""
    net.initialize()
    net.hybridize()
    outputs = net(*inputs)
    files = net.export(str(tmp_path / "net"), epoch=7)
    assert files == (str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0007.params"))
    names = [name for name in mx.sym.load(files[0]).list_inputs() if name.startswith("data")]
    return outputs, gluon.SymbolBlock.imports(files[0], names, files[1])(*inputs)


ZOO = {"resnet18_v1": 32, "resnet18_v2": 32, "mobilenet_v2_0_25": 32, "squeezenet1_1": 224, "densenet121": 224}


@pytest.mark.parametrize("name, size", ZOO.items())
def test_networks_of_the_zoo_come_back(name: str, size: int, tmp_path: Path) -> None:
    net = getattr(vision, name)(classes=4)
    before, after = exported(net, tmp_path, nd.random.uniform(shape=(1, 3, size, size)))
    np.testing.assert_allclose(after.asnumpy(), before.asnumpy(), 1e-5, 1e-5)


LAYERS = [rnn.LSTM(3, 2, bidirectional=True), rnn.GRU(3, layout="NTC"), rnn.RNN(3), rnn.LSTM(4, projection_size=2)]


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_recurrent_layers_come_back(layer: Any, tmp_path: Path) -> None:
    x = nd.random.uniform(shape=(4, 2, 5))
    states = layer.begin_state(4 if layer._layout == "NTC" else 2, func=nd.random.uniform)
    layer.initialize()
    layer.hybridize()
    outputs, last = layer(x, states)
    layer.export(str(tmp_path / "net"))
    names = [f"data{i}" for i in range(1 + len(states))]
    back = gluon.SymbolBlock.imports(tmp_path / "net-symbol.json", names, tmp_path / "net-0000.params")(x, *states)
    for y, z in zip((outputs, *last), back, strict=True):
        np.testing.assert_allclose(z.asnumpy(), y.asnumpy(), 1e-6, 1e-6)


def test_unrolled_cells_are_symbols_of_symbols() -> None:
    stack = rnn.HybridSequentialRNNCell()
    stack.add(rnn.LSTMCell(4))
    stack.add(rnn.ResidualCell(rnn.GRUCell(4)))
    stack.add(rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3)))
    outputs, _ = stack.unroll(3, mx.sym.var("data"), merge_outputs=True)
    executor = outputs.simple_bind(mx.cpu(), data=(2, 3, 4))
    stack.initialize()
    x = nd.random.uniform(shape=(2, 3, 4))
    expected, _ = stack.unroll(3, x, merge_outputs=True)
    executor.copy_params_from({key: param.data() for key, param in stack.collect_params().items()})
    np.testing.assert_allclose(executor.forward(data=x)[0].asnumpy(), expected.asnumpy(), 1e-5, 1e-6)


class Loops(gluon.HybridBlock):
    """A loop, whose body has weights and statistics of batches and reads arrays around it, in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Dense(3, flatten=False), nn.BatchNorm()

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
        twice = y * 2

        def rows(row: Any, state: Any) -> tuple[Any, Any]:
            return self.layer(row) + twice, state + row

        def matrices(matrix: Any, states: list) -> tuple[Any, Any]:
            found, last = F.contrib.foreach(rows, self.norm(matrix), states[0])
            return [found, matrix], [last]

        outputs, states = F.contrib.foreach(matrices, x, [y])
        doubled, i = F.contrib.while_loop(lambda i: F.sum(i) < 9, lambda i: (self.layer(i), i * 2), y, max_iterations=4)
        return [*outputs, F.contrib.cond(F.sum(i) > 9, lambda: states[0], lambda: y), doubled]


def test_loops_come_back(tmp_path: Path) -> None:
    before, after = exported(Loops(), tmp_path, nd.random.uniform(shape=(4, 2, 3)), nd.ones((3,)))
    for y, z in zip(before, after, strict=True):
        np.testing.assert_array_equal(z.asnumpy(), y.asnumpy())
    states = mx.sym.load(str(tmp_path / "net-symbol.json")).list_auxiliary_states()
    assert [name.split("_", 1)[1] for name in states] == ["running_mean", "running_var"]


def test_losses_of_symbols_are_those_of_arrays() -> None:
    pred, label = nd.random.uniform(shape=(4, 3)), nd.array([0, 2, 1, 1])
    for loss, target in (
        (gluon.loss.SoftmaxCrossEntropyLoss(), label),
        (gluon.loss.L2Loss(weight=2.0), pred * 0.5),
        (gluon.loss.SigmoidBCELoss(), pred > 0.5),
        (gluon.loss.HuberLoss(), pred * 3),
    ):
        graph = loss(mx.sym.var("pred"), mx.sym.var("label"))
        found = graph.eval(pred=pred, label=target)[0]
        np.testing.assert_allclose(found.asnumpy(), loss(pred, target).asnumpy(), 1e-5, 1e-6)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    net = nn.Dense(2, in_units=3, prefix="fc_")
    net.initialize()
    with pytest.raises(RuntimeError, match="before export"):
        net.export(str(tmp_path / "net"))
    net.hybridize()
    net(nd.ones((1, 3)))
    graph, params = net.export(str(tmp_path / "net"))
    with pytest.raises(ValueError, match="has no variable 'dat'; did you mean 'data'"):
        gluon.SymbolBlock.imports(graph, "dat", params)
    nd.save(str(tmp_path / "other"), {"arg:fc_weight": nd.ones((3, 3))})
    with pytest.raises(ValueError, match="other' lacks 'fc_bias'"):
        gluon.SymbolBlock.imports(graph, "data", tmp_path / "other")
    with pytest.raises(ValueError, match=r"'fc_weight' has shape \(3, 3\), but"):
        gluon.SymbolBlock.imports(graph, "data", tmp_path / "other", allow_missing=True)
    block = gluon.SymbolBlock.imports(graph, "data")
    block.initialize()
    assert repr(block).splitlines() == ["SymbolBlock(", "<Symbol fc_fwd> : 1 -> 1", ")"]
    sparse = mx.sym.dot(mx.sym.var("data"), mx.sym.var("w", stype="row_sparse"))
    with pytest.raises(AssertionError, match="the parameter 'w' is row_sparse, and must be dense"):
        gluon.SymbolBlock(sparse, mx.sym.var("data"))
    shapeless = mx.sym.relu(mx.sym.var("w", attr={"__shape__": "(4.5, 3)"}))
    with pytest.raises(ValueError, match=r"__shape__ of the variable 'w' is '\(4.5, 3\)': must be of whole numbers"):
        gluon.SymbolBlock(shapeless, mx.sym.var("data"))
    with pytest.raises(ValueError, match="SymbolBlock takes data, and got 2 inputs"):
        block(nd.ones((1, 3)), nd.ones((1, 3)))


class Recurrent(gluon.HybridBlock):
    """A block whose inputs and outputs are nested."""

    def hybrid_forward(self, F: Any, x: Any, states: list) -> Any:
        return F.relu(x), [states[0] + x, states[1] * 2]


def test_graphs_from_files_take_and_give_nested_lists(tmp_path: Path) -> None:
    """gluonts and others store `_in_format` and `_out_format` beside the graph, and set them afterwards."""
    net, x = Recurrent(), nd.array([-1, 2])
    net.hybridize()
    y, (s, t) = net(x, [x, x])
    assert (s.asnumpy() == [-2, 4]).all() and (t.asnumpy() == [-2, 4]).all()
    files = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(files[0], ["data0", "data1", "data2"])
    assert (net._in_format, net._out_format, again._in_format, again._out_format) == (
        [0, [0, 0]],
        [0, [0, 0]],
        [0] * 3,
        3,
    )
    with pytest.raises(mx.MXNetError, match="SymbolBlock takes inputs nested as in"):
        again(x, [x, x])
    assert [z.asnumpy().tolist() for z in again(x, x, x)] == [[0, 2], [-2, 4], [-2, 4]]
    again._in_format, again._out_format = net._in_format, net._out_format
    y, (s, t) = again(x, [x, x])
    assert y.asnumpy().tolist() == [0, 2] and s.asnumpy().tolist() == t.asnumpy().tolist() == [-2, 4]
    files = again.export(str(tmp_path / "again"))
    assert gluon.SymbolBlock.imports(files[0], ["data0", "data1", "data2"])(x, x, x)[1].asnumpy().tolist() == [-2, 4]


def test_initialize_decides_over_the_parameters_of_a_graph() -> None:
    """As in MXNet, initializers in the graph are not theirs, and what a layer keeps fixed can be shared."""
    y = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, name="c", attr={"__init__": "xavier"})
    shared = gluon.ParameterDict("")
    shared.get("c_weight", grad_req="null", allow_deferred_init=True)
    net = gluon.SymbolBlock(y, mx.sym.var("data"), shared)
    net.initialize(mx.init.Constant(3))
    assert net(nd.ones((1, 1, 1, 1))).asnumpy().ravel().tolist() == [6, 6]
    assert net.params["c_weight"].grad_req == "null" and net.params["c_bias"].grad_req == "write"


def test_a_network_may_ignore_an_input(tmp_path: Path) -> None:
    net = nn.HybridLambda(lambda F, x, y: F.contrib.cond(F.sum(y) > 1, lambda: y * 2, lambda: y))
    net.hybridize()
    inputs = nd.ones((1,)), nd.array([2.0])
    assert net(*inputs).asscalar() == 4
    graph, _ = net.export(str(tmp_path / "net"))
    assert gluon.SymbolBlock.imports(graph, ["data0", "data1"])(*inputs).asscalar() == 4


def test_networks_of_float64_and_without_parameters_come_back(tmp_path: Path) -> None:
    """Types of inputs follow from those of parameters; files of no arrays have no names either."""
    for net in (nn.BatchNorm(), nn.HybridLambda(lambda F, x: F.tanh(x))):
        net.initialize()
        x = nd.ones((2, 3), dtype="float64")
        net(x.astype("float32"))
        net.cast("float64")
        net.hybridize()
        y = net(x)
        graph, values = net.export(str(tmp_path / "net"))
        again = gluon.SymbolBlock.imports(graph, ["data"], values)(x)
        assert again.dtype == np.float64 and (again == y).asnumpy().all()


def test_a_symbol_block_is_a_part_of_others() -> None:
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name="fc1")
    features = gluon.SymbolBlock([hidden, mx.sym.relu(hidden)], data)
    features.initialize()
    first, second = features(nd.ones((2, 3)))
    np.testing.assert_array_equal(np.maximum(first.asnumpy(), 0), second.asnumpy())
    head = nn.HybridSequential()
    again = mx.sym.FullyConnected(data, num_hidden=4, name="fc1")
    head.add(gluon.SymbolBlock(again, data, params=features.collect_params()))
    head.add(nn.Dense(2))
    head[1].initialize()
    assert head(nd.ones((2, 3))).shape == (2, 2)
    np.testing.assert_array_equal(head[0](nd.ones((2, 3))).asnumpy(), first.asnumpy())


def test_parameters_of_a_graph_are_saved_without_the_name_of_its_block(tmp_path: Path) -> None:
    def made() -> gluon.nn.HybridSequential:
        body = gluon.nn.Dense(2, in_units=3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.SymbolBlock(body(mx.sym.var("data")), mx.sym.var("data"), params=body.collect_params()))
        return net

    first, second = made(), made()
    first.initialize()
    first.save_parameters(tmp_path / "params")
    assert sorted(mx.nd.load(tmp_path / "params")) == ["0.bias", "0.weight"]
    second.load_parameters(tmp_path / "params")
    x = mx.nd.ones((1, 3))
    assert (first(x).asnumpy() == second(x).asnumpy()).all()


def test_a_symbol_block_has_a_name_moves_and_is_cast_as_others() -> None:
    with NameManager():
        y = mx.sym.BatchNorm(mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, name="c"), name="n")
        names = [gluon.SymbolBlock(y, mx.sym.var("data")).name for _ in range(2)]
    assert names == ["symbolblock0", "symbolblock1"]
    net = gluon.SymbolBlock(y, mx.sym.var("data"))
    net.initialize()
    net(nd.ones((1, 3, 2, 2)))
    net.cast("float16")
    kept = [name for name, param in net.collect_params().items() if np.dtype(param.dtype) == np.float32]
    assert kept == ["n_gamma", "n_beta", "n_moving_mean", "n_moving_var"]
    assert net(nd.ones((1, 3, 2, 2), dtype="float16")).dtype == np.float16
    net.reset_ctx(mx.cpu(1))
    assert net(nd.ones((1, 3, 2, 2), mx.cpu(1), "float16")).context == mx.cpu(1)


class Flattened(nn.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x.reshape((x.shape[0], -1))


def test_shapes_in_graphs_are_refused_with_the_name_of_the_block(tmp_path: Path) -> None:
    net = Flattened(prefix="flat_")
    net.hybridize()
    net(nd.ones((2, 3)))
    with pytest.raises(AttributeError, match=r"no attribute 'shape': only arrays have it.*\(in Flattened 'flat_?'\)"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir()) and not hasattr(mx.sym.var("x"), "shape")
