"""Symbols: composition, names, attributes, shapes that are partly known, and bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from runtime.base import MXNetError, NotImplementedForSymbol
from tests.symbol.networks import mlp


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
    changed._set_attr(__mood__="angry", num_hidden="5")
    assert fc.attr("__mood__") is None and changed.attr("__mood__") == "angry"
    assert changed.infer_shape(data=(3, 4))[1] == [(3, 5)] and fc.infer_shape(data=(3, 4))[1] == [(3, 2)]
    with pytest.raises(MXNetError, match="num_hidden is 'five', and must be a whole number"):
        changed._set_attr(num_hidden="five")
    assert changed.attr("num_hidden") == "5"


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
        (mx.sym.Pooling(x, kernel=(2,)), r"data of 4 axes does not fit a kernel \(2,\)"),
        (mx.sym.slice_axis(x, axis=7, begin=0, end=1), "axis 7 is none of 4 axes"),
        (mx.sym.SwapAxis(x, dim1=0, dim2=4), "axis 4 is none of 4 axes"),
        (mx.sym.BatchNorm(x, axis=-5), "axis -5 is none of 4 axes"),
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


def test_calls_that_do_not_fit() -> None:
    x = mx.sym.var("x")
    for call, message in (
        (lambda: mx.sym.FullyConnected(x, num_hiden=3), "no argument 'num_hiden'; did you mean 'num_hidden'"),
        (lambda: mx.sym.FullyConnected(x), "the attribute 'num_hidden' is required"),
        (lambda: mx.sym.FullyConnected(x, num_hidden="ten"), "num_hidden is 'ten', and must be a whole number"),
        (lambda: mx.sym.Activation(x, act_type="relo"), "act_type is 'relo', and must be .*did you mean 'relu'"),
        (lambda: mx.sym.Convolution(x, kernel=("a", 3), num_filter=1), "must be a tuple of numbers"),
        (lambda: mx.sym.Cast(x, dtype="float31"), "must be an element type"),
        (lambda: mx.sym.var("x", stype="dense"), "stype is 'default', 'row_sparse', 'csr', not 'dense'"),
        (lambda: nd._internal._plus_scalar(nd.ones(2), nd.ones(2)), "scalar is '.* and must be a number"),
        (lambda: nd._internal._plus_scalar(nd.ones(2), 1, True, 2), "takes data, scalar, is_int, and got 4 arguments"),
        (lambda: nd._internal._plus_scalar(nd.ones(2), scale=nd.ones(2)), "no argument 'scale'"),
        (lambda: nd._internal._plus_scalar(2, 1), "data must be an NDArray, not int"),
    ):
        with pytest.raises(MXNetError, match=message):
            call()
    for call in (lambda: mx.sym.dot(x, x, lhs=x), lambda: nd._internal._plus_scalar(nd.ones(2), 1, scalar=2)):
        with pytest.raises(TypeError, match=r"(lhs|scalar) is given twice, in order and by its name"):
            call()
    with pytest.raises(TypeError, match=r"Concat takes Symbols, and got array.*ndarray"):
        mx.sym.concat(x, np.ones(3))
    with pytest.raises(AttributeError, match="no attribute 'shape': only arrays have it"):
        mx.sym.Variable("x").shape  # noqa: B018
    with pytest.raises(NotImplementedForSymbol):
        bool(x)
    with pytest.raises(AttributeError, match="no attribute 'Convolutoin'"):
        mx.sym.Convolutoin  # noqa: B018


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
