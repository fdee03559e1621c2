"""The checks of symbols in test_utils: what they accept, and what they find."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import test_utils as tools

A, B = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
X, Y = mx.sym.var("x"), mx.sym.var("y")


def test_outputs() -> None:
    dot = mx.sym.dot(X, Y, name="dot")
    outputs = tools.check_symbolic_forward(dot, [A, B], [A @ B])
    assert outputs[0].dtype == np.float32
    tools.check_symbolic_forward(dot, {"y": B, "x": A}, {"dot_output": A @ B}, dtype=np.float64)
    tools.check_symbolic_forward(mx.sym.BatchNorm(X, eps=0, name="bn"), {"x": A, "bn_gamma": np.ones(2),
        "bn_beta": np.zeros(2)}, [A - 1], aux_states=[np.ones(2), np.ones(2)])  # fmt: skip
    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tools.check_symbolic_forward(dot, [A, B], [A @ B + 1])
    with pytest.raises(ValueError, match="do not match"):
        tools.check_symbolic_forward(dot, {"x": A}, [A])
    np.testing.assert_array_equal(tools.simple_forward(X * 2, x=A), A * 2)


@pytest.mark.parametrize("request_", ["write", "add", "null"])
def test_gradients(request_: str) -> None:
    product, ones = X * Y, np.ones((2, 2))
    found = tools.check_symbolic_backward(product, [A, B], [ones], [B, A], grad_req=request_)
    assert set(found) == {"x", "y"}
    tools.check_numeric_gradient(product, [A, B], grad_nodes={"x": request_, "y": "write"}, numeric_eps=0.1, rtol=0.01)
    if request_ != "null":
        with pytest.raises(AssertionError, match="EXPECTED_x"):
            tools.check_symbolic_backward(product, [A, B], [ones], [B + 1, A], grad_req=request_)
        with pytest.raises(AssertionError, match="NUMERICAL_x"):  # its gradient is not that of what it computes
            tools.check_numeric_gradient(mx.sym.contrib.gradientmultiplier(X, scalar=2.0), [A], numeric_eps=0.1)


def test_numeric_gradients() -> None:
    exact = {"numeric_eps": 1e-4, "dtype": np.float64}
    tools.check_numeric_gradient(mx.sym.BatchNorm(X, fix_gamma=False, name="bn"), [A, np.ones(2), np.ones(2)],
        [np.ones(2), np.ones(2)], atol=1e-4, **exact)  # fmt: skip
    tools.check_numeric_gradient(
        mx.sym.take(X, mx.sym.BlockGrad(Y)), [A, np.array([1, 0, 1])], grad_nodes=["x"], **exact
    )
    with pytest.raises(ValueError, match="grad_nodes"):
        tools.check_numeric_gradient(X * 2, [A], grad_nodes="x")


def test_consistency_of_element_types() -> None:
    runs = [{"ctx": mx.cpu(), "x": (3, 4), "type_dict": {"x": t}} for t in (np.float64, np.float32, np.float16)]
    layer = mx.sym.FullyConnected(mx.sym.tanh(X), num_hidden=3, name="fc")
    truth = tools.check_consistency(layer, runs)
    assert set(truth) == {"fc_output", "x", "fc_weight", "fc_bias"} and truth["x"].dtype == np.float64
    for request in ("add", "null"):
        tools.check_consistency([layer, layer], runs[:2], grad_req=request)
    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tools.check_consistency([mx.sym.identity(X, name="a"), mx.sym.sin(X, name="a")], runs[:2])


def test_structure_and_speed() -> None:
    assert tools.same_symbol_structure(mx.sym.sin(X), mx.sym.sin(Y)) and not tools.same_symbol_structure(-X, X + 1)
    for kind in ("whole", "forward"):
        assert tools.check_speed(mx.sym.sin(X), {"x": A}, N=2, typ=kind) > 0
    with pytest.raises(ValueError, match="forward"):
        tools.check_speed(mx.sym.sin(X), typ="backward", x=(2,))


def test_memory_of_an_executor() -> None:
    """Outputs are kept for gradients alone."""
    x = X
    for _ in range(10):
        x = x * x
    shape = (1 << 18,)
    totals = [
        graph.simple_bind(mx.cpu(), grad_req=request, x=shape).debug_str().split("\n")[-3].split()[1]
        for graph, request in ((x, "write"), (x, "null"), (mx.sym.stop_gradient(x), "write"))
    ]
    assert totals == ["10", "2", "2"]


def test_the_text_of_a_graph() -> None:
    """MXNet's form: outputs, and nodes with what they read, auxiliary states in version 1, and their attributes."""
    assert X.debug_str() == "Variable:x\n"
    net = mx.sym.split(mx.sym.BatchNorm(X, fix_gamma=False, name="norm"), num_outputs=2, name="cut")[1]
    text = """Symbol Outputs:
    output[0]=cut(1)
Variable:x
Variable:norm_gamma
Variable:norm_beta
Variable:norm_moving_mean
Variable:norm_moving_var
--------------------
Op:BatchNorm, Name=norm
Inputs:
    arg[0]=x(0) version=0
    arg[1]=norm_gamma(0) version=0
    arg[2]=norm_beta(0) version=0
    arg[3]=norm_moving_mean(0) version=1
    arg[4]=norm_moving_var(0) version=1
Attrs:
    fix_gamma=False
--------------------
Op:SliceChannel, Name=cut
Inputs:
    arg[0]=norm(0)
Attrs:
    num_outputs=2
"""
    assert net.debug_str() == text.replace("    ", "\t")


