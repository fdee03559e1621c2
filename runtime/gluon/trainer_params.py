"""The parameters that a Trainer is given, and what it can do with them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.context import Context
from runtime.core import optgen_bridge
from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.kvstore import KVStoreBase
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import Optimizer
from runtime.optimizer.spec import SpecOptimizer


class LossScaler(Protocol):
    """What a trainer sees of the scale of losses."""

    loss_scale: float

    def has_overflow(self, params: Sequence[Parameter]) -> bool:
        """Whether a gradient is infinite or NaN; the scale of the next loss follows from it."""
        ...


def has_nonfinite(params: Sequence[Parameter]) -> bool:
    """Whether a gradient has an infinite element, or a NaN."""
    grads = [grad for param in params if param.grad_req != "null" for grad in param.list_grad()]
    dense = [grad if grad.stype == "default" else grad.data for grad in grads]
    return not all(nd.all_finite(grad).asscalar() for grad in dense)


def checked(params: Any) -> list[Parameter]:
    """The parameters as a list: those of a dict in the order of their names."""
    params = [params[name] for name in sorted(params)] if isinstance(params, (ParameterDict, Mapping)) else params
    if not isinstance(params, (list, tuple)):
        raise ValueError(f"Trainer takes a ParameterDict, a dict or a list of Parameters, not {type(params).__name__}")
    for param in params:
        if not isinstance(param, Parameter):
            raise ValueError(f"Trainer takes Parameters, and {type(param).__name__} is none; pass net.collect_params()")
    if not params:
        raise ArgumentError("Trainer was given no parameters")
    return list(params)


def common_contexts(params: Sequence[Parameter]) -> list[Context]:
    """The contexts of all parameters; MXNetError for one that was not initialized, ArgumentError if they differ."""
    contexts: list[Context] = []
    for param in params:
        of_this = param.list_ctx()
        if contexts and of_this != contexts:
            raise ArgumentError(
                f"all parameters must be in the same contexts: '{param.name}' is in {of_this}, those before it in "
                f"{contexts}"
            )
        contexts = of_this
    return contexts


def check_donated(params: Sequence[Parameter], optimizer: Optimizer, store: KVStoreBase | None = None) -> None:
    """ArgumentError naming what keeps steps from using the memory of gradients."""
    if store is not None:
        raise ArgumentError(
            f"donate_grads: gradients go through a kvstore of type '{store.type}', which needs their values; leave it "
            "out, or train in one context of one process"
        )
    if not isinstance(optimizer, SpecOptimizer):
        raise ArgumentError(f"donate_grads: {type(optimizer).__name__} is written by hand, and made of no spec")
    for param in params:
        if param.grad_req == "add":
            raise ArgumentError(
                f"donate_grads: parameter '{param.name}' has grad_req='add', which adds to the gradient that a step "
                "would have used; set grad_req='write', or leave donate_grads out"
            )
        if param._grad_stype != "default":
            raise ArgumentError(f"donate_grads: the gradient of parameter '{param.name}' is row-sparse; leave it out")
        for context in param.list_ctx():
            try:
                optgen_bridge.check_donated(np.dtype(param.dtype).name, context)
            except ValueError as error:
                raise ArgumentError(f"parameter '{param.name}': {error}") from None


def warn_of_another_trainer(optimizer: Optimizer) -> None:
    """A UserWarning where another Trainer works with the optimizer, which has one table of parameters and counts."""
    trainers = (getattr(param, "_trainer", None) for param in optimizer.param_dict.values())
    if any(trainer is not None and trainer.optimizer is optimizer for trainer in trainers):
        warnings.warn(
            f"this {type(optimizer).__name__} is another Trainer's, too: both count their updates in it, and lr_mult "
            "and wd_mult of the parameters given last are used for both; give each Trainer an optimizer of its own",
            stacklevel=4,
        )


def refuse_stale(param: Parameter, context: Context) -> NoReturn:
    """UserWarning for a gradient that backward has not written since the last step."""
    raise UserWarning(
        f"the gradient of parameter '{param.name}' on {context} was not computed since the last step: backward did not "
        "reach it. If only a part of the network is meant to learn now, pass ignore_stale_grad=True"
    )


@contextlib.contextmanager
def holding(pairs: Sequence[tuple[NDArray, NDArray]]) -> Iterator[None]:
    """Each first array holds the values of the second; its own come back at the end, bit by bit."""
    own = [array.detach().copy() for array, _ in pairs]
    try:
        _write(pairs)
        yield
    finally:
        _write(zip((array for array, _ in pairs), own, strict=True))


def _write(pairs: Iterable[tuple[NDArray, NDArray]]) -> None:
    """Give each first array the values of the second, unseen by a graph that it is in."""
    with autograd.pause():
        for to, values in pairs:
            to[:] = values
