"""The trainer: an optimizer applied to a network's parameters."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from runtime import files
from runtime import optimizer as opt
from runtime.base import MXNetError
from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import states


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
        self._evaluating = False
        self._variables: list[Any] = []

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
        if self._evaluating:
            raise MXNetError("inside trainer.evaluating() the weights are not those that are trained; step outside")
        scale = self._scale / batch_size
        if scale != self._optimizer.rescale_grad:
            self._optimizer.rescale_grad = scale
        variables = [None if param._data is None else param._data._node for param in self._params]
        if variables != self._variables:
            self._gather()
        indices, weights, grads = self._indices, self._weights, [v.grad for v in self._learning]
        fresh = [v.fresh for v in self._learning]
        if not all(fresh):
            if not ignore_stale_grad:
                self._explain_stale(indices[fresh.index(False)])
            indices, weights, grads = (list(itertools.compress(x, fresh)) for x in (indices, weights, grads))
        if indices:
            self._updater(indices, grads, weights)
        for variable in self._learning:
            variable.fresh = False

    def _gather(self) -> None:
        """Find what is learned: the parameters with a gradient, by index; MXNetError for one without values."""
        learned = {i: param.data() for i, param in enumerate(self._params) if param.grad_req != "null"}
        self._indices, self._weights = list(learned), list(learned.values())
        self._learning = [weight._node for weight in self._weights]
        self._variables = [None if param._data is None else param._data._node for param in self._params]

    def _explain_stale(self, index: int) -> NoReturn:
        raise UserWarning(
            f"the gradient of parameter '{self._params[index].name}' was not computed since the last step: backward "
            "did not reach it. If only a part of the network is meant to learn now, pass ignore_stale_grad=True"
        )

    # ------------------------------------------------------------ evaluation

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """`with trainer.evaluating():` the parameters hold the weights that the optimizer evaluates with.

        Those of a spec's `eval:` section, such as the averages of schedule-free optimizers; where there is none, and
        before the first update, the weights as they are. The weights in training come back at the end, bit by bit.
        """
        if self._evaluating:
            raise MXNetError("trainer.evaluating() is already entered")
        found = self._learned()
        weights = list(found.values())
        evaluated = self._updater.evaluate(list(found), weights)
        replaced = [(w, new) for w, new in zip(weights, evaluated, strict=True) if new is not w]
        training = [w._data.copy() for w, _ in replaced]
        self._evaluating = True
        try:
            for w, new in replaced:
                w._data[...] = new._data
            yield
        finally:
            for (w, _), values in zip(replaced, training, strict=True):
                w._data[...] = values
            self._evaluating = False

    def _learned(self) -> dict[Any, NDArray]:
        """The weights that are learned and have values, by index."""
        return {i: p.data() for i, p in enumerate(self._params) if p.grad_req != "null" and p._data is not None}

    # ------------------------------------------------------------ state files

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write what the optimizer keeps, its hyper-parameters and update counts to a file (safetensors).

        The file that was there stays until the new one is complete. `lr_mult`, `wd_mult` and the scheduler are not in
        it: they are the script's.
        """
        files.write(fname, self._updater.get_states(dump_optimizer=True))

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Bring the optimizer to where `save_states` was called, in the storage and element types that it has now.

        Raises MXNetError for a file that is damaged or none of these, and for states that do not fit the optimizer or
        the parameters; nothing has changed then.
        """
        content = Path(fname).read_bytes()
        try:
            states.restore(self._updater, content, self._learned())
        except MXNetError as error:
            raise MXNetError(f"'{os.fspath(fname)}': {error}") from None


def _checked_params(params: Any) -> list[Parameter]:
    """The parameters as a list: those of a dict in the order of their names."""
    params = [params[name] for name in sorted(params)] if isinstance(params, (ParameterDict, Mapping)) else params
    if not isinstance(params, (list, tuple)):
        raise ValueError(f"Trainer takes a ParameterDict, a dict or a list of Parameters, not {type(params).__name__}")
    for param in params:
        if not isinstance(param, Parameter):
            raise ValueError(f"Trainer takes Parameters, and {type(param).__name__} is none; pass net.collect_params()")
    return list(params)
