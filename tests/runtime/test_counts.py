"""Counts are whole numbers, wherever they are taken: what is none is refused by name, and never rounded or ignored."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, lr_scheduler, metric, nd
from runtime.base import MXNetError, count
from runtime.gluon import contrib, data, nn, rnn
from runtime.gluon.contrib import estimator

IMAGE = nd.ones((1, 4, 8, 8))
LINE = nd.ones((1, 2, 8))
ROW = nd.arange(8)
MATRIX = nd.ones((4, 4))


def fit(**length: Any) -> None:
    net = nn.Dense(1, in_units=1)
    net.initialize()
    loader = data.DataLoader(data.ArrayDataset(nd.ones((4, 1)), nd.ones((4, 1))), 2)
    estimator.Estimator(net, gluon.loss.L2Loss()).fit(loader, event_handlers=[], **length)


def convolution(channels: int = 2, **window: Any) -> Any:
    given = {"kernel": (3,), "num_filter": 2, "no_bias": True} | window
    return nd.Convolution(LINE, nd.ones((2, channels, 3)), **given)


Entry = tuple[str, Callable[[Any], Any], int, int | None]
"""The argument's name, what takes it, a value that is good, and one that is too small (None: no number is)."""

DATA: list[Entry] = [
    ("batch_size", lambda n: list(data.DataLoader([1, 2], n)), 2, 0),
    ("num_workers", lambda n: list(data.DataLoader([1, 2], 1, num_workers=n)), -1, None),
    ("prefetch", lambda n: list(data.DataLoader([1, 2], 1, num_workers=1, thread_pool=True, prefetch=n)), -1, None),
    ("batch_size", lambda n: list(data.BatchSampler([1, 2], n)), 2, 0),
    ("length", lambda n: list(data.SequentialSampler(n)), 2, -1),
    ("start", lambda n: list(data.SequentialSampler(2, n)), 2, None),
    ("length", lambda n: list(data.RandomSampler(n)), 2, -1),
    ("length", lambda n: list(contrib.data.IntervalSampler(n, 1)), 2, -1),
    ("interval", lambda n: list(contrib.data.IntervalSampler(4, n)), 2, 0),
    ("num_shards", lambda n: data.SimpleDataset([1, 2]).shard(n, 0), 2, 0),
    ("index", lambda n: data.SimpleDataset([1, 2]).shard(2, n), 1, -1),
    ("count", lambda n: data.SimpleDataset([1, 2]).take(n), 1, -1),
    ("batch_size", lambda n: list(mx.io.NDArrayIter(nd.ones((4, 2)), batch_size=n)), 2, 0),
    ("size", lambda n: mx.io.ResizeIter(mx.io.NDArrayIter(nd.ones((4, 2)), batch_size=2), n), 2, -1),
    ("size", lambda n: data.vision.transforms.CenterCrop(n), 2, 0),
    ("size", lambda n: data.vision.transforms.RandomResizedCrop((n, 2)), 2, 0),
    ("num_slice", lambda n: gluon.utils.split_data(MATRIX, n), 2, 0),
]

