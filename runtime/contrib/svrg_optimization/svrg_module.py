"""A module whose gradients vary less from batch to batch (Johnson and Zhang, 2013: Accelerating stochastic gradient
descent using predictive variance reduction)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.base import count
from runtime.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer
from runtime.io import DataBatch, DataIter
from runtime.module.module import Module
from runtime.ndarray import NDArray
from runtime.optimizer import Optimizer
from runtime.symbol import Symbol


class SVRGModule(Module):
    """A Module that updates by g(w) - g(v) + G(v), where g are gradients of a batch, and G of all batches on average.

    v are the weights when `update_full_grads` was called last, which `fit` does every `update_freq` epochs. Before the
    first call updates are those of a Module. Multipliers of rates among the attributes of variables are ignored, as
    MXNet does. The other arguments are those of Module.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        *args: Any,
        update_freq: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(symbol, data_names, label_names, *args, **kwargs)
        self.update_freq = count("SVRGModule: update_freq", update_freq)
        self._mod_aux = Module(symbol, data_names, label_names, *args, **kwargs)
        self._full: list[list[NDArray | None]] = []
        """For each parameter G(v) in each context, which are to be summed."""

    def bind(self, *args: Any, **kwargs: Any) -> None:
        """Bind the graph for w, and for training a second time for v; see Module."""
        super().bind(*args, **kwargs)
        if self.for_training:
            self._mod_aux.bind(*args, **kwargs)

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None = None) -> None:
        """Change the shapes of data and labels."""
        super().reshape(data_shapes, label_shapes)
        if self.for_training:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: DataBatch | list[DataBatch], is_train: bool | None = None) -> None:
        """Compute the outputs; in training those at v as well."""
        super().forward(data_batch, is_train)
        if self._full and (self.for_training if is_train is None else is_train):
            self._mod_aux.forward(data_batch, is_train=True)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients at w and at v."""
        super().backward(out_grads)
        if self._full:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Update w by the gradients of the last backward pass, corrected."""
        if self._full:
            for own, there, whole in zip(
                self._gradients(self), self._gradients(self._mod_aux), self._full, strict=True
            ):
                for g, at_v, full in zip(own, there, whole, strict=True):
                    if g is not None:
                        g[:] = g - at_v + full
        super().update()

    def update_full_grads(self, train_data: DataIter) -> None:
        """Let v be w, and compute G(v) over the batches of `train_data`, from its first on."""
        self._mod_aux.set_params(*self.get_params())
        sums: list[list[NDArray | None]] = [
            [None if g is None else nd.zeros(g.shape, g.context, g.dtype) for g in block]
            for block in self._gradients(self._mod_aux)
        ]
        train_data.reset()
        batches = 0.0
        for batch in train_data:
            self._mod_aux.forward_backward(batch)
            for block, gradients in zip(sums, self._gradients(self._mod_aux), strict=True):
                for total, g in zip(block, gradients, strict=True):
                    if total is not None:
                        total += g
            batches += 1 - (batch.pad or 0) / train_data.batch_size
        train_data.reset()
        self._full = [[None if total is None else total / batches for total in block] for block in sums]

    def _made(self, given: Any, params: Any, store: Any, sym: Symbol | None) -> Optimizer:
        return _SVRGOptimizer(super()._made(given, params, store, None))

    def _train(self, epoch: int, data: DataIter, *args: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(data)
        super()._train(epoch, data, *args)

    @staticmethod
    def _gradients(module: Module) -> list[list[NDArray | None]]:
        return module._group("update_full_grads").grad_arrays
