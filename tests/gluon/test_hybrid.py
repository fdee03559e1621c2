"""Hybrid blocks: contexts of their inputs, shapes that become known late, monitored operators, what needs a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as mx
from runtime import autograd, gluon, init, nd
from runtime.gluon import nn
from runtime.name import NameManager


class Own(gluon.HybridBlock):
    """A layer of the user's own, whose weight waits for the first inputs."""

    def __init__(self, shape: tuple[int, ...], **kwargs: object) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, init="ones", allow_deferred_init=True)
            self.scale = self.params.get("scale", shape=(1,), init="ones", differentiable=False)

    def hybrid_forward(self, F: object, x: nd.NDArray, weight: nd.NDArray, scale: nd.NDArray) -> nd.NDArray:
        spread = F.broadcast_sub(F.max(x), F.min(x)) + 1
        y = F.FullyConnected(F.broadcast_div(x, spread), weight, num_hidden=self.weight.shape[0], no_bias=True)
        return F.broadcast_mul(scale, y, name="out")


class Nested(gluon.HybridBlock):
    """Takes lists of arrays, and makes an array itself."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(2,), init="ones")

    def hybrid_forward(self, F: object, x: object, states: list, weight: nd.NDArray) -> list:
        return [states[0][0] * weight + F.ones((2,)), x]


# ---------------------------------------------------------------- shapes that become known late


def test_deferred_initialization() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, activation="tanh"), nn.Flatten(), nn.Dense(2))
    with pytest.raises(mx.MXNetError, match=r"'net_dense0_weight' has no values yet.*\(in Dense 'net_dense0'\)$"):
        net(nd.ones((2, 4)))
    net.initialize(init.Xavier())
    assert net[0].weight.shape == (5, 0)
    with pytest.raises(gluon.DeferredInitializationError, match="not fully known before the first forward pass"):
        net[0].weight.data()
    assert net(nd.ones((2, 2, 2))).shape == (2, 2)
    assert net[0].weight.shape == (5, 4)
    assert net[0].weight.data().grad.shape == (5, 4)
    with pytest.raises(mx.MXNetError, match=r"\(2, 3\).*\(5, 4\).*\(in Dense 'net_dense0'\)$"):
        net(nd.ones((2, 3)))


def test_infer_shape_and_type_of_a_network() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(5), nn.Dense(2))
    net.initialize()
    with autograd.record():
        net.infer_shape(nd.ones((2, 3)))
    assert (net[0].weight.shape, net[1].weight.shape) == ((5, 3), (2, 5))
    net.infer_type(nd.ones((1,), dtype="float64"))
    assert net[1].bias.data().dtype == net[0].weight.dtype == nd.ones(1, dtype="float64").dtype


@pytest.mark.parametrize("contexts", [[mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]])
def test_a_layer_of_the_users_own_learns_its_shapes_from_its_operators(contexts: list) -> None:
    layer = Own((3, 0))
    layer.initialize(ctx=contexts)
    x = nd.ones((2, 2, 2), ctx=contexts[-1])
    with autograd.record():
        y = layer(x)
    y.backward()
    assert layer.weight.shape == (3, 4)
    assert y.context == contexts[-1] and y.asnumpy().tolist() == [[4] * 3] * 2
    assert layer.weight.grad(contexts[-1]).asnumpy().tolist() == [[2] * 4] * 3


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda F, x, w: F.elemwise_mul(x, w), (5, 2, 4)),
        (lambda F, x, w: F.Convolution(x, no_bias=True, weight=w, kernel=(3,), num_filter=6, name="c"), (6, 2, 3)),
        (lambda F, x, w: F.RNN(x, w, F.zeros((1, 2, 3)), state_size=3, num_layers=1, mode="rnn_tanh"), (27,)),
        (lambda F, x, w: F.contrib.SyncBatchNorm(x, *[w] * 4, key="bn"), (2,)),
    ],
)
def test_shapes_that_the_rules_of_graphs_tell(call: Callable[..., nd.NDArray], shape: tuple[int, ...]) -> None:
    class Layer(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", init="ones", allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: nd.NDArray, w: nd.NDArray) -> nd.NDArray:
            return call(F, x, w)

    layer = Layer()
    layer.initialize()
    layer(nd.ones((5, 2, 4)))
    assert layer.w.shape == shape


def test_shapes_that_do_not_follow() -> None:
    class Scale(Own):
        def hybrid_forward(self, F: object, x: nd.NDArray, weight: nd.NDArray, scale: nd.NDArray) -> nd.NDArray:
            return F.broadcast_mul(x, weight)

    layer = Scale((0,), prefix="mine_")
    layer.initialize()
    with pytest.raises(mx.MXNetError, match=r"Parameter mine_weight \(shape=\(0,\).* does not follow.*Scale 'mine'"):
        layer(nd.ones((3, 2)))
    layer.weight.shape = (2,)  # said after all
    assert layer(nd.ones((3, 2))).shape == (3, 2)
    known = Scale((2,))
    known.initialize()
    assert known(nd.ones((3, 2))).shape == (3, 2)


# ---------------------------------------------------------------- contexts and inputs


def test_parameters_are_those_of_the_inputs_context() -> None:
    one, two = mx.cpu(1), mx.cpu(2)
    layer = Nested()
    layer.initialize(ctx=[one, two])
    with autograd.record():
        outs = [layer(None, [[nd.ones(2, ctx=ctx)]])[0] for ctx in (one, two)]
        (outs[0] * 3).backward()
        outs[1].backward()
    assert [y.context for y in outs] == [one, two]
    assert [g.asnumpy().tolist() for g in layer.weight.list_grad()] == [[3, 3], [1, 1]]
    with pytest.raises(mx.MXNetError, match=r"weight' lives in cpu\(1\), cpu\(2\), not in cpu\(0\).*\(in Nested"):
        layer(None, [[nd.ones(2, ctx=mx.cpu())]])
    with pytest.raises(ValueError, match=r"Nested 'nested.*' takes NDArrays, alone or in lists, and got None"):
        layer(None, [[None]])
    layer = nn.Activation("relu")
    layer.hybridize()
    with pytest.raises(ValueError, match=r"Activation 'relu.*' takes NDArrays, alone or in lists, and got NoneType"):
        layer(None)


def test_errors_name_the_innermost_block() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=3, prefix="first_"))
    net.initialize()
    with pytest.raises(mx.MXNetError) as caught:
        net(nd.ones((1, 4)))
    assert str(caught.value).count("(in ") == 1
    assert str(caught.value).endswith("(in Dense 'net_first')")
    assert caught.value.block is net[0]


def test_parts_must_be_hybrid() -> None:
    net = Own((1, 1))
    with pytest.raises(ValueError, match=r"parts of Own 'own.*' must be HybridBlocks, and Block 'block.*' is none"):
        net.part = gluon.Block()


# ---------------------------------------------------------------- hybridize and graphs


def test_hybridize_is_accepted() -> None:
    net = nn.HybridSequential()
    net.add(Own((3, 4)))
    net.initialize()
    before = net(nd.ones((2, 4)))
    net.hybridize(
        active=True,
        backend="any",
        clear=False,
        static_alloc=True,
        static_shape=True,
        inline_limit=3,
        forward_bulk_size=1,
        backward_bulk_size=1,
        use_static_memory=True,
    )
    assert (net(nd.ones((2, 4))).asnumpy() == before.asnumpy()).all()


class Sum(gluon.HybridBlock):
    """The sum of an array, perhaps another one, and a number."""

    def hybrid_forward(self, F: object, x: nd.NDArray, y: nd.NDArray | None = None, number: float = 0) -> nd.NDArray:
        return (x if y is None else x + y) + number


class Twice(gluon.HybridBlock):
    """Calls a part in two ways."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Sum()

    def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
        return self.part(x, x, 1) + self.part(x)