LAYERS: list[Entry] = [
    ("units", lambda n: nn.Dense(n), 2, -1),
    ("in_units", lambda n: nn.Dense(2, in_units=n), 2, -2),
    ("input_dim", lambda n: nn.Embedding(n, 2), 2, 0),
    ("output_dim", lambda n: nn.Embedding(2, n), 2, 0),
    ("channels", lambda n: nn.Conv2D(n, 3), 2, 0),
    ("kernel_size", lambda n: nn.Conv2D(2, n), 2, 0),
    ("strides", lambda n: nn.Conv2D(2, 3, strides=(n, 1)), 2, 0),
    ("padding", lambda n: nn.Conv2D(2, 3, padding=n), 2, -1),
    ("dilation", lambda n: nn.Conv2D(2, 3, dilation=n), 2, 0),
    ("groups", lambda n: nn.Conv2D(2, 3, groups=n), 2, 0),
    ("in_channels", lambda n: nn.Conv2D(2, 3, in_channels=n), 2, -2),
    ("output_padding", lambda n: nn.Conv2DTranspose(2, 3, strides=2, output_padding=n), 1, -1),
    ("padding", lambda n: nn.ReflectionPad2D(n), 2, -1),
    ("pool_size", lambda n: nn.MaxPool2D(n), 2, 0),
    ("strides", lambda n: nn.AvgPool2D(2, n), 2, 0),
    ("padding", lambda n: nn.MaxPool2D(2, 2, n), 1, -1),
    ("hidden_size", lambda n: rnn.LSTM(n), 2, 0),
    ("num_layers", lambda n: rnn.GRU(2, n), 2, 0),
    ("input_size", lambda n: rnn.RNN(2, input_size=n), 2, -2),
    ("projection_size", lambda n: rnn.LSTM(2, projection_size=n), 2, -1),
    ("hidden_size", lambda n: rnn.LSTMCell(n), 2, 0),
    ("input_size", lambda n: rnn.GRUCell(2, input_size=n), 2, -2),
    ("projection_size", lambda n: contrib.rnn.LSTMPCell(2, n), 2, 0),
    ("hidden_channels", lambda n: contrib.rnn.Conv2DRNNCell((4, 8, 8), n, 3, 3), 2, 0),
    ("factor", lambda n: contrib.nn.PixelShuffle2D(n), 2, 0),
    ("num_groups", lambda n: nn.GroupNorm(n), 2, 0),
    ("in_channels", lambda n: nn.BatchNorm(in_channels=n), 2, -2),
    ("channels", lambda n: gluon.model_zoo.vision.squeezenet1_0(classes=n), 2, 0),
]

TRAINING: list[Entry] = [
    ("max_update", lambda n: lr_scheduler.PolyScheduler(n), 2, 0),
    ("max_update", lambda n: lr_scheduler.CosineScheduler(n), 2, 0),
    ("step", lambda n: lr_scheduler.FactorScheduler(n), 2, 0),
    ("step", lambda n: lr_scheduler.MultiFactorScheduler([n]), 2, 0),
    ("warmup_steps", lambda n: lr_scheduler.PolyScheduler(9, warmup_steps=n), 2, -1),
    ("top_k", lambda n: metric.TopKAccuracy(n), 2, 0),
    ("epochs", lambda n: fit(epochs=n), 1, -1),
    ("batches", lambda n: fit(batches=n), 1, -1),
    ("epoch_period", lambda n: estimator.CheckpointHandler("x", epoch_period=n), 1, -1),
    ("batch_period", lambda n: estimator.CheckpointHandler("x", batch_period=n), 1, -1),
    ("max_checkpoints", lambda n: estimator.CheckpointHandler("x", max_checkpoints=n), 1, -1),
    ("epoch_period", lambda n: estimator.ValidationHandler(None, None, epoch_period=n), 1, -1),
    ("batch_period", lambda n: estimator.ValidationHandler(None, None, batch_period=n), 1, -1),
    ("max_epoch", lambda n: estimator.StoppingHandler(max_epoch=n), 1, -1),
    ("max_batch", lambda n: estimator.StoppingHandler(max_batch=n), 1, -1),
    ("log_interval", lambda n: estimator.LoggingHandler(log_interval=n), 1, -1),
    ("patience", lambda n: estimator.EarlyStoppingHandler(metric.Loss(), patience=n), 1, -1),
]

