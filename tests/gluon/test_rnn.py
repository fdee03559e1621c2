"""Recurrent layers and cells: beside each other, beside numeric gradients, and with sequences of several lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import runtime as mx
from runtime import MXNetError, autograd, nd
from runtime.gluon import rnn
from runtime.gluon.contrib import rnn as contrib
from runtime.ndarray.rnn.stacked import GATES
from tests.ndarray.gradients import check

LAYERS: dict[str, Callable[..., Any]] = {
    "rnn_relu": partial(rnn.RNN, activation="relu"),
    "rnn_tanh": partial(rnn.RNN, activation="tanh"),
    "lstm": rnn.LSTM,
    "gru": rnn.GRU,
}


@pytest.mark.parametrize(("order", "layers", "lengths"), [(1, 2, None), (1, 2, [2, 3]), (2, 1, None), (2, 1, [1, 3])])
@pytest.mark.parametrize("mode", GATES)
def test_gradients_of_the_operator(mode: str, order: int, layers: int, lengths: list[int] | None) -> None:
    random = np.random.RandomState(0)
    inputs, hidden = 3 - order, 3 - order
    height = GATES[mode] * hidden
    size = 2 * height * (inputs + hidden + 2) + (layers - 1) * 2 * height * (3 * hidden + 2)
    states = [random.standard_normal((2 * layers, 2, hidden)) for _ in range(2 if mode == "lstm" else 1)]
    length = None if lengths is None else nd.array(lengths)

    def outputs(*arrays: nd.NDArray) -> nd.NDArray:
        y = nd.RNN(
            *arrays, sequence_length=length, use_sequence_length=length is not None, state_size=hidden,
            num_layers=layers, bidirectional=True, mode=mode, state_outputs=True,
        )  # fmt: skip
        return nd.concat(*(part.reshape((-1,)) for part in y), dim=0)

    data, parameters = random.standard_normal((3, 2, inputs)), 0.5 * random.standard_normal(size)
    check(outputs, data, parameters, *states, order=order)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", LAYERS)
def test_a_layer_is_its_cells(mode: str, bidirectional: bool) -> None:
    mx.random.seed(1)
    layer = LAYERS[mode](5, num_layers=3, layout="NTC", bidirectional=bidirectional, input_size=4)
    layer.initialize(mx.init.Normal(0.5))
    cells = layer._unfuse()
    x = nd.random.normal(shape=(2, 6, 4))
    x.attach_grad()
    found = []
    for run in (lambda: layer(x), lambda: cells.unroll(6, x, layout="NTC", merge_outputs=True)[0]):
        with autograd.record():
            y = run()
            loss = (y * y).sum()
        loss.backward()
        gradients = [p.grad().asnumpy() for p in layer.collect_params().values()]
        found.append([y.asnumpy(), x.grad.asnumpy(), *gradients])
    for fused, stepped in zip(*found, strict=True):
        assert_allclose(fused, stepped, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_projected_states(bidirectional: bool) -> None:
    layer = rnn.LSTM(6, num_layers=2, projection_size=3, bidirectional=bidirectional, prefix="lstm_")
    layer.initialize(mx.init.Normal(0.5))
    x = nd.random.normal(shape=(5, 2, 4))
    y, states = layer(x, layer.begin_state(2))
    assert [s.shape for s in states] == [(4 if bidirectional else 2, 2, n) for n in (3, 6)]
    stack = rnn.HybridSequentialRNNCell(prefix="lstm_", params=layer.collect_params())
    with stack.name_scope():
        for i in range(2):
            cells = [contrib.LSTMPCell(6, 3, prefix=f"{side}{i}_") for side in "lr"[: 1 + bidirectional]]
            stack.add(rnn.BidirectionalCell(*cells) if bidirectional else cells[0])
    stepped, _ = stack.unroll(5, x, layout="TNC", merge_outputs=True)
    assert_allclose(y.asnumpy(), stepped.asnumpy(), rtol=1e-5, atol=1e-6)


def cells_of_all_kinds() -> list[rnn.RecurrentCell]:
    cells: list[rnn.RecurrentCell] = []
    for kind in (rnn.RNNCell, rnn.LSTMCell, rnn.GRUCell):
        cells += [
            kind(4),
            rnn.BidirectionalCell(kind(4), kind(4)),
            contrib.VariationalDropoutCell(kind(4), 0.1, 0.1, 0.1),
        ]
    residual = rnn.SequentialRNNCell()
    residual.add(rnn.ResidualCell(rnn.RNNCell(4)))
    residual.add(rnn.ZoneoutCell(rnn.GRUCell(4), 0.1, 0.1))
    residual.add(rnn.DropoutCell(0.5))
    return [*cells, residual, contrib.LSTMPCell(6, 4)]


@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("cell", cells_of_all_kinds(), ids=lambda cell: type(cell).__name__)
def test_lengths_of_sequences(cell: rnn.RecurrentCell, layout: str) -> None:
    """A padded sequence has the outputs and states it has alone, and zeros behind its end."""
    cell.initialize(mx.init.Normal(0.5), force_reinit=True)
    lengths = [3, 7, 5]
    x = np.random.RandomState(0).standard_normal((3, 7, 4))
    swap = (0, 1, 2) if layout == "NTC" else (1, 0, 2)
    data, valid = nd.array(x.transpose(swap)), nd.array(lengths)
    outputs, states = cell.unroll(7, data, layout=layout, merge_outputs=True, valid_length=valid)
    for i, n in enumerate(lengths):
        alone, end = cell.unroll(n, nd.array(x[i : i + 1, :n]), layout="NTC", merge_outputs=True)
        found = outputs.asnumpy().transpose(swap)[i]
        assert_allclose(found[:n], alone.asnumpy()[0], rtol=1e-4, atol=1e-5)
        assert not found[n:].any()
        for state, wanted in zip(states, end, strict=True):
            assert_allclose(state.asnumpy()[i], wanted.asnumpy()[0], rtol=1e-4, atol=1e-5)


def test_outputs_are_a_list_or_an_array() -> None:
    cell = rnn.LSTMCell(4)
    cell.initialize()
    steps = [nd.ones((2, 3)) for _ in range(5)]
    outputs, states = cell.unroll(5, steps)
    assert [y.shape for y in outputs] == [(2, 4)] * 5
    assert [s.shape for s in states] == [(2, 4)] * 2
    merged, _ = cell.unroll(5, steps, layout="TNC", merge_outputs=True)
    assert merged.shape == (5, 2, 4)
    assert cell.i2h_weight.shape == (16, 3)


def test_dropout_between_layers_is_for_training() -> None:
    layer = rnn.GRU(8, num_layers=2, dropout=0.5, input_size=3)
    layer.initialize(mx.init.Normal(1))
    x = nd.ones((4, 2, 3))
    assert_allclose(layer(x).asnumpy(), layer(x).asnumpy())
    with autograd.train_mode():
        assert abs(layer(x).asnumpy() - layer(x).asnumpy()).max() > 1e-3


def test_variational_dropout_keeps_its_mask_until_reset() -> None:
    cell = contrib.VariationalDropoutCell(rnn.RNNCell(50, input_size=50), drop_outputs=0.5)
    cell.initialize(mx.init.One())
    x = nd.ones((1, 50))
    with autograd.train_mode():
        first, second = (cell(x, [nd.zeros((1, 50))])[0].asnumpy() for _ in range(2))
        cell.reset()
        third = cell(x, [nd.zeros((1, 50))])[0].asnumpy()
    assert_allclose(first, second)
    assert (first != third).any()


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_convolutional_cells(kind: str, dims: int) -> None:
    cell = getattr(contrib, f"Conv{dims}D{kind}Cell")((2, *[7] * dims), 4, i2h_kernel=3, h2h_kernel=3)
    cell.initialize(mx.init.Normal(0.3))
    x = nd.random.normal(shape=(3, 2, 2, *[7] * dims))
    with autograd.record():
        states = cell.begin_state(2)
        for step in x:
            y, states = cell(step, states)
    y.backward()
    assert y.shape == (2, 4, *[5] * dims)
    assert abs(cell.i2h_weight.grad().asnumpy()).max() > 0


CELLS: dict[str, Callable[[], rnn.RecurrentCell]] = {
    "rnn": lambda: rnn.RNNCell(4, prefix="c_"),
    "lstm": lambda: rnn.LSTMCell(4, prefix="c_"),
    "gru": lambda: rnn.GRUCell(4, prefix="c_"),
    "projected": lambda: contrib.LSTMPCell(8, 4, prefix="c_"),
    "image": lambda: contrib.Conv1DLSTMCell((3, 5), 4, 3, 3, 1, prefix="c_"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_symbols_have_the_names_of_their_steps(kind: str) -> None:
    cell, steps = CELLS[kind](), [mx.sym.Variable(f"t{i}") for i in range(2)]
    layer = rnn.LSTM(4, 2, input_size=3, prefix="l_")
    assert [x.name for x in layer.begin_state(func=mx.sym.Variable)] == ["l_h0_0", "l_h0_1"]
    layer.cast("float16")
    assert [x.dtype for x in layer.begin_state(2)] == [np.float16, np.float16]
    states = cell.begin_state(func=mx.sym.Variable)
    assert [x.name for x in states] == [f"c_begin_state_{i}" for i in range(len(states))]
    for _ in range(2):  # each sequence counts from 0
        outputs, _ = cell.unroll(2, steps)
        found = mx.sym.Group(outputs)
        assert found.list_outputs() == ["c_t0_out_output", "c_t1_out_output"]
        assert "c_t1_i2h_output" in found.get_internals().list_outputs()
    shape = (2, 3, 5) if kind == "image" else (2, 3)
    assert {x[:2] for x in found.infer_shape(t0=shape, t1=shape)[1]} == {(2, 4)}
    both = rnn.BidirectionalCell(CELLS[kind](), CELLS[kind](), output_prefix="both_")
    assert mx.sym.Group(both.unroll(2, steps)[0]).list_outputs() == ["both_t0_output", "both_t1_output"]


def test_files_hold_the_names_of_the_cells(tmp_path: Any) -> None:
    layer = rnn.LSTM(3, num_layers=2, bidirectional=True, input_size=2)
    layer.initialize()
    layer.save_parameters(tmp_path / "lstm")
    assert "_unfused.1.r_cell.h2h_bias" in nd.load(str(tmp_path / "lstm"))
    other = rnn.LSTM(3, num_layers=2, bidirectional=True, input_size=2)
    other.load_parameters(tmp_path / "lstm", ctx=mx.current_context())
    x = nd.ones((2, 1, 2))
    assert_allclose(layer(x).asnumpy(), other(x).asnumpy())


def test_stacks_are_displayed_as_by_mxnet() -> None:
    stack, outer = rnn.HybridSequentialRNNCell(), rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(3))
    outer.add(stack)
    lines = ["SequentialRNNCell(", "(0): HybridSequentialRNNCell(", "  (0): LSTMCell(None -> 12)", "  )", ")"]
    assert repr(outer) == "\n".join(lines)


def test_errors() -> None:
    with pytest.raises(MXNetError, match="inside a modifier cell"):
        cell = rnn.RNNCell(3)
        rnn.ResidualCell(cell)
        cell.begin_state(1)
    with pytest.raises(MXNetError, match=r"unroll over 4 steps, but the inputs have 3"):
        rnn.RNNCell(3).unroll(4, nd.ones((2, 3, 5)))
    with pytest.raises(ValueError, match=r"states must be .* of shapes \[\(1, 2, 3\)\], not \[\(2, 2, 3\)\]"):
        rnn.GRU(3, input_size=3)(nd.ones((4, 2, 3)), nd.zeros((2, 2, 3)))
    with pytest.raises(MXNetError, match=r"parameters must have shape \(24,\)"):
        nd.RNN(nd.ones((2, 1, 3)), nd.ones(5), nd.ones((1, 1, 3)), mode="rnn_tanh", state_size=3, num_layers=1)
    with pytest.raises(MXNetError, match="unknown mode 'lstn'"):
        nd.RNN(nd.ones((2, 1, 3)), nd.ones(5), nd.ones((1, 1, 3)), mode="lstn", state_size=3, num_layers=1)
    with pytest.raises(MXNetError, match="h2h_kernel must be odd"):
        contrib.Conv1DRNNCell((1, 5), 2, i2h_kernel=3, h2h_kernel=2)
    with pytest.raises(NotImplementedError, match="needs the whole sequence"):
        rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))(nd.ones((2, 3)), [])
