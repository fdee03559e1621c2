"""Plans of one network: calls before and after each other, gradients, memory, parameters that change."""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from runtime.plan.plans import MAX_TAPES, MAX_WITH_MEMORY
from tests.gluon.plans import assert_alike, entries, network, perceptron

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


def twice(net, a, b) -> None:
    with autograd.record():
        loss = ((net(a) - net(b)) ** 2).sum()
    loss.backward()


def retained(net, a, b) -> None:
    with autograd.record():
        loss = (net(a) ** 2).sum()
    loss.backward(retain_graph=True)
    net(b)
    loss.backward()


def forgotten(net, a, b) -> None:
    with autograd.record():
        net(a)
    with autograd.record():
        loss = (net(b) ** 2).sum()
    loss.backward()


def differentiated_twice(net, a, b) -> None:
    a = a.copy()
    a.attach_grad()
    with autograd.record():
        [flow] = autograd.grad((net(a) ** 3).sum(), [a], create_graph=True)
        loss = (flow**2).sum()
    loss.backward()


def added(net, a, b) -> None:
    for p in net.collect_params().values():
        if p.grad_req != "null":
            p.grad_req = "add"
    with autograd.record():
        loss = (net(a) ** 2).sum() + (net(b) ** 2).sum()
    loss.backward()


@pytest.mark.parametrize("use", [twice, retained, forgotten, differentiated_twice, added], ids=lambda f: f.__name__)
def test_calls_between_a_call_and_its_gradient(use) -> None:
    """Second derivatives without BatchNorm: its statistics would move once more, as the block is computed again."""
    results = []
    for hybridized, options in ((False, {}), (True, {}), (True, {"static_alloc": True, "static_shape": True})):
        net = network(hybridized, normalized=use is not differentiated_twice, **options)
        a, b = (nd.random.normal(shape=(4, 2, 8, 8)) for _ in range(2))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4})
        for _ in range(4):
            use(net, a, b)
            trainer.step(4)
        results.append([p.data().asnumpy() for p in net.collect_params().values()])
    assert_alike(results[1], results[0])
    assert_alike(results[2], results[0])


def test_kinds_of_inputs_have_plans_of_their_own() -> None:
    net, plain = network(True), network(False)
    for shape in ((4, 2, 8, 8), (2, 2, 8, 8), (4, 2, 8, 8), (2, 2, 8, 8), (4, 2, 8, 8)):
        x = nd.random.normal(shape=shape)
        np.testing.assert_allclose(net(x).asnumpy(), plain(x).asnumpy(), 1e-5, 1e-6)
    assert [entry.compiled is not None for entry in entries(net)] == [True, True]
    net.hybridize(static_alloc=True, static_shape=True)
    for shape in ((4, 2, 8, 8), (2, 2, 8, 8)):
        net(nd.zeros(shape))
    assert len(entries(net)) == 1


def test_a_plan_draws_what_eager_calls_draw() -> None:
    """Large masks and small ones in one plan, draws of others in between, and the gradient."""
    found = []
    for hybridized in (False, True):
        mx.random.seed(3)
        net, x = nn.HybridSequential(), nd.ones((8, 4096))
        net.add(nn.Dropout(0.25), nn.Dropout(0.5, axes=(0,)), nn.Dropout(0.25))
        if hybridized:
            net.hybridize()
        x.attach_grad()
        for _ in range(3):
            with autograd.record():
                y = net(x)
            y.backward()
            found.append(np.stack([y.asnumpy(), x.grad.asnumpy(), nd.random.uniform(shape=x.shape).asnumpy()]))
    assert all(entry.compiled is not None for entry in entries(net))
    np.testing.assert_array_equal(found[3:], found[:3])


def test_parameters_that_are_others() -> None:
    """New values are read where they are; new arrays, and other requests of gradients, make new plans."""
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    first = [net(x).asnumpy() for _ in range(3)]
    weight = net[-1].weight
    weight.set_data(weight.data() * 2)
    np.testing.assert_allclose(net(x).asnumpy() - net[-1].bias.data().asnumpy(), 2 * first[0], 1e-5, 1e-6)
    net.initialize(mx.init.Zero(), force_reinit=True)
    assert not net(x).asnumpy().any()
    net = network(True)
    for requested in ("write", "null", "write"):
        net[0].weight.grad_req = requested
        for _ in range(3):
            with autograd.record():
                loss = (net(x) ** 2).sum()
            loss.backward()
        assert (net[0].weight._grad is None) == (requested == "null")
    assert net[0].weight.grad().asnumpy().any()


