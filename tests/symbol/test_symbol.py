"""Symbols: composition, names, attributes, files, shapes that are partly known, executors, and bad input."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime import nd
from runtime.base import MXNetError, NotImplementedForSymbol
from runtime.symbol.json_file import from_json


def mlp() -> Any:
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, name="fc1", num_hidden=8), act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, name="fc2", num_hidden=3), name="softmax")


def test_composition_replaces_variables() -> None:
    inner = mx.sym.FullyConnected(mx.sym.var("x"), name="fc1", num_hidden=10)
    outer = mx.sym.FullyConnected(
        mx.sym.Activation(mx.sym.FullyConnected(name="fc3", num_hidden=10), act_type="relu"), name="fc4", num_hidden=20
    )
    composed = outer(fc3_data=inner, name="composed")
    assert composed.list_outputs() == ["composed_output"] and outer.list_outputs() == ["fc4_output"]
    assert composed.list_arguments()[:3] == ["x", "fc1_weight", "fc1_bias"]
    assert outer(inner).list_arguments() == composed.list_arguments()
    with pytest.raises(MXNetError, match="no variable is called 'fc3_dta'; did you mean 'fc3_data'"):
        outer(fc3_dta=inner)


def test_children_internals_and_outputs() -> None:
    net = mlp()
    assert net.get_children().list_outputs() == ["fc2_output", "softmax_label"]
    assert net.get_internals()["fc1_output"].list_arguments() == ["data", "fc1_weight", "fc1_bias"]
    assert mx.sym.var("x").get_children() is None
    parts = mx.sym.split(mx.sym.var("x"), num_outputs=3, name="cut")
    assert len(parts) == 3 and [p.list_outputs() for p in parts] == [[f"cut_output{i}"] for i in range(3)]
    assert parts["cut_output1"].list_outputs() == parts[1].list_outputs() == parts[-2].list_outputs()
    assert repr(mx.sym.Group([net, parts])) == "<Symbol group [softmax, cut, cut, cut]>"
    with pytest.raises(ValueError, match="no output is called 'cut_output3'"):
        parts["cut_output3"]
    with pytest.raises(MXNetError, match="takes one output"):
        mx.sym.relu(parts)


@pytest.mark.filterwarnings("ignore:'fc'. FullyConnected has no attribute 'group'")
def test_attributes_and_scopes() -> None:
    with mx.AttrScope(group="4", __data__="great"):
        data = mx.sym.Variable("data", attr={"group": "1", "force_mirroring": "True"}, lr_mult=2)
        fc = mx.sym.FullyConnected(data, num_hidden=2, name="fc", attr={"wd_mult": "3"})
    assert (data.attr("group"), data.attr("lr_mult"), data.attr("__lr_mult__")) == ("1", "2", "2")
    assert fc.attr("wd_mult") == "3" and fc.attr_dict()["fc_weight"]["__wd_mult__"] == "3"
    assert fc.attr("num_hidden") == "2" and fc.attr("nothing") is None
    for other in (pickle.loads(pickle.dumps(fc)), copy.deepcopy(fc), mx.sym.load_json(fc.tojson())):
        assert other.tojson() == fc.tojson() and other.attr_dict() == fc.attr_dict()
    changed = copy.copy(fc)
    changed._set_attr(__mood__="angry")
    assert fc.attr("__mood__") is None and changed.attr("__mood__") == "angry"


def test_partly_known_shapes_go_both_ways() -> None:
    a, b = mx.sym.Variable("a", shape=(0, 10)), mx.sym.Variable("b", shape=(12, 0))
    assert (a + b).infer_shape()[0] == [(12, 10), (12, 10)]
    c = mx.sym.FullyConnected(a, num_hidden=21, name="fc") + mx.sym.Variable("c", shape=(5, 0))
    assert dict(zip(c.list_arguments(), c.infer_shape()[0], strict=True))["a"] == (5, 10)
    parts = mx.sym.SliceChannel(mx.sym.Variable("x", shape=(0, 15, 0)), num_outputs=3)
    assert (parts[1] + mx.sym.Variable("y", shape=(3, 5, 2))).infer_shape()[0][0] == (3, 15, 2)
    image = mx.sym.Variable("i", shape=(0, 10, 0, 0))
    conv = mx.sym.Convolution(image, num_filter=21, kernel=(3, 3), pad=(1, 1), name="c")
    assert (conv + mx.sym.Variable("z", shape=(5, 21, 32, 32))).infer_shape()[0][0] == (5, 10, 32, 32)
    joined = mx.sym.Concat(mx.sym.Variable("p", shape=(0, 10)), mx.sym.Variable("q", shape=(0, 5)), dim=1)
    assert (mx.sym.Variable("d", shape=(2, 0)) + joined).infer_shape()[0] == [(2, 15), (2, 10), (2, 5)]
    x, y = mx.sym.var("x"), mx.sym.var("y")
    assert mx.sym.dot(x, y).infer_shape_partial(x=(0, 3, 4), y=(4, 5))[1] == [(0, 3, 5)]
    assert mx.sym.transpose(x, axes=(0, 3, 2, 1)).infer_shape_partial(x=(0, 3, 224, 200))[1] == [(0, 200, 224, 3)]
    assert mx.sym.reshape(x, shape=(0, -1)).infer_shape_partial(x=(0, 3, 4))[1] == [(0, 12)]
    assert mx.sym.sin(x).infer_shape_partial()[1] == [()]
    with mx.np_shape():
        assert mx.sym.sin(x).infer_shape_partial()[1] == [None]
        assert mx.sym.batch_dot(x, y).infer_shape_partial(x=(-1, 3, 4), y=(-1, 4, 5))[1] == [(-1, 3, 5)]


def test_shapes_that_contradict_or_do_not_follow() -> None:
    with pytest.raises(MXNetError, match=r"FullyConnected 'fc1' does not fit .*\(1, 100\) is not \(8, 100\)"):
        mlp().infer_shape(data=(100, 100), fc1_weight=(1, 100))
    x = mx.sym.var("x")
    for graph, message in (
        (mx.sym.FullyConnected(x, num_hidden=-3), "a length would be negative"),
        (mx.sym.Concat(x, x, dim=5), "axis 5 is none of 4 axes"),
        (mx.sym.expand_dims(x, axis=9), "axis 9 is none of 5 axes"),
        (
            mx.sym.Convolution(x, kernel=(3, 3), num_filter=2, stride=(0, 0)),
            r"stride is \(0, 0\), and must be at least 1",
        ),
        (mx.sym.Pooling(x, kernel=(9, 9)), "a kernel of 9 is larger"),
        (mx.sym.Reshape(x, shape=(-1, -1)), "cannot be reshaped"),
    ):
        with pytest.raises(MXNetError, match=message):
            graph.infer_shape(x=(1, 1, 5, 5))
    with pytest.raises(TypeError, match="the shape of 'a' must be a tuple of integers, not 'abc'"):
        mx.sym.var("a", shape="abc")
    with pytest.raises(TypeError, match="'x' must be an NDArray, not int"):
        (x + 1).eval(x=3)
    with pytest.warns(UserWarning, match="do not follow: b"):
        assert (mx.sym.var("a") + mx.sym.dot(mx.sym.var("b"), mx.sym.var("c"))).infer_shape(a=(2, 2)) == (None,) * 3


def test_an_executor_trains() -> None:
    net = mlp()
    executor = net.simple_bind(mx.cpu(), data=(16, 4), grad_req={"fc1_weight": "write", "fc2_weight": "add"})
    draw = np.random.default_rng(0)
    for name in ("data", "fc1_weight", "fc2_weight"):
        executor.arg_dict[name][:] = draw.normal(size=executor.arg_dict[name].shape)
    executor.arg_dict["softmax_label"][:] = draw.integers(0, 3, 16)
    assert executor.grad_dict["data"] is None and executor.grad_dict["fc1_bias"] is None
    losses = []
    for _ in range(60):
        y = executor.forward(is_train=True)[0].asnumpy()
        losses.append(-np.log(y[np.arange(16), executor.arg_dict["softmax_label"].asnumpy().astype(int)]).mean())
        executor.grad_dict["fc2_weight"][:] = 0
        executor.backward()
        for name in ("fc1_weight", "fc2_weight"):
            executor.arg_dict[name][:] -= 0.02 * executor.grad_dict[name]
    assert losses[-1] < 0.5 * losses[0]
    seen = []
    executor.set_monitor_callback(lambda name, x: seen.append(name))
    executor.forward(data=mx.nd.ones((16, 4)))
    assert seen == ["fc1_output", "relu1_output", "fc2_output", "softmax_output"]
    executor.set_monitor_callback(lambda name, x: seen.append(name), monitor_all=True)
    executor.forward()
    assert seen[4:7] == ["data", "fc1_data", "fc1_weight"]  # a variable, and what it is to the operation
    passed = {}
    executor.set_monitor_callback(lambda name, x: passed.setdefault(name, x.asnumpy()))
    y = executor.forward(is_train=True)[0].asnumpy()
    executor.grad_dict["fc1_weight"][:] = executor.grad_dict["fc2_weight"][:] = 0
    executor.backward()
    ends = ["softmax_backward_output0", "softmax_backward_output1"] + [f"fc2_backward_output{i}" for i in range(3)]
    ends += ["relu1_backward_output"] + [f"fc1_backward_output{i}" for i in range(3)]
    assert [name for name in passed if "backward" in name] == ends
    np.testing.assert_allclose(passed["fc1_backward_output1"], executor.grad_dict["fc1_weight"].asnumpy(), 1e-5, 1e-6)
    hot = np.eye(3)[executor.arg_dict["softmax_label"].asnumpy().astype(int)]
    np.testing.assert_allclose(passed["softmax_backward_output0"], y - hot, 1e-5, 1e-6)
    with pytest.raises(TypeError, match="no argument is called 'dat'; did you mean 'data'"):
        executor.forward(dat=mx.nd.ones((16, 4)))


def test_gradients_beyond_those_of_the_outputs_are_not_read() -> None:
    x = nd.array([1, 2])
    executor = (mx.sym.var("x") * 3).bind(mx.cpu(), {"x": x}, {"x": nd.zeros(2)})
    executor.forward(is_train=True)
    executor.backward([nd.array([1, 10]), nd.ones(5)])
    assert executor.grad_dict["x"].asnumpy().tolist() == [3, 30]
    with pytest.raises(MXNetError, match="0 gradients, but"):
        executor.backward([])


def test_outputs_taken_once_show_each_pass() -> None:
    executor = (mx.sym.var("x") * 3).bind(mx.cpu(), {"x": nd.array([1, 2])})
    (output,) = executor.outputs
    part = output[:1]
    for value in (5, 7):
        executor.forward(x=nd.array([value, 0]))
        assert output.asnumpy().tolist() == [3 * value, 0] and executor.outputs[0] is output
    assert part.asnumpy().tolist() == [3]


def test_elements_of_lists_of_numbers_are_arrays_of_one() -> None:
    outputs, state = mx.sym.contrib.foreach(lambda x, s: (x * s, s * 2), mx.sym.var("x"), mx.sym.var("s"))
    group = mx.sym.Group([outputs, state])
    assert group.infer_shape(x=(3,), s=(1,))[1] == [(3, 1), (1,)]
    found = group.bind(mx.cpu(), {"x": nd.array([1, 2, 3]), "s": nd.array([1])}).forward()
    assert found[0].asnumpy().tolist() == [[1], [4], [12]] and found[1].asscalar() == 8


def test_casts_of_mixed_precision_leave_whole_numbers_as_they_are() -> None:
    x, y, z = (mx.sym.var(name) for name in "xyz")
    many = mx.sym.Group([mx.sym.amp_cast(x, dtype="float16"), *mx.sym.amp_multicast(x, y, z, num_outputs=3)])
    types = {"x": "int32", "y": "float16", "z": "float32"}
    expected = [np.int32, np.int32, np.float32, np.float32]
    assert many.infer_type(**types)[1] == expected
    arrays = {name: nd.ones((2,), dtype=dtype) for name, dtype in types.items()}
    assert [found.dtype for found in many.bind(mx.cpu(), arrays).forward()] == expected


def test_open_shapes_of_draws_are_those_of_their_readers() -> None:
    x = mx.sym.var("x")
    for draws in (mx.sym.random.uniform(1, 2), mx.sym.random.uniform(1, 2, (0, 3)), mx.sym.zeros(()) + 1):
        found = (draws + x).bind(mx.cpu(), {"x": nd.zeros((2, 3))}).forward()[0]
        assert found.shape == (2, 3) and (found >= 1).asnumpy().all()
    unread = mx.sym.random.randn(data=x)  # as in MXNet, an operator without inputs leaves arrays out
    assert unread.list_arguments() == [] and unread.eval()[0].shape == (1,)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_arrays_of_graphs(stype: str) -> None:
    x, y = mx.sym.var("x", stype=stype), mx.sym.var("y", stype=stype)
    a, b = np.float32([[0, 0, 3], [0, 0, 0], [-1, 0, 4]]), np.float32([[0, 2, 1], [0, 0, 0], [0, 0, 4]])
    internal = mx.sym._internal
    for symbol, values, kind in (
        (internal._maximum(x, y), np.maximum(a, b), stype),
        (internal._minimum(x, y), np.minimum(a, b), stype),
        (internal._hypot(x, y), np.hypot(a, b), stype),
        (mx.sym.broadcast_mul(x, y), a * b, "default"),
        (mx.sym.zeros_like(x) + y, b, stype),
    ):
        found = symbol.bind(mx.cpu(), {"x": nd.array(a).tostype(stype), "y": nd.array(b).tostype(stype)}).forward()[0]
        assert found.stype == kind
        np.testing.assert_allclose(found.asnumpy(), values)


def test_row_sparse_operands_that_nothing_is_stored_of() -> None:
    rows, none = nd.array([[2], [0], [6]]).tostype("row_sparse"), nd.zeros((3, 1)).tostype("row_sparse")
    with np.errstate(divide="ignore"):
        found = nd._internal._scatter_elemwise_div(rows, nd.array([[2], [1], [3]]).tostype("csr"))
    assert found.stype == "row_sparse" and found.asnumpy().tolist() == [[1], [0], [2]]
    found = nd._internal._square_sum(none, axis=1, keepdims=True)
    assert found.stype == "row_sparse" and found.shape == (3, 1) and not found.asnumpy().any()


def test_what_was_drawn_without_recording_is_drawn_again_for_gradients() -> None:
    executor = mx.sym.Dropout(mx.sym.var("x"), p=0.5, mode="always").simple_bind(mx.cpu(), x=(64,))
    executor.arg_dict["x"][:] = 1
    y = executor.forward(is_train=False)[0].asnumpy()
    after = mx.nd.random.uniform(shape=(1,)).asscalar()
    executor.backward([mx.nd.ones((64,))], is_train=False)
    assert (executor.grad_dict["x"].asnumpy() == y).all() and 0 in y
    assert mx.nd.random.uniform(shape=(1,)).asscalar() != after


def test_unknown_lengths_of_files_stay_unknown_where_0_is_a_length() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("weight", shape=(4, 0)), num_hidden=4, no_bias=True)
    with mx.np_shape():
        text = net.tojson()
        assert json.loads(text)["attrs"]["is_np_shape"] == ["int", 1]
        assert mx.sym.load_json(text).infer_shape_partial()[0][1] == (4, 0)
    text = net.tojson()
    assert "is_np_shape" not in json.loads(text)["attrs"]
    with mx.np_shape():
        assert mx.sym.load_json(text).infer_shape(x=(2, 3))[0] == [(2, 3), (4, 3)]


def test_reshape_shares_what_keeps_its_shape() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(5, 4), grad_req="null")
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["fc_weight"][:] = 1
    smaller = executor.reshape(x=(3, 4))
    assert (smaller.forward()[0].asnumpy() == 4).all() and smaller.outputs[0].shape == (3, 4)
    with pytest.raises(AssertionError, match="allow_up_sizing"):
        executor.reshape(x=(6, 4))
    larger = executor.reshape(allow_up_sizing=True, x=(6, 4))
    larger.arg_dict["fc_weight"][:] = 2
    assert (executor.arg_dict["fc_weight"].asnumpy() == 2).all() and (executor.arg_dict["x"].asnumpy() == 1).all()


def test_calls_that_do_not_fit() -> None:
    x = mx.sym.var("x")
    for call, message in (
        (lambda: mx.sym.FullyConnected(x, num_hiden=3), "no argument 'num_hiden'; did you mean 'num_hidden'"),
        (lambda: mx.sym.FullyConnected(x), "the attribute 'num_hidden' is required"),
        (lambda: mx.sym.FullyConnected(x, num_hidden="ten"), "num_hidden is 'ten', and must be a whole number"),
        (lambda: mx.sym.Activation(x, act_type="relo"), "act_type is 'relo', and must be .*did you mean 'relu'"),
        (lambda: mx.sym.Convolution(x, kernel=("a", 3), num_filter=1), "must be a tuple of numbers"),
        (lambda: mx.sym.Cast(x, dtype="float31"), "must be an element type"),
    ):
        with pytest.raises(MXNetError, match=message):
            call()
    with pytest.raises(TypeError, match=r"Concat takes Symbols, and got array.*ndarray"):
        mx.sym.concat(x, np.ones(3))
    with pytest.raises(AttributeError, match="no attribute 'shape': only arrays have it"):
        mx.sym.Variable("x").shape  # noqa: B018
    with pytest.raises(NotImplementedForSymbol):
        bool(x)
    with pytest.raises(AttributeError, match="no attribute 'Convolutoin'"):
        mx.sym.Convolutoin  # noqa: B018


# ---------------------------------------------------------------- files


def test_files_come_back(tmp_path: Path) -> None:
    mlp().save(tmp_path / "net.json")
    assert mx.sym.load(str(tmp_path / "net.json")).tojson() == mlp().tojson()


def test_files_of_older_versions_are_read() -> None:
    old = {
        "nodes": [
            {
                "op": "null",
                "param": {},
                "name": "data",
                "inputs": [],
                "backward_source_id": -1,
                "attr": {"lr_mult": "0.2"},
            },
            {"op": "null", "param": {}, "name": "fc_weight", "inputs": []},
            {"op": "null", "param": {}, "name": "fc_bias", "inputs": []},
            {
                "op": "FullyConnected",
                "param": {"no_bias": "False", "num_hidden": "4"},
                "name": "fc",
                "inputs": [[0, 0], [1, 0], [2, 0]],
                "attr": {"weight_wd_mult": "0.3", "ctx_group": "stage1"},
            },
            {"op": "null", "param": {}, "name": "bn_gamma", "inputs": []},
            {"op": "null", "param": {}, "name": "bn_beta", "inputs": []},
            {"op": "BatchNorm", "param": {"eps": "0.001"}, "name": "bn", "inputs": [[3, 0], [4, 0], [5, 0]]},
        ],
        "arg_nodes": [0, 1, 2, 4, 5],
        "heads": [[6, 0]],
    }
    net = mx.sym.load_json(json.dumps(old))
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    attributes = net.attr_dict()
    assert attributes["data"]["lr_mult"] == "0.2" and attributes["fc_weight"]["__wd_mult__"] == "0.3"
    assert attributes["bn_moving_var"] == {"eps": "0.001", "__init__": '["one", {}]'}
    assert attributes["fc"]["ctx_group"] == "stage1" and net.infer_shape(data=(2, 3))[1] == [(2, 4)]


NODE = {"op": "null", "name": "x", "inputs": []}

COND = {
    "op": "_cond", "name": "c", "inputs": [[0, 0, 0]], "subgraphs": [{"nodes": [NODE], "heads": [[0, 0, 0]]}] * 3,
    "attrs": {"num_args": "4", "num_outputs": "1"}
    | dict.fromkeys(["cond_input_locs", "then_input_locs", "else_input_locs"], "[0]"),
}  # fmt: skip


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "no list of 'nodes'"),
        ({"nodes": [NODE]}, "no 'heads'"),
        ({"nodes": [NODE], "heads": []}, "no 'heads'"),
        ({"nodes": [{"op": "null"}], "heads": [[0, 0, 0]]}, "node 0 has no 'op' and 'name'"),
        ({"nodes": [NODE], "heads": [[1, 0, 0]]}, "head 0 is the output of node 1, which does not come before"),
        ({"nodes": [NODE], "heads": [[0, 3, 0]]}, "head 0 is output 3 of 'x', which has 1"),
        ({"nodes": [NODE], "heads": [["a", 0]]}, "must be the number of a node"),
        ({"nodes": [NODE], "heads": [[-1, 0]]}, "must be the number of a node"),
        ({"nodes": [NODE | {"op": "Frobnicate"}], "heads": [[0, 0]]}, "node 0, 'x': there is no operator 'Frobnicate'"),
        ({"nodes": [NODE | {"op": "relu", "inputs": [[0, 0, 0]]}], "heads": [[0, 0]]}, "does not come before it"),
        ({"nodes": [NODE | {"op": "relu"}], "heads": [[0, 0]]}, "relu takes 1 inputs here, not 0"),
        ({"nodes": [NODE | {"attrs": {"a": 1}}], "heads": [[0, 0]]}, "'attrs' is not a dict of strings"),
        (
            {"nodes": [NODE, NODE | {"op": "split", "attrs": {"num_outputs": "99999999"}, "inputs": [[0, 0]]}]},
            "node 1, 'x': .*99999999 outputs are too many",
        ),
        ({"nodes": [NODE | {"subgraphs": 1}]}, "node 0, 'x': 'subgraphs' is no list"),
        ({"nodes": [NODE | {"op": "_cond", "subgraphs": [{}]}]}, "node 0, 'x': its subgraph holds no graph: there"),
        ({"nodes": [NODE, COND | {"subgraphs": []}]}, "node 1, 'c': _cond has 3 subgraphs, not 0"),
        ({"nodes": [NODE, COND | {"attrs": COND["attrs"] | {"cond_input_locs": "[7]"}}]}, r"reads the inputs \(7,\)"),
        ({"nodes": [NODE, COND | {"attrs": COND["attrs"] | {"cond_input_locs": "[0, 0]"}}]}, "of 1 variables reads"),
    ],
)  # fmt: skip
def test_bad_files_name_what_is_wrong(content: Any, message: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(MXNetError, match=message):
        mx.sym.load_json(text)


@pytest.mark.parametrize("text", ["(" + " " * 5000 + "x", "1" * 60_000, "(1" + " , 1" * 5000 + "x", "(nan,)", "(None"])
def test_attributes_that_are_no_tuple(text: str) -> None:
    """They are refused at once, however long, by errors that show their beginning."""
    nodes = [NODE, NODE | {"op": "tile", "inputs": [[0, 0]], "attrs": {"reps": text}}]
    with pytest.raises(MXNetError, match=r"^.{,200}$"):
        mx.sym.load_json(json.dumps({"nodes": nodes, "heads": [[1, 0]]})).infer_shape(x=(2,))
    graph = mx.sym.load_json(json.dumps({"nodes": [NODE | {"attrs": {"__shape__": text}}], "heads": [[0, 0]]}))
    with pytest.raises(MXNetError, match=r"__shape__ of the variable 'x' is '.{1,60}'"):
        graph.infer_shape()


def test_element_types_that_are_none() -> None:
    graph = mx.sym.load_json(json.dumps({"nodes": [NODE | {"attrs": {"__dtype__": "99"}}], "heads": [[0, 0]]}))
    with pytest.raises(MXNetError, match="__dtype__ of the variable 'x' is '99'"):
        graph.infer_type()


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(MXNetError, match=r"x\.json' holds no graph"):
        mx.sym.load(tmp_path / "x.json")


CONV = {"kernel": (3, 3), "num_filter": 4}


@pytest.mark.parametrize(
    "operator, attributes, message",
    [
        ("Convolution", CONV | {"pad": (1 << 40, 1 << 40)}, r"an array of shape \(1, 4, .*\) would be too large"),
        ("Convolution", CONV | {"num_filter": 1 << 70}, "would be too large"),
        ("Convolution", CONV | {"num_group": 0}, "num_group is 0, and must be at least 1"),
        ("Convolution", CONV | {"num_group": 2}, "3 channels and 4 filters cannot be cut into num_group = 2"),
        ("Deconvolution", CONV | {"num_group": 0}, "num_group is 0, and must be at least 1"),
        ("Deconvolution", CONV | {"adj": (1,)}, r"adj is \(1,\), and must have one number, at least 0, for each axis"),
        ("Deconvolution", CONV | {"adj": (-1, 0)}, r"adj is \(-1, 0\), and must have one number, at least 0"),
        ("Deconvolution", CONV | {"adj": (0, 1)}, r"adj \(0, 1\) must be smaller than stride \(1, 1\)"),
        ("Deconvolution", CONV | {"target_shape": (9, 11)}, r"target_shape \(9, 11\) is too big: .* it is \(10, 10\)"),
        ("Convolution", CONV | {"pad": (-1, 0)}, r"pad is \(-1, 0\), and must be at least 0"),
        ("Convolution", CONV | {"stride": (2,)}, r"stride is \(2,\), and must have one number for each axis"),
        ("Convolution", CONV | {"dilate": "(None, 1)"}, r"dilate is \(None, 1\)"),
        ("Pooling", {"kernel": (2, 2), "pad": (1 << 40, 1 << 40)}, "would be too large"),
        ("tile", {"reps": (1 << 40, 1 << 40)}, "would be too large"),
        ("broadcast_axis", {"axis": 0, "size": 1 << 50}, "Unable to allocate"),
    ],
)
def test_sizes_that_no_array_has(operator: str, attributes: dict[str, Any], message: str) -> None:
    graph = getattr(mx.sym, operator)(mx.sym.var("x"), name="big", **attributes)
    with pytest.raises(MXNetError, match=f"{operator} 'big' does not fit its inputs .*{message}"):
        graph.infer_shape(x=(1, 3, 8, 8))


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab1(", max_size=3)
LOOP_ATTRIBUTES = [
    *("num_args", "num_outputs", "num_out_data", "max_iterations", "cond_input_locs", "then_input_locs"),
    *("else_input_locs", "func_input_locs", "func_var_locs", "in_data_locs", "in_state_locs", "remain_locs"),
]
NODES = st.fixed_dictionaries(
    {
        "op": LEAVES
        | st.sampled_from(["null", "relu", "dot", "split", "BatchNorm", "_cond", "_foreach", "_while_loop"]),
        "name": st.text("xy", max_size=2),
    },
    optional={
        "inputs": LEAVES | st.lists(st.lists(st.integers(-1, 3), max_size=4) | LEAVES, max_size=3),
        "attrs": LEAVES
        | st.dictionaries(st.sampled_from(["num_outputs", "axis", "eps"]), LEAVES, max_size=2)
        | st.fixed_dictionaries(
            dict.fromkeys(LOOP_ATTRIBUTES, st.sampled_from(["1", "[0]", "[0, 1]", "[]", "(None,)"]))
        ),
        "subgraphs": LEAVES | st.lists(LEAVES | st.sampled_from(COND["subgraphs"]), max_size=3),
    },
)
HEADS = LEAVES | st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=2)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({"nodes": st.lists(NODES | LEAVES, max_size=4), "heads": HEADS, "attrs": LEAVES}))
def test_no_content_of_a_file_is_anything_but_a_graph_or_an_error(content: Any) -> None:
    try:
        from_json(json.dumps(content), "a file")
    except MXNetError as error:
        assert "a file holds no graph" in str(error)


def test_gradients_by_rows_where_mxnet_has_them() -> None:
    """In which storage MXNet 1.9.1 has the gradients of a matrix, itself row-sparse or dense."""
    x, csr = mx.sym.var("x"), mx.sym.var("csr", stype="csr")
    rows, dense = mx.sym.var("w", stype="row_sparse", shape=(6, 2)), mx.sym.var("w", shape=(6, 2))
    size = {"input_dim": 6, "output_dim": 2}
    sparse = mx.sym.contrib.SparseEmbedding
    for graph, inputs, storage in (
        (sparse(x, rows, **size), {"x": (3,)}, "row_sparse"),
        (sparse(x, dense, **size), {"x": (3,)}, "row_sparse"),
        (mx.sym.Embedding(x, rows, **size), {"x": (3,)}, "default"),
        (mx.sym.Embedding(x, dense, sparse_grad=True, **size), {"x": (3,)}, "row_sparse"),
        (mx.sym.dot(csr.square() * 2, dense), {"csr": (3, 6)}, "row_sparse"),
        (mx.sym.sparse.dot(csr, dense, transpose_a=True), {"csr": (6, 6)}, "default"),
        (mx.sym._internal._square_sum(rows, axis=1), {}, "row_sparse"),
        (sparse(x, rows, **size) + sparse(x + 1, rows, **size), {"x": (3,)}, "row_sparse"),
        (
            mx.sym.broadcast_add(mx.sym.dot(csr, rows), mx.sym.sum(rows, axis=0, keepdims=True)),
            {"csr": (3, 6)},
            "default",
        ),
    ):
        executor = graph.simple_bind(mx.cpu(), **inputs)
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(y.shape) for y in executor.outputs])
        assert executor.grad_dict["w"].stype == storage
    bound = sparse(x, rows, **size).simple_bind(mx.cpu(), x=(3,), grad_req="add")
    for _ in range(2):
        bound.forward(is_train=True, x=np.array([1, 1, 4], np.float32))
        bound.backward(mx.nd.ones((3, 2)))
    assert bound.grad_dict["w"].indices.asnumpy().tolist() == [1, 4]
    assert bound.grad_dict["w"].asnumpy()[:, 0].tolist() == [0, 4, 0, 0, 2, 0]


def test_monitors_name_inputs_as_mxnet_does() -> None:
    x = mx.sym.Flatten(mx.sym.Pooling(mx.sym.relu(mx.sym.Variable("x"), name="r"), kernel=(2, 2), name="p"), name="f")
    executor = x.simple_bind(mx.cpu(), x=(1, 1, 3, 3), grad_req="null")
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    executor.forward()
    assert seen == ["x", "r_input0", "r_output", "p_data", "p_output", "f_input0", "f_output"]


def test_a_gradient_that_nothing_reads_may_have_any_shape() -> None:
    executor = mx.sym.contrib.index_array(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4,)))
    assert executor.grad_dict["x"].asnumpy().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_arrays_that_do_not_fit_are_named() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True)
    for call, message in (
        (lambda: executor.copy_params_from({"fc_bias": mx.nd.ones(3)}), r"'fc_bias' has shape \(4,\), .* given \(3,\)"),
        (lambda: executor.copy_params_from({"fc_bias": np.ones(4)}), "value of 'fc_bias' must be .* not ndarray"),
        (lambda: executor.backward(np.ones((2, 4))), "backward takes gradients in NDArrays, not ndarray"),
        (lambda: executor.backward([1.0]), "backward takes gradients in NDArrays, not float"),
        (lambda: net.simple_bind(mx.cpu(), x=(2, 3), grad_req=3), "grad_req must be 'write', 'add' or 'null', .*: 3"),
        (lambda: net.bind("cpu", {}), "ctx is a Context, such as mx.cpu.., not 'cpu'"),
    ):
        with pytest.raises(MXNetError, match=message):
            call()


def test_attributes_that_nothing_reads() -> None:
    node = {"op": "relu", "name": "r", "inputs": [[0, 0]]}

    def load(**attributes: str) -> None:
        mx.sym.load_json(json.dumps({"nodes": [NODE, node | {"attrs": attributes}], "heads": [[1, 0]]}))

    with warnings.catch_warnings(action="error"):
        load(__own__="1", ctx_group="a")
    with pytest.warns(UserWarning, match="'r': relu has no attribute 'slope'.*; it is not used"):
        load(slope="2")


def test_two_variables_of_one_name_are_not_bound() -> None:
    x = mx.sym.Variable("x")
    assert (x + 2 * x).eval(x=mx.nd.ones(2))[0].asnumpy().tolist() == [3, 3]
    y = x + 2 * mx.sym.Variable("x")
    for use in (
        lambda: y.eval(x=mx.nd.ones(2)),
        lambda: y.bind(mx.cpu(), [mx.nd.ones(2), mx.nd.ones(2)]),
        lambda: y.simple_bind(mx.cpu(), x=(2,)),
    ):
        with pytest.raises(mx.MXNetError, match="two variables of the graph are named 'x'"):
            use()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"__init__": '["nonsense", {}]'}, "the initializer of parameter 'w', .*: unknown initializer 'nonsense'"),
        ({"__init__": '["normal", {"sigmo": 1}]'}, "the initializer of parameter 'w', .*sigmo"),
        ({"__init__": "[[["}, "the initializer of parameter 'w'"),
        ({"__init__": '["constant", {"value": "x"}]'}, "the initializer of parameter 'w', .*cannot write 'x'"),
        ({"__init__": '["one", {}]', "__lr_mult__": "much"}, "__lr_mult__ of .*'w'.*'much'"),
        ({"__init__": '["one", {}]', "__wd_mult__": "[]"}, "__wd_mult__ of .*'w'.*"),
    ],
)
def test_attributes_of_variables_that_mean_nothing(attributes: dict[str, str], message: str) -> None:
    w = mx.sym.Variable("w", attr=attributes)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), w, num_hidden=3, no_bias=True)
    module = mx.mod.Module(net, label_names=[])
    module.bind([("data", (2, 3))])
    with pytest.raises(ValueError, match=message):
        module.init_params()
        module.init_optimizer()
