"""One step of a perceptron by hand and by `gluon.Trainer`, and what else a Trainer can do.

Follows MXNet's guide to the Trainer.
"""

from __future__ import annotations

import runtime as mx
from runtime import autograd, gluon, nd, optimizer


def main() -> None:
    mx.random.seed(0)
    net = gluon.nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), optimizer="sgd", optimizer_params={"learning_rate": 1})

    batch_size = 8
    x = nd.random.uniform(shape=(batch_size, 4))
    y = nd.random.uniform(shape=(batch_size,))
    loss = gluon.loss.L2Loss()

    def forward_backward() -> None:
        with autograd.record():
            error = loss(net(x), y)
        error.backward()

    forward_backward()
    before = net.weight.data().copy()
    print("weights before the step", before)
    trainer.step(batch_size)
    print("weights after it", net.weight.data())
    print("by hand, w - lr/batch_size*gradient", before - net.weight.grad() * 1 / batch_size)

    # An optimizer object in place of a name.
    trainer = gluon.Trainer(net.collect_params(), optimizer.Adam(learning_rate=1))
    forward_backward()
    trainer.step(batch_size)
    print("after a step of Adam", net.weight.data())

    print("learning rate", trainer.learning_rate)
    trainer.set_learning_rate(0.1)
    print("learning rate", trainer.learning_rate)


if __name__ == "__main__":
    main()
