"""Gradients of reduced variance, beside the equation in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime.contrib.svrg_optimization import SVRGModule


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
    with pytest.raises(ValueError, match="update_freq"):
        SVRGModule(loss, ["data"], ["label"])