def test_the_graph_of_an_executor() -> None:
    bound = (X * 3).simple_bind(mx.cpu(), x=(2,))
    assert type(bound) is mx.executor.Executor
    assert bound.get_optimized_symbol().eval(x=mx.nd.ones(2))[0].asnumpy().tolist() == [3, 3]


def test_what_repeats_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """MXNet leaves as many operations. Draws, losses and the outputs themselves stay apart."""
    draws = mx.sym.Dropout(X) + mx.sym.Dropout(X)
    losses = mx.sym.MakeLoss(X * Y) + mx.sym.MakeLoss(X * Y)
    graphs = [(X + Y) * (X + Y), mx.sym.Group([X * Y + 1, X * Y + 1]), (X + 1) * (X + 2), draws, losses]
    counts = []
    for chosen in ("1", "0"):
        monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", chosen)
        bound = [x.simple_bind(mx.cpu(), **dict.fromkeys(x.list_arguments(), (2,))) for x in graphs]
        counts.append([len(x.get_optimized_symbol().get_internals()) for x in bound])
        for x in (bound[0], bound[4]):
            x.forward(is_train=True, x=mx.nd.array([1, 2]), y=mx.nd.array([3, 4]))
            x.backward(mx.nd.ones(2))
        assert bound[0].outputs[0].asnumpy().tolist() == [16, 36]
        assert bound[0].grad_dict["x"].asnumpy().tolist() == [8, 12]
        assert bound[4].grad_dict["x"].asnumpy().tolist() == [6, 8]
        assert bound[1].output_dict.keys() == set(graphs[1].list_outputs())
    assert [b - a for a, b in zip(*counts, strict=True)] == [1, 1, 0, 0, 1]


def test_losses_need_no_gradient() -> None:
    outputs = mx.sym.Group([2 * X, mx.sym.MakeLoss(X * Y)])
    executor = outputs.bind(mx.cpu(), [mx.nd.ones((2,)), mx.nd.full((2,), 5)], [mx.nd.zeros((2,)), mx.nd.zeros((2,))])
    for given in (1, 3):  # MXNet ignores what is too much
        executor.forward(is_train=True)
        executor.backward([mx.nd.full((2,), 7)] * given)
        assert executor.grad_dict["x"].asnumpy().tolist() == [19, 19]
    with pytest.raises(mx.MXNetError, match=r"0 gradients, but '_mulscalar[0-9]+_output' has none, and is no loss"):
        executor.backward([])


def test_outputs_without_gradient_need_none() -> None:
    """Gradients of the last outputs may be left out where none passes: MXNet's actor and critic gives two for four."""
    outputs = mx.sym.Group([2 * X, mx.sym.MakeLoss(X * Y), mx.sym.BlockGrad(X * 3), mx.sym.argmax(X, axis=0), Y + 1])
    executor = outputs.bind(mx.cpu(), [mx.nd.ones(2), mx.nd.full(2, 5)], [mx.nd.zeros(2), mx.nd.zeros(2)])
    executor.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match=r"1 gradients, but '_plusscalar[0-9]+_output' has none, and is no loss"):
        executor.backward([mx.nd.ones(2)])
    executor = mx.sym.Group([outputs[i] for i in range(4)]).bind(
        mx.cpu(), [mx.nd.ones(2), mx.nd.full(2, 5)], [mx.nd.zeros(2), mx.nd.zeros(2)]
    )
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2)])
    assert executor.grad_dict["x"].asnumpy().tolist() == [7, 7]


