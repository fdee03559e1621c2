"""Blocks: names, parts, hooks, summaries."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.attribute import AttrScope
from runtime.gluon import nn
from runtime.name import NameManager, Prefix


def mlp(in_units: int = 0) -> nn.HybridSequential:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.Dense(5, activation="tanh", in_units=in_units), nn.Flatten(), nn.Dense(2, in_units=5 if in_units else 0)
        )
    return net


class Net(gluon.Block):
    """A block of the user's own, called with several inputs."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.Dense(3, in_units=2)

    def forward(self, x: nd.NDArray, states: list) -> tuple:
        return self.body(x), [*states, states]


# ---------------------------------------------------------------- names


def test_names_are_counted_by_kind_and_scope() -> None:
    with NameManager():
        first, second = mlp(), mlp()
        alone = nn.Dense(1)
        named = nn.Dense(1, prefix="out_")
    assert list(first.collect_params()) == [
        f"hybridsequential0_dense{i}_{what}" for i in (0, 1) for what in ("weight", "bias")
    ]
    assert second.name == "hybridsequential1"
    assert (alone.prefix, named.name) == ("dense0_", "out")
    assert list(second.collect_params(".*weight")) == [f"hybridsequential1_dense{i}_weight" for i in (0, 1)]
    assert repr(second).splitlines()[1] == "  (0): Dense(None -> 5, Activation(tanh))"


def test_a_block_with_an_empty_prefix_leaves_names_to_the_scope_around_it() -> None:
    outer = nn.Sequential(prefix="net_")
    with outer.name_scope():
        inner = nn.Sequential(prefix="")
        with inner.name_scope():
            layers = [nn.Dense(1), nn.Dense(1)]
    assert [layer.name for layer in layers] == ["net_dense0", "net_dense1"]
    assert inner.prefix == "net_"


def test_names_outside_of_blocks() -> None:
    with Prefix("pre_"):
        assert nn.Dense(1).name == "pre_dense0"
    with NameManager() as manager, nn.Sequential(prefix="net_").name_scope():
        assert NameManager.current.get(None, "fc") == "net_fc0"
        assert NameManager.current.get("given", "fc") == "net_given"
    assert manager.get("given", "fc") == "given"


def test_scopes_belong_to_the_thread() -> None:
    seen: dict[str, object] = {}

    def inside() -> None:
        seen.update(name=nn.Dense(1).name, ctx=mx.current_context(), attributes=AttrScope.current.get(None))
        AttrScope.current = AttrScope(other="1")
        mx.Context.default_ctx = mx.cpu(9)

    with NameManager(), mx.cpu(3), AttrScope(key="value"), AttrScope(more="1"), mlp().name_scope():
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        assert AttrScope.current.get({"more": "2"}) == {"key": "value", "more": "2"}
        assert mx.Context.default_ctx == mx.current_context() == mx.cpu(3)
    assert seen == {"name": "dense0", "ctx": mx.cpu(0), "attributes": {}}
    with pytest.raises(ValueError, match="attribute 'key' must be a string"):
        AttrScope(key=1)


def test_one_scope_in_two_threads() -> None:
    net, met, errors = nn.Sequential(prefix="net_"), threading.Barrier(2), []

    def enter() -> None:
        try:
            with net.name_scope():
                met.wait(10)
                nn.Dense(1)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert NameManager.current.get("x", "x") == "x"


# ---------------------------------------------------------------- parts


def test_two_parameters_of_one_name_are_an_error() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1, prefix="same_"), nn.Dense(1, prefix="same_"))
    with pytest.raises(ValueError, match="two different parameters are called 'same_weight'"):
        net.collect_params()


def test_attributes_that_are_parts_stay_parts() -> None:
    net = gluon.Block()
    net.plain = None
    net.plain = 3
    net.part = nn.Dense(1)
    net.part = new = nn.Dense(2)
    assert list(net._children.values()) == [new]
    with pytest.raises(TypeError, match=r"attribute 'part' of Block is a Dense and cannot become \(1,\)"):
        net.part = (1,)
    net.weight = net.params.get("weight", shape=(1,))
    with pytest.raises(AssertionError, match="attribute 'weight' of Block is a parameter already"):
        net.weight = net.params.get("other", shape=(1,))


