"""Prints a hash of what some operators come to, for `test_machine.py`: of as many kinds of code as few calls have."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import runtime as mx
from runtime import autograd, nd
from runtime.gluon import nn

CONVOLUTIONS: list[tuple[tuple[int, ...], int, dict[str, Any]]] = [
    ((4, 32, 20, 20), 160, {"kernel": (3, 3), "pad": (1, 1)}),  # Winograd's algorithm
    ((4, 40, 19, 23), 70, {"kernel": (3, 3), "pad": (2, 2), "dilate": (2, 2)}),
    ((2, 48, 13, 13), 600, {"kernel": (5, 5), "pad": (2, 2)}),  # gathered
    ((3, 24, 17, 17), 72, {"kernel": (4, 4), "stride": (2, 2)}),
    ((3, 48, 21, 30), 48, {"kernel": (3, 3), "pad": (1, 1), "num_group": 12}),  # grouped
    ((3, 32, 21, 30), 32, {"kernel": (3, 3), "num_group": 32}),  # depthwise
    ((3, 64, 14, 14), 96, {"kernel": (1, 1)}),  # pointwise
]
"""Shapes of images, filters, and arguments."""
SHAPE = (3, 70, 4096)
"""Of arrays that threads share by default."""


def found() -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def array(*shape: int) -> nd.NDArray:
        x = nd.array(rng.normal(size=shape).astype(np.float32))
        x.attach_grad()
        return x

    arrays = []
    for shape, filters, how in CONVOLUTIONS:
        x, w = array(*shape), array(filters, shape[1] // how.get("num_group", 1), *how["kernel"])
        with autograd.record():
            y = nd.Convolution(x, w, no_bias=True, num_filter=filters, **how)
            loss = (y * y).sum()
        loss.backward()
        arrays += [y, x.grad, w.grad]
    for shape in (SHAPE, (5, 700)):
        x, z = array(*shape), array(*shape)
        with autograd.record():
            parts = [x + z, x * z - 2, nd.tanh(x), nd.relu(z), nd.where(x > 0, x, z), x[1:], nd.concat(x, z), x / z]
            parts += [nd.clip(x, -1, 1), nd.sigmoid(z), -x, nd.square(x), nd.maximum(x, 0), nd.erf(x)]
            loss = nd.add_n(*[p.sum() for p in parts])
        loss.backward()
        x[1] = 3
        arrays += [*parts, x, x.grad, z.grad]
    net = nn.HybridLambda(lambda F, x: F.sigmoid(x * 2) * F.tanh(x) + x)
    net.hybridize()
    x = array(70, 700)
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
    mx.nd.waitall()
    return [x.asnumpy() for x in (*arrays, y, x.grad)]


if __name__ == "__main__":
    print(hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in found())).hexdigest())