OPERATORS: list[Entry] = [
    ("repeats", lambda n: nd.repeat(ROW, n), 2, -1),
    ("reps", lambda n: nd.tile(ROW, n), 2, 0),
    ("reps", lambda n: nd.tile(ROW, (n, 1)), 2, 0),
    ("k", lambda n: nd.topk(ROW, k=n), 2, None),
    ("repeat", lambda n: nd.arange(3, repeat=n), 2, 0),
    ("repeat", lambda n: nd.contrib.arange_like(ROW, repeat=n), 2, 0),
    ("num", lambda n: nd.linspace(0, 1, n), 2, -1),
    ("N", lambda n: nd.eye(n), 2, -1),
    ("M", lambda n: nd.eye(2, n), 2, -1),
    ("k", lambda n: nd.eye(2, 2, n), 1, None),
    ("k", lambda n: nd.diag(MATRIX, n), 1, None),
    ("depth", lambda n: nd.one_hot(ROW, n), 2, -1),
    ("num_outputs", lambda n: nd.split(ROW, n, axis=0), 2, 0),
    ("indices_or_sections", lambda n: nd.split_v2(ROW, n), 2, 0),
    ("indices_or_sections", lambda n: nd.split_v2(ROW, (n,)), 2, -1),
    ("block_size", lambda n: nd.depth_to_space(IMAGE, n), 2, 0),
    ("block_size", lambda n: nd.space_to_depth(IMAGE, n), 2, 0),
    ("bins", lambda n: nd.histogram(ROW, n), 2, 0),
    ("shape", lambda n: nd.zeros(n), 2, -1),
    ("shape", lambda n: nd.ones((n, 2)), 2, -1),
    ("shape", lambda n: nd.full((n, 2), 1), 2, -1),
    ("shape", lambda n: nd.random.uniform(shape=(n, 2)), 2, -1),
    ("shape", lambda n: ROW.reshape((n, 4)), 2, -5),
    ("shape", lambda n: nd.broadcast_to(nd.ones((1, 2)), (n, 2)), 2, -1),
    ("size", lambda n: nd.broadcast_axis(nd.ones((1, 2)), 0, n), 2, -1),
    ("axis", lambda n: nd.sum(MATRIX, axis=n), 1, -3),
    ("axis", lambda n: nd.sum(MATRIX, axis=(0, n)), 1, -3),
    ("axis", lambda n: nd.concat(MATRIX, MATRIX, dim=n), 1, -3),
    ("axis", lambda n: nd.stack(MATRIX, MATRIX, axis=n), 1, -4),
    ("axis", lambda n: nd.expand_dims(MATRIX, n), 1, -4),
    ("axis", lambda n: nd.softmax(MATRIX, axis=n), 1, -3),
    ("axis", lambda n: nd.take(MATRIX, ROW, axis=n), 1, -3),
    ("begin", lambda n: nd.slice_axis(ROW, 0, n, 8), 1, None),
    ("end", lambda n: nd.slice_axis(ROW, 0, 0, n), 1, None),
    ("begin", lambda n: nd.slice(ROW, (n,), (8,)), 1, None),
    ("pad_width", lambda n: nd.pad(IMAGE, "edge", (0, 0, 0, 0, n, 1, 1, 1)), 2, -1),
    ("num_filter", lambda n: convolution(num_filter=n), 2, 0),
    ("num_group", lambda n: convolution(1, num_group=n), 2, 0),
    ("kernel", lambda n: convolution(kernel=(n,)), 3, 0),
    ("stride", lambda n: convolution(stride=(n,)), 1, 0),
    ("pad", lambda n: convolution(pad=(n,)), 1, -1),
    ("dilate", lambda n: convolution(dilate=(n,)), 1, 0),
    ("kernel", lambda n: nd.Pooling(IMAGE, (n, 2)), 2, 0),
    ("num_hidden", lambda n: nd.FullyConnected(nd.ones((1, 2)), nd.ones((2, 2)), num_hidden=n, no_bias=True), 2, 0),
    ("num_groups", lambda n: nd.GroupNorm(IMAGE, nd.ones(2), nd.ones(2), num_groups=n), 2, 0),
    ("nsize", lambda n: nd.LRN(IMAGE, n), 3, 0),
    ("scale", lambda n: nd.UpSampling(IMAGE, scale=n, sample_type="nearest"), 2, 0),
    ("height", lambda n: nd.contrib.BilinearResize2D(IMAGE, height=n, width=4), 2, 0),
    ("output_size", lambda n: nd.contrib.AdaptiveAvgPooling2D(IMAGE, n), 2, 0),
    ("axis", lambda n: nd.linalg.gemm2(MATRIX, MATRIX, axis=n), -2, -3),
    ("size", lambda n: nd.image.resize(nd.ones((4, 4, 3)), n), 2, 0),
    ("width", lambda n: nd.image.crop(nd.ones((4, 4, 3)), 0, 0, n, 2), 2, 0),
    ("pooled_size", lambda n: nd.ROIPooling(IMAGE, nd.array([[0, 0, 0, 4, 4]]), (n, 2), 1.0), 2, 0),
    ("num_sampled", lambda n: nd.contrib.rand_zipfian(ROW, n, 9), 2, 0),
    ("shape", lambda n: nd.random.multinomial(nd.array([0.5, 0.5]), shape=n), 2, -1),
    ("shape", lambda n: nd.sparse.zeros("csr", (n, 2)), 2, -1),
    ("shape", lambda n: nd.scatter_nd(nd.ones(1), nd.array([[0]]), shape=(n,)), 2, -1),
    ("shape", lambda n: nd.ravel_multi_index(nd.array([[0], [1]]), shape=(n, 4)), 2, -2),
    ("shape", lambda n: nd.unravel_index(nd.array([1]), shape=(4, n)), 2, 0),
    ("target_shape", lambda n: nd.GridGenerator(nd.ones((1, 6)), "affine", (n, 4)), 2, -1),
    ("h_w", lambda n: nd.Crop(IMAGE, h_w=(n, 2)), 2, 0),
    ("offset", lambda n: nd.Crop(IMAGE, h_w=(2, 2), offset=(n, 0)), 2, -1),
    ("offset", lambda n: nd.linalg.extractdiag(MATRIX, offset=n), 1, None),
    ("offset", lambda n: nd.linalg.makediag(ROW, offset=n), 1, None),
    ("offset", lambda n: nd.linalg.extracttrian(MATRIX, offset=n), 1, None),
    ("offset", lambda n: nd.linalg.maketrian(nd.ones(3), offset=n), 1, None),
    ("lhs_begin", lambda n: nd.reshape_like(MATRIX, MATRIX, n, 2, 1, 2), 1, None),
]


