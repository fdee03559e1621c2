"""What scripts and tests for MXNet 1.9.1 write, and what else depends on where they write it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import nd, sym
from runtime.contrib import amp

ROOT = Path(__file__).resolve().parents[2]
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


# ---------------------------------------------------------------- element types


@pytest.mark.parametrize("like", [nd.array([1], dtype="int32"), np.array([1], np.int32), np.int32(1)])
def test_an_array_stands_for_its_type(like: Any) -> None:
    x = nd.array([1.5, 2])
    assert x.astype(like).dtype is nd.cast(x, dtype=like).dtype is nd.zeros(2, dtype=like).dtype is np.int32
    assert sym.cast(sym.var("x"), dtype=like).infer_type(x="float32")[1] == [np.int32]


def test_bfloat16_as_mxnet_spells_it() -> None:
    x = nd.array([1.5, 2]).astype(BFLOAT16)
    assert x.dtype == nd.array([1]).astype("bfloat16").dtype == amp.amp.bfloat16
    assert nd.zeros(2, dtype=amp.amp.bfloat16).dtype == x.dtype
    assert sym.cast(sym.var("x"), dtype=BFLOAT16).infer_type(x="float32")[1] == [x.dtype]
    with pytest.raises(TypeError, match="no array has elements of type"):
        x.astype(np.dtype([("bfloat16", np.uint16), ("more", np.uint16)]))


def test_arrays_of_strings() -> None:
    for strings in (["1", "-2.5e1"], np.array(["1", "-2.5e1"]), np.array([b"1", b"-2.5e1"])):
        np.testing.assert_array_equal(nd.array(strings).asnumpy(), [1, -25])
    assert nd.array([["9007199254740993"]], dtype="int64").asnumpy().tolist() == [[9007199254740993]]
    with pytest.raises(TypeError, match="cannot make an array of list: could not convert string"):
        nd.array(["one"])


def test_only_matrices_become_csr() -> None:
    for x in (nd.ones((2, 2, 2)), nd.ones(2)):
        with pytest.raises(ValueError, match="a csr array is a matrix"):
            x.tostype("csr")


# ---------------------------------------------------------------- arguments


def test_reshape_by_its_old_arguments() -> None:
    x = nd.arange(12).reshape((2, 6))
    assert nd.Reshape(x, target_shape=(3, 4)).shape == (3, 4)
    assert nd.Reshape(x, target_shape=(0, 3)).shape == (4, 3)
    assert nd.reshape(x, target_shape=(0, 0), keep_highest=True).shape == (2, 6)
    assert sym.Reshape(sym.var("x"), target_shape=(0, 3)).infer_shape(x=(2, 6))[1] == [(4, 3)]
    assert nd.Reshape(x, shape=(6, 2), target_shape=(3, 4)).shape == (6, 2)  # as in graphs


def test_powers_by_name() -> None:
    x, y = sym.var("x"), nd.array([2, 3])
    assert sym.pow(base=x, exp=2).eval(x=y)[0].asnumpy().tolist() == [4, 9]
    assert sym.power(base=2, exp=x).eval(x=y)[0].asnumpy().tolist() == [4, 8]
    assert sym.pow(base=2, exp=3) == 8


@pytest.mark.parametrize("flatten", [True, False])
def test_a_bias_of_one_column(flatten: bool, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    x, w, b = (nd.array(draw.normal(size=size)) for size in ((2, 3), (4, 3), (4, 1)))
    expected = nd.FullyConnected(x, w, b.reshape((-1,)), num_hidden=4, flatten=flatten).asnumpy()
    b.attach_grad()
    with mx.autograd.record():
        y = nd.FullyConnected(x, w, b, num_hidden=4, flatten=flatten)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), expected)
    assert b.grad.shape == (4, 1) and (b.grad == 2).asnumpy().all()
    bias = sym.var("b", shape=(4, 1))
    graph = sym.FullyConnected(sym.var("x"), sym.var("w"), bias, num_hidden=4, flatten=flatten)
    assert graph.infer_shape(x=(2, 3)) == ([(2, 3), (4, 3), (4, 1)], [(2, 4)], [])
    np.testing.assert_array_equal(graph.eval(x=x, w=w, b=b)[0].asnumpy(), expected)
    onnxruntime = pytest.importorskip("onnxruntime")
    file = str(tmp_path / "x.onnx")
    mx.onnx.export_model(graph, {"w": w, "b": b}, [(2, 3)], onnx_file_path=file)
    (found,) = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, {"x": x.asnumpy()})
    np.testing.assert_allclose(found, expected, 1e-5)


def test_an_iterator_whose_cursor_was_let_go() -> None:
    batches = mx.io.NDArrayIter(np.arange(4), batch_size=2)
    assert len(list(batches)) == 2
    batches.cursor = None
    batches.reset()
    assert len(list(batches)) == 2


# ---------------------------------------------------------------- mixed precision


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_outputs_of_converted_graphs_are_float32(dtype: str) -> None:
    hidden = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    group = sym.Group([hidden, sym.softmax(hidden), sym.var("more")])
    params = {"fc_weight": nd.ones((3, 2)), "fc_bias": nd.ones(3)}
    graph, own, _ = amp.convert_model(group, params, {}, dtype)
    found = graph.eval(data=nd.ones((1, 2)), more=nd.ones(1), **own)
    assert [y.dtype for y in found] == [np.float32] * 3
    assert "fc_output_amp_cast_float32" in "".join(graph.list_outputs()) or len(graph.list_outputs()) == 3
    assert graph.infer_type(data="float32")[1] == [np.float32] * 3


# ---------------------------------------------------------------- paths, logs, files


def test_paths_of_iterators() -> None:
    assert mx.image.image.ImageIter is mx.image.ImageIter
    assert mx.image.image.CreateAugmenter is mx.image.CreateAugmenter
    assert mx.image.detection.ImageDetIter is mx.image.ImageDetIter


def test_models_that_are_there_are_not_downloaded(tmp_path: Path) -> None:
    hidden = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    prefix = str(tmp_path / "net")
    with pytest.raises(mx.MXNetError, match=r"net-symbol\.json' is not there"):
        mx.test_utils.download_model("net", str(tmp_path))
    mx.model.save_checkpoint(prefix, 0, hidden, {"fc_weight": nd.ones((3, 2)), "fc_bias": nd.ones(3)}, {})
    assert mx.test_utils.download_model("net", str(tmp_path)) == (prefix, 0)
    (tmp_path / "net-0000.params").unlink()
    url = (tmp_path / "other").as_uri()
    (tmp_path / "other").write_bytes(b"params")
    info = {"net": {"symbol": url, "params": url}}
    assert mx.test_utils.download_model("net", str(tmp_path), info) == (prefix, 0)
    assert (tmp_path / "net-0000.params").read_bytes() == b"params"


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)


def test_logs_can_be_configured_after_an_iterator_has_warned(tmp_path: Path) -> None:
    script = """
