"""The Trainer's own rules: gradients, contexts, kvstores, state files. Optimizers are tested in tests/runtime."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd, optimizer
from runtime.gluon import nn
from tests.kvstore.pairs import Pairs, store
from tests.kvstore.peers import scenarios
from tests.sweeps import swept

PEERS = json.loads((Path(scenarios.__file__).parent / "data" / "mxnet.json").read_text())
SHAPES = ((3, 4), (4,), (1,))
ARGUMENTS: dict[str, dict[str, Any]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.1},
    "prodigy": {},  # has one value for all parameters
    "sgld": {"learning_rate": 1e-4},  # draws random numbers
}


def device(i: int) -> mx.Context:
    """Context i of the CPU or, with --on-gpu, of two GPUs."""
    ctx = mx.current_context()
    return mx.Context(ctx.device_type, i if ctx.on_cpu else i % 2)


def parameters(devices: int = 1, **kwargs: Any) -> list[gluon.Parameter]:
    rng = np.random.default_rng(1)
    params = [gluon.Parameter(f"p{i}_weight", shape=shape, **kwargs) for i, shape in enumerate(SHAPES)]
    for param in params:
        param.initialize("zeros", ctx=[device(i) for i in range(devices)])
        param.set_data(nd.array(rng.normal(size=param.shape), dtype="float32"))
    return params


def backward(params: Sequence[gluon.Parameter], step: int) -> None:
    """Gradients that depend on the value, the step and the context; their sum over two contexts is that of one."""
    with autograd.record():
        losses = [
            (w * w * float(step + 1) * share).sum()
            for p in params
            if p.grad_req != "null"
            for w, share in zip(p.list_data(), (0.25, 0.75) if len(p.list_ctx()) == 2 else (1.0,), strict=True)
        ]
    autograd.backward(losses)


def train(trainer: gluon.Trainer, steps: range) -> list[np.ndarray]:
    """The weights afterwards, equal in all contexts."""
    for step in steps:
        backward(trainer._params, step)
        trainer.step(2)
    for param in trainer._params:
        for other in param.list_data()[1:]:
            np.testing.assert_array_equal(param.list_data()[0].asnumpy(), other.asnumpy())
    return [p.list_data()[0].asnumpy() for p in trainer._params]


# ---------------------------------------------------------------- one context


def test_set_learning_rate() -> None:
    params = parameters()
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5})
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.25)
    assert (trainer.learning_rate, trainer.optimizer.lr) == (0.25, 0.25)
    before = [p.data().asnumpy() for p in params]
    backward(params, 0)
    trainer.step(1)
    for p, w in zip(params, before, strict=True):
        np.testing.assert_allclose(p.data().asnumpy(), w - 0.25 * p.grad().asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("on_store", [False, True])
def test_another_optimizer_begins_without_states(on_store: bool) -> None:
    found = []
    for first in ("sgd", "adam"):
        params = parameters(devices=2)
        trainer = gluon.Trainer(params, first, {"learning_rate": 0.0}, update_on_kvstore=on_store)
        train(trainer, range(1))
        trainer._init_optimizer("adam", {"learning_rate": 0.1})
        found.append(train(trainer, range(2)))
        assert trainer.learning_rate == 0.1
    for after_sgd, after_adam in zip(*found, strict=True):
        np.testing.assert_array_equal(after_sgd, after_adam)


def test_frozen_parameters_stay() -> None:
    params = parameters()
    params[1].grad_req = "null"
    before = params[1].data().asnumpy()
    after = train(gluon.Trainer(params, "sgd"), range(2))
    np.testing.assert_array_equal(after[1], before)
    assert (after[0] != 0).all()


def test_stale_gradients() -> None:
    params = parameters()
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
    before = [p.data().asnumpy() for p in params]
    backward(params[:1], 0)
    with pytest.raises(UserWarning, match=r"gradient of parameter 'p1_weight' on .pu"):
        trainer.step(1)
    np.testing.assert_array_equal(params[0].data().asnumpy(), before[0])
    trainer.step(1, ignore_stale_grad=True)
    assert (params[0].data().asnumpy() != before[0]).any()
    np.testing.assert_array_equal(params[1].data().asnumpy(), before[1])
    with pytest.raises(UserWarning, match="gradient of parameter 'p0_weight'"):
        trainer.step(1)


class HalfUsed(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Dense(3, in_units=4), nn.Dense(2, in_units=4)

    def hybrid_forward(self, F: Any, x: nd.NDArray) -> nd.NDArray:
        return F.relu(self.used(x)) * 2


def test_what_a_compiled_block_does_not_use_is_stale() -> None:
    net = HalfUsed()
    net.initialize(mx.init.One())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.1})
    for _ in range(3):  # traced, compiled, and by the plan
        with autograd.record():
            loss = net(nd.ones((2, 4)))
        loss.backward()
        with pytest.raises(UserWarning, match=net.unused.bias.name):
            trainer.step(1)
        trainer.step(1, ignore_stale_grad=True)
    assert (net.used.weight.data().asnumpy() != 1).all() and (net.unused.weight.data().asnumpy() == 1).all()


def test_what_cannot_be_trained() -> None:
    with pytest.raises(ValueError, match="not int"):
        gluon.Trainer(3, "sgd")
    with pytest.raises(ValueError, match=r"pass net\.collect_params"):
        gluon.Trainer([nd.ones(1)], "sgd")
    with pytest.raises(ValueError, match="no parameters"):
        gluon.Trainer(nn.Flatten().collect_params(), "sgd")
    with pytest.raises(ValueError, match="optimizer given by name"):
        gluon.Trainer(parameters(), optimizer.create("sgd"), {"learning_rate": 1})
    with pytest.raises(MXNetError, match="'late_weight' has no values yet"):
        gluon.Trainer([gluon.Parameter("late_weight", shape=(2,))], "sgd")
    with pytest.raises(MXNetError, match=r"same contexts: 'p0_weight' is in \[.pu\(0\), .pu\(1\)\]"):
        gluon.Trainer([*parameters(1), *parameters(2)], "sgd")
    with pytest.raises(ValueError, match="unknown kvstore 'devise'"):
        gluon.Trainer(parameters(), "sgd", kvstore="devise")
    with pytest.raises(TypeError, match="kvstore is a name"):
        gluon.Trainer(parameters(), "sgd", kvstore=True)
    with pytest.raises(ValueError, match="unknown kvstore 'dist_sink'; did you mean 'dist_sync'"):
        gluon.Trainer(parameters(), "sgd", kvstore="dist_sink")
    net = nn.Dense(2)
    net.initialize()
    with pytest.raises(gluon.parameter.DeferredInitializationError, match=r"'dense.*_weight' has shape"):
        gluon.Trainer(net.collect_params(), "sgd").step(1)


# ---------------------------------------------------------------- several contexts


def test_stores_are_chosen_as_in_mxnet() -> None:
    """And the weights are the same after two steps; `refused` stands for any error."""
    assert scenarios.trainers(mx) == PEERS["trainers"]


STORES = [("device", None), ("local", True), ("device", False), (mx.kv.create("teststore"), None)]
TOGETHER = [(name, *store) for name in ARGUMENTS for store in STORES]


@pytest.mark.parametrize(
    ("name", "store", "on_store"), swept(TOGETHER, lambda case: case[0] == "sgd" or case[1:] == STORES[0])
)
def test_two_contexts_train_as_one(name: str, store: Any, on_store: bool | None) -> None:
    def trained(devices: int) -> tuple[gluon.Trainer, list[np.ndarray]]:
        mx.random.seed(1)
        arguments = {"kvstore": store, "update_on_kvstore": on_store} if devices > 1 else {}
        trainer = gluon.Trainer(parameters(devices), name, ARGUMENTS[name], **arguments)
        return trainer, train(trainer, range(4))

    (_, one), (trainer, two) = trained(1), trained(2)
    assert bool(trainer._update_on_kvstore) is (on_store is not False and store in ("device", "local"))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert trainer.optimizer.num_update == 4
    assert set(trainer.optimizer._index_update_count.values()) == {4}


def test_a_context_without_fresh_gradients() -> None:
    params = parameters(2)
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 1}, update_on_kvstore=False)
    backward(params, 0)
    trainer.step(1)
    with autograd.record():
        losses = [p.data(device(0)).sum() for p in params]
    autograd.backward(losses)
    with pytest.raises(UserWarning, match=r"gradient of parameter 'p0_weight' on .pu\(1\)"):
        trainer.step(1)


def test_what_the_store_updates_is_not_updated_here() -> None:
    trainer = gluon.Trainer(parameters(2), "sgd")
    backward(trainer._params, 0)
    for call in (lambda: trainer.update(1), trainer.allreduce_grads):
        with pytest.raises(AssertionError, match=r"\(\) is not possible where the kvstore updates the weights"):
            call()
    trainer = gluon.Trainer(params := parameters(2), "sgd", {"learning_rate": 1}, update_on_kvstore=False)
    backward(params, 0)
    before, total = params[0].data(device(0)).asnumpy(), sum(g.asnumpy() for g in params[0].list_grad())
    trainer.allreduce_grads()
    for g in params[0].list_grad():
        np.testing.assert_array_equal(g.asnumpy(), total)
        g *= 0.5
    trainer.update(1)
    np.testing.assert_allclose(params[0].data(device(1)).asnumpy(), before - 0.5 * total, rtol=1e-6)


def test_contexts_that_update_their_own_weights_may_have_a_schedule() -> None:
    schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1)
    arguments = {"learning_rate": 1, "lr_scheduler": schedule}
    trainer = gluon.Trainer(parameters(2), "sgd", arguments, update_on_kvstore=False)
    train(trainer, range(3))
    assert trainer.learning_rate == 0.25


def test_values_set_while_the_store_has_them() -> None:
    params = parameters(2)
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5})
    train(trainer, range(1))
    params[0].set_data(nd.ones(SHAPES[0]))
    assert trainer._kvstore is None
    assert not trainer._kv_initialized
    (found, *_) = train(trainer, range(1))
    np.testing.assert_allclose(found, 1 - 0.5 * 2 / 2, atol=1e-7)
    params = parameters(2)
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5}, kvstore=mx.kv.create("device"))
    train(trainer, range(1))
    params[0].set_data(nd.ones(SHAPES[0]))
    np.testing.assert_array_equal(train(trainer, range(1))[0], found)


def test_parameters_whose_shape_comes_later() -> None:
    contexts = [device(0), device(1)]
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.Dense(2))
    net.initialize(ctx=contexts)
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with pytest.raises(MXNetError, match="states are in the kvstore, where these parameters are not yet"):
        trainer.save_states("never")
    with autograd.record():
        losses = [net(nd.ones((2, 4), ctx)).sum() for ctx in contexts]
    autograd.backward(losses)
    trainer.step(4)
    assert trainer._params_to_init == []
    for param in trainer._params:
        np.testing.assert_array_equal(*(w.asnumpy() for w in param.list_data()))


def test_evaluating_in_all_contexts() -> None:
    for on_store in (True, False):
        trainer = gluon.Trainer(parameters(2), "schedulefreesgd", {"learning_rate": 0.1}, update_on_kvstore=on_store)
        training = train(trainer, range(3))
        with trainer.evaluating():
            evaluated = [[w.asnumpy() for w in p.list_data()] for p in trainer._params]
            with pytest.raises(MXNetError, match="step outside"):
                trainer.step(1)
        for (a, b), w in zip(evaluated, training, strict=True):
            np.testing.assert_array_equal(a, b)
            assert (a != w).any()
        for param, w in zip(trainer._params, training, strict=True):
            np.testing.assert_array_equal(param.list_data()[1].asnumpy(), w)


@pytest.mark.parametrize("on_store", [False, True])
def test_steps_with_gradients_that_are_not_finite_are_skipped(on_store: bool) -> None:
    """In the second context alone; beside a trainer that makes the other steps."""
    trainers = [
        gluon.Trainer(parameters(2), "adam", update_on_kvstore=on_store, skip_nonfinite=skips)
        for skips in (True, False)
    ]
    for step, bad in enumerate((None, np.nan, None, -np.inf)):
        for trainer in trainers[: 1 if bad else 2]:
            backward(trainer._params, step)
            if bad:
                trainer._params[1].list_grad()[1][2] = bad
            trainer.step(4)
    ours, theirs = ([w.asnumpy() for p in x._params for w in p.list_data()] for x in trainers)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [x.skipped for x in trainers] == [2, 0]
    with pytest.raises(ValueError, match=r"skip_nonfinite=True, but a step of .* has phases \(ascend, descend\)"):
        gluon.Trainer(parameters(), "adam with sam", skip_nonfinite=True)


def test_pull_brings_each_parameter_its_own_weight() -> None:
    pairs, trainers = Pairs(2), []
    for rank in (0, 1):  # the order of the layers, which keys have not, is not that of the names
        params = {name: gluon.Parameter(name, shape=(2,)) for name in ("b", "a", "mean")}
        for name, param in params.items():
            param.initialize(mx.init.Constant(ord(name[0])), ctx=device(0))
        params["mean"].grad_req = "null"
        trainers.append(gluon.Trainer(params, "sgd", {"learning_rate": 1}, kvstore=store(pairs, rank)))
    here, there = trainers
    by_name = {p.name: p for p in there._params}
    by_name["mean"].data()[:] = 0  # as running means are
    backward([p for p in here._params if p.name == "b"], 0)
    here.step(1, ignore_stale_grad=True)
    assert by_name["b"].data().asnumpy().tolist() == [98, 98]
    there.pull()
    assert {name: p.data().asnumpy()[0] for name, p in by_name.items()} == {"a": 97, "b": -98, "mean": 0}
    with there.evaluating(), pytest.raises(MXNetError, match="step outside"):
        there.pull()


@pytest.mark.parametrize("on_store", [False, True])
def test_pull_changes_nothing_where_weights_are_the_newest(on_store: bool) -> None:
    trainer = gluon.Trainer(parameters(2), "adam", update_on_kvstore=on_store)
    trainer.pull()
    found = train(trainer, range(2))
    trainer.pull()
    for param, weight in zip(trainer._params, found, strict=True):
        for array in param.list_data():
            np.testing.assert_array_equal(array.asnumpy(), weight)


def test_an_optimizer_of_two_trainers_is_warned_of() -> None:
    shared = optimizer.create("adam")
    first = gluon.Trainer(parameters(), shared)
    with pytest.warns(UserWarning, match="this Adam is another Trainer's, too: both count") as found:
        gluon.Trainer(parameters(), shared)
    assert found[0].filename == __file__ and first.optimizer is shared
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        params = parameters()
        gluon.Trainer(params, "adam")
        gluon.Trainer(params, "adam")  # an optimizer of its own


def test_compressed_gradients() -> None:
    params = parameters(2)
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 1}, compression_params={"type": "2bit", "threshold": 0.5})
    before = params[0].list_data()[0].asnumpy()
    backward(params, 9)
    trainer.step(1)
    change = np.abs(params[0].list_data()[0].asnumpy() - before)
    np.testing.assert_allclose(change, 0.5 * np.round(change / 0.5), atol=1e-6)
    assert change.max() > 0.9
    refused = gluon.Trainer(parameters(2), "sgd", kvstore="local", compression_params={"type": "2bit"})
    with pytest.raises(MXNetError, match="a 'local' kvstore does not compress gradients"):
        refused.allreduce_grads()


# ---------------------------------------------------------------- row-sparse weights


@pytest.mark.parametrize("devices", [1, 2])
def test_row_sparse_weights_live_in_the_store(devices: int, tmp_path: Path) -> None:
    contexts = [device(i) for i in range(devices)]

    def made() -> tuple[gluon.Trainer, gluon.Parameter]:
        x = gluon.Parameter("x", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse")
        x.initialize(ctx=contexts, init="ones")
        return gluon.Trainer([x], "adam", {"learning_rate": 0.5}), x

    def step(trainer: gluon.Trainer, x: gluon.Parameter) -> np.ndarray:
        with autograd.record():
            losses = []
            for ctx in contexts:
                tokens = nd.array([1, 3], ctx)
                rows = x.row_sparse_data(tokens)
                losses.append(nd.Embedding(tokens, rows, input_dim=5, output_dim=2, sparse_grad=True).sum())
        autograd.backward(losses)
        trainer.step(1)
        return x.row_sparse_data(nd.arange(5, ctx=contexts[0])).asnumpy()

    trainer, x = made()
    np.testing.assert_allclose(step(trainer, x), [[1, 1], [0.5, 0.5], [1, 1], [0.5, 0.5], [1, 1]], rtol=1e-5)
    trainer.save_states(tmp_path / "states")
    again, y = made()
    y.set_data(x.row_sparse_data(nd.arange(5, ctx=contexts[0])))
    again.load_states(tmp_path / "states")
    for _ in range(2):
        np.testing.assert_array_equal(step(trainer, x), step(again, y))
    with pytest.raises(MXNetError, match="'x' belongs to another Trainer"):
        gluon.Trainer([x], "sgd")


# ---------------------------------------------------------------- state files


PLACES = [(True, True), (True, False), (False, True), (False, False), (None, True)]
MOVES = [(name, *places) for name in ARGUMENTS for places in PLACES]


@pytest.mark.parametrize(
    ("name", "here", "there"), swept(MOVES, lambda case: case[0] == "adam" or case[1:] in PLACES[2:3])
)
def test_states_go_on_in_other_contexts(name: str, here: bool | None, there: bool, tmp_path: Path) -> None:
    """`here`, `there`: whether the store updates the weights; None for one context."""

    def made(on_store: bool | None) -> gluon.Trainer:
        params = parameters(1 if on_store is None else 2)
        return gluon.Trainer(params, name, ARGUMENTS[name], update_on_kvstore=on_store)

    mx.random.seed(1)
    first, second = made(here), made(there)
    for param, weight in zip(second._params, train(first, range(3)), strict=True):
        param.set_data(nd.array(weight))
    first.save_states(tmp_path / "states")
    second.load_states(tmp_path / "states")
    for a, b in zip(train(first, range(3, 5)), train(second, range(3, 5)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    assert second.optimizer.num_update == 5
    assert set(second.optimizer._index_update_count.values()) == {5}
