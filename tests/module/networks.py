"""A small network and its training by Module, as a script for MXNet writes them: `mx` is that library, or this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
RUNS = {
    "sgd": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}, 1),
    "adam": ("adam", {"learning_rate": 0.01, "clip_gradient": 0.05}, 1),
    "sgd of two": ("sgd", {"learning_rate": 0.1, "momentum": 0.9}, 2),
}
"""For each run the optimizer, its arguments, and the number of contexts."""


def symbol(mx: Any) -> Any:
    """A convolutional network, of which some variables have attributes."""
    data = mx.sym.Variable("data")
    weight = mx.sym.Variable("conv_weight", lr_mult=0.5, init=mx.init.Uniform(0.3))
    x = mx.sym.Convolution(data, weight, kernel=(3, 3), num_filter=4, no_bias=True, name="conv")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn")
    x = mx.sym.Activation(x, act_type="relu", name="relu")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    bias = mx.sym.Variable("fc_bias", wd_mult=2)
    x = mx.sym.FullyConnected(mx.sym.Flatten(x, name="flat"), bias=bias, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def iterator(mx: Any, batch_size: int = 8) -> Any:
    random = np.random.RandomState(3)
    data = random.standard_normal((28, 2, 6, 6)).astype(np.float32)
    label = (data[:, 0].mean((1, 2)) > 0) + 1.0 * (data[:, 1].mean((1, 2)) > 0)
    return mx.io.NDArrayIter(data, label.astype(np.float32), batch_size=batch_size)


def train(mx: Any, module: Any, run: str) -> dict[str, np.ndarray]:
    """Values of metrics after each batch and of parameters in the end, predictions, and scores."""
    name, arguments, _ = RUNS[run]
    values: list[float] = []
    scheduler = mx.lr_scheduler.FactorScheduler(step=6, factor=0.5, base_lr=arguments["learning_rate"])
    module.fit(
        iterator(mx),
        eval_metric=["acc", "ce"],
        batch_end_callback=lambda param: values.extend(value for _, value in param.eval_metric.get_name_value()),
        optimizer=name,
        optimizer_params={**arguments, "lr_scheduler": scheduler},
        num_epoch=3,
    )
    found = {f"param {key}": x.asnumpy() for params in module.get_params() for key, x in params.items()}
    found["metrics"] = np.array(values)
    found["prediction"] = module.predict(iterator(mx)).asnumpy()
    found["scores"] = np.array([value for _, value in module.score(iterator(mx), ["acc", "ce"])])
    return found