def test_losses_behind_a_barrier_have_their_gradient() -> None:
    found = []
    x, label = mx.nd.array([[1, 2, 0], [3, 1, 1]]), mx.nd.array([1, 0])
    x.attach_grad()
    with mx.autograd.record():
        probabilities = mx.nd.BlockGrad(mx.nd.SoftmaxOutput(x, label))
        (-mx.nd.log(mx.nd.pick(probabilities, label))).backward()
    found.append(x.grad)
    graph = mx.sym.BlockGrad(mx.sym.SoftmaxOutput(X, Y))
    executor = graph.bind(mx.cpu(), {"x": x, "y": label}, {"x": mx.nd.zeros((2, 3))})
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    found.append(executor.grad_dict["x"])
    for gradient in found:
        expected = probabilities.asnumpy() - np.eye(3)[[1, 0]]
        np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-6)


def test_nothing_is_smoothed_with_multi_output() -> None:  # as in MXNet 1.9.1
    x, label = mx.nd.array(np.arange(12.0).reshape(2, 3, 2)), mx.nd.array([[0, 1], [2, 0]])
    x.attach_grad()
    found = []
    for alpha in (0.0, 0.2):
        with mx.autograd.record():
            y = mx.nd.SoftmaxOutput(x, label, multi_output=True, smooth_alpha=alpha)
        y.backward()
        found.append(x.grad.asnumpy())
    np.testing.assert_array_equal(*found)


def test_gradients_after_a_pass_that_does_not_train() -> None:
    executor = mx.sym.Dropout(X * 3, p=0.5).bind(mx.cpu(), [mx.nd.ones((4,))], [mx.nd.zeros((4,))])
    executor.forward()
    executor.backward(mx.nd.ones((4,)))
    assert executor.grad_arrays[0].asnumpy().tolist() == [3] * 4


@pytest.mark.parametrize("request_, expected", [("write", 3), ("add", 5)])
def test_gradients_of_another_element_type(request_: str, expected: int) -> None:
    grads = [mx.nd.full((4,), 2, dtype="float64")]
    executor = (X * 3).bind(mx.cpu(), [mx.nd.ones((4,), dtype="float16")], grads, request_)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4,), dtype="float16"))
    assert grads[0].asnumpy().tolist() == [expected] * 4 and grads[0].dtype == np.float64


@pytest.mark.parametrize("dtype, given", [("float64", "float32"), ("float16", "float64"), ("int32", "float32")])
def test_head_gradients_of_another_element_type(dtype: str, given: str) -> None:
    x = mx.nd.array([1, 2, 3], dtype=dtype)
    executor = (X * X).bind(mx.cpu(), [x], [mx.nd.zeros(3, dtype=dtype)])
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([1, 2, 5], dtype=given))
    assert executor.grad_arrays[0].asnumpy().tolist() == [2, 8, 30]


def test_what_has_no_gradient() -> None:
    taken = mx.sym.batch_take(X, Y, name="taken")
    with pytest.raises(mx.MXNetError, match="batch_take 'taken' is not differentiable"):
        taken.simple_bind(mx.cpu(), x=(3, 3), y=(3,))
    mx.sym.stop_gradient(taken).simple_bind(mx.cpu(), x=(3, 3), y=(3,)).backward()
    with pytest.raises(mx.MXNetError, match="backward"):
        taken.gradient(["x"])
    with pytest.raises(mx.base.NotImplementedForSymbol):
        taken += 1


def test_float64_follows_as_other_types_do() -> None:
    """NumPy takes None for float64: what is not known is told from it."""
    weight = mx.sym.var("w", dtype="float64")
    both = mx.sym.Group([mx.sym.sum(mx.sym.stack(X, X)), mx.sym.broadcast_add(mx.sym.tanh(X), weight)])
    assert both.infer_type() == ([np.float64] * 2, [np.float64] * 2, [])
    norm = mx.sym.BatchNorm(mx.sym.tanh(X), gamma=weight, name="n")
    assert norm.infer_type() == ([np.float64] * 3, [np.float64], [np.float64] * 2)


def test_updates_are_operators_of_graphs() -> None:
    update = mx.sym.sgd_mom_update(X, Y, lr=0.5, momentum=0.5, name="u")
    assert update.list_auxiliary_states() == ["u_mom"]
    executor = update.simple_bind(mx.cpu(), grad_req="null", x=(2, 2), y=(2, 2))
    mom = mx.nd.zeros((2, 2))
    for _ in range(2):
        found = executor.forward(x=A, y=B)[0]
        np.testing.assert_array_equal(
            found.asnumpy(), mx.nd.sgd_mom_update(mx.nd.array(A), mx.nd.array(B), mom, lr=0.5, momentum=0.5).asnumpy()
        )
    names = [f"x{i}" for i in range(8)]
    lamb = mx.sym._internal._multi_lamb_update(
        *map(mx.sym.var, names), learning_rates=(0.1, 0.2), wds=(0, 0), step_count=(1, 1), num_tensors=2
    )
    for y, expected in zip(lamb.eval(**{name: mx.nd.ones((2,)) for name in names}), (0.9, 0.8), strict=True):
        np.testing.assert_allclose(y.asnumpy(), expected, 1e-6)
    arrays = {name: mx.nd.full((2,), 0.5) for name in "wgmv"}
    adamw = mx.sym.contrib.adamw_update(*map(mx.sym.var, "wgmv"), 0.5, lr=0.1, eta=1)
    expected = mx.nd.contrib.adamw_update(*(x.copy() for x in arrays.values()), 0.5, lr=0.1, eta=1)
    found = adamw.bind(mx.cpu(), {key: arrays[key] for key in "wg"}, aux_states={key: arrays[key] for key in "mv"})
    np.testing.assert_array_equal(found.forward()[0].asnumpy(), expected.asnumpy())
    types = mx.sym.mp_sgd_update(X, Y, lr=0.5, name="u").infer_type(x="float16")
    assert types == ([np.float16] * 2, [np.float16], [np.float32])


