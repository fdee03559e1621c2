"""The optimizer of `SVRGModule`: any other one, beside averages of gradients that a store keeps."""

from __future__ import annotations

from typing import Any

from runtime import optimizer
from runtime.ndarray import NDArray
from runtime.optimizer import Optimizer
from runtime.optimizer.state_trees import joined, split

_BASE = (
    *("rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym"),
    *("begin_num_update", "multi_precision", "param_dict"),
)
"""The arguments that all optimizers take."""


@optimizer.register
class _AssignmentOptimizer(Optimizer):
    """The new weights are the gradients."""

    def create_state(self, index: Any, weight: NDArray) -> None:
        """No state."""

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] = grad


@optimizer.register
class _SVRGOptimizer(Optimizer):
    """Updates by `default_optimizer`, and sets what has "full" in its name to what it is given.

    `default_optimizer` is an Optimizer, or the name of one, which is made with `kwargs`. Files of states have its
    states and not how many updates it made.
    """

    def __init__(self, default_optimizer: str | Optimizer, **kwargs: Any) -> None:
        if isinstance(default_optimizer, Optimizer):
            self.default_opt = default_optimizer
            kwargs = {"learning_rate": default_optimizer.lr, "param_idx2name": default_optimizer.idx2name} | kwargs
        else:
            self.default_opt = optimizer.create(default_optimizer, **kwargs)
        self.aux_opt = _AssignmentOptimizer()
        super().__init__(**{key: x for key, x in kwargs.items() if key in _BASE})

    def _for(self, index: Any) -> Optimizer:
        """The optimizer of a parameter, by its name, or the number that `idx2name` knows."""
        return self.aux_opt if "full" in str(self.idx2name.get(index, index)) else self.default_opt

    # States are kept as they are saved, for a file of states does not know what `default_opt` is.

    def create_state(self, index: Any, weight: NDArray) -> Any:
        own = self._for(index)
        return joined(own.create_state(index, weight), own)

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        own = self._for(index)
        return joined(own.create_state_multi_precision(index, weight), own)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        own = self._for(index)
        own.update(index, weight, grad, split(state, own))

    def update_multi_precision(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        own = self._for(index)
        own.update_multi_precision(index, weight, grad, split(state, own))
