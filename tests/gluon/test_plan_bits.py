"""Hybridized blocks give the bits that they give when they are not, whatever the first batches looked like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd
from runtime.core.threaded import MIN_ELEMENTS
from runtime.gluon import nn
from runtime.ndarray.elementwise import unary
from runtime.ndarray.elementwise.binary import OPERATORS
from runtime.ndarray.two_gradients import BackwardCall, DirectOperator
from runtime.plan import lower
from runtime.plan.expressions import EXPRESSIONS
from tests.gluon.plans import entries
from tests.ndarray.test_gradients import cases

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")

rng = np.random.default_rng(7)
Function = Callable[..., Any]
Batch = list[np.ndarray]


class Around(gluon.HybridBlock):
    """A function of arrays between others: enough operators for a plan."""

    def __init__(self, function: Function, **kwargs) -> None:
        super().__init__(**kwargs)
        self._function = function

    def hybrid_forward(self, F, *arrays):
        return [passed(F, y) for y in listed(self._function(*(passed(F, x) for x in arrays)))]


def passed(F, x):
    return x * 1 if x._data.dtype.kind == "f" else F.identity(x)


def listed(y) -> list:
    return list(y) if isinstance(y, (list, tuple)) else [y]


def computed(function: Function, batches: Sequence[Batch], hybridized: bool) -> tuple[list[np.ndarray], Around]:
    """Outputs and gradients for each of the batches."""
    mx.random.seed(9)
    net = Around(function)
    if hybridized:
        net.hybridize()
    found = []
    for batch in batches:
        inputs = [nd.array(x, dtype=x.dtype) for x in batch]
        variables = [x for x in inputs if x._data.dtype.kind == "f"]
        for x in variables:
            x.attach_grad()
        with autograd.record():
            outputs = net(*inputs)
        heads = [y for y in outputs if y._in_graph() and y._data.dtype.kind == "f"]
        if heads:
            autograd.backward(heads)
        found += [y.asnumpy() for y in outputs] + [x.grad.asnumpy() for x in variables]
    return found, net


def assert_same_bits(function: Function, batches: Sequence[Batch]) -> Around:
    expected, _ = computed(function, batches, hybridized=False)
    found, net = computed(function, batches, hybridized=True)
    for x, y in zip(found, expected, strict=True):
        assert_equal_bits(x, y)
    return net


def assert_equal_bits(x: np.ndarray, y: np.ndarray) -> None:
    """Signs of zeros, too; of NaN there is one."""
    np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(np.signbit(x) & (x == 0), np.signbit(y) & (y == 0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases of gradients, in float32: twice a batch of one number, then others."""
    met, call = set(), lower._Lowering._compute

    def noted(self, operator, *args):
        met.add(operator)
        return call(self, operator, *args)

    monkeypatch.setattr(lower._Lowering, "_compute", noted)
    wrong = {}
    for name, case in [*cases(), *((f"pairs {i}", x) for i, x in enumerate(PAIRS))]:
        arrays = [np.asarray(x, np.float32) for x in case.arrays] if hasattr(case, "arrays") else NUMBERS
        alike = [np.full_like(x, x.flat[0]) if x.size else x for x in arrays]
        batches = [alike, alike, arrays, [np.roll(x, 1) for x in arrays]]
        try:
            assert_same_bits(getattr(case, "function", case), batches)
        except AssertionError as error:
            wrong[name] = str(error)
        except MXNetError:
            continue  # a matrix of one number is singular, and float64 is asked for
    assert not wrong
    known = {*EXPRESSIONS, *lower.RULES} - lower.SAME
    assert {x.name for x in known if x not in met} == set()


