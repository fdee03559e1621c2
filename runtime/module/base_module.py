"""`BaseModule`: what a module has, and what follows from it: training, evaluation and prediction over iterators."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from runtime import metric
from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError, _as_list
from runtime.initializer import Initializer, Uniform
from runtime.io import DataBatch, DataDesc, DataIter, NDArrayIter
from runtime.metric import EvalMetric
from runtime.model import BatchEndParam, by_kind, with_kinds
from runtime.ndarray import NDArray
from runtime.symbol import Symbol

Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]] | None
Params = dict[str, NDArray]
DEFAULT = Uniform(0.01)
"""The initializer of parameters where none is named."""


class BaseModule:
    """A network with its parameters, and an optimizer that trains them.

    A module is made, bound to the shapes of its data, and has its parameters and an optimizer initialized, in this
    order; `binded`, `params_initialized` and `optimizer_initialized` say how far it is. `fit` does all of this.

    A subclass defines `bind`, `init_params`, `init_optimizer`, `forward`, `backward`, `update`, `update_metric`,
    `get_outputs`, `get_input_grads`, `get_params`, and the properties that describe data and outputs.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Symbol | None = None

    def _need(self, what: str, params: bool = True, optimizer: bool = False) -> None:
        """MXNetError, also an AssertionError as MXNet's, where a step that must come first is missing."""
        for done, step in (
            (self.binded, "bind"),
            (self.params_initialized or not params, "init_params"),
            (self.optimizer_initialized or not optimizer, "init_optimizer"),
        ):
            if not done:
                raise NotReady(f"{what} comes after {step}: call {type(self).__name__}.{step} first")

    def _is_bound(self, force_rebind: bool) -> bool:
        """Whether `bind` leaves the module as it is, of which it warns: it is bound, and not to be bound anew."""
        stays = self.binded and not force_rebind
        if stays:
            self.logger.warning("the module is bound already: bind(..., force_rebind=True) binds it anew")
        return stays

    def _has_optimizer(self, force_init: bool) -> bool:
        """Whether `init_optimizer` leaves the optimizer as it is, of which it warns."""
        stays = self.optimizer_initialized and not force_init
        if stays:
            self.logger.warning(
                "the optimizer is initialized already: init_optimizer(..., force_init=True) makes another"
            )
        return stays

    # ------------------------------------------------------------ what a subclass defines

    @property
    def symbol(self) -> Symbol | None:
        return self._symbol

    @property
    def data_names(self) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} must define data_names")

    @property
    def output_names(self) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} must define output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        raise NotImplementedError(f"{type(self).__name__} must define data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        raise NotImplementedError(f"{type(self).__name__} must define label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        raise NotImplementedError(f"{type(self).__name__} must define output_shapes")

    def bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the arrays for batches of these shapes."""
        raise NotImplementedError(f"{type(self).__name__} must define bind")

    def init_params(
        self,
        initializer: Initializer | None = DEFAULT,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters their first values: those of the dicts, and else the initializer's.

        RuntimeError where a dict is given and lacks one, unless `allow_missing`; with that, ValueError for one that the
        network does not have, unless `allow_extra`. Once initialized, they are left alone unless `force_init`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define init_params")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer and what applies it."""
        raise NotImplementedError(f"{type(self).__name__} must define init_optimizer")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs; `is_train` is by default what the module was bound for."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients, given those of the outputs unless these are losses."""
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def update(self) -> None:
        """Update the parameters by the optimizer."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last batch, merged over contexts, or else a list of each context's for each."""
        raise NotImplementedError(f"{type(self).__name__} must define get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data of the last batch."""
        raise NotImplementedError(f"{type(self).__name__} must define get_input_grads")

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs of the last batch to a metric."""
        raise NotImplementedError(f"{type(self).__name__} must define update_metric")

    def get_params(self) -> tuple[Params, Params]:
        """Copies of arguments and auxiliary states, on the CPU."""
        raise NotImplementedError(f"{type(self).__name__} must define get_params")

    def install_monitor(self, mon: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define install_monitor")

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states: this module has none."""
        self._need("get_states")
        return []

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Write states: this module has none."""
        self._need("set_states")
        if states or value:
            raise MXNetError(f"{type(self).__name__} has no states to set")

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Callable[..., Any] | None = None) -> None:
        """Get ready for a batch. Here there is nothing to do: weights in a kvstore, also row-sparse ones, are pulled
        whole after each update."""

    # ------------------------------------------------------------ parameters

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Write values into parameters; see `init_params`."""
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def save_params(self, fname: str | os.PathLike[str]) -> None:
        """Write parameters and auxiliary states to a file, as `arg:name` and `aux:name`."""
        nd.save(fname, with_kinds(*self.get_params()))

    def load_params(self, fname: str | os.PathLike[str]) -> None:
        """Read what `save_params` wrote."""
        self.set_params(*by_kind(fname))

    # ------------------------------------------------------------ over iterators

    def forward_backward(self, data_batch: DataBatch) -> None:
        self.forward(data_batch, is_train=True)
        self.backward()

    def _batches(self, eval_data: Any, num_batch: int | None, reset: bool) -> Iterator[tuple[int, Any]]:
        """Batches with their numbers, computed."""
        if reset:
            eval_data.reset()
        for i, batch in enumerate(eval_data):
            if i == num_batch:
                break
            self.prepare(batch[0] if isinstance(batch, list) else batch)
            self.forward(batch, is_train=False)
            yield i, batch

    def score(
        self,
        eval_data: DataIter,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> list[tuple[str, float]]:
        """The names and values of a metric over the data."""
        self._need("score")
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for i, batch in self._batches(eval_data, num_batch, reset):
            self._add_to(eval_metric, batch)
            _call(batch_end_callback, BatchEndParam(epoch, i, eval_metric, locals()))
            count = i + 1
        _call(score_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(
        self,
        eval_data: DataIter,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """The outputs of each batch without its padding, its number, and the batch."""
        self._need("iter_predict")
        for i, batch in self._batches(eval_data, num_batch, reset):
            yield [y[: y.shape[0] - (batch.pad or 0)] for y in self.get_outputs()], i, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Any:
        """The outputs over an iterator, or for an array: one array, or a list of several outputs or if
        `always_output_list`; a list for each batch without `merge_batches`."""
        self._need("predict")
        if not isinstance(eval_data, DataIter) and hasattr(eval_data, "shape"):
            eval_data = NDArrayIter(eval_data, batch_size=eval_data.shape[0])
        found = [[y.copy() for y in outputs] for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset)]
        if not found or not merge_batches:
            return found
        if len({len(outputs) for outputs in found}) > 1:
            raise MXNetError(
                "batches with different numbers of outputs, as of buckets, are not merged: say merge_batches=False"
            )
        merged = [block[0] if len(block) == 1 else nd.concat(*block, dim=0) for block in zip(*found, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def _add_to(self, eval_metric: EvalMetric, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def fit(
        self,
        train_data: DataIter,
        eval_data: DataIter | None = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callbacks = None,
        batch_end_callback: Callbacks = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Initializer | None = DEFAULT,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> None:
        """Bind, initialize and train, from epoch `begin_epoch` to before `num_epoch`.

        After each batch `batch_end_callback` is called, and after each epoch `epoch_end_callback`, with the epoch, the
        symbol, arguments and auxiliary states; then the module is evaluated with `eval_data`.
        """
        if num_epoch is None:
            raise ArgumentError("fit needs num_epoch, the number of epochs")
        self.bind(train_data.provide_data, train_data.provide_label, True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        eval_metric = metric.create(eval_metric)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        for epoch in range(begin_epoch, num_epoch):
            self._train(epoch, train_data, eval_metric, batch_end_callback, monitor)
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            for callback in _as_list(epoch_end_callback or []):
                callback(epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                callbacks = eval_batch_end_callback, eval_end_callback
                for name, value in self.score(eval_data, validation_metric, None, *callbacks, epoch=epoch):
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train(self, epoch: int, data: DataIter, eval_metric: EvalMetric, callbacks: Callbacks, monitor: Any) -> None:
        """One epoch of training, whose metrics and time are logged."""
        since = time.perf_counter()
        eval_metric.reset()
        values: list[tuple[str, float]] = []
        for nbatch, batch in enumerate(data):
            if monitor is not None:
                monitor.tic()
            self.prepare(batch[0] if isinstance(batch, list) else batch)
            self.forward_backward(batch)
            self.update()
            self._add_to(eval_metric, batch)
            if monitor is not None:
                monitor.toc_print()
            values = eval_metric.get_global_name_value()  # a callback may reset it
            _call(callbacks, BatchEndParam(epoch, nbatch, eval_metric, locals()))
        for name, value in values:
            self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
        self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.perf_counter() - since)


class NotReady(MXNetError, AssertionError):
    """A call of a module's method before those that must come first."""


def _call(callbacks: Callbacks, param: BatchEndParam) -> None:
    for callback in _as_list(callbacks or []):
        callback(param)
