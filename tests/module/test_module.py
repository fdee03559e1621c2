"""`mod`: trained as MXNet trains, in one context and two; parameters, files, shapes, errors; modules of modules."""

from __future__ import annotations

import itertools
import logging
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from tests.module.networks import DATA, RUNS, iterator, symbol, train

RESULTS = np.load(DATA / "results.npz")


def contexts(count: int) -> list[mx.Context]:
    return [mx.cpu(i) for i in range(count)]


def perceptron() -> mx.sym.Symbol:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def bound(net: mx.sym.Symbol, shape: tuple[int, ...] = (6, 3), **kwargs: Any) -> mx.mod.Module:
    module = mx.mod.Module(net, **kwargs)
    module.bind([("data", shape)], [("softmax_label", shape[:1])])
    module.init_params(mx.init.Xavier())
    return module


@pytest.mark.parametrize("run", RUNS)
def test_training_is_mxnets(run: str) -> None:
    module = mx.mod.Module.load(str(DATA / "start"), 0, context=contexts(RUNS[run][2]))
    for key, found in train(mx, module, run).items():
        np.testing.assert_allclose(found, RESULTS[f"{run}/{key}"], 2e-4, 2e-5, err_msg=key)


def test_the_graph_is_mxnets() -> None:
    ours = mx.mod.Module(symbol(mx))
    assert ours.symbol.attr_dict() == mx.sym.load(str(DATA / "start-symbol.json")).attr_dict()
    assert ours.data_names == ["data"] and ours.output_names == ["softmax_output"]


