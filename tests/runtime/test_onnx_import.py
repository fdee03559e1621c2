"""ONNX files as graphs: what they compute here is what ONNX says, and what the exported networks computed."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, nd, sym
from tests.sweeps import swept

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from runtime.onnx.reading import READINGS  # noqa: E402


def computed(path: Path, x: np.ndarray) -> list[np.ndarray]:
    graph, arguments, states = mx.onnx.import_model(path)
    given = {name: nd.array(x, dtype=x.dtype) for name in graph.list_arguments() if name not in arguments}
    bound = graph.bind(mx.cpu(), {**arguments, **given}, None, "null", states)
    return [y.asnumpy() for y in bound.forward()]


POOLS = ("averagepool", "lppool", "maxpool")
"""The modules of ONNX's cases that take two seconds each, as they compute all results in Python."""


def cases_of_onnx(pools: bool) -> list[Any]:
    """Up to four cases of each operator, of one node, whose first input is an array that there can be here."""
    from onnx.backend.test.case import node

    for module in pkgutil.iter_modules(node.__path__):
        if (module.name in POOLS) == pools:
            importlib.import_module(f"{node.__name__}.{module.name}")
    chosen, taken = [], Counter[str]()
    for case in node._NodeTestCases:
        nodes, values = case.model.graph.node, (*case.model.graph.input, *case.model.graph.output)
        types = {value.type.tensor_type.elem_type for value in values}
        if "edge_cases" in case.name:  # remainders of divisions by infinity are MXNet's
            continue
        if len(nodes) == 1 and nodes[0].op_type in READINGS and types <= {1, 6, 7, 11} and case.model.graph.input:
            name = nodes[0].op_type
            taken[name] += 1
            if taken[name] <= 4 and (name.lower() in POOLS) == pools:
                chosen.append(case)
    return chosen


@pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx")
@pytest.mark.parametrize(("pools", "operators"), swept([(False, 80), (True, 3)], [(False, 80)]))
def test_operators_are_what_onnx_says(pools: bool, operators: int, tmp_path: Path) -> None:
    """Each operator is read in some of ONNX's own cases, with its further inputs as constants."""
    right, refused = set(), set()
    for case in cases_of_onnx(pools):
        inputs, outputs = (
            [onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x) for x in part]
            for part in case.data_sets[0]
        )
        names = [value.name for value in case.model.graph.input]
        case.model.graph.initializer.extend(
            onnx.numpy_helper.from_array(x, name) for name, x in zip(names[1:], inputs[1:], strict=True)
        )
        onnx.save(case.model, tmp_path / "case.onnx")
        operator = case.model.graph.node[0].op_type
        try:
            found = computed(tmp_path / "case.onnx", inputs[0].reshape(inputs[0].shape or (1,)))
        except mx.MXNetError:
            refused.add(operator)
            continue
        right.add(operator)
        for y, z in zip(found, outputs, strict=True):
            assert y.shape == (z.shape or (1,)), case.name
            np.testing.assert_allclose(y.reshape(z.shape), z, 1e-3, 1e-4, err_msg=case.name)
    assert len(right) >= operators and not refused - right, refused - right


