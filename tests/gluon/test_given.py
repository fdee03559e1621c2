"""Numbers that each step of a Trainer is given: the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn


def test_the_trainer_divides_it_as_gradients() -> None:
    weights = []
    for how in ("array", "number", "closure", "contexts"):
        ctx = [mx.cpu(i) for i in range(2 if how == "contexts" else 1)]
        net = nn.Dense(1, in_units=3, use_bias=False)
        net.initialize(mx.init.One(), ctx=ctx)
        trainer = gluon.Trainer(net.collect_params(), "alig", {"learning_rate": 0.5})
        data = [nd.ones((4 // len(ctx), 3), c) for c in ctx]

        def closure() -> Any:
            with autograd.record():
                losses = [net(x).square() for x in data]  # noqa: B023
            for loss in losses:
                loss.backward()
            return losses

        for _ in range(2):
            if how == "closure":
                trainer.step(4, closure=closure)
            else:
                losses = closure()
                trainer.step(4, loss=float(losses[0].sum().asscalar()) if how == "number" else losses)
        weights.append(net.weight.data(ctx[0]).asnumpy())
        np.testing.assert_allclose(weights[-1], weights[0], rtol=1e-6)
        closure()
        with pytest.raises(ValueError, match=r"ALIG reads the loss: step\(batch_size, loss=\.\.\.\), or a closure"):
            trainer.step(4)
