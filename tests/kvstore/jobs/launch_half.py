"""An optimizer written by hand, which servers import."""

from typing import Any

import runtime as mx


@mx.optimizer.register
class Half(mx.optimizer.Optimizer):
    """Takes half of each gradient away."""

    def update(self, index: Any, weight: mx.nd.NDArray, grad: mx.nd.NDArray, state: Any) -> None:
        weight -= 0.5 * grad