@pytest.mark.parametrize("groups", [{"a": mx.cpu(2), "b": [mx.cpu(3)]}, [{"a": mx.cpu(2), "b": mx.cpu(3)}] * 2])
def test_operations_are_computed_where_their_groups_are(groups: Any) -> None:
    with mx.AttrScope(ctx_group="a"):
        x = mx.sym.Variable("x") * 2
    with mx.AttrScope(ctx_group="b"):
        net = x * mx.sym.Variable("y")
    module = mx.mod.Module(net, ["x", "y"], None, context=contexts(2), group2ctxs=groups)
    module.bind([("x", (4, 2)), ("y", (4, 2))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([nd.full((4, 2), 3), nd.full((4, 2), 5)]), is_train=True)
    module.backward([nd.ones((4, 2))])
    assert [g.asnumpy()[0, 0] for g in module.get_input_grads()] == [10, 6]
    assert [x.context for x in module._exec_group.execs[1].arg_arrays] == [mx.cpu(2), mx.cpu(3)]
    with pytest.raises(ValueError, match="group2ctxs has 1 dicts for 2 contexts"):
        mx.mod.Module(net, ["x", "y"], None, context=contexts(2), group2ctxs=[{}]).bind([("x", (4,)), ("y", (4,))])


@pytest.mark.parametrize(
    "count, kvstore", [(1, "local"), (1, mx.kv.create("local")), (2, "device"), (2, "local, updates in contexts")]
)
def test_checkpoints_continue_bit_by_bit(
    count: int,
    kvstore: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    if kvstore == "local, updates in contexts":  # a store that only sums
        kvstore = "local"
        monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")

    def trained(module: mx.mod.Module, epochs: int) -> np.ndarray:
        it = iterator(mx)
        module.bind(it.provide_data, it.provide_label)
        module.init_params()
        if not module.optimizer_initialized:
            store = mx.kv.create("local") if isinstance(kvstore, mx.kv.KVStore) else kvstore
            module.init_optimizer(store, "adam", {"learning_rate": 0.01})
        for _ in range(epochs):
            it.reset()
            for batch in it:
                module.forward_backward(batch)
                module.update()
        return module.get_params()[0]["fc_weight"].asnumpy()

    where = {"context": contexts(count)}
    module = mx.mod.Module.load(str(DATA / "start"), 0, **where)
    trained(module, 1)
    module.save_checkpoint(str(tmp_path / "net"), 1, save_optimizer_states=True)
    saved = (
        f'Saved checkpoint to "{tmp_path}/net-0001.params"',
        f'Saved optimizer state to "{tmp_path}/net-0001.states"',
    )
    assert caplog.messages == list(saved)
    wanted = trained(module, 1)
    again = mx.mod.Module.load(str(tmp_path / "net"), 1, load_optimizer_states=True, **where)
    np.testing.assert_array_equal(trained(again, 1), wanted)
    assert module.symbol.tojson() == again.symbol.tojson()


def test_parameters_given(tmp_path: Path) -> None:
    module = bound(perceptron())
    values = {"fc_weight": nd.ones((4, 3)), "fc_bias": nd.arange(4)}
    module.set_params(values, {})
    module.save_params(tmp_path / "all.params")
    module.set_params({"fc_bias": nd.zeros(4)}, {}, allow_missing=True)
    params, states = module.get_params()
    assert params["fc_weight"].asnumpy().tolist() == [[1] * 3] * 4 and not params["fc_bias"].asnumpy().any()
    module.load_params(tmp_path / "all.params")
    assert module.get_params()[0]["fc_bias"].asnumpy().tolist() == [0, 1, 2, 3] and states == {}
    nd.save(str(tmp_path / "list"), [nd.ones(4)])
    with pytest.raises(ValueError, match="list' holds a list of arrays without names"):
        module.load_params(tmp_path / "list")
    with pytest.warns(UserWarning, match="the parameters have values already"):
        module.init_params(mx.init.One())
    assert module.get_params()[0]["fc_bias"].asnumpy().tolist() == [0, 1, 2, 3]
    module.set_params({**values, "other": nd.ones(1)}, {})  # those of a larger network
    module.set_params({"other": nd.ones(1)}, {}, allow_missing=True, allow_extra=True)
    with pytest.raises(ValueError, match="'other' is no parameter of the symbol"):
        module.set_params({**values, "other": nd.ones(1)}, {}, allow_missing=True)
    with pytest.warns(UserWarning, match="'other' is no parameter of the symbol.*; its value is not used"):
        module.init_params(arg_params={"other": nd.ones(1)}, allow_missing=True, force_init=True)
    with pytest.raises(RuntimeError, match="no value is given for 'fc_weight': allow_missing=True"):
        module.set_params({"fc_bias": nd.ones(4)}, {})
    with pytest.raises(mx.MXNetError, match=r"'fc_bias' has shape \(4,\), and the value given \(5,\)"):
        module.set_params({**values, "fc_bias": nd.ones(5)}, {})


@pytest.mark.parametrize("count", [1, 2])
def test_layouts_gradients_of_inputs_and_other_shapes(count: int) -> None:
    x = mx.sym.Activation(mx.sym.Variable("data"), act_type="relu", __layout__="TNC")
    module = mx.mod.Module(x, label_names=None, context=contexts(count))
    described = mx.io.DataDesc("data", (3, 8, 7), np.float16, "TNC")
    module.bind([described], inputs_need_grad=True)
    module.init_params()
    for shape in ((3, 8, 7), (2, 4, 5), (3, 16, 7)):
        data = np.random.RandomState(1).standard_normal(shape).astype(np.float16)
        module.forward(mx.io.DataBatch([nd.array(data, dtype=np.float16)]))
        module.backward([nd.array(data, dtype=np.float16)])
        assert module.output_shapes == [(module.output_names[0], shape)] and module.data_shapes[0].layout == "TNC"
        for found in (module.get_outputs()[0], module.get_input_grads()[0]):
            assert found.dtype == np.float16
            np.testing.assert_array_equal(found.asnumpy(), np.maximum(data, 0))
        parts = module.get_outputs(merge_multi_context=False)[0]
        assert [y.shape for y in parts] == [(shape[0], shape[1] // count, shape[2])] * count
    module.reshape([mx.io.DataDesc("data", (1, 2, 3), np.float16, "TNC")])
    assert module.output_shapes[0][1] == (1, 2, 3)


def test_fixed_parameters_unequal_work_and_lists_of_batches() -> None:
    module = bound(perceptron(), context=contexts(2), fixed_param_names=["fc_bias"], work_load_list=[1, 2])
    module.init_optimizer(optimizer_params={"learning_rate": 1})
    before, _ = module.get_params()
    batch = mx.io.DataBatch([nd.arange(18).reshape((6, 3))], [nd.arange(6) % 4])
    module.forward_backward(batch)
    assert [y.shape for y in module.get_outputs(False)[0]] == [(2, 4), (4, 4)]
    whole = module.get_outputs()[0].asnumpy()
    module.update()
    after, _ = module.get_params()
    assert (after["fc_bias"].asnumpy() == before["fc_bias"].asnumpy()).all()
    assert (after["fc_weight"].asnumpy() != before["fc_weight"].asnumpy()).any()
    module.set_params(before, {})
    parts = [mx.io.DataBatch([batch.data[0][i]], [batch.label[0][i]]) for i in (slice(0, 2), slice(2, 6))]
    module.forward(parts, is_train=False)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), whole)
    accuracy = [mx.metric.Accuracy(), mx.metric.Accuracy()]
    module.update_metric(accuracy[0], batch.label)
    module.update_metric(accuracy[1], [part.label for part in parts], pre_sliced=True)
    assert accuracy[0].get() == accuracy[1].get() and accuracy[0].num_inst == 6


def test_predictions_scores_and_callbacks(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    calls: list[Any] = []
    module = mx.mod.Module(symbol(mx))
    with caplog.at_level(logging.INFO):
        module.fit(
            iterator(mx),
            iterator(mx),
            num_epoch=2,
            epoch_end_callback=[mx.callback.do_checkpoint(str(tmp_path / "a"), 2), lambda *x: calls.append(x[0])],
            eval_end_callback=lambda param: calls.append((param.epoch, param.nbatch)),
            monitor=mx.mon.Monitor(4, pattern="fc_.*", sort=True),
        )
    lines = [record.getMessage() for record in caplog.records]
    assert calls == [0, (0, 4), 1, (1, 4)]
    assert [line.split("=")[0] for line in lines if line.startswith("Epoch[1]")] == [
        "Epoch[1] Train-accuracy",
        "Epoch[1] Time cost",
        "Epoch[1] Validation-accuracy",
    ]
    seen = [f"fc_backward_output{i}" for i in range(3)] + ["fc_bias", "fc_output", "fc_weight"]
    assert [line.split()[2] for line in lines if line.startswith("Batch:")] == seen * 2
    mx.callback.module_checkpoint(module, str(tmp_path / "b"), period=0.5)(2)
    (a, b) = (nd.load(str(tmp_path / name)) for name in ("a-0002.params", "b-0003.params"))
    assert a.keys() == b.keys() and all((a[key].asnumpy() == b[key].asnumpy()).all() for key in a)
    whole = module.predict(iterator(mx))
    assert whole.shape == (28, 3) and module.predict(iterator(mx, 8).data[0][1]).shape == (28, 3)
    parts = module.predict(iterator(mx), num_batch=2, merge_batches=False)
    assert [len(parts), *(y.shape for y in parts[1])] == [2, (8, 3)]
    np.testing.assert_array_equal(whole[8:16].asnumpy(), parts[1][0].asnumpy())
    rows = [(outputs[0].shape[0], i, batch.pad) for outputs, i, batch in module.iter_predict(iterator(mx))]
    assert rows == [(8, 0, 0), (8, 1, 0), (8, 2, 0), (4, 3, 4)]


def test_a_network_without_labels_is_bound_to_its_label_shapes() -> None:
    """As programs that predict with a checkpoint do."""
    module = mx.mod.Module(perceptron(), label_names=None)
    assert (module._data_shapes, module._label_shapes) == (None, None)
    module.bind([("data", (8, 3))], label_shapes=module._label_shapes, for_training=False)
    assert [x.shape for x in module._data_shapes] == [(8, 3)] and module._label_shapes is None
    trained = mx.mod.Module(symbol(mx))
    trained.bind(iterator(mx).provide_data, iterator(mx).provide_label)
    assert trained._label_shapes == trained.label_shapes


def test_states_of_a_network() -> None:
    state = mx.sym.Variable("state")
    module = mx.mod.Module(
        mx.sym.Variable("data") + state, label_names=None, state_names=["state"], context=contexts(2)
    )
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    module.set_states(value=2)
    for wanted in (3, 4, 5):
        module.forward(mx.io.DataBatch([nd.ones((4, 2))]))
        assert (module.get_outputs()[0].asnumpy() == wanted).all()
        module.set_states(states=module.get_outputs(merge_multi_context=False))
    assert (module.get_states()[0].asnumpy() == 5).all()


def test_sparse_data_and_weights_train_as_dense_ones() -> None:
    data = nd.array(np.random.RandomState(4).binomial(1, 0.3, (12, 5)))
    start, found = nd.arange(5).reshape((5, 1)) / 10, []
    for stypes, lazy in (
        (("csr", "row_sparse"), False),
        (("default", "default"), False),
        (("csr", "row_sparse"), True),
    ):
        x, weight = mx.sym.var("data", stype=stypes[0]), mx.sym.var("v", shape=(5, 1), stype=stypes[1])
        scores = mx.sym.broadcast_add(mx.sym.dot(x, weight), mx.sym.var("offset", shape=1))
        module = mx.mod.Module(mx.sym.LinearRegressionOutput(scores, mx.sym.var("label")), ["data"], ["label"])
        it = mx.io.NDArrayIter(data.tostype(stypes[0]), {"label": nd.ones(12)}, 4, last_batch_handle="discard")
        adam = {"optimizer": "adam", "optimizer_params": {"lazy_update": lazy}}
        module.fit(it, None, "mse", num_epoch=2, arg_params={"v": start, "offset": nd.zeros(1)}, **adam)
        found.append(module.get_params()[0]["v"])
    assert found[0].stype == "row_sparse" and (found[0].asnumpy() != start.asnumpy()).all()
    np.testing.assert_allclose(found[0].asnumpy(), found[1].asnumpy(), 1e-6)
    assert not np.allclose(found[2].asnumpy(), found[1].asnumpy(), 1e-3)  # rows that a batch has not are left alone


def test_batches_of_other_kinds() -> None:
    module = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=None)
    module.bind([("data", (1, 4))])
    module.init_params()
    batch = namedtuple("batch", ["data"])
    for shape in ((1, 4), (3, 5)):
        module.forward(batch([nd.ones(shape)]))
        assert module.get_outputs()[0].shape == shape and not module.backward([nd.ones(shape)])


def test_buckets_share_parameters(tmp_path: Path) -> None:
    def generate(key: int) -> tuple[mx.sym.Symbol, tuple[str], tuple[str]]:
        x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=5, output_dim=3, name="words")
        x = mx.sym.FullyConnected(mx.sym.sum(x, axis=1), num_hidden=5, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    def batch(key: int) -> mx.io.DataBatch:
        shapes = {"provide_data": [("data", (2, key))], "provide_label": [("softmax_label", (2,))]}
        return mx.io.DataBatch([nd.ones((2, key))], [nd.array([1, 2])], bucket_key=key, **shapes)

    module = mx.mod.BucketingModule(generate, default_bucket_key=6)
    module.bind(batch(6).provide_data, batch(6).provide_label)
    module.init_params(mx.init.Xavier())
    module.prepare(batch(4))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    seen = []
    for key in (3, 6, 4, 3):
        module.forward_backward(batch(key))
        module.update()
        assert module.data_shapes == [("data", (2, key))]
        seen.append(module.get_params()[0]["fc_weight"].asnumpy())
    assert all((a != b).any() for a, b in itertools.pairwise(seen))
    module.save_checkpoint(str(tmp_path / "net"), 2)
    (buckets,) = nd.load(tmp_path / "net.buckets")  # for MXNet
    assert buckets.dtype == np.int32 and buckets.asnumpy().tolist() == list(module._buckets)
    assert (tmp_path / "net.buckets").read_bytes()[:2] == b"\x12\x01"
    again = mx.mod.BucketingModule.load(str(tmp_path / "net"), 2, generate, 6)
    again.bind(batch(6).provide_data, batch(6).provide_label)
    for m in (module, again):
        m.forward(batch(4), is_train=False)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), again.get_outputs()[0].asnumpy())
    assert (tmp_path / "net-3-symbol.json").exists()
    with pytest.raises(ValueError, match="data_shapes are of"):
        module.bind([("words", (2, 6))], force_rebind=True)
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), seen[-1])


