"""Write the files here: networks that MXNet 1.9.1 exported, and what they compute.

Run from the root of the repository, where MXNet is installed: python -m tests.gluon.exported.mxnet_make
"""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet.gluon import nn, rnn

FOLDER = Path(__file__).parent


def images() -> nn.HybridSequential:
    """Convolutions, normalization, pooling and dense layers."""
    net = nn.HybridSequential(prefix="images_")
    with net.name_scope():
        net.add(
            nn.Conv2D(4, 3, activation="relu"),
            nn.BatchNorm(),
            nn.MaxPool2D(),
            nn.Conv2D(6, 3, groups=2, use_bias=False),
        )
        net.add(nn.BatchNorm(scale=False), nn.LeakyReLU(0.1), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dropout(0))
        net.add(nn.Dense(5, activation="tanh"), nn.LayerNorm(), nn.Dense(3))
    return net


class Words(mx.gluon.HybridBlock):
    """An embedding, a recurrent layer, and arithmetic."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(7, 3)
            self.layer = rnn.LSTM(4, bidirectional=True, input_size=3)
            self.out = nn.Dense(2, flatten=False)

    def hybrid_forward(self, F, x, h, c):
        y, states = self.layer(self.embedding(x), [h, c])
        return F.softmax(self.out(y * 2 - F.mean(y, axis=2, keepdims=True).broadcast_like(y))), states[0]


class Loops(mx.gluon.HybridBlock):
    """A loop over a cell, and a branch."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = rnn.LSTMCell(4, input_size=3)
            self.scale = self.params.get("scale", shape=(1, 4), init="ones")

    def hybrid_forward(self, F, x, h, c, scale):
        y, states = F.contrib.foreach(self.cell, x, [h, c])
        twice = F.broadcast_mul(states[0], scale * 2)
        less = F.slice(y, begin=(0, 0, 0), end=(1, 1, 1)).reshape((1,)) < 0
        return y, F.contrib.cond(less, lambda: states[1] * 2, lambda: states[1] - twice)


if __name__ == "__main__":
    mx.random.seed(1)
    results = {}
    states = [mx.nd.random.uniform(shape=(2, 2, 4)) for _ in range(2)]
    networks = {
        "images": (images(), [mx.nd.random.uniform(shape=(2, 2, 12, 12))]),
        "words": (Words(prefix="words_"), [mx.nd.array([[1, 2], [3, 6], [0, 5]]), *states]),
    }
    inputs = [mx.nd.random.uniform(shape=shape) for shape in [(5, 2, 3), (2, 4), (2, 4)]]
    networks["loops"] = (Loops(prefix="loops_"), inputs)
    for name, (net, inputs) in networks.items():
        net.initialize(mx.init.Uniform(0.5))
        net.hybridize()
        with mx.autograd.record():
            net(*inputs)  # statistics of batches
        outputs = net(*inputs)
        net.export(str(FOLDER / name))
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        with mx.autograd.record():
            found = net(*inputs)
            heads = [y.square().sum() for y in (found if isinstance(found, (list, tuple)) else [found])]
        mx.autograd.backward(heads)
        params = net.collect_params()
        results.update({f"{name}_grad_{key}": x.grad().asnumpy() for key, x in params.items() if x.grad_req != "null"})
        results.update({f"{name}_input{i}": x.asnumpy() for i, x in enumerate(inputs)})
        results.update({f"{name}_output{i}": y.asnumpy() for i, y in enumerate(outputs)})
    np.savez_compressed(FOLDER / "results.npz", **results)
