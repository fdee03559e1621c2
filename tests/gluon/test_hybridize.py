"""A hybridized network does what it does as it is, whatever its blocks override: values, gradients, hooks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon import nn


class Double(gluon.HybridBlock):
    """`2 x`, or `2 x + y`; counts the calls of `hybrid_forward`, and of the `forward` of subclasses."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.calls: list[str] = []

    def hybrid_forward(self, F: object, x: nd.NDArray, y: nd.NDArray | None = None) -> nd.NDArray:
        self.calls.append("hybrid_forward")
        return 2 * x if y is None else 2 * x + y


class AddOne(Double):
    def forward(self, x: nd.NDArray, *args: nd.NDArray) -> nd.NDArray:
        self.calls.append("AddOne")
        return super().forward(x + 1, *args)


class TimesTen(AddOne):
    def forward(self, x: nd.NDArray, *args: nd.NDArray) -> nd.NDArray:
        self.calls.append("TimesTen")
        return super().forward(x * 10, *args)


class NoSuper(Double):
    def forward(self, x: nd.NDArray, scale: float = 3) -> nd.NDArray:
        self.calls.append("NoSuper")
        return x * scale


class Scaled(Double):
    def forward(self, x: nd.NDArray, scale: float = 3, *, shift: float = 1) -> nd.NDArray:
        self.calls.append("Scaled")
        return super().forward(x * scale) + shift


class Pair(Double):
    def forward(self, pair: list[nd.NDArray]) -> nd.NDArray:
        self.calls.append("Pair")
        return super().forward(*pair)


class Twice(Double):
    def forward(self, x: nd.NDArray) -> nd.NDArray:
        self.calls.append("Twice")
        return super().forward(super().forward(x)) + 1


class Flat(Double):
    """Its weight waits for the first inputs, which `forward` gives another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = self.params.get("weight", shape=(2, 0), init="ones", allow_deferred_init=True)

    def hybrid_forward(self, F: object, x: nd.NDArray, weight: nd.NDArray) -> nd.NDArray:
        self.calls.append("hybrid_forward")
        return F.FullyConnected(x, weight, num_hidden=2, no_bias=True, flatten=False)

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        self.calls.append("Flat")
        return super().forward(x.reshape((1, -1)))


class Nested(Double):
    """Parts that override `forward`, called from one that does and from a container."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = TimesTen(), nn.HybridSequential()
        self.rest.add(AddOne(), Flat(), nn.Dense(2, weight_initializer="ones", activation="relu"))
        for block in (self.first, self.rest[0], self.rest[1]):
            block.calls = self.calls

    def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
        self.calls.append("hybrid_forward")
        return self.rest(self.first(x, x))

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        self.calls.append("Nested")
        return super().forward(x) + self.first(x)


X = nd.array([[1, 2], [3, 4]])
CASES: dict[str, tuple[type[Double], tuple]] = {
    "hybrid_forward only": (Double, (X,)),
    "two inputs": (Double, (X, X)),
    "super": (AddOne, (X,)),
    "super, two inputs": (AddOne, (X, X)),
    "a chain of super": (TimesTen, (X,)),
    "forward only": (NoSuper, (X,)),
    "forward only, more arguments": (NoSuper, (X, 5)),
    "arguments with defaults": (Scaled, (X,)),
    "arguments that are no arrays": (Scaled, (X, 5)),
    "another structure inside": (Pair, ([X, X],)),
    "super twice": (Twice, (X,)),
    "deferred": (Flat, (X,)),
    "nested": (Nested, (X,)),
}
WAYS: dict[str, tuple[Callable[[Double], object], Callable[[Double], object]]] = {
    "before the first call": (lambda net: net.hybridize(), lambda net: None),
    "after it": (lambda net: None, lambda net: net.hybridize()),
    "with all flags": (lambda net: net.hybridize(static_alloc=True, static_shape=True), lambda net: None),
    "twice": (lambda net: net.hybridize(), lambda net: net.hybridize(True, inline_limit=3)),
    "and no more": (lambda net: net.hybridize(), lambda net: net.hybridize(False)),
    "cast": (lambda net: net.hybridize(), lambda net: net.cast("float32")),
}
PLAIN = (lambda net: None, lambda net: None)


def observed(
    make: type[Double],
    inputs: tuple,
    before: Callable[[Double], object],
    after: Callable[[Double], object],
    record: bool,
) -> list:
    """All that two calls of a new network show: `before` them, and `after` the first, something is done to it."""
    net, seen = make(), []
    net.initialize()
    net.register_forward_pre_hook(lambda block, args: seen.append(("pre", len(args))))
    net.register_forward_hook(lambda block, args, out: seen.append(("post", out.asnumpy().tolist())))
    X.attach_grad()
    for change in (before, after):
        change(net)
        with autograd.record() if record else autograd.pause():
            y = net(*inputs)
        if record:
            y.backward()
            seen.append(X.grad.asnumpy().tolist())
        # What a hybridized block has compiled needs no more calls of its parts, and of `hybrid_forward`.
        seen += [y.asnumpy().tolist(), net.calls.count(type(net).__name__)]
    seen.append([param.data().shape for param in net.collect_params().values()])
    return seen