def test_graphs_as_functions_of_arrays() -> None:
    x, y = mx.nd.array(A), mx.nd.array(B)
    op = mx.nd.CachedOp(mx.sym.Group([mx.sym.dot(X, Y), X + Y]), (("static_alloc", True),))
    x.attach_grad()
    with mx.autograd.record():
        product, total = op(x, y)
    product.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones((2, 2)) @ B.T)
    out = [mx.nd.zeros((2, 2)) for _ in range(2)]
    assert op(x, y, out=out) is out
    np.testing.assert_array_equal(out[1].asnumpy(), total.asnumpy())
    with pytest.raises(mx.MXNetError, match="CachedOp takes 2 arrays, x, y, and got 1"):
        op(x)


def test_draws_by_rank() -> None:
    classes = mx.nd.array([0, 3])
    drawn, wanted, expected = mx.sym.Group(mx.sym.contrib.rand_zipfian(X, 5, 10)).eval(x=classes)
    assert drawn.dtype == np.int64 and ((drawn.asnumpy() >= 0) & (drawn.asnumpy() < 10)).all()
    k = np.concatenate([classes.asnumpy(), drawn.asnumpy()])
    found = np.concatenate([wanted.asnumpy(), expected.asnumpy()])
    np.testing.assert_allclose(found, np.log((k + 2) / (k + 1)) / np.log(11) * 5, 1e-6)


def test_slices_of_lengths_that_are_not_known() -> None:
    cut = mx.sym.slice(X, begin=(None, None, 4), end=(None, 2, 1), step=(None, 1, -2))
    assert cut.infer_shape_partial(x=(0, 10, 5, 7))[1] == [(0, 2, 2, 7)]
    assert mx.sym.slice_axis(X, axis=1, begin=-3, end=None).infer_shape_partial(x=(0, 10))[1] == [(0, 3)]
    with pytest.raises(mx.MXNetError, match="is empty"):
        mx.sym.slice_axis(X, axis=0, begin=2, end=2).infer_shape(x=(5,))


def test_what_a_monitor_prints(caplog: pytest.LogCaptureFixture) -> None:
    """A name to the left, and numbers of float32 with their digits alone."""
    executor = (X * 3).bind(mx.cpu(), [mx.nd.array([0.1])])
    monitor = mx.mon.Monitor(1, stat_func=lambda x: x, pattern="x")
    monitor.install(executor)
    with caplog.at_level("INFO"):
        monitor.tic()
        executor.forward()
        monitor.toc_print()
    assert caplog.messages == [f"Batch: {1:7d} {'x':30s} 0.1\t"]


def test_initializers_among_attributes_are_text() -> None:
    """gluoncv's FeatureExpander gives `attr` an Initializer, and its networks are exported."""
    choice = mx.init.Xavier(magnitude=2)
    for net in (
        mx.sym.Convolution(X, num_filter=2, kernel=(1, 1), no_bias=True, name="c", attr={"__init__": choice}),
        mx.sym.FullyConnected(X, mx.sym.var("c_weight", attr={"__init__": choice}), num_hidden=2, no_bias=True),
    ):
        assert net.attr_dict()["c_weight"]["__init__"] == choice.dumps()
        assert mx.sym.load_json(net.tojson()).tojson() == net.tojson()


def test_running_averages_move_once_under_a_monitor() -> None:
    found = []
    for watched in (False, True):
        executor = mx.sym.BatchNorm(X, name="norm").simple_bind(mx.cpu(), x=(4, 2))
        executor.aux_dict["norm_moving_var"][:] = 1
        if watched:
            executor.set_monitor_callback(lambda name, x: None)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((4, 2)))
        found.append(executor.aux_dict["norm_moving_var"].asnumpy().tolist())
    np.testing.assert_allclose(found, [[0.9, 0.9]] * 2, rtol=1e-6)