def test_a_chain_of_modules_computes_what_one_does() -> None:
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1")
    second = mx.sym.FullyConnected(mx.sym.Variable("hidden"), num_hidden=4, name="fc2")

    def softmax_gradient(scores: nd.NDArray, labels: nd.NDArray) -> nd.NDArray:
        return nd.softmax(scores) - nd.one_hot(labels, 4)

    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second, data_names=["hidden"], label_names=None), auto_wiring=True)
    chain.add(mx.mod.PythonLossModule(grad_func=softmax_gradient), take_labels=True, auto_wiring=True)
    whole = mx.mod.Module(mx.sym.SoftmaxOutput(second(hidden=first), name="softmax"))
    random = np.random.RandomState(2)
    batch = mx.io.DataBatch([nd.array(random.rand(6, 3))], [nd.array([0, 1, 2, 3, 0, 1])])
    start = {"fc1_weight": (5, 3), "fc1_bias": (5,), "fc2_weight": (4, 5), "fc2_bias": (4,)}
    params = {name: nd.array(random.rand(*shape)) for name, shape in start.items()}
    for module in (chain, whole):
        module.bind([("data", (6, 3))], [("softmax_label", (6,))])
        module.init_params(arg_params=params, aux_params={})
        module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5, "rescale_grad": 1 / 6})
        for _ in range(3):
            module.forward_backward(batch)
            module.update()
    for name, x in whole.get_params()[0].items():
        np.testing.assert_allclose(chain.get_params()[0][name].asnumpy(), x.asnumpy(), 1e-5, 1e-6)
    accuracy = mx.metric.Accuracy()
    chain.update_metric(accuracy, batch.label)
    assert accuracy.num_inst == 6 and chain.output_shapes[0][1] == (6, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mx.mod.Module(perceptron(), ["dta"]), "'dta' is no argument of the symbol; did you mean 'data'"),
        (lambda: mx.mod.Module(perceptron(), fixed_param_names=["x"]), "Module.fixed_param_names=.'x'.*inputs may be"),
        (lambda: mx.mod.Module(perceptron()).forward(None), "forward comes after bind: call Module.bind first"),
        (lambda: bound(perceptron()).update(), "update comes after init_optimizer"),
        (lambda: bound(perceptron(), (1, 3), context=contexts(2)), "a batch of 1 cannot be split over 2 contexts"),
        (lambda: mx.mod.Module(perceptron()).bind([("x", (1, 2))]), r"data_shapes are of \['x'\], and data_names"),
        (lambda: bound(perceptron()).forward(mx.io.DataBatch([])), "the batch has 0 arrays for data"),
        (lambda: bound(perceptron()).get_input_grads(), "inputs_need_grad=True"),
        (lambda: mx.mod.Module(perceptron()).fit(iterator(mx)), "fit needs num_epoch"),
        (
            lambda: mx.mod.SequentialModule().add(mx.mod.Module(perceptron()), take_label=1),
            "did you mean 'take_labels'",
        ),
    ],
)
def test_errors(call: Any, words: str) -> None:
    with pytest.raises(mx.MXNetError, match=words):
        call()


