"""`rnn`: cells make MXNet's graphs, and compute what these do; weights by gate; sentences in buckets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from tests.module.cells import cells, computed
from tests.module.networks import DATA

FOUND = json.loads(gzip.decompress((DATA / "cells.json.gz").read_bytes()))


@pytest.mark.parametrize("name", FOUND)
def test_graphs_and_values_are_mxnets(name: str) -> None:
    ours = computed(mx, name)
    for x, y in zip(ours.pop("values"), FOUND[name]["values"], strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)
    assert ours == {key: x for key, x in FOUND[name].items() if key != "values"}


@pytest.mark.parametrize("name", ["fused merged", "fused lstm"])
def test_unfused_cells_compute_the_same_with_unpacked_weights(name: str, tmp_path: Path) -> None:
    fused, data = cells(mx)[name], mx.sym.Variable("data")
    stack = fused.unfuse()
    outputs = [cell.unroll(3, data, merge_outputs=True)[0] for cell in (fused, stack)]
    shapes = dict(zip(outputs[0].list_arguments(), outputs[0].infer_shape(data=(2, 3, 4))[0], strict=True))
    weight = f"{fused._prefix}parameters"
    given = {"data": nd.random.normal(shape=shapes["data"]), weight: nd.random.normal(shape=shapes[weight])}
    mx.rnn.save_rnn_checkpoint(fused, str(tmp_path / "a"), 1, outputs[0], {weight: given[weight]}, {})
    _, packed, _ = mx.rnn.load_rnn_checkpoint(stack, str(tmp_path / "a"), 1)
    wanted, found = (
        y.eval(mx.cpu(), **x)[0] for y, x in zip(outputs, (given, {"data": given["data"], **packed}), strict=True)
    )
    np.testing.assert_allclose(wanted.asnumpy(), found.asnumpy(), 1e-5, 1e-6)
    _, again, _ = mx.rnn.load_rnn_checkpoint(fused, str(tmp_path / "a"), 1)
    np.testing.assert_array_equal(again[weight].asnumpy(), given[weight].asnumpy())


def test_first_states_may_be_variables_and_cells_may_share_weights() -> None:
    first = mx.rnn.LSTMCell(4, prefix="a_")
    second = mx.rnn.LSTMCell(4, prefix="b_", params=first.params)
    states = first.begin_state(func=mx.sym.Variable)
    output, _ = second(*first(mx.sym.Variable("data"), states))
    assert [x.name for x in states] == ["a_begin_state_0", "a_begin_state_1"]
    assert states[0].attr("__layout__") == "NC" and first.state_shape == [(0, 4)] * 2
    weights = {f"a_{key}" for key in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")}
    assert set(output.list_arguments()) == {"data", "a_begin_state_0", "a_begin_state_1", *weights}
    outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(3), 2, input_prefix="x_")
    assert mx.sym.Group(outputs).list_arguments()[0] == "x_t0_data"


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_convolutional_cells_compute_what_gluons_do(kind: str) -> None:
    ours = getattr(mx.rnn, f"Conv{kind}Cell")((2, 3, 6, 5), 4, activation="tanh", prefix="c_", h2h_kernel=(5, 3))
    there = getattr(mx.gluon.contrib.rnn, f"Conv2D{kind}Cell")((3, 6, 5), 4, (3, 3), (5, 3), (1, 1), prefix="c_")
    there.initialize(mx.init.Normal(0.3))
    steps = [nd.random.normal(shape=(2, 3, 6, 5)) for _ in range(2)]
    wanted, _ = there.unroll(2, steps, merge_outputs=False)
    weights = {name: x.data() for name, x in there.collect_params().items()}
    outputs, _ = ours.unroll(2, [mx.sym.Variable("t0"), mx.sym.Variable("t1")])
    found = mx.sym.Group(outputs)
    assert found.list_outputs() == ["c_t0_out_output", "c_t1_out_output"]
    for x, y in zip(found.eval(t0=steps[0], t1=steps[1], **weights), wanted, strict=True):
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), 1e-4, 1e-5)
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.ResidualCell(ours))
    assert stack.params._params.keys() == weights.keys()


def test_a_language_model_learns_in_buckets() -> None:
    sentences, words = mx.rnn.encode_sentences([list("abcab"), list("bca"), list("cabca")] * 8, start_label=1)
    assert words == {"\n": -1, "a": 1, "b": 2, "c": 3} and sentences[1] == [2, 3, 1]
    np.random.seed(1)
    it = mx.rnn.BucketSentenceIter(sentences, 4, buckets=[4, 6], invalid_label=0)

    def generate(length: int) -> tuple[mx.sym.Symbol, tuple[str], tuple[str]]:
        x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=4, output_dim=6, name="words")
        outputs, _ = mx.rnn.LSTMCell(8).unroll(length, x, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 8)), num_hidden=4, name="next")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        net = mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=0, name="softmax")
        return net, ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(generate, it.default_bucket_key)
    perplexity = mx.metric.Perplexity(ignore_label=0)
    module.fit(it, None, perplexity, num_epoch=5, optimizer="adam", optimizer_params={"learning_rate": 0.1})
    assert dict(module.score(it, perplexity))["perplexity"] < 1.2 and set(module._buckets) == {4, 6}


def test_a_subclass_resets_batches_of_its_own() -> None:
    class Same(mx.rnn.BucketSentenceIter):
        def reset(self) -> None:
            self.curr_idx = 0
            self.nddata = self.ndlabel = [mx.nd.array(rows, dtype=self.dtype) for rows in self.data]

    for layout, shape in (("NTC", (2, 3)), ("TNC", (3, 2))):
        (batch,) = Same([[1, 2], [1, 2, 3], [4]], 2, buckets=[1, 3], invalid_label=0, layout=layout)
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        assert data.shape == batch.provide_data[0].shape == shape and (data == label).all()
        assert sorted((data if layout == "NTC" else data.T).tolist()) == [[1, 2, 0], [1, 2, 3]]


def test_errors() -> None:
    with pytest.raises(mx.MXNetError, match="'d' is not in the vocabulary: give unknown_token"):
        mx.rnn.encode_sentences(["d"], {"a": 1})
    assert mx.rnn.encode_sentences(["da"], {"a": 1}, unknown_token="?", start_label=5) == ([[5, 1]], {"a": 1, "?": 5})
    with pytest.raises(mx.MXNetError, match="no length has 3 sentences"):
        mx.rnn.BucketSentenceIter([[1, 2], [1]], 3)
    cell = mx.rnn.RNNCell(3)
    with pytest.raises(mx.MXNetError, match="unroll has 1 inputs for 2 steps"):
        cell.unroll(2, [mx.sym.Variable("x")])
    mx.rnn.ZoneoutCell(cell, 0.5)
    with pytest.raises(mx.MXNetError, match="RNNCell is inside of a modifier"):
        cell.begin_state()
    with pytest.raises(mx.MXNetError, match="FusedRNNCell makes no single steps"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3))
