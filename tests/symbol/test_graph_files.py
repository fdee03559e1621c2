"""Files of graphs: those of older versions, and bad ones."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runtime as mx
from runtime.base import MXNetError
from runtime.symbol.json_file import from_json
from tests.symbol.networks import mlp


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


def test_attributes_that_nothing_reads() -> None:
    node = {"op": "relu", "name": "r", "inputs": [[0, 0]]}

    def load(**attributes: str) -> None:
        mx.sym.load_json(json.dumps({"nodes": [NODE, node | {"attrs": attributes}], "heads": [[1, 0]]}))

    with warnings.catch_warnings(action="error"):
        load(__own__="1", ctx_group="a")
    with pytest.warns(UserWarning, match="'r': relu has no attribute 'slope'.*; it is not used"):
        load(slope="2")
