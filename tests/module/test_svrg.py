"""Gradients of reduced variance, beside the equation in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime.contrib.svrg_optimization import SVRGModule
from runtime.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer


@pytest.mark.parametrize("contexts", [1, 2])
def test_training_is_the_equation(contexts: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(10, 2)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0]], np.float32)
    data, label, weight = (mx.sym.Variable(name) for name in ("data", "label", "w"))
    loss = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(data, weight, num_hidden=1, no_bias=True), label)
    module = SVRGModule(loss, ["data"], ["label"], context=[mx.cpu(i) for i in range(contexts)], update_freq=2)
    batches = mx.io.NDArrayIter(x, y, 4, last_batch_handle="pad", label_name="label")
    module.fit(batches, None, "mse", optimizer="sgd", optimizer_params={"learning_rate": 0.3}, num_epoch=3,
               arg_params={"w": mx.nd.ones((1, 2))})  # fmt: skip

    def gradient(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (x[rows] @ w.T - y[rows]).T @ x[rows]

    parts = [np.arange(i, i + 4) % 10 for i in (0, 4, 8)]
    w = np.ones((1, 2), np.float32)
    for epoch in range(3):
        if epoch % 2 == 0:
            v, full = w, sum(gradient(w, rows) for rows in parts) / 2.5  # half of the last batch is padding
        for rows in parts:
            w = w - 0.3 / 4 * (gradient(w, rows) - gradient(v, rows) + full)
    np.testing.assert_allclose(module.get_params()[0]["w"].asnumpy(), w, 1e-4)
    assert module.predict(batches).shape == (10, 1)
    assert module.score(batches, "mse")[0][1] < 0.1
    assert type(module._optimizer) is _SVRGOptimizer and module._optimizer.default_opt.lr == 0.3
    with pytest.raises(ValueError, match="update_freq"):
        SVRGModule(loss, ["data"], ["label"])


def test_attributes_multiply_no_rates() -> None:
    """As in MXNet, whose module makes its optimizer without the symbol."""
    weight = mx.sym.Variable("w", lr_mult=10.0, shape=(1, 3))
    loss = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), weight, num_hidden=1, no_bias=True), mx.sym.Variable("label")
    )
    batches = mx.io.NDArrayIter(np.ones((4, 3)), np.ones((4, 1)), 4, label_name="label")
    module = SVRGModule(loss, ["data"], ["label"], update_freq=1)
    module.fit(batches, None, "mse", optimizer_params={"learning_rate": 0.1}, initializer=mx.init.Zero(), num_epoch=1)
    np.testing.assert_allclose(module.get_params()[0]["w"].asnumpy(), [[0.1] * 3], rtol=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_states_are_saved(name: str, tmp_path: Path) -> None:
    loss = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc"))
    batches = mx.io.NDArrayIter(np.ones((8, 3)), np.ones((8, 1)), 4, label_name=loss.list_arguments()[-1])
    module = SVRGModule(loss, ["data"], loss.list_arguments()[-1:], update_freq=1)
    params = {"learning_rate": 0.1, **({"momentum": 0.9} if name == "sgd" else {})}
    module.fit(batches, None, "mse", optimizer=name, optimizer_params=params, num_epoch=1)
    module.save_optimizer_states(str(tmp_path / "states"))
    weights, found = module.get_params()[0], []
    for _ in range(2):
        module.set_params(weights, {})
        module.load_optimizer_states(str(tmp_path / "states"))
        module.fit(batches, None, "mse", num_epoch=1)
        found.append(module.get_params()[0]["fc_weight"].asnumpy())
    if name == "sgd":  # for adam the number of the update matters, which is in no file
        np.testing.assert_array_equal(*found)
    assert (found[0] != weights["fc_weight"].asnumpy()).any()


def test_averages_of_gradients_are_kept_in_a_store() -> None:
    names = {0: "weight", 1: "weight_full"}
    store = mx.kv.create("local")
    store.set_optimizer(_SVRGOptimizer("sgd", param_idx2name=names, learning_rate=1.0))
    found = [mx.nd.ones(3), mx.nd.ones(3)]
    for key, x in enumerate(found):
        store.init(key, x)
        store.push(key, mx.nd.full(3, 2))
        store.pull(key, x)
    assert [x.asnumpy().tolist() for x in found] == [[-1] * 3, [2] * 3]