NUMBERS = [rng.normal(size=(3, 4)).astype(np.float32) for _ in range(2)]
PAIRS = [
    lambda x, y: [x + y, x - y, x * y, x / y, 1 - x, 2 / x, nd.maximum(x, y), nd.minimum(x, 0.3)],
    lambda x, y: [x == y, x != y, x > y, x >= y, x < y, x <= 0.5, nd.logical_not(x), nd.add_n(x, y, x)],
    lambda x, y: [nd.zeros_like(x), nd.ones_like(y), nd.make_loss(x), nd.MakeLoss(y), nd.BlockGrad(x), nd.identity(y)],
    lambda x, y: [nd.Flatten(x), unary.relu_slope(x), nd.relu(x), nd.FullyConnected(x, y, y[:, 0], num_hidden=3)],
    lambda x, y: [nd.Dropout(nd.tile(x, (40, 40)), 0.5), nd.sigmoid(x), nd.tanh(y), nd.square(x), nd.clip(y, -1, 0.5)],
    lambda x, y: [nd.dot(x, y.T), nd.dot(x[0:1], y.T), nd.dot(x[:, :1], y[:1, :]), x.sum(axis=0), x.sum(axis=1)],
]

ATTRIBUTES: dict[str, list[dict[str, float]]] = {
    "leaky": [{"slope": 0.1}, {"slope": 0.0}, {"slope": -0.25}],
    "clip": [{"a_min": -1, "a_max": 0.5}, {"a_min": 0, "a_max": 6}, {"a_min": -0.0, "a_max": 0.0}],
}
BINARY = {x: name for name, x in OPERATORS.items()}
ELEMENTWISE = {
    f"{x.name} {attrs}": (x, attrs)
    for x in EXPRESSIONS
    if not isinstance(x, BackwardCall) and x.name != "make_loss" and x not in lower.SAME
    for attrs in ATTRIBUTES.get(x.name, [{}])
}


