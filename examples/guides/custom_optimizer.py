"""An optimizer written by hand, in Python, beside the same one compiled from its equations.

The class is registered by its name, keeps a state per parameter and updates with array operators: the way MXNet's users
write one. The spec says the same in three equations, and runs as one fused kernel.
"""

from __future__ import annotations

import numpy as np

import runtime as mx
from runtime import autograd, gluon, nd, optimizer


@optimizer.register
class HeavyBall(optimizer.Optimizer):
    """Momentum with a running mean: `m = mu m + (1 - mu) (g + wd w)`, `w = w - lr m`."""

    def __init__(self, mu: float = 0.9, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.mu = mu

    def create_state(self, index: int, weight: nd.NDArray) -> nd.NDArray:
        return nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)

    def update(self, index: int, weight: nd.NDArray, grad: nd.NDArray, state: nd.NDArray) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = grad * self.rescale_grad + wd * weight
        state[:] = self.mu * state + (1 - self.mu) * grad
        weight[:] = weight - lr * state


SPEC = """\
optimizer HeavyBallSpec "Momentum with a running mean of the gradients"

param lr = 0.01
param mu = 0.9 in [0, 1) "decay of the mean"

state m = 0 "mean of the gradients"

update:
  m' = mu*m + (1 - mu)*(g + wd*w)
  w' = w - lr*m'
"""


def train(name: str) -> list[float]:
    mx.random.seed(0)
    net = gluon.nn.Dense(1)
    net.initialize(mx.init.Normal(1.0))
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1, "wd": 0.01})
    loss_of = gluon.loss.L2Loss()
    x = nd.array(np.random.RandomState(0).standard_normal((64, 5)))
    y = (x * nd.array([[1, -2, 3, -4, 5]])).sum(axis=1)
    losses = []
    for _ in range(30):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(x))
        losses.append(float(loss.mean().asscalar()))
    return losses


def main() -> None:
    by_hand = train("heavyball")
    compiled = train(optimizer.register_spec(SPEC).__name__)
    for step in (1, 10, 20, 30):
        print(f"step {step:2}: loss {by_hand[step - 1]:.6f} by hand, {compiled[step - 1]:.6f} compiled")
    print(f"largest difference {max(abs(a - b) for a, b in zip(by_hand, compiled, strict=True)):.1e}")


if __name__ == "__main__":
    main()