@pytest.mark.parametrize("hidden", [lambda: [nn.Dense(1)], lambda: {"a": (1, [nn.Dense(1)])}])
def test_blocks_in_lists_are_warned_of(hidden: object) -> None:
    net = gluon.Block()
    net.layers = hidden()
    with pytest.warns(UserWarning, match=r"Block\.layers holds the block 'dense[0-9]+', which is no part"):
        net.collect_params()
    for block in (net.layers[0],) if isinstance(net.layers, list) else net.layers["a"][1]:
        net.register_child(block)
    net.numbers = [1, {"a": 2}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(net.collect_params()) == 2


def test_apply_and_cast_go_through_the_parts() -> None:
    net = mlp(4)
    seen: list[str] = []
    assert net.apply(lambda block: seen.append(type(block).__name__)) is net
    assert seen == ["Activation", "Dense", "Flatten", "Dense", "HybridSequential"]
    net.initialize()
    net.cast("float64")
    assert net(nd.ones((1, 4), dtype="float64")).dtype == net[0].weight.dtype

    class Stays(nn.Dense):
        def cast(self, dtype: object) -> None:
            super().cast("float32")

    outer = nn.Sequential()
    outer.add(Stays(1, in_units=1))
    outer.cast("float16")
    assert outer[0].weight.dtype == mx.base.mx_real_t


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_learn_on_their_own(duplicate: object) -> None:
    net = mlp(4)
    net.initialize()
    other = duplicate(net)
    with autograd.record():
        y = other(nd.ones((1, 4)))
    y.backward()
    assert other[2].weight.grad().asnumpy().any() and not net[2].weight.grad().asnumpy().any()
    assert other[0].weight is other[0].params.get("weight")
    assert other.name == net.name


# ---------------------------------------------------------------- hooks and summaries


def test_hooks() -> None:
    layer, calls = nn.Dense(2, in_units=3), []
    layer.initialize()
    before = layer.register_forward_pre_hook(lambda block, x: calls.append(("before", block, len(x))))
    after = layer.register_forward_hook(lambda block, x, y: calls.append(("after", x[0].shape, y.shape)))
    with layer.register_forward_hook(lambda block, x, y: calls.append("within")):
        layer(nd.ones((4, 3)))
    assert calls == [("before", layer, 1), ("after", (4, 3), (4, 2)), "within"]
    before.detach()
    before.detach()
    layer(nd.ones((4, 3)))
    assert calls[3:] == [("after", (4, 3), (4, 2))]
    after.detach()
    layer(nd.ones((4, 3)))
    assert len(calls) == 4


def test_how_blocks_print() -> None:
    net = nn.Sequential()
    net.add(nn.Flatten(), gluon.Block())
    assert repr(net) == "Sequential(\n  (0): Flatten\n  (1): Block(\n  \n  )\n)"


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    first = nn.Dense(4, in_units=3)
    first.bias.grad_req = "null"
    net = nn.Sequential()
    net.add(first, nn.Activation("relu"), nn.Dense(3, in_units=4), first)
    net.initialize()
    with pytest.raises(mx.MXNetError, match="in Dense"):
        net.summary(nd.ones((5, 2)))
    assert not any(block._forward_hooks for block in net)
    net.summary(nd.ones((5, 3)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "-" * 80,
        "        Layer (type)                                Output Shape         Param #",
        "=" * 80,
        "               Input                                      (5, 3)               0",
    ]
    assert [line.split() for line in lines[4:8]] == [
        ["Dense-1", "(5,", "4)", "16"],
        ["Activation-2", "(5,", "4)", "0"],
        ["Dense-3", "(5,", "3)", "15"],
        ["Dense-4", "(5,", "4)", "16"],
    ]
    assert lines[9:] == [
        "Parameters in forward computation graph, duplicate included",
        "   Total params: 47",
        "   Trainable params: 39",
        "   Non-trainable params: 8",
        "Shared params in forward computation graph: 16",
        "Unique parameters in model: 31",
        "-" * 80,
    ]


def test_summary_of_nested_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    net = Net()
    net.initialize()
    net.summary(nd.ones((5, 2)), [nd.ones(1), None])
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split(maxsplit=1)[1].rsplit(maxsplit=1)[0] == "(5, 2), [(1,), None]"
    assert lines[5].split(maxsplit=1)[1].rsplit(maxsplit=1)[0] == "(5, 3), [(1,), None, [(1,), None]]"
    net.body.hybridize()
    with pytest.raises(AssertionError, match=r"'net[0-9]+_dense0' is hybridized"):
        net.summary(nd.ones((5, 2)), [])
    net.body.hybridize(False)
    net.summary(nd.ones((5, 2)), [])


def test_hooks_stay_though_their_handles_are_let_go_of() -> None:
    layer, called = nn.Dense(2, in_units=3), []
    layer.initialize()
    for number in range(3):
        layer.register_forward_hook(lambda *_, number=number: called.append(number))
    layer(nd.ones((1, 3)))
    assert called == [0, 1, 2]


def test_the_scopes_of_a_thread_by_the_names_that_mxnet_has() -> None:
    with NameManager() as manager, mx.AttrScope(a="1"), mx.cpu(3):
        assert NameManager._current.value is manager and mx.AttrScope._current.value._attr == {"a": "1"}
        assert mx.Context._default_ctx.value == mx.cpu(3)
        NameManager._current.value = inner = NameManager()
        assert NameManager.current is inner