def exported(graph: Any, shapes: dict[str, Sequence[int]], path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Drawn values of a graph's arguments and states, with which it is written."""
    draw = np.random.RandomState(0)
    args, _, states = graph.infer_shape(**shapes)
    arguments = {k: nd.array(draw.uniform(0.1, 1, s)) for k, s in zip(graph.list_arguments(), args, strict=True)}
    auxiliary = {
        k: nd.array(draw.uniform(0.5, 1, s)) for k, s in zip(graph.list_auxiliary_states(), states, strict=True)
    }
    params = {k: x for k, x in (arguments | auxiliary).items() if k not in shapes}
    mx.onnx.export_model(graph, params, list(shapes.values()), onnx_file_path=path)
    return arguments, auxiliary


@pytest.mark.parametrize("name", ["convolution", "deconvolution", "batch norm", "pooling", "norms", "fc", "leaky"])
def test_written_operators_are_read(name: str, tmp_path: Path) -> None:
    data = sym.var("data")
    graph = {
        "convolution": sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 0), stride=(2, 1), dilate=(1, 2)),
        "deconvolution": sym.Deconvolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), stride=(2, 2), adj=(1, 1)),
        "batch norm": sym.Activation(sym.BatchNorm(data, fix_gamma=False), act_type="softrelu"),
        "pooling": sym.Pooling(data, kernel=(3, 2), stride=(2, 2), pool_type="avg", pooling_convention="full"),
        "norms": sym.concat(
            sym.Pooling(data, kernel=(3, 2), stride=(2, 1), pad=(1, 0), pool_type="lp", p_value=2),
            sym.Pooling(data, kernel=(3, 2), stride=(2, 1), pad=(1, 0), pool_type="max"),
            sym.Pooling(data, kernel=(3, 2), stride=(2, 1), pad=(1, 0), pool_type="avg"),
            dim=1,
        ),
        "fc": sym.softmax(sym.FullyConnected(data, num_hidden=5) * 2, axis=1),
        "leaky": sym.concat(
            sym.LeakyReLU(data), sym.clip(data, 0.2, 0.6), sym.mean(data, axis=1, keepdims=True), dim=1
        ),
    }[name]
    arguments, states = exported(graph, {"data": (2, 3, 7, 8)}, tmp_path / "x.onnx")
    expected = graph.bind(mx.cpu(), arguments, None, "null", states).forward()[0].asnumpy()
    (found,) = computed(tmp_path / "x.onnx", arguments["data"].asnumpy())
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["resnet18_v1", "mobilenetv2_0.25", "mobilenet0.25"])
def test_networks_come_back(name: str, tmp_path: Path) -> None:
    net = gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(2, 3, 64, 64))
    net.hybridize()
    y = net(x)
    net.export(str(tmp_path / "net"))
    mx.onnx.export_model(
        str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params"), [x.shape],
        onnx_file_path=tmp_path / "net.onnx",
    )  # fmt: skip
    block = mx.contrib.onnx.import_to_gluon(tmp_path / "net.onnx", mx.cpu())
    np.testing.assert_allclose(block(x).asnumpy(), y.asnumpy(), 1e-4, 1e-5)
    assert mx.onnx.get_model_metadata(tmp_path / "net.onnx") == {
        "input_tensor_data": [("data", (2, 3, 64, 64), onnx.TensorProto.FLOAT)],
        "output_tensor_data": [(onnx.load(tmp_path / "net.onnx").graph.output[0].name, (2, 10))],
    }
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.001})
    with mx.autograd.record():
        loss = block(x).square().mean()
    loss.backward()
    trainer.step(1)
    assert block(x).square().mean().asscalar() < loss.asscalar()


