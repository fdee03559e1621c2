"""`mx.model.FeedForward`, which trains a symbol as `Module` does, with an older interface."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime import model
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context, cpu
from runtime.initializer import Initializer, Uniform
from runtime.io import DataIter, NDArrayIter, ResizeIter
from runtime.metric import EvalMetric, create
from runtime.module.module import Module
from runtime.ndarray import NDArray
from runtime.symbol import Symbol

Samples = DataIter | NDArray | np.ndarray


class FeedForward:
    """A network with its parameters.

    Parameters
    ----------
    symbol: the graph, or a function that makes it from `X.default_bucket_key`.
    ctx: a context, or several, of training.
    num_epoch, begin_epoch: `fit` trains from epoch `begin_epoch` to before `num_epoch`.
    epoch_size: batches of an epoch; by default all of the iterator.
    optimizer, initializer: of training. Further keywords go to the optimizer.
    numpy_batch_size: samples of a batch where arrays are given.
    arg_params, aux_params: parameters and auxiliary states to start from.
    allow_extra_params: whether these may have names that the graph has not.
    """

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Initializer | None = None,
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.ctx = [ctx] if isinstance(ctx, Context) else list(ctx or [cpu()])
        self.num_epoch, self.begin_epoch, self.epoch_size = num_epoch, begin_epoch, epoch_size
        self.optimizer, self.kwargs = optimizer, kwargs
        self.initializer = initializer or Uniform(0.01)
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = None if arg_params is None else dict(arg_params)
        self.aux_params = None if aux_params is None else dict(aux_params)
        self.allow_extra_params = allow_extra_params

    # ---------------------------------------------------------------- training

    def fit(
        self,
        X: Samples,
        y: NDArray | np.ndarray | None = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train with the batches of `X`, or with samples `X` and classes `y`; see `Module.fit` for the callbacks.

        `eval_data` is an iterator, or a pair of samples and classes. `work_load_list` is ignored: contexts share the
        samples evenly.
        """
        data = self._batches(X, y, training=True)
        if isinstance(eval_data, (tuple, list)):
            eval_data = self._batches(np.asarray(eval_data[0]), np.asarray(eval_data[1]), training=False)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(getattr(data, "default_bucket_key", None))
        module = self._module(data, [x[0] for x in data.provide_label or ()], self.ctx, logger or logging)
        module.fit(
            ResizeIter(data, self.epoch_size, reset_internal=False) if self.epoch_size else data,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            self.optimizer,
            tuple(self.kwargs.items()),
            eval_end_callback,
            eval_batch_end_callback,
            self.initializer,
            *self._params(),
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def _batches(self, X: Samples, y: Any, training: bool) -> DataIter:
        """The batches of an iterator or of arrays."""
        if isinstance(X, DataIter) or hasattr(X, "provide_data"):
            return X
        if not isinstance(X, (np.ndarray, NDArray)):
            raise TypeError(f"X must be a DataIter or an array, not {type(X).__name__}")
        if y is None:
            if training:
                raise ArgumentError("fit: samples in an array need their classes y")
            y = np.zeros(len(X))
        if len(X) != len(y):
            raise ArgumentError(f"there are {len(X)} samples, but {len(y)} classes")
        size = min(len(X), self.numpy_batch_size)
        return NDArrayIter(X, y.reshape(len(y)), size, training, "roll_over" if training else "pad")

    def _module(
        self, data: DataIter, labels: Sequence[str], contexts: Sequence[Context], logger: Any = logging
    ) -> Module:
        """A module over the graph that takes what `data` provides, and `labels`."""
        if self.symbol is None:
            raise MXNetError("FeedForward: the graph is made by fit, which was not called yet")
        arguments = set(self.symbol.list_arguments())
        data_names = [x[0] for x in data.provide_data if x[0] in arguments]
        label_names = [x for x in labels if x in arguments]
        return Module(self.symbol, data_names, label_names, logger, contexts)

    def _params(self) -> tuple[dict[str, NDArray] | None, dict[str, NDArray] | None]:
        """The parameters and auxiliary states to start from."""
        if self.symbol is None or not self.allow_extra_params:
            return self.arg_params, self.aux_params
        arguments, states = set(self.symbol.list_arguments()), set(self.symbol.list_auxiliary_states())
        return (
            {name: x for name, x in (self.arg_params or {}).items() if name in arguments},
            {name: x for name, x in (self.aux_params or {}).items() if name in states},
        )

    # ---------------------------------------------------------------- prediction

    def _predictor(self, data: DataIter, labels: bool) -> Module:
        if self.symbol is None or self.arg_params is None:
            raise MXNetError("FeedForward: there are no parameters yet: call fit, or give arg_params")
        provided = {x[0] for x in data.provide_data}
        unset = [x for x in self.symbol.list_arguments() if x not in self.arg_params and x not in provided]
        module = self._module(data, unset, self.ctx[:1])
        module.bind(data.provide_data, data.provide_label if labels else None, for_training=False)
        module.init_params(None, *self._params())
        return module

    def predict(self, X: Samples, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """The outputs for the samples, as a NumPy array or a list of them; with `return_data` also data and labels."""
        batches = self._batches(X, None, training=False)
        if reset:
            batches.reset()
        module = self._predictor(batches, labels=False)
        outputs, data, labels = [], [], []
        for number, batch in enumerate(batches):
            if number == num_batch:
                break
            module.forward(batch, is_train=False)
            size = batches.batch_size - (batch.pad or 0)
            for found, arrays in ((outputs, module.get_outputs()), (data, batch.data), (labels, batch.label or [])):
                found.append([x[:size].asnumpy() for x in arrays])
        if return_data:
            return _joined(outputs), _joined(data), _joined(labels)
        return _joined(outputs)

    def score(
        self,
        X: Samples,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of the metric for the batches of `X`; of a list of metrics, the list of their values."""
        eval_metric = create(eval_metric)
        batches = self._batches(X, None, training=False)
        self._predictor(batches, labels=True).score(batches, eval_metric, num_batch, batch_end_callback, reset=reset)
        return eval_metric.get()[1]

    # ---------------------------------------------------------------- files

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write `prefix-symbol.json` and `prefix-0001.params`; `epoch` is by default `num_epoch`."""
        number = self.num_epoch if epoch is None else epoch
        if number is None or self.arg_params is None:
            raise MXNetError("FeedForward.save needs the number of the epoch and parameters")
        model.save_checkpoint(
            prefix, number, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast=remove_amp_cast
        )

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Context | Sequence[Context] | None = None, **kwargs: Any) -> FeedForward:
        """The network that `save` wrote; `kwargs` are those of `FeedForward`."""
        symbol, arg_params, aux_params = model.load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Symbol | Callable[[Any], Symbol],
        X: Samples,
        y: NDArray | np.ndarray | None = None,
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Initializer | None = None,
        eval_data: Any = None,
        eval_metric: EvalMetric | str = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A network that `fit` has trained; `kwargs` are those of `FeedForward`."""
        network = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        network.fit(
            X,
            y,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            logger,
            work_load_list,
            None,
            eval_end_callback,
            eval_batch_end_callback,
        )
        return network


def _joined(batches: list[list[np.ndarray]]) -> Any:
    """The samples of all batches: an array, or a list of arrays where batches have several."""
    whole = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    return whole[0] if len(whole) == 1 else whole
