"""Layers: containers, shapes that become known late, what they print, errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, init, nd
from runtime.gluon import nn
from runtime.gluon.contrib import nn as contrib


def mlp(in_units: int = 0) -> nn.HybridSequential:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.Dense(5, activation="tanh", in_units=in_units), nn.Flatten(), nn.Dense(2, in_units=5 if in_units else 0)
        )
    return net


def test_containers() -> None:
    net = mlp()
    assert len(net) == 3
    assert net[0] is next(iter(net))
    assert [type(b) for b in net[1:]] == [nn.Flatten, nn.Dense]
    seen: list[str] = []
    net.apply(lambda block: seen.append(type(block).__name__))
    assert seen == ["Activation", "Dense", "Flatten", "Dense", "HybridSequential"]
    with pytest.raises(ValueError, match="must be HybridBlocks"):
        nn.HybridSequential().add(gluon.Block())
    net.hybridize(static_alloc=True)


def test_dense_on_the_last_axis() -> None:
    layer = nn.Dense(3, flatten=False, use_bias=False)
    layer.initialize(init.One())
    assert layer(nd.ones((2, 5, 4))).asnumpy().tolist() == np.full((2, 5, 3), 4).tolist()


def test_blocks_side_by_side() -> None:
    for container in (contrib.Concurrent, contrib.HybridConcurrent):
        net = container(axis=1)
        net.add(nn.Dense(2), contrib.Identity())
        net.initialize(init.One())
        assert net(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3, 1, 1, 1]]


def test_a_container_of_the_users_own() -> None:
    class Twice(nn.HybridSequential):
        def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
            return 2 * super().hybrid_forward(F, x)

    net = Twice()
    net.add(nn.HybridLambda("square"))
    assert net(nd.array([3])).asscalar() == 18


# layer, shape of the input, shapes of the parameters once it is known, shape of the output
LATE: dict[str, tuple[Callable, tuple, list[tuple], tuple]] = {
    "Dense": (lambda: nn.Dense(5), (2, 3, 4), [(5, 12), (5,)], (2, 5)),
    "Conv1D": (lambda: nn.Conv1D(6, 3, groups=2), (2, 4, 9), [(6, 2, 3), (6,)], (2, 6, 7)),
    "Conv2D": (lambda: nn.Conv2D(6, (3, 2), strides=2, padding=1, use_bias=False), (2, 4, 9, 8), [(6, 4, 3, 2)],
               (2, 6, 5, 5)),
    "Conv3D": (lambda: nn.Conv3D(2, 2, activation="relu"), (1, 3, 4, 5, 6), [(2, 3, 2, 2, 2), (2,)], (1, 2, 3, 4, 5)),
    "Conv1DTranspose": (lambda: nn.Conv1DTranspose(6, 3, strides=2, output_padding=1), (2, 4, 5), [(4, 6, 3), (6,)],
                        (2, 6, 12)),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(6, 3, groups=2), (2, 4, 5, 5), [(4, 3, 3, 3), (6,)], (2, 6, 7, 7)),
    "BatchNorm": (nn.BatchNorm, (2, 3, 4), [(3,)] * 4, (2, 3, 4)),
    "BatchNorm axis": (lambda: nn.BatchNorm(axis=-1), (2, 3, 4), [(4,)] * 4, (2, 3, 4)),
    "BatchNormReLU": (nn.BatchNormReLU, (2, 3, 4), [(3,)] * 4, (2, 3, 4)),
    "LayerNorm": (nn.LayerNorm, (2, 3, 4), [(4,)] * 2, (2, 3, 4)),
    "InstanceNorm": (nn.InstanceNorm, (2, 3, 4), [(3,)] * 2, (2, 3, 4)),
    "InstanceNorm axis": (lambda: nn.InstanceNorm(axis=2), (2, 3, 4), [(4,)] * 2, (2, 3, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2), (2, 4, 3), [(2,)] * 2, (2, 4, 3)),
    "PReLU": (lambda: nn.PReLU(in_channels=3), (2, 3, 4), [(3,)], (2, 3, 4)),
    "Embedding": (lambda: nn.Embedding(7, 5), (2, 3), [(7, 5)], (2, 3, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_shapes_become_known_with_the_first_batch(name: str) -> None:
    make, shape, shapes, expected = LATE[name]
    layer = make()
    layer.initialize()
    x = nd.ones(shape)
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    assert [p.shape for p in layer.collect_params().values()] == shapes
    assert y.shape == expected


def test_pooling_and_padding() -> None:
    x = nd.array(np.arange(16).reshape(1, 1, 4, 4))
    assert nn.MaxPool2D()(x).asnumpy().tolist() == [[[[5, 7], [13, 15]]]]
    assert nn.AvgPool2D(2, 1)(x).shape == (1, 1, 3, 3)
    assert nn.MaxPool2D(3, ceil_mode=True)(x).shape == (1, 1, 2, 2)
    assert nn.GlobalAvgPool2D()(x).asscalar() == 7.5
    assert nn.GlobalMaxPool1D()(x[0]).shape == (1, 4, 1)
    assert nn.ReflectionPad2D(1)(x).asnumpy()[0, 0, 0].tolist() == [5, 4, 5, 6, 7, 6]
    assert not isinstance(nn.GlobalAvgPool2D(), nn.GlobalMaxPool2D)


def test_running_statistics_stay_float32() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 1, in_channels=3), nn.BatchNorm(in_channels=2))
    net.cast("float16")
    assert [np.dtype(p.dtype).name for p in net.collect_params().values()] == ["float16"] * 2 + ["float32"] * 4
    net.initialize()
    assert net(nd.ones((1, 3, 2, 2), dtype="float16")).dtype == np.float16


def test_pixels_from_channels() -> None:
    x = nd.arange(8).reshape((1, 8, 1))
    assert contrib.PixelShuffle1D(2)(x).asnumpy().tolist() == [[[0, 1], [2, 3], [4, 5], [6, 7]]]
    image = contrib.PixelShuffle2D((1, 2))(nd.arange(12).reshape((1, 4, 1, 3)))
    assert image.asnumpy().tolist() == [[[[0, 3, 1, 4, 2, 5]], [[6, 9, 7, 10, 8, 11]]]]
    assert contrib.PixelShuffle3D(2)(nd.ones((1, 16, 1, 2, 3))).shape == (1, 2, 2, 4, 6)


def test_what_layers_print() -> None:
    assert [repr(layer) for layer in (
        nn.Dense(3, "relu", in_units=2), nn.Dropout(0.5), nn.Embedding(3, 4), nn.Flatten(), nn.LeakyReLU(0.1),
        nn.Conv2D(3, 2, padding=1, groups=3, in_channels=3, use_bias=False), nn.MaxPool1D(3, 2),
        nn.HybridLambda("tanh"),
        nn.LayerNorm(), nn.BatchNorm(scale=False), gluon.loss.L2Loss(), contrib.PixelShuffle1D(2),
    )] == [
        "Dense(2 -> 3, Activation(relu))",
        "Dropout(p = 0.5, axes=())",
        "Embedding(3 -> 4, float32)",
        "Flatten",
        "LeakyReLU(0.1)",
        "Conv2D(1 -> 3, kernel_size=(2, 2), stride=(1, 1), padding=(1, 1), groups=3, bias=False)",
        "MaxPool1D(size=(3,), stride=(2,), padding=(0,), ceil_mode=False, global_pool=False, pool_type=max, "
        "layout=NCW)",
        "HybridLambda(tanh)",
        "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)",
        "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=True, use_global_stats=False, in_channels=None)",
        "L2Loss(batch_axis=0, w=1.0)",
        "PixelShuffle1D(2)",
    ]  # fmt: skip


def test_errors() -> None:
    late = nn.Conv2D(3, 2)
    late.initialize()
    for call, words in (
        (lambda: late(nd.ones((2, 3, 4))), r"Conv2D 'conv\d+' takes arrays of layout NCHW, .* \(2, 3, 4\)"),
        (lambda: nn.Conv2D(3, (2, 2, 2)), "kernel_size is a number, or 2 of them"),
        (lambda: nn.Conv2D(3, 2, layout="NCW"), "'NCHW' or 'NHWC', not 'NCW'"),
        (lambda: nn.MaxPool1D(layout="CNW"), "'NCW' or 'NWC', not 'CNW'"),
        (lambda: nn.Lambda("squar"), "no function 'squar' in nd; did you mean 'square'"),
        (lambda: nn.Lambda(3), "not 3 of type int"),
        (lambda: nn.LeakyReLU(-1), "must not be negative"),
        (lambda: nn.Dropout(2), "a probability"),
        (lambda: contrib.SyncBatchNorm(num_devices=2), "there is one device"),
        (lambda: contrib.PixelShuffle2D((1, 2, 3)), "or 2 of them"),
        (lambda: contrib.PixelShuffle1D(2)(nd.ones((1, 3, 2))), "a multiple of 2 channels"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()


def test_what_subclasses_written_for_mxnet_read() -> None:
    dense, conv, embedding = nn.Dense(3, in_units=2), nn.Conv2DTranspose(4, 3, in_channels=2), nn.Embedding(5, 6)
    assert (dense._units, dense._in_units, dense._flatten) == (3, 2, True)
    assert (conv._channels, conv._in_channels, conv._op_name) == (4, 2, "Deconvolution")
    assert embedding._kwargs == {"input_dim": 5, "output_dim": 6, "dtype": "float32", "sparse_grad": False}
    norm = nn.LayerNorm(center=False)
    assert (norm._axis, norm._epsilon, norm._center, norm._scale) == (-1, 1e-5, False, True)


@pytest.mark.parametrize("name", ["DeformableConvolution", "ModulatedDeformableConvolution"])
def test_deformed_convolutions_begin_as_plain_ones(name: str) -> None:
    """Shifts are 0 at first, and learn: their operators are compared with MXNet elsewhere."""
    given = {"kernel_size": 3, "strides": 2, "padding": 1, "groups": 2, "activation": "relu"}
    layer = getattr(gluon.contrib.cnn, name)(4, num_deformable_group=2, **given)
    plain = nn.Conv2D(4, **given)
    x = nd.array(np.random.default_rng(0).normal(size=(2, 6, 7, 5)))
    for block in (layer, plain):
        block.initialize()
        block(x)
    plain.weight.set_data(layer.deformable_conv_weight.data())
    assert layer.name.startswith(layer._alias()) and "6 -> 4" not in repr(layer) and "3 -> 4" in repr(layer)
    with autograd.record():
        y = layer(x)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), plain(x).asnumpy(), 1e-5, 1e-5)
    assert layer.offset_weight.grad().asnumpy().any() and layer.offset_bias.grad().asnumpy().any()