def saved(path: Path, nodes: Sequence[Any], shape: Sequence[Any] = (2, 3), **constants: Any) -> Path:
    made = [onnx.numpy_helper.from_array(np.asarray(x), key) for key, x in constants.items()]
    values = [helper.make_tensor_value_info("x", 1, shape), helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_shapes_are_computed_while_reading(tmp_path: Path) -> None:
    """As PyTorch writes `x.reshape(x.shape[0], -1)`, with a weight that is stored transposed."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "zero"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["flat"]),
        helper.make_node("Transpose", ["w"], ["wt"]),
        helper.make_node("MatMul", ["flat", "wt"], ["y"]),
    ]
    w = np.arange(24, dtype=np.float32).reshape(4, 6)
    path = saved(tmp_path / "x.onnx", nodes, (2, 3, 2), first=np.int64(0), zero=[0], rest=[-1], w=w)
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    np.testing.assert_allclose(computed(path, x)[0], x.reshape(2, 6) @ w.T)
    assert list(mx.onnx.import_model(path)[1]) == ["wt"]


@pytest.mark.parametrize("name", ["", "n", "y"])
def test_constants_that_reading_makes_have_names_of_their_own(name: str, tmp_path: Path) -> None:
    """Nodes may have no name, or the same; and the file may have an array of the name that a constant would get."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    w, other = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((2, 4), np.float32)
    nodes = [
        helper.make_node("Expand", ["x", "long"], ["a"], name),
        helper.make_node("Expand", ["x", "short"], ["b"], name),
        helper.make_node("Gemm", ["b", "w"], ["c"], name),
        helper.make_node("Gemm", ["b", "w"], ["d"], name),
        helper.make_node("Add", ["c", "w_T"], ["e"], name),
        helper.make_node("Sum", ["e", "d", "a_sum"], ["y"], name),
    ]
    nodes.insert(1, helper.make_node("ReduceSum", ["a"], ["a_sum"], name, keepdims=0))
    path = saved(tmp_path / "x.onnx", nodes, (2, 3), long=[5, 2, 3], short=[2, 1], w=w, w_T=other)
    np.testing.assert_allclose(computed(path, x)[0], 2 * x @ w + other + 5 * x.sum())
    assert {"w_T", "w_T_"} <= mx.onnx.import_model(path)[1].keys()  # one constant for both products


@pytest.mark.parametrize(
    ("operator", "function"),
    [("L1", np.abs), ("L2", np.abs), ("SumSquare", np.square), ("LogSum", np.log), ("LogSumExp", None), ("Sum", None)],
)
def test_reductions_of_no_axes(operator: str, function: Any, tmp_path: Path) -> None:
    """The elements are not added up, but what is computed of each, and of the sum, is."""
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3) - (0 if "Log" in operator else 4)
    node = helper.make_node(f"Reduce{operator}", ["x", "axes"], ["y"], noop_with_empty_axes=1)
    model = onnx.load(saved(tmp_path / "x.onnx", [node], axes=np.zeros(0, np.int64)))
    model.opset_import[0].version = 18
    onnx.save(model, tmp_path / "x.onnx")
    np.testing.assert_allclose(computed(tmp_path / "x.onnx", x)[0], function(x) if function else x, 1e-6)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("length", [5, None])
def test_windows_that_begin_in_the_padding_are_left_out(operator: str, length: int | None, tmp_path: Path) -> None:
    """Where lengths are rounded up: of 5 elements between padding, windows begin before 0, 2 and 4, and not 6."""
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    node = helper.make_node(operator, ["x"], ["y"], kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1)
    path = saved(tmp_path / "x.onnx", [node], (1, 1, length))
    if length is None:
        with pytest.raises(mx.MXNetError, match="the length of axis 2 of 'x' must be known"):
            mx.onnx.import_model(path)
    else:
        expected = [0, 2, 4] if operator == "MaxPool" else [0, 1.5, 3.5]
        np.testing.assert_array_equal(computed(path, x)[0], [[expected]])


def test_windows_of_open_lengths_are_rounded_up(tmp_path: Path) -> None:
    """No window can begin in padding that is not there."""
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], ceil_mode=1)
    (y,) = computed(saved(tmp_path / "x.onnx", [node], (1, 1, None)), np.arange(6, dtype=np.float32).reshape(1, 1, 6))
    np.testing.assert_array_equal(y, [[[2, 4, 5]]])


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset"),
    [
        ("Add", ["x", "w"], {"axis": 0, "broadcast": 1}, 6),
        ("BatchNormalization", ["x", "w", "w", "w", "w"], {"spatial": 0}, 8),
        ("Resize", ["x", "", "", "sizes"], {"keep_aspect_ratio_policy": "not_larger"}, 18),
    ],
)
def test_attributes_that_nothing_computes_are_errors(
    operator: str, inputs: list[str], attributes: dict[str, Any], opset: int, tmp_path: Path
) -> None:
    node = helper.make_node(operator, inputs, ["y"], **attributes)
    model = onnx.load(saved(tmp_path / "x.onnx", [node], (1, 1, 2, 2), w=np.ones(1, "f"), sizes=[1, 1, 4, 4]))
    model.opset_import[0].version = opset
    onnx.save(model, tmp_path / "x.onnx")
    with pytest.raises(
        mx.MXNetError, match=f"{operator} 'y' .*: nothing computes its attribute {next(iter(attributes))}="
    ):
        mx.onnx.import_model(tmp_path / "x.onnx")