def special(dtype: str) -> list[np.ndarray]:
    """Pairs of zeros, NaN, infinities, subnormal numbers and others."""
    about = np.finfo(dtype)
    few = [0, 0.5, 1, 2.5, 88, 750, np.inf, about.tiny, about.tiny / 4, about.smallest_subnormal, about.max]
    numbers = np.array([*few, np.nan], dtype)
    return [x.ravel() for x in np.meshgrid(*[np.concatenate([numbers, -numbers])] * 2)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_special_numbers(name: str, dtype: str) -> None:
    """NumPy's bits, those of kernels for large arrays, and those of plans are the same; forwards and backwards."""
    operator, attrs = ELEMENTWISE[name]
    x, y = special(dtype)
    given = [x, y][: 2 if operator in BINARY else 1]
    results = []
    for hybridized in (False, True):
        net = nn.HybridLambda(lambda F, head, *arrays: operator(*(a * 1 for a in arrays), **attrs) * head)
        net.hybridize(hybridized)
        for _ in range(3):
            arrays = [nd.array(a, dtype=dtype) for a in given]
            for a in arrays:
                a.attach_grad()
            with autograd.record():
                output = net(nd.array(np.roll(y, 7), dtype=dtype), *arrays)
            if output._in_graph():
                output.backward()
        plain = operator(*arrays, **attrs)
        results.append([output.asnumpy(), plain.asnumpy(), *(a.grad.asnumpy() for a in arrays)])
        assert not hybridized or dtype == "float16" or all(entry.compiled for entry in entries(net))
    for found, expected in zip(results[1], results[0], strict=True):
        assert_equal_bits(found, expected)
    calls = [(operator.forward, given)]
    if BackwardCall(operator) in EXPRESSIONS or isinstance(operator, DirectOperator):
        calls.append((BackwardCall(operator).forward, [np.roll(y, 7), results[0][1], *given]))
    for call, of in calls:
        large = call(*(np.tile(a, 1 + MIN_ELEMENTS // a.size) for a in of), **attrs)
        small = call(*of, **attrs)
        if call is not operator.forward:
            [large], [small] = large, small
        assert_equal_bits(large[: x.size], small)
        assert_equal_bits(large[-x.size :], small)


NUMBERS_BESIDE = [0.0, -0.0, 0.3, -1.0, np.inf]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "greater"])
def test_special_numbers_beside_numbers(name: str) -> None:
    x = special("float32")[0]

    def function(x):
        function_of = getattr(nd, name)
        return [function_of(*pair) for number in NUMBERS_BESIDE for pair in ((x, number), (number, x))]

    assert_same_bits(function, [[x]] * 3)


class Rectified(gluon.HybridBlock):
    """relu of what is 0 or -0, wherever relu is computed: alone, and in the kernels before it."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            options = {"gamma_initializer": "zeros", "beta_initializer": mx.init.Constant(-0.0)}
            self.normal, self.other = (nn.BatchNorm(in_channels=2, **options) for _ in range(2))
            self.layers = [nn.Conv2D(2, 3, in_channels=2, padding=1), nn.Dense(2, in_units=2, flatten=False)]
            self.register_child(self.layers[0])
            self.register_child(self.layers[1])

    def hybrid_forward(self, F, x):
        sums = [x * -0.0, self.normal(x), self.other(x) + x * -0.0, *(layer(x * -0.0) for layer in self.layers)]
        return F.concat(*(1 / F.relu(y) for y in sums), dim=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [2, 34])
def test_zeros_behind_relu(size: int) -> None:
    results = []
    for hybridized in (False, True):
        net, x = Rectified(), nd.random.normal(shape=(4, 2, size, 2))
        net.initialize()
        net.hybridize(hybridized)
        for _ in range(3):
            with autograd.record():
                y = net(x)
            y.backward()
        results.append(y.asnumpy())
        assert not hybridized or all(entry.compiled for entry in entries(net)), entries(net)[0].refusal
    assert (results[0] == np.inf).all() and (results[1] == np.inf).all()


class Reused(gluon.HybridBlock):
    """Each input and each parameter is used several times."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.w = self.params.get("w", shape=(9, 9), init=mx.init.Uniform(1))
            self.b = self.params.get("b", shape=(9,), init=mx.init.Uniform(1))

    def hybrid_forward(self, F, x, *others, w, b):
        y = F.tanh(F.dot(x, w)) * F.tanh(w.sum(axis=0))
        for other in others:
            y = F.sigmoid(other) * y * F.sin(x) + other
        return F.FullyConnected(y * b, w, b, num_hidden=9) * b + x


def _to_be_recorded(net, x):
    [flow] = autograd.grad((net(x) * net(x * 2)).sum(), [x], create_graph=True)
    return flow.detach() * net(x)


ORDERS: dict[str, Function] = {
    "twice": lambda net, x: net(net(x)) * net(x * 2),
    "used outside": lambda net, x: net(x) + x * net.w.data()[0] + net.b.data(),
    "used before": lambda net, x: (x * 3 + net.b.data()) * net(x),
    "one array": lambda net, x: net(x, x, x) + x,
    "one result": lambda net, x: (lambda y: net(y, y) * net(y, x) * net(x, y))(x * 3),
    "a parameter": lambda net, x: net(net.w.data(), x) + net(x, net.w.data()),
    "recorded": _to_be_recorded,
}


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("name", ORDERS)
def test_gradients_are_added_up_in_one_order(name: str, request_: str) -> None:
    results = []
    for hybridized in (False, True):
        mx.random.seed(4)
        net, found = Reused(), []
        net.initialize()
        net.collect_params().setattr("grad_req", request_)
        net.hybridize(hybridized)
        for _ in range(3):
            x, flow = (nd.random.normal(shape=(9, 9)) for _ in range(2))
            x.attach_grad()
            with autograd.record():
                y = ORDERS[name](net, x)
            y.backward(flow)
            found += [y.asnumpy(), x.grad.asnumpy(), *(p.grad().asnumpy() for p in net.collect_params().values())]
        results.append(found)
    for expected, found in zip(*results, strict=True):
        assert_equal_bits(found, expected)


INTEGERS: dict[str, Function] = {
    "pick": nd.pick,
    "cross entropy": nd.softmax_cross_entropy,
    "loss": lambda x, label: gluon.loss.SoftmaxCrossEntropyLoss()(x, label),
    "output": nd.SoftmaxOutput,
    "svm": nd.SVMOutput,
    "one_hot": lambda x, label: x * nd.one_hot(label, 5),
    "take": lambda x, label: nd.take(x, label) * 3,
    "take along": lambda x, label: nd.take(x, label, axis=1) * 3,
    "embedding": lambda x, label: nd.Embedding(label, x, input_dim=5, output_dim=5) * 3,
    "where": lambda x, label: nd.where(label, x, -x),
    "where not": lambda x, label: nd.where(label == label.max(), x * 3, -x),
    "cast": lambda x, label: x * label.astype("float32").expand_dims(1) + label.astype("float32").sum(),
    "argmax": lambda x, label: nd.pick(x, nd.argmax(x, axis=1)) + label.astype("float32"),
    "mask": lambda x, label: nd.SequenceMask(x, label.astype("float32"), use_sequence_length=True),
    "softmax": lambda x, label: nd.softmax(x, label, use_length=True),
    "gather": lambda x, label: nd.gather_nd(x, label.expand_dims(0)) * 2,
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool", "float32", "float64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_labels(name: str, dtype: str) -> None:
    """Batches of one class, and then of others; their numbers, and that of samples, are those of shapes, too."""

    def batch(*labels: int) -> Batch:
        return [rng.normal(size=(5, 5)).astype(np.float32), np.array(labels).astype(dtype)]

    batches = [batch(3, 3, 3, 3, 3), batch(3, 3, 3, 3, 3), batch(1, 0, 4, 2, 2), batch(0, 0, 0, 0, 0)]
    try:
        computed(INTEGERS[name], batches, hybridized=False)
    except MXNetError:  # of a type that the function does not take
        return
    assert_same_bits(INTEGERS[name], batches)


class WithLoss(gluon.HybridBlock):
    """A classifier that computes its loss."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.scores = nn.Dense(10, in_units=4)
            self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F, x, label):
        return self.loss(self.scores(x), label)


def trained(hybridized: bool, batch: int) -> tuple[float, WithLoss]:
    """The accuracy of a classifier of ten points."""
    mx.random.seed(3)
    net = WithLoss()
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize()
    points = np.random.default_rng(1).normal(size=(10, 4)).astype(np.float32) * 3
    label = np.repeat(np.arange(10, dtype=np.int32), 8)
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(points[label], label), batch)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    for _ in range(40):
        for x, y in loader:
            with autograd.record():
                loss = net(x, y)
            loss.backward()
            trainer.step(len(x))
    return float((net.scores(nd.array(points)).argmax(axis=1).asnumpy() == np.arange(10)).mean()), net


@pytest.mark.parametrize("batch", [1, 8])
def test_training_with_one_class_in_the_first_batch(batch: int) -> None:
    accuracy, net = trained(True, batch)
    assert all(entry.compiled is not None for entry in entries(net))
    assert accuracy == trained(False, batch)[0] > 0.8


def _mean_of_some(x, label):
    return (x * 2 + 1).sum() / nd.contrib.boolean_mask(label, label > 1).shape[0]


def _mean_of_stored(x, label):
    return (x * 2 + 1).sum() / label.tostype("csr").indices.shape[0]


def _scaled_by_a_metric(x, label):
    metric = mx.metric.MSE()
    metric.update([label], [label * 0])
    return (x * 2 + 1) * metric.get()[1]


@pytest.mark.parametrize("function", [_mean_of_some, _mean_of_stored, _scaled_by_a_metric])
def test_lengths_and_metrics_that_follow_from_values(function: Function) -> None:
    class Block(gluon.HybridBlock):
        def hybrid_forward(self, F, x, label):
            return function(x, label)

    eager, plan = Block(), Block()
    plan.hybridize()
    for labels in ([0, 1, 2, 3], [0, 1, 2, 3], [2, 1, 0, 0], [3, 3, 3, 3]):
        inputs = nd.ones((4, 5)), nd.array([labels] if function is _mean_of_stored else labels)
        np.testing.assert_array_equal(plan(*inputs).asnumpy(), eager(*inputs).asnumpy())