def test_outputs_belong_to_the_caller() -> None:
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    outputs = [net(x * k) for k in range(5)]
    values = [y.asnumpy() for y in outputs]
    outputs[4][:] = 7
    assert all(np.array_equal(y.asnumpy(), v) for y, v in zip(outputs[:4], values[:4], strict=True))
    assert not np.array_equal(values[1], values[2])


def test_memory_is_given_back() -> None:
    """Of calls whose gradient is never asked for, too; a plan that is dropped takes its memory along."""
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    for _ in range(3):
        forgotten(net, x, x)
    compiled = next(entry.compiled for entry in entries(net) if entry.compiled)
    with autograd.record():
        outputs = [net(x) for _ in range(3)]
    assert not compiled._free
    del outputs
    assert len(compiled._free) == 1
    dropped = weakref.ref(compiled._free[0])
    del compiled
    net.hybridize()
    gc.collect()
    assert dropped() is None


def test_gradients_that_are_read_while_they_are_computed() -> None:
    """Of a block whose input, or the gradient of whose output, is the gradient of a parameter."""
    results = []
    for hybridized in (False, True):
        mx.random.seed(4)
        net = nn.HybridSequential()
        net.add(nn.Dense(300, in_units=300, use_bias=False), nn.Activation("relu"), nn.Dense(300, in_units=300))
        net.initialize(mx.init.Uniform(0.01))
        if hybridized:
            net.hybridize()
        x = nd.random.normal(shape=(300, 300))
        found = []
        for given, flow in ((x, None), (x, None), (net[0].weight.grad(), None), (x, net[0].weight.grad())):
            with autograd.record():
                y = net(given)
            y.backward(flow)
            found += [p.grad().asnumpy() for p in net.collect_params().values()]
        results.append(found)
    assert_alike(results[1], results[0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_predictions(create_graph: bool) -> None:
    """They are those of the mode of the call, also where a plan has none: for other outputs, and to be recorded."""
    results = []
    for hybridized in (False, True):
        net = network(False)
        net.add(nn.HybridLambda(lambda F, x: [x * 2, F.tanh(x)]))
        if hybridized:
            net.hybridize()
        x = nd.random.normal(shape=(4, 2, 8, 8))
        x.attach_grad()
        found = []
        for head in (0, 0, 1):
            with autograd.record(train_mode=False):
                y = net(x)[head].sum()
                if create_graph:
                    y = (autograd.grad(y, [x], create_graph=True)[0] ** 2).sum()
            y.backward()
            found += [x.grad.asnumpy(), *(p.data().asnumpy() for p in net.collect_params().values())]
        results.append(found)
    assert_alike(results[1], results[0])


class ReadsStatistics(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.norm = nn.BatchNorm(in_channels=3)

    def hybrid_forward(self, F, x):
        moving = self.norm.running_mean.data()
        return self.norm(x * 2) * moving.expand_dims(0) + F.tanh(x) * F.identity(moving)


def test_statistics_that_are_read_before_they_move() -> None:
    results = []
    for hybridized in (False, True):
        mx.random.seed(5)
        net = ReadsStatistics()
        net.initialize()
        if hybridized:
            net.hybridize()
        found = []
        for _ in range(4):
            x = nd.random.normal(shape=(8, 3))
            x.attach_grad()
            with autograd.record():
                loss = (net(x) ** 2).sum()
            loss.backward()
            found += [x.grad.asnumpy(), *(p.data().asnumpy() for p in net.collect_params().values())]
        results.append(found)
    assert_alike(results[1], results[0])


@pytest.mark.parametrize("requests", [["null", "write"], ["write", "null"]])
def test_statistics_do_not_move_where_parameters_are_frozen(requests: list[str]) -> None:
    """Nothing flows back to the BatchNorm then, with a plan as without; plans made before that are replaced."""
    found = []
    for hybridized in (False, True):
        net = nn.HybridSequential()
        net.add(nn.BatchNorm(in_channels=2), nn.Dense(2, in_units=2))
        net.initialize(mx.init.One())
        net.hybridize(hybridized)
        means = []
        for request in requests:
            net[0].gamma.grad_req = net[0].beta.grad_req = request
            for _ in range(4):
                with autograd.record():
                    loss = (net(nd.array([[1, 2], [3, 5]])) ** 2).sum()
                loss.backward()
                means.append(net[0].running_mean.data().asnumpy())
        found.append(means)
        assert not hybridized or entries(net)[0].compiled is not None
    assert_alike(found[1], found[0])
    frozen = found[1][4 * requests.index("null") :][:4]
    assert all((mean == frozen[0]).all() for mean in frozen[1:])


def test_a_parameter_that_begins_to_want_a_gradient() -> None:
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    net[-1].weight.grad_req = "null"
    for wants in (False, False, False, True, True):
        if wants:
            net[-1].weight.data().attach_grad()
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        assert not wants or net[-1].weight.data().grad.asnumpy().any()


class Counts(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        with self.name_scope():
            self.count = self.params.get("count", shape=(1,), grad_req="null", init="zeros")

    def hybrid_forward(self, F, x, count):
        self.calls += 1
        mask = F.zeros((3,))
        mask[0] = 1
        with autograd.pause():
            count[:] = count + 1
        return F.tanh(x * 2) * mask + count


@pytest.mark.parametrize("record", [False, True])
def test_a_call_that_is_refused_happens_once(record: bool) -> None:
    net, x = Counts(), nd.ones((3,))
    net.initialize()
    net.hybridize()
    x.attach_grad()
    for n in range(1, 5):
        with autograd.record() if record else autograd.pause():
            y = net(x)
        assert y._in_graph() == record
        if record:
            y.backward()
            np.testing.assert_allclose(x.grad.asnumpy(), [2 * (1 - np.tanh(2) ** 2), 0, 0], 1e-5)
        assert (net.calls, net.count.data().asscalar()) == (n, n)


def test_many_kinds_of_inputs_in_turn_are_compiled_and_hold_little_memory() -> None:
    net = network(True)
    for _ in range(3):
        for n in range(1, 9):
            with autograd.record():
                loss = net(nd.zeros((n, 2, 8, 8))).sum()
            loss.backward()
    assert all(entry.compiled is not None and entry.tape is None for entry in entries(net))
    del loss
    assert sum(len(entry.compiled._free) for entry in entries(net)) == MAX_WITH_MEMORY


def test_copies_have_plans_of_their_own() -> None:
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    expected, *_ = (net(x).asnumpy() for _ in range(3))
    copied = copy.deepcopy(net)
    assert not entries(copied)
    for _ in range(3):
        np.testing.assert_allclose(copied(x).asnumpy(), expected, 1e-5, 1e-6)


def test_few_tapes_are_held() -> None:
    net = network(True)
    for n in range(1, 9):
        net(nd.zeros((n, 2, 8, 8)))
    assert sum(entry.tape is not None for entry in entries(net)) == MAX_TAPES


def test_gradients_may_be_replaced_between_calls() -> None:
    """A plan writes them in place, and knows where those of the last call were."""
    net = perceptron()
    x, weight = nd.random.normal(shape=(8, 16)), net[0].weight

    def gradient(seen: nd.NDArray) -> np.ndarray:
        with autograd.record():
            y = net(x)
        y.backward()
        return seen.asnumpy()

    net(x)
    *_, expected = (gradient(weight.grad()) for _ in range(3))
    whole = nd.zeros((2, *weight.shape))
    for grad in (nd.zeros(weight.shape), whole[1]):
        autograd.mark_variables([weight.data()], [grad])
        np.testing.assert_array_equal(gradient(grad), expected)
    assert not whole[0].asnumpy().any()


@pytest.mark.parametrize("first", [0, 1])
def test_what_kernels_are_told_of_indices_follows_from_each_call(first: int) -> None:
    """The first calls have one index only, which looks like a constant."""

    class Rows(gluon.HybridBlock):
        def hybrid_forward(self, F, at, x):
            return F.Embedding(at, x, input_dim=5, output_dim=3) + F.dot(F.one_hot(at, 5), x) * 2

    results = []
    for hybridized in (False, True):
        net, x = Rows(), nd.array(np.arange(15).reshape(5, 3))
        x.attach_grad()
        net.hybridize(hybridized)
        for indices in ([first] * 4, [first] * 4, [0, 1, 4, 4]):
            with autograd.record():
                y = net(nd.array(indices), x)
            y.backward()
        results.append((y.asnumpy(), x.grad.asnumpy()))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)
