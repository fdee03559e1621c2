"""Recording and walking back: modes, gradients' requests, the life of a graph, writing into it, threads."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd


def variable(*values: float, grad_req: str = "write") -> nd.NDArray:
    x = nd.array(values)
    x.attach_grad(grad_req)
    return x


def grad(x: nd.NDArray) -> list[float]:
    return x.grad.asnumpy().tolist()


def test_modes_nest_and_return() -> None:
    def modes() -> tuple[bool, bool]:
        return autograd.is_recording(), autograd.is_training()

    assert modes() == (False, False)
    with autograd.record():
        assert modes() == (True, True)
        with autograd.pause():
            assert modes() == (False, False)
        with autograd.predict_mode():
            assert modes() == (True, False)
            with autograd.train_mode():
                assert modes() == (True, True)
    with autograd.record(train_mode=False):
        assert modes() == (True, False)
    with pytest.raises(KeyError), autograd.record():
        raise KeyError
    assert modes() == (False, False)


def test_an_array_used_several_times_gets_every_share() -> None:
    x = variable(1, 2)
    with autograd.record():
        y = x * x + x[0] * 3
        z = (y * y).sum()
    z.backward()
    y = np.array([4.0, 7.0])
    np.testing.assert_allclose(grad(x), [2 * y[0] * 2 + 2 * (y[0] + y[1]) * 3, 2 * y[1] * 4])


def test_write_replaces_and_add_adds() -> None:
    x, y = variable(1), variable(1, grad_req="add")
    buffer = x.grad
    for _ in range(3):
        with autograd.record():
            z = x * 2 + y * 3
        z.backward()
    assert (grad(x), grad(y)) == ([2], [9])
    assert x.grad is buffer
    with pytest.raises(ValueError, match="'write', 'add' or 'null'"):
        x.attach_grad("sum")


def test_head_gradients() -> None:
    x = variable(1, 2)
    with autograd.record():
        y, z = x * 2, x * x
    autograd.backward([y, z], [nd.array([1, 10]), None])
    assert grad(x) == [2 + 2, 20 + 4]
    with autograd.record():
        y = x * 2
    with pytest.raises(ValueError, match=r"head of shape \(2,\) cannot have a head gradient of shape \(1,\)"):
        y.backward(nd.ones(1))
    with pytest.warns(UserWarning, match=r"shape \(3,\), the rows that a head of \(2,\) has count"):
        y.backward(nd.array([1, 10, 100]), retain_graph=True)
    assert grad(x) == [2, 20]
    with pytest.raises(ValueError, match="1 heads, but 2 head gradients"):
        autograd.backward([y], [None, None])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 4), (2, 2)])
def test_head_gradients_of_another_shape_are_taken_in_order(shape: tuple[int, ...]) -> None:
    x = nd.arange(4).reshape((4, 1))
    x.attach_grad()
    head = nd.array([1, 2, 3, 4]).reshape(shape)
    for walk in (lambda z: z.backward(head), lambda z: autograd.backward([z, z], [head, None])):
        with autograd.record():
            z = nd.exp(nd.log(x + 1)) * x  # (x + 1) x
        walk(z)
    np.testing.assert_allclose(x.grad.asnumpy(), [[2], [9], [20], [35]], 1e-5)
    with autograd.record():
        z = x * x
    first = autograd.grad(z, [x], [head], create_graph=True)[0]
    assert first.asnumpy().tolist() == [[0], [4], [12], [24]] and head.shape == shape


def test_a_graph_is_walked_once_unless_retained() -> None:
    x = variable(3)
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert grad(x) == [6]
    with pytest.raises(MXNetError, match="retain_graph=True"):
        y.backward()


def test_a_shared_part_that_was_released_is_an_error() -> None:
    x = variable(3)
    with autograd.record():
        y = x * x
        first, second = y * 2, y * 3
    first.backward()
    with pytest.raises(MXNetError, match="released by an earlier backward"):
        second.backward()


def test_what_was_computed_from_a_released_part_alone_is_a_constant_to_what_is_recorded_later() -> None:
    x = variable(3)
    with autograd.record():
        y = x * x
        unused = nd.stack(y, y)
    y.backward()
    with autograd.record():
        z = (unused * x).sum()
    z.backward()
    assert grad(x) == [18]
    with pytest.raises(MXNetError, match="released by an earlier backward"):
        unused.backward()


def test_what_needs_a_released_part_and_another_is_an_error() -> None:
    x = variable(3)
    w = variable(2)
    with autograd.record():
        y = x * x
        both = y * w
    y.backward()
    with autograd.record():
        z = both * 2
    with pytest.raises(MXNetError, match="released by an earlier backward"):
        z.backward()


def test_the_states_of_a_recurrent_layer_are_constants_to_the_next_piece_of_a_text() -> None:
    layer = gluon.rnn.LSTM(3, num_layers=2)
    layer.initialize(mx.init.One())

    def gradients(detach: bool) -> list[np.ndarray]:
        states = layer.begin_state(2)
        found = []
        for piece in nd.arange(24).reshape((3, 4, 2, 1)) / 24:
            states = [s.detach() for s in states] if detach else states
            with autograd.record():
                output, states = layer(piece, states)
                loss = output.mean()
            loss.backward()
            found.append(layer.l0_h2h_weight.grad().asnumpy())
        return found

    np.testing.assert_array_equal(gradients(detach=False), gradients(detach=True))


def test_what_backward_released_counts_as_a_constant() -> None:
    x = variable(3)
    with autograd.record():
        y = x * x
    y.backward()
    with autograd.record():
        z = x * y
    z.backward()
    assert grad(x) == [9]


def test_outside_of_the_graph() -> None:
    x, free = variable(1), nd.ones(1)
    with pytest.raises(MXNetError, match="not in a computational graph"):
        (x * 2).backward()  # not recorded
    with autograd.record():
        y = free * 2
        with autograd.pause():
            paused = x * 2
        z = x * paused.detach() + (x * 5).detach()
    assert free.grad is None
    for constant in (y, paused):
        with pytest.raises(MXNetError, match="not in a computational graph"):
            constant.backward()
    z.backward()
    assert grad(x) == [2]


def test_attach_grad_cuts_off_the_past() -> None:
    x = variable(2)
    with autograd.record():
        y = x * 3
        y.attach_grad()
        z = y * y
    z.backward()
    assert (grad(y), grad(x)) == ([12], [0])


def test_an_operator_without_slope_gives_zero() -> None:
    x = variable(2)
    x.grad[:] = 7
    with autograd.record():
        y = (x > 1) + x.argmax(axis=0)
    y.backward()
    assert grad(x) == [0]


def test_writing_into_the_graph_is_refused() -> None:
    x, free = variable(1, 2), nd.zeros(2)
    with autograd.record():
        y = x * 2
        for array in (x, y):
            with pytest.raises(MXNetError, match="not supported when recording"):
                array[0] = 1
            with pytest.raises(MXNetError, match="not supported when recording"):
                array += 1
        with pytest.raises(MXNetError, match="all of an array"):
            free[0:1] = y[0:1]
        free[:] = y  # a whole array outside the graph: it joins
        z = free * 3
    z.backward()
    assert grad(x) == [6, 6]
    x += 1  # outside of record, variables are written as optimizers do
    assert x.asnumpy().tolist() == [2, 3]


def test_writing_constants_inside_record() -> None:
    constant = nd.zeros(2)
    with autograd.record():
        constant[0] = 1
        constant += 1
    assert constant.asnumpy().tolist() == [2, 1]


def test_threads_do_not_see_each_other() -> None:
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append((autograd.is_recording(), autograd.is_training())))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


def test_a_graph_dies_with_its_arrays() -> None:
    x = variable(1)
    gc.disable()
    try:
        with autograd.record():
            y = x * 2
            z = y * y
        alive = weakref.ref(y)
        del y, z
        assert alive() is None  # without the help of the garbage collector: no cycles
    finally:
        gc.enable()


def test_a_deep_graph() -> None:
    x = variable(1)
    with autograd.record():
        y = x
        for _ in range(5000):
            y = y + x
    y.backward()
    assert grad(x) == [5001]


def test_a_head_that_is_constant_is_passed_over_beside_others() -> None:
    x = nd.array([2])
    x.attach_grad()
    with autograd.record():
        y = x * x
    autograd.backward([nd.ones((3,)), y])
    assert x.grad.asscalar() == 4
    with pytest.raises(MXNetError, match="not in a computational graph"):
        autograd.backward([nd.ones((3,)), nd.ones((2,))])


def test_a_gradient_goes_back_to_where_the_array_came_from() -> None:
    x = variable(3)
    with autograd.record():
        y = (x * x).as_in_context(mx.cpu(1))
        z = (y * y).copyto(mx.cpu(2)) + 1
    assert z.context == mx.cpu(2)
    z.backward()
    assert grad(x) == [108] and x.grad.context == mx.current_context()


@pytest.mark.cpu_only("arrays of several contexts meet in one operator")
def test_gradients_are_in_the_contexts_of_their_arrays() -> None:
    x, y = nd.array([3], ctx=mx.cpu(1)), nd.array([2])
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        gradients = autograd.grad(x * y * y, [x, y], create_graph=True)
        gradients[0].backward()
    assert [g.context for g in gradients] == [mx.cpu(1), mx.cpu(0)] and grad(x) == [0] and grad(y) == [4]


def test_gradients_are_arrays_of_their_own() -> None:
    x, y, head = variable(1, 2), variable(3, 4), nd.ones(2)
    with autograd.record():
        z = x.reshape((2,)) + y
    first, second = autograd.grad(z, [x, y], head)
    first[:] = 7
    assert second.asnumpy().tolist() == head.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, y: y.backward(nd.ones(1, dtype="float64")), MXNetError, "a head gradient of float64"),
        (lambda x, y: autograd.backward([y, 3]), TypeError, "heads and their gradients must be NDArrays, not int"),
        (lambda x, y: autograd.backward(y, np.ones(y.shape, "f4")), TypeError, "must be NDArrays, not ndarray"),
        (lambda x, y: autograd.grad(y, 3), TypeError, "variables must be NDArrays, not int"),
        (lambda x, y: autograd.grad(y, []), AssertionError, "no variables"),
        (lambda x, y: autograd.mark_variables([x], []), ValueError, "1 variables, 0 gradients"),
        (lambda x, y: autograd.mark_variables(x, nd.ones(2)), ValueError, r"a gradient of shape \(2,\)"),
        (lambda x, y: autograd.mark_variables(x, nd.ones(1, dtype="int32")), MXNetError, "type int32"),
    ],
)
def test_what_does_not_fit(call: Callable, error: type[Exception], words: str) -> None:
    x = variable(1)
    with autograd.record():
        y = x * 2
    with pytest.raises(error, match=words):
        call(x, y)


def test_a_function_gets_and_gives_arrays() -> None:
    class Twice(autograd.Function):
        def forward(self, x: nd.NDArray) -> nd.NDArray:
            return x * 2

        def backward(self, dy: nd.NDArray) -> nd.NDArray:
            return nd.array(2 * dy.asnumpy())  # float32, as nd.array makes of NumPy's arrays

    x = nd.ones(2, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = Twice()(x * 3)
    y.backward()
    assert grad(x) == [6, 6] and x.grad.dtype == np.float64
    assert Twice()(3.0) == 6
    with autograd.record(), pytest.raises(TypeError, match="Twice: recorded inputs and outputs must be NDArrays"):
        Twice()(3.0)


def test_a_recorded_graph_as_text() -> None:
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.exp(x) + x
    found = json.loads(autograd.get_symbol(y).tojson())
    assert [node["op"] for node in found["nodes"]] == ["null", "exp", "add"] and found["arg_nodes"] == [0]
    assert [entry[0] for entry in found["nodes"][2]["inputs"]] == [1, 0] and found["heads"] == [[2, 0, 0]]


@pytest.mark.parametrize("given", [False, True], ids=["attach_grad", "mark_variables"])
def test_a_gradient_that_is_read_by_the_same_walk_is_the_one_before(given: bool) -> None:
    """Products write gradients where variables keep them, unless someone has these arrays."""
    w, u, data = (nd.array(np.random.default_rng(i).normal(size=(3, 3))) for i in range(3))
    u.attach_grad()
    if given:
        before = nd.ones((3, 3))
        autograd.mark_variables(w, before)
    else:
        w.attach_grad()
        before = w.grad
        before[:] = 1
    with autograd.record():
        other = nd.dot(before, u)
        y = nd.dot(data, w)
    autograd.backward([other, y])
    np.testing.assert_array_equal(u.grad.asnumpy(), np.full((3, 3), 3))
    np.testing.assert_allclose(before.asnumpy(), data.asnumpy().T @ np.ones((3, 3)), rtol=1e-6)


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_gradients_of_what_several_products_read(grad_req: str) -> None:
    """The first gradient may lie where the sum will be."""
    values = [np.random.default_rng(i).normal(size=(4, 4)).astype("float32") for i in range(2)]
    w, data = map(nd.array, values)
    w.attach_grad(grad_req)
    grads = []
    for _ in range(2):
        with autograd.record():
            y = [nd.dot(data, w), nd.FullyConnected(data, w, nd.ones(4), num_hidden=4), nd.dot(w, w), w * 2]
            y += [nd.take(w, nd.array([1, 1, 3])), nd.Embedding(nd.array([0, 2, 2, 2, 0]), w)]
        autograd.backward(y)
        grads.append(w._node.grad.asnumpy())
    w, data = values
    rows = np.array([2, 2, 3, 1])[:, None]
    whole = data.sum(0)[:, None] + data.sum(0) + w.sum(1) + w.sum(0)[:, None] + 2 + rows
    for i, found in enumerate(grads):
        np.testing.assert_allclose(found, whole * (i + 1 if grad_req == "add" else 1), rtol=1e-5)