@pytest.mark.parametrize("case", CASES)
def test_hybridized_as_plain(case: str) -> None:
    for record in (True, False):
        plain = observed(*CASES[case], *PLAIN, record)
        for way, (before, after) in WAYS.items():
            assert observed(*CASES[case], before, after, record) == plain, (way, record)


def test_each_forward_runs_once() -> None:
    net = TimesTen()
    net.hybridize()
    assert net(nd.array([1])).asnumpy().tolist() == [22]  # 2 (10 x + 1)
    assert net.calls == ["TimesTen", "AddOne", "hybrid_forward"]


def test_after_cast_the_inputs_may_be_of_another_structure() -> None:
    net = Double()
    net.hybridize()
    net(X)
    net.cast("float64")
    x = X.astype("float64")
    assert net(x, x).dtype == x.dtype


def test_shapes_are_inferred_without_hooks() -> None:
    net, seen = Nested(), []
    net.initialize()
    net.register_forward_hook(lambda *_: seen.append(1))
    net.infer_shape(X)
    assert net.rest[1].weight.shape == (2, 4) and seen == []


class Views(gluon.HybridBlock):
    def __init__(self, function) -> None:
        super().__init__()
        self._function = function
        with self.name_scope():
            self.w = self.params.get("w", shape=(3, 4), init="ones")

    def hybrid_forward(self, F, x, *others, w):
        return self._function(F, x, w)


VIEWS = {
    "planned": lambda F, x, w: [x, x.reshape((4, 3)), x[1:3], w, w[0], (lambda y: [y, y, y[0]])(F.tanh(x * w) + 1)],
    "refused": lambda F, x, w: [x.reshape((-1,)), x * float(x.sum()) + w, w, x],
    "few": lambda F, x, w: x.reshape((4, 3)),
    "the input": lambda F, x, w: x,
    "the parameter": lambda F, x, w: w,
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_outputs_have_memory_of_their_own(name: str, recorded: bool, nested: bool) -> None:
    """In the first call and in later ones; gradients flow through as they do through views."""
    net, plain = Views(VIEWS[name]), Views(VIEWS[name])
    net.initialize()
    plain.initialize()
    net.hybridize()
    for _ in range(4):
        x, other, gradients = nd.arange(12).reshape((3, 4)) / 12, nd.ones((1,)), []
        x.attach_grad()
        for block in (plain, net):
            with autograd.record() if recorded else autograd.pause():
                outputs = list(flat(block(x, [other]) if nested else block(x)))
                total = sum((y * y).sum() for y in outputs)
            if recorded:
                total.backward()
                gradients += [x.grad.asnumpy(), block.w.grad().asnumpy()]
                x.grad[:] = block.w.grad()[:] = 0
        for expected, found in zip(gradients[:2], gradients[2:], strict=True):
            np.testing.assert_array_equal(found, expected)
        before = [y.asnumpy() for y in outputs]
        x[:] = 7
        for y, values in zip(outputs, before, strict=True):
            np.testing.assert_array_equal(y.asnumpy(), values)
            y[:] = -1
        assert (x.asnumpy() == 7).all() and (net.w.data().asnumpy() == 1).all()


def flat(y):
    return [y] if isinstance(y, nd.NDArray) else [x for part in y for x in flat(part)]


def first_written(F, x, i):
    i[0] = 1
    return x * i.astype("float32") * 2


def counted_up(F, x, i):
    i += 1
    return x * i.astype("float32") * 2


def result_written(F, x, i):
    y = i * 2
    y[1:] = 3
    return x * y.astype("float32") * 2


def variable_written(F, x, i):
    y = i.astype("float32") * 1
    y[:] = x
    return y * 2


def paused_and_written(F, x, i):
    with autograd.pause():
        y = x * 3
    y[1] = 5
    return [x * y, y * 2, i * 2]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("function", [first_written, counted_up, result_written, variable_written, paused_and_written])
def test_what_is_in_no_graph_can_be_written_to(function: Callable, recorded: bool) -> None:
    """In the first call, too, which notes what needs no gradient; then arrays are in the graph as ever."""
    results = []
    for hybridized in (False, True):
        net = nn.HybridLambda(lambda F, x, i, j: [*flat(function(F, x, i)), j * 2])
        net.hybridize(hybridized)
        found = []
        for twice in (False, True):
            for _ in range(3):
                x, i = nd.array([1, 2, 3]), nd.array([5, 6, 7], dtype="float32" if twice else "int32")
                x.attach_grad()
                with autograd.record() if recorded else autograd.pause():
                    outputs = list(flat(net(x, i, i if twice else i * 1)))
                found.append([y._in_graph() for y in outputs])
                if recorded:
                    outputs[0].backward()
                found += [y.asnumpy().tolist() for y in (*outputs, i, x.grad)]
        results.append(found)
    assert results[0] == results[1]


def test_what_is_in_a_graph_cannot_be_written_to() -> None:
    net, x = nn.HybridLambda(lambda F, x: counted_up(F, x, x * 2)), nd.ones((3,))
    net.hybridize()
    x.attach_grad()
    for _ in range(2):
        with autograd.record(), pytest.raises(MXNetError, match="Inplace operations"):
            net(x)