def test_a_part_of_an_open_shape(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.onnx", [helper.make_node("Shape", ["x"], ["y"], start=-2, end=9)], ("n", 3, 4))
    np.testing.assert_array_equal(computed(path, np.ones((2, 3, 4), "f"))[0], [3, 4])


def test_global_norms_are_of_absolute_values(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.onnx", [helper.make_node("GlobalLpPool", ["x"], ["y"], p=3)], (1, 1, 2))
    np.testing.assert_allclose(computed(path, np.array([[[-1, 2]]], "f"))[0], [[[9 ** (1 / 3)]]], 1e-6)


def test_the_features_before_a_classifier_have_mxnets_name(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "to"], ["features"]),
        helper.make_node("Gemm", ["features", "w", "b"], ["y"], transB=1),
    ]
    path = saved(tmp_path / "x.onnx", nodes, (1, 2, 3), to=[1, 6], w=np.ones((4, 6), "f"), b=np.ones(4, "f"))
    with mx.name.NameManager():
        graph, _, _ = mx.onnx.import_model(path)
    assert graph.get_internals()["flatten0_output"].infer_shape(x=(1, 2, 3))[1] == [(1, 6)]
    (y,) = computed(path, np.ones((1, 2, 3), "f"))
    assert (y == np.full((1, 4), 7)).all()


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model")
    for file, words in (("text", "is no ONNX file"), ("none", "No such file")):
        with pytest.raises(mx.MXNetError, match=words):
            mx.onnx.import_model(tmp_path / file)
    unknown = saved(tmp_path / "u.onnx", [helper.make_node("Einsum", ["x"], ["y"], "e", equation="ij->ji")])
    with pytest.raises(mx.MXNetError, match="the operator Einsum of node 'e' cannot be read"):
        mx.onnx.import_model(unknown)
    open_ = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["y"], "r")]
    with pytest.raises(mx.MXNetError, match="Reshape 'r' of the ONNX file cannot be read: shape, its input 1, depends"):
        mx.onnx.import_model(saved(tmp_path / "o.onnx", open_, ("n", 3)))