def test_a_batch_that_needs_other_parameters_is_refused() -> None:
    module = bound(perceptron(), context=contexts(2))
    weight = module.get_params()[0]["fc_weight"]
    for width in (2, 5):  # less memory than the weights have, and more
        wrong = mx.io.DataBatch([nd.ones((6, width))], [nd.ones(6)])
        for _ in range(2):
            with pytest.raises(mx.MXNetError, match=rf"'fc_weight' of shape \(4, {width}\).* bound with \(4, 3\)"):
                module.forward(wrong)
    module.forward(mx.io.DataBatch([nd.ones((4, 3))], [nd.ones(4)]))
    assert module.get_outputs()[0].shape == (4, 4)
    assert (module.get_params()[0]["fc_weight"] == weight).asnumpy().all()


def test_buckets_whose_parameters_have_other_shapes_are_refused() -> None:
    def generate(key: int) -> tuple[mx.sym.Symbol, list[str], list[str]]:
        return perceptron(), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(generate, default_bucket_key=3)
    module.bind([("data", (6, 3))], [("softmax_label", (6,))])
    module.init_params()
    with pytest.raises(mx.MXNetError, match=r"'fc_weight' would have the shape \(4, 2\).* \(4, 3\)"):
        module.switch_bucket(2, [("data", (6, 2))], [("softmax_label", (6,))])


