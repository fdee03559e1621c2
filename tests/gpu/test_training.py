"""The training library on a GPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon
from runtime.gluon import nn

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits" / "train.py"
EPOCHS = 3


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("digits_train", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def samples(example: Any) -> gluon.data.ArrayDataset:
    """The digits that the example trains with; points around ten centres where scikit-learn, which has them, is not."""
    if importlib.util.find_spec("sklearn") is not None:
        return example.digits(0)[0]
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 1437)
    points = rng.random((10, 64))[labels] + 0.5 * rng.standard_normal((1437, 64))
    return gluon.data.ArrayDataset(points.astype(np.float32), labels)


def losses(example: Any, ctx: mx.Context, optimizer: str, options: dict[str, Any]) -> list[float]:
    """Of each pass over the samples, by a network without dropout, whose draws differ with the device."""
    np.random.seed(0)
    mx.random.seed(0)
    before, mx.Context.default_ctx = mx.current_context(), ctx
    try:
        net = nn.HybridSequential()
        net.add(nn.Dense(256, activation="relu", in_units=64), nn.Dense(128, activation="relu"), nn.Dense(10))
        net.initialize(mx.init.Xavier(), ctx=ctx)
        trainer = gluon.Trainer(net.collect_params(), optimizer, options)
        loader = gluon.data.DataLoader(samples(example), 64)
        found = []
        for _ in range(EPOCHS):
            batches = ((x.as_in_context(ctx), y.as_in_context(ctx)) for x, y in loader)
            found.append(example.train_epoch(net, trainer, batches))
        assert all(p.data().context == ctx for p in net.collect_params().values())
        return found
    finally:
        mx.Context.default_ctx = before


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        ("adam", {}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4}),
        ("lamb", {"learning_rate": 0.01}),
        ("adam", {"storage": "int8_linear"}),
    ],
    ids=["adam", "sgd", "lamb", "adam-int8"],
)
def test_digits(example: Any, optimizer: str, options: dict[str, Any]) -> None:
    """The same weights at first and the same batches: only sums in another order tell the devices apart."""
    pytest.importorskip("cupy")
    on_cpu = losses(example, mx.cpu(), optimizer, options)
    on_gpu = losses(example, mx.gpu(), optimizer, options)
    assert np.allclose(on_gpu, on_cpu, rtol=0.02), f"{on_gpu} and {on_cpu}"
    assert on_gpu[-1] < 0.6 * on_gpu[0]


def test_the_gpu_is_what_scripts_ask_for() -> None:
    pytest.importorskip("cupy")
    assert mx.num_gpus() >= 1
    ctx = mx.gpu() if mx.test_utils.list_gpus() else mx.cpu()
    x = mx.nd.arange(6, ctx=ctx).reshape((2, 3))
    assert x.context == mx.gpu(0)
    assert (x * 2).asnumpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    free, total = mx.gpu_memory_info(0)
    assert 0 < free <= total
