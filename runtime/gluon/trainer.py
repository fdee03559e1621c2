"""The trainer: an optimizer applied to a network's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import optimizer as opt
from runtime.gluon.parameter import Parameter, ParameterDict


class Trainer:
    """Updates parameters from their gradients: `step(batch_size)` after each `backward`.

    Parameters
    ----------
    params: what `collect_params` gives, or a sequence of Parameters.
    optimizer: a name, such as 'adam', or an Optimizer.
    optimizer_params: the optimizer's arguments, where a name is given.
    kvstore: how gradients of several devices are summed; with one device all of None, 'local' and 'device' do nothing.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | opt.Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: str | None = "device",
    ) -> None:
        self._params = _checked_params(params)
        if kvstore not in (None, "local", "device"):
            raise ValueError(f"kvstore must be None, 'local' or 'device' here, not {kvstore!r}")
        if not isinstance(optimizer, opt.Optimizer):
            optimizer = opt.create(optimizer, **(optimizer_params or {}))
        elif optimizer_params:
            raise ValueError(
                "optimizer_params are for an optimizer given by name; an Optimizer has its arguments already"
            )
        optimizer.param_dict = dict(enumerate(self._params))
        self._optimizer = optimizer
        self._scale = optimizer.rescale_grad
        self._updater = opt.get_updater(optimizer)

    @property
    def optimizer(self) -> opt.Optimizer:
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The optimizer's learning rate now."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the optimizer's learning rate; UserWarning is raised where it has a scheduler."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """One update, with gradients divided by `batch_size`: `allreduce_grads` and `update` in one.

        A gradient that no backward pass has written since the last step is an error, or, with `ignore_stale_grad`,
        leaves its parameter as it is.
        """
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Bring the gradients of all devices together; with one device there is nothing to do."""

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """The update alone, for when gradients are changed between `allreduce_grads` and it."""
        self._optimizer.rescale_grad = self._scale / batch_size
        indices, grads, weights = [], [], []
        for i, param in enumerate(self._params):
            if param.grad_req == "null":
                continue
            weight = param.data()
            if weight._node.fresh:
                indices.append(i)
                grads.append(weight._node.grad)
                weights.append(weight)
            elif not ignore_stale_grad:
                raise UserWarning(
                    f"the gradient of parameter '{param.name}' was not computed since the last step: backward did not "
                    "reach it. If only a part of the network is meant to learn now, pass ignore_stale_grad=True"
                )
        if indices:
            self._updater(indices, grads, weights)
        for weight in weights:
            weight._node.fresh = False


def _checked_params(params: Any) -> list[Parameter]:
    """The parameters as a list: those of a dict in the order of their names."""
    params = [params[name] for name in sorted(params)] if isinstance(params, (ParameterDict, Mapping)) else params
    if not isinstance(params, (list, tuple)):
        raise ValueError(f"Trainer takes a ParameterDict, a dict or a list of Parameters, not {type(params).__name__}")
    for param in params:
        if not isinstance(param, Parameter):
            raise ValueError(f"Trainer takes Parameters, and {type(param).__name__} is none; pass net.collect_params()")
    return list(params)