def test_hybridized_blocks_take_inputs_of_one_structure() -> None:
    with NameManager():
        x, block = nd.ones((2,)), Sum()
    assert block(x, None, 1).asnumpy().tolist() == [2, 2]
    block.hybridize()
    with pytest.raises(ValueError, match=r"'sum0' is hybridized .* no int: call hybridize\(False\)"):
        block(x, None, 1)
    assert block(x).asnumpy().tolist() == block(x, None).asnumpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"first called with \(array\), and now with \(array, array\)"):
        block(x, x)
    block.hybridize()
    assert block(x, x).asnumpy().tolist() == [2, 2]
    outer = Twice()
    outer.hybridize()
    for _ in range(2):
        assert outer(x).asnumpy().tolist() == [4, 4]


def test_there_are_no_backends() -> None:
    layer = Own((1, 1))
    with pytest.raises(ValueError, match="needs the name of a backend"):
        layer.optimize_for(nd.ones(1))
    with pytest.raises(NotImplementedError, match="there is no backend 'fast'"):
        layer.optimize_for(nd.ones(1), backend="fast")


def test_operators_can_be_monitored() -> None:
    net, seen = nn.HybridSequential(prefix="net_"), []
    with net.name_scope():
        net.add(Own((3, 4)))
    net.initialize()
    net.register_op_hook(lambda *what: seen.append((*(x.decode() for x in what[:2]), what[2])))
    for _ in range(2):
        seen.clear()
        y = net(nd.ones((2, 4)))
        assert [what[:2] for what in seen] == [
            ("net_own0_max0_output", "max"),
            ("net_own0_min0_output", "min"),
            ("net_own0_broadcast_sub0_output", "broadcast_sub"),
            ("net_own0_broadcast_div0_output", "broadcast_div"),
            ("net_own0_fullyconnected0_output", "FullyConnected"),
            ("net_own0_out_output", "broadcast_mul"),
        ]
    assert seen[-1][2] is y
    net.register_op_hook(lambda *what: seen.append(what[0].decode()), monitor_all=True)
    seen.clear()
    net(nd.ones((2, 4)))
    assert seen[-6:] == [
        "net_own0_fullyconnected0_data",
        "net_own0_fullyconnected0_weight",
        "net_own0_fullyconnected0_output",
        "net_own0_out_lhs",
        "net_own0_out_rhs",
        "net_own0_out_output",
    ]