@pytest.mark.parametrize(("name", "take", "good", "too_small"), DATA + LAYERS + TRAINING + OPERATORS)
def test_counts_are_whole_numbers(
    name: str, take: Callable[[Any], Any], good: int, too_small: int | None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for value in (good, np.int64(good)):
        take(value)
    wrong = [1.5, float(good), math.nan, str(good), *([] if too_small is None else [too_small])]
    for value in wrong:
        with pytest.raises((MXNetError, ValueError, TypeError), match=rf"\b{name}\b"):
            take(value)


def test_what_a_count_is() -> None:
    class Five:
        def __index__(self) -> int:
            return 5

    for five in (5, np.uint8(5), np.array(5), nd.array([5], dtype="int32"), Five()):
        assert count("n", five) == 5 and type(count("n", five)) is int
    assert count("n", 0, 0) == 0 and count("n", -3, None) == -3
    for value in (1.5, "5", None, [5], True, np.bool_(True), nd.array([5.0])):
        with pytest.raises(TypeError, match="n must be a whole number, not ") as caught:
            count("n", value)
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, MXNetError)
    with pytest.raises(TypeError, match=r"not 5\.0 \(// divides to whole numbers\)"):
        count("n", 5.0)
    with pytest.raises(ValueError, match="n must be at least 1, not 0"):
        count("n", 0)