import logging
import runtime as mx
mx.rnn.BucketSentenceIter([[1, 2], [1, 2, 3]], 1, buckets=[2])
logging.basicConfig(level=logging.INFO)
logging.info("shown")
"""
    errors = run(script, tmp_path).stderr
    assert "1 sentences are longer than the longest bucket, and dropped" in errors and "INFO:root:shown" in errors


TRACED = """
import os
import runtime as mx
mx.profiler.set_config(filename="trace.json")
mx.profiler.start()
mx.nd.ones(3).exp().wait_to_read()
"""


@pytest.mark.parametrize(
    ("more", "written"),
    [
        ("", True),
        ("mx.profiler.stop()", True),
        ("mx.profiler.dump(); os.remove('trace.json')", False),
        ("mx.profiler.dumps(reset=True)", False),
        ("if os.fork():\n    os.wait()\nelse:\n    mx.profiler.set_config(filename='child.json')", True),
    ],
)
def test_the_profiler_writes_its_file_at_the_end(more: str, written: bool, tmp_path: Path) -> None:
    run(TRACED + more, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == ({"trace.json"} if written else set())
    if written:
        assert "exp" in {event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}


def test_nothing_is_written_where_nothing_was_recorded(tmp_path: Path) -> None:
    run("import runtime as mx; mx.profiler.set_config(filename='x.json'); mx.nd.ones(3).exp().asnumpy()", tmp_path)
    assert not list(tmp_path.iterdir())
