"""Executors: training, gradients, reshaping, monitors, and arrays that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from runtime.base import MXNetError
from tests.symbol.networks import mlp


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
    del seen[:]
    executor.reshape(data=(2, 4), softmax_label=(2,)).forward()  # for as many, with the monitor
    assert seen[:3] == ["data", "fc1_data", "fc1_weight"]
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
