"""Modules that are written in Python, without parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.initializer import Initializer
from runtime.io import DataBatch, DataDesc
from runtime.metric import EvalMetric
from runtime.module.base_module import DEFAULT, BaseModule, Params
from runtime.module.descriptions import check_shapes, described
from runtime.ndarray import NDArray


class PythonModule(BaseModule):
    """The base class of modules without parameters. A subclass defines `forward`, `backward`, `get_outputs`,
    `get_input_grads` and `_compute_output_shapes`."""

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Any = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names, self._label_names = list(data_names), list(label_names or ())
        self._output_names = list(output_names)
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._output_shapes: list[tuple[str, tuple[int, ...]]] = []

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._output_shapes

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
        if self._is_bound(force_rebind):
            return
        if grad_req != "write":
            raise ArgumentError(f"a module in Python writes gradients: grad_req='write', not {grad_req!r}")
        self._data_shapes = described(data_shapes)
        check_shapes(self._data_names, self._data_shapes)
        self._label_shapes = described(label_shapes) if label_shapes is not None else None
        self.binded, self.for_training, self.inputs_need_grad = True, for_training, inputs_need_grad
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """The names and shapes of the outputs, for the shapes that the module is bound to."""
        raise NotImplementedError(f"{type(self).__name__} must define _compute_output_shapes")

    def init_params(
        self,
        initializer: Initializer | None = DEFAULT,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """There are no parameters."""
        self.params_initialized = True

    def get_params(self) -> tuple[Params, Params]:
        return {}, {}

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """There is nothing to update."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """There is nothing to update."""

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs, if the module takes labels."""
        if pre_sliced:
            raise ArgumentError("a module in Python takes whole batches")
        if self._label_shapes is not None:
            eval_metric.update_dict(
                {x.name: label for x, label in zip(self._label_shapes, labels, strict=True)},
                dict(zip(self._output_names, self.get_outputs(), strict=True)),
            )


class PythonLossModule(PythonModule):
    """A loss: its output is its data, and its gradient is what `grad_func(data, label)` returns."""

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or len(self._label_names) != 1:
            raise ArgumentError("a PythonLossModule has one array of data and one label")
        self._grad_func = grad_func
        self._scores: NDArray | None = None
        self._labels: NDArray | None = None
        self._scores_grad: NDArray | None = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def backward(self, out_grads: Any = None) -> None:
        if out_grads is not None or not self.for_training:
            raise MXNetError("backward: a loss takes no gradients of its outputs, and must be bound for training")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Compute the gradient; a subclass may define it in place of `grad_func`."""
        if self._grad_func is None:
            raise NotImplementedError(f"{type(self).__name__} needs grad_func, or must define _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else nd.array(grad)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores]

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        raise MXNetError(f"{type(self).__name__} has no executor to monitor")