@pytest.mark.parametrize(
    ("nodes", "constants", "words"),
    [
        ([("Relu", ["b"], ["a"]), ("Relu", ["a"], ["b"]), ("Add", ["x", "b"], ["y"])], {}, "a cycle, or not in order"),
        ([("Relu", ["z"], ["y"])], {}, "nothing in the file gives it"),
        ([("ConstantOfShape", ["s"], ["y"])], {"s": [1 << 20, 1 << 20]}, "'y' makes more than 134217728 elements"),
        ([("Expand", ["v", "s"], ["y"])], {"v": [1.0], "s": [1 << 40]}, "'y' makes more than 134217728 elements"),
        ([("Cast", ["x"], ["y"], 77)], {}, "Cast 'y' of the ONNX file cannot be read: KeyError 77"),
        (
            [("Gather", ["v", "i"], ["y"])],
            {"v": [1.0], "i": [9]},
            "Gather 'y' of the ONNX file cannot be read: index 9",
        ),
        ([("Conv", ["x"], ["y"])], {}, "Conv 'y' of the ONNX file cannot be read"),
        ([("Einsum", ["v", "v"], ["y"])], {"v": [1.0]}, "the operator Einsum of node '' cannot be read"),
    ],
)
def test_hostile_files(nodes: list[Any], constants: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Errors name the node; nothing is computed that would fill the memory, or takes its time."""
    made = [helper.make_node(*node[:3], **({"to": node[3]} if len(node) > 3 else {})) for node in nodes]
    with pytest.raises(mx.MXNetError, match=words):
        mx.onnx.import_model(saved(tmp_path / "x.onnx", made, **constants))


def test_fractions_are_no_strides(tmp_path: Path) -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[1.5, 2.0])
    with pytest.raises(mx.MXNetError, match=r"MaxPool 'y' .* strides is \[1\.5, 2\.0\], and must be of whole numbers"):
        mx.onnx.import_model(saved(tmp_path / "x.onnx", [node]))


def test_constants_without_a_type_or_values(tmp_path: Path) -> None:
    model = onnx.load(saved(tmp_path / "x.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], w=[1.0]))
    model.graph.initializer[0].dims[0] = 1 << 40
    onnx.save(model, tmp_path / "x.onnx")
    with pytest.raises(mx.MXNetError, match="the constant 'w' of the ONNX file cannot be read"):
        mx.onnx.import_model(tmp_path / "x.onnx")
    del model.graph.output[:]
    onnx.save(model, tmp_path / "x.onnx")
    with pytest.raises(mx.MXNetError, match="no graph with outputs"):
        mx.onnx.import_model(tmp_path / "x.onnx")


def assert_as_evaluated(node: Any, x: np.ndarray, path: Path, opset: int = 18, **constants: Any) -> None:
    model = onnx.load(saved(path, [node], x.shape, **constants))
    model.opset_import[0].version = opset
    onnx.save(model, path)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    (found,) = computed(path, x)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5, err_msg=str(node))


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_sums_backwards_and_without_an_end(exclusive: int, reverse: int, length: int, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(2, length, 3)).astype(np.float32)
    x[0, 0, 0] = np.inf
    for axis in (1, -2):
        node = helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
        assert_as_evaluated(node, x, tmp_path / "x.onnx", axis=np.array(axis))


PLACES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
ROUNDED = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("mode", "rounding"), [("linear", "floor"), *(("nearest", x) for x in ROUNDED)])
def test_sizes_and_places(mode: str, rounding: str, places: str, tmp_path: Path) -> None:
    """Larger and smaller ones, of pictures and of arrays of other axes, by sizes and by scales."""
    ways: list[tuple[tuple[int, ...], dict[str, Any]]] = [
        ((1, 2, 4, 5), {"sizes": [1, 2, 8, 3]}),
        ((1, 2, 4, 6), {"sizes": [1, 2, 1, 12]}),
        ((1, 2, 4, 5), {"scales": np.array([1, 1, 0.6, 1.7], "f")}),
        ((1, 2, 6), {"scales": np.array([1, 1, 1.5], "f")}),
        ((3, 2, 2, 2, 3), {"sizes": [2, 2, 5, 4, 3]}),
    ]
    for shape, given in ways:
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        inputs = ["x", "", "", "sizes"] if "sizes" in given else ["x", "", "scales"]
        settings = {"mode": mode, "coordinate_transformation_mode": places, "nearest_mode": rounding}
        node = helper.make_node("Resize", inputs, ["y"], **settings)
        if places == "align_corners" and shape[-1] == 5 and "scales" in given:
            with pytest.raises(mx.MXNetError, match=r"its places are 'align_corners', from 4 to 2 by 0.6"):
                assert_as_evaluated(node, x, tmp_path / "x.onnx", **given)
        else:
            assert_as_evaluated(node, x, tmp_path / "x.onnx", **given)


def test_sizes_of_some_axes(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=[3, 2], mode="linear")
    assert_as_evaluated(node, x, tmp_path / "x.onnx", sizes=[6, 5])