def test_feed_forward_predicts_arrays_whatever_the_label_is_called() -> None:
    output = mx.sym.SVMOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="svm")
    network = mx.model.FeedForward(output, num_epoch=1, learning_rate=0.1)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    network.fit(mx.io.NDArrayIter(x, np.array([0, 1, 2, 0]), 2, label_name="svm_label"))
    weight, bias = (network.arg_params[f"fc_{kind}"].asnumpy() for kind in ("weight", "bias"))
    np.testing.assert_allclose(network.predict(x), x @ weight.T + bias, rtol=1e-5, atol=1e-5)


def test_feed_forward_is_a_module(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((50, 3), np.float32)
    y = x.sum(1) > 1.5
    network = mx.model.FeedForward(perceptron(), contexts(2), 30, numpy_batch_size=20, learning_rate=0.5, momentum=0.9)
    with pytest.raises(mx.MXNetError, match="no parameters yet"):
        network.predict(x)
    network.fit(x, y.astype("float32"), eval_data=(x, y))
    batches = mx.io.NDArrayIter(x, y.astype("float32"), 20)
    assert network.score(batches) > 0.9
    assert network.score(batches, ["acc", "ce"])[0] > 0.9 and len(network.score(batches, ["acc"])) == 1
    network.save(str(tmp_path / "x"))
    restored = mx.model.FeedForward.load(str(tmp_path / "x"), 30, numpy_batch_size=50)
    outputs, data, labels = network.predict(batches, return_data=True)
    np.testing.assert_allclose(restored.predict(x), outputs, rtol=1e-5)
    one = mx.io.NDArrayIter(x[:1], y[:1].astype("float32"), 1)  # the first context, of two, predicts
    np.testing.assert_allclose(network.predict(one), outputs[:1], rtol=1e-5)
    np.testing.assert_array_equal(data, x)
    np.testing.assert_array_equal(labels, y)
    assert len(network.predict(batches, num_batch=1)) == 20
    module = mx.mod.Module.load(str(tmp_path / "x"), 30)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    np.testing.assert_allclose(module.predict(batches).asnumpy(), outputs, rtol=1e-5)
    extra = {**restored.arg_params, "other": nd.ones(1)}
    start = {"arg_params": extra, "allow_extra_params": True, "begin_epoch": 1}
    twice = mx.model.FeedForward.create(lambda key: perceptron(), batches, num_epoch=2, epoch_size=2, **start)
    assert twice.arg_params.keys() == restored.arg_params.keys() and twice.score(batches, "ce") < 0.7
    for wrong, words in (((x, None), "need their classes"), ((x, y[:9]), "50 samples, but 9 classes")):
        with pytest.raises(ValueError, match=words):
            network.fit(*wrong)
    with pytest.raises(TypeError, match="a DataIter or an array, not list"):
        network.predict([1])
