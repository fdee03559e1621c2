"""`Module`: a symbol with its arrays in one context or several, and an optimizer."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import model, optimizer
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context, cpu
from runtime.core import files
from runtime.initializer import Initializer
from runtime.io import DataBatch, DataDesc
from runtime.kvstore.base import refuse_workers
from runtime.metric import EvalMetric
from runtime.module import updates
from runtime.module.base_module import DEFAULT, BaseModule, Params
from runtime.module.descriptions import check_names, check_shapes, described, of_batch
from runtime.module.executor_group import DataParallelExecutorGroup
from runtime.module.initial_values import initial_values
from runtime.ndarray import NDArray
from runtime.optimizer import Updater, get_updater, states
from runtime.symbol import Symbol


class Module(BaseModule):
    """A network that a symbol describes.

    Parameters
    ----------
    symbol: its outputs.
    data_names, label_names: the arguments that batches give values to.
    logger: what `fit` logs to.
    context: one, or several that batches are split over.
    work_load_list: how large a part of a batch each context gets, in proportion.
    fixed_param_names: parameters that are not trained.
    state_names: arguments that are neither data nor trained; `set_states` writes to them.
    group2ctxs: contexts of operations by their attribute `ctx_group`; see `DataParallelExecutorGroup`.
    compression_params: what `KVStore.set_gradient_compression` takes.

    ValueError for a name of data, states or fixed parameters that is no argument of the symbol; a warning for one of
    labels.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        context = cpu() if context is None else context
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise ArgumentError(
                f"work_load_list has {len(self._work_load_list)} parts for {len(self._context)} contexts"
            )
        self._symbol: Symbol = symbol
        self._data_names, self._label_names = list(data_names or ()), list(label_names or ())
        self._group2ctxs = group2ctxs
        self._state_names, self._fixed_param_names = list(state_names or ()), list(fixed_param_names or ())
        arguments = symbol.list_arguments()
        for what in ("data_names", "state_names", "fixed_param_names"):
            check_names(what, getattr(self, f"_{what}"), arguments)
        if not set(self._label_names) <= set(arguments):
            warnings.warn(
                f"no argument of the symbol is a label called {self._label_names}: say label_names=None or their names",
                stacklevel=2,
            )
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in arguments if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._compression_params = compression_params
        self._arg_params: Params | None = None
        self._aux_params: Params | None = None
        self._grad_req: Any = "write"
        self._exec_group: DataParallelExecutorGroup | None = None
        self._optimizer: optimizer.Optimizer | None = None
        self._kvstore: Any = None
        self._update_on_kvstore = False
        self._updaters: list[Updater] = []
        self._states_file: str | None = None

    # ------------------------------------------------------------ files

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """The module of a checkpoint, whose optimizer gets its states when it is initialized. See `Module`."""
        symbol, arg_params, aux_params = model.load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._states_file = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write `prefix-symbol.json`, `prefix-0001.params` (epoch 1), and `prefix-0001.states` if asked for."""
        model.save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            file = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(file)
            logging.info('Saved optimizer state to "%s"', file)

    def save_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Write the states of the optimizer."""
        self._need("save_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            files.write(fname, self._updaters[0].get_states())

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read what `save_optimizer_states` wrote. MXNetError where it does not fit, with nothing changed."""
        self._need("load_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            states.load(fname, self._updaters, [exe.arg_dict for exe in self._group("load_optimizer_states").execs])

    # ------------------------------------------------------------ what it has

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._symbol.list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._group("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc]:
        return self._group("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._group("output_shapes").get_output_shapes()

    @property
    def _data_shapes(self) -> list[DataDesc] | None:
        """`data_shapes`, and None before `bind`, to which programs pass these two."""
        return None if self._exec_group is None else self._exec_group.data_shapes

    @property
    def _label_shapes(self) -> list[DataDesc] | None:
        return None if self._exec_group is None else self._exec_group.label_shapes or None

    def _group(self, what: str) -> DataParallelExecutorGroup:
        self._need(what, params=False)
        assert self._exec_group is not None
        return self._exec_group

    # ------------------------------------------------------------ binding

    def bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the arrays for batches of these shapes, or share those of a module whose parameters are these.

        A module that is bound is left as it is, unless `force_rebind`.
        """
        if self._is_bound(force_rebind):
            return
        if inputs_need_grad and not for_training:
            raise ArgumentError("inputs_need_grad needs for_training=True")
        if self.binded and self.params_initialized:
            self.get_params()
        data, labels = self._described(data_shapes, label_shapes)
        shared = None if shared_module is None else shared_module._group("bind with a shared_module")
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared,
            self.logger,
            self._fixed_param_names,
            grad_req,
            self._state_names,
            self._group2ctxs,
        )
        self.binded, self.for_training, self.inputs_need_grad = True, for_training, inputs_need_grad
        self._grad_req = grad_req
        if shared_module is not None:
            self.params_initialized = shared_module.params_initialized
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params or {}, self._aux_params or {}, allow_extra=True)

    def _described(self, data_shapes: Any, label_shapes: Any) -> tuple[list[DataDesc], list[DataDesc]]:
        data, labels = described(data_shapes), described(label_shapes)
        check_shapes(self._data_names, data)
        if labels and {x.name for x in labels} != set(self._label_names):
            warnings.warn(
                f"label_shapes are of {[x.name for x in labels]}, and label_names are {self._label_names}", stacklevel=4
            )
        return data, labels

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None = None) -> None:
        """Take batches of other shapes from now on."""
        self._group("reshape").reshape(*self._described(data_shapes, label_shapes))

    @property
    def _updater(self) -> Updater | None:
        """What updates the first context; None where the kvstore updates."""
        return self._updaters[0] if self._updaters else None

    @property
    def _total_exec_bytes(self) -> int:
        """The memory of arguments, gradients and states, those that are shared with other modules included."""
        arrays = [
            x
            for exe in self._group("_total_exec_bytes").execs
            for x in (*exe.arg_arrays, *exe.grad_arrays, *exe.aux_arrays)
            if x is not None
        ]
        return sum(x.size * x.dtype().itemsize for x in arrays)

    # ------------------------------------------------------------ parameters

    def init_params(
        self,
        initializer: Initializer | None = DEFAULT,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            warnings.warn(
                "the parameters have values already: init_params(..., force_init=True) gives them others", stacklevel=2
            )
            return
        group = self._group("init_params")
        exe, attributes = group.execs[0], self._symbol.attr_dict()
        how = initializer, attributes, allow_missing, allow_extra
        found = (
            initial_values(self._param_names, exe.arg_dict, arg_params, *how),
            initial_values(self._aux_names, exe.aux_dict, aux_params, *how),
        )
        self._arg_params, self._aux_params = found
        self.params_initialized = True
        group.set_params(*found)

    def get_params(self) -> tuple[Params, Params]:
        self._need("get_params")
        arg_params: Params = {}
        aux_params: Params = {}
        self._group("get_params").get_params(arg_params, aux_params)
        self._arg_params, self._aux_params = arg_params, aux_params
        return arg_params, aux_params

    def _sync_params_from_devices(self) -> None:
        """`get_params`, by the name that programs call before they read `_arg_params`."""
        self.get_params()

    # ------------------------------------------------------------ optimizer

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer and what applies it.

        `kvstore` is a store, its name, or None. One by name of several contexts or processes updates the weights, as
        `updates.choose` says. Gradients are divided by the size of the batch, unless `rescale_grad` is given.
        """
        self._need("init_optimizer")
        if self._has_optimizer(force_init):
            return
        params, _ = self.get_params()
        store, on_store = updates.choose(kvstore, len(self._context), params)
        self._optimizer = self._made(optimizer, optimizer_params, store, self._symbol)
        self._kvstore, self._update_on_kvstore = store, on_store
        self._updaters = [] if on_store else [get_updater(self._optimizer) for _ in self._context]
        if store is not None:
            self._fill(store)
        self.optimizer_initialized = True
        if self._states_file is not None:
            self.load_optimizer_states(self._states_file)
            self._states_file = None

    def _made(self, given: Any, params: Any, store: Any, sym: Symbol | None) -> optimizer.Optimizer:
        """The optimizer, which knows the parameters' names, and their attributes where `sym` is given."""
        size = self._group("init_optimizer").batch_size
        if store is not None and "dist" in store.type and "_sync" in store.type:
            size *= store.num_workers
        names = dict(enumerate(self._param_names))
        if isinstance(given, str):
            return optimizer.create(given, sym=sym, param_idx2name=names, **({"rescale_grad": 1 / size} | dict(params)))
        if not isinstance(given, optimizer.Optimizer):
            raise TypeError(f"optimizer is a name or an Optimizer, not {type(given).__name__}")
        if given.rescale_grad != 1 / size:
            warnings.warn(
                f"the optimizer scales gradients by {given.rescale_grad}, not by {1 / size}, 1 over the batch size: "
                "is this intended?",
                stacklevel=4,
            )
        if not given.idx2name:
            given.idx2name = names
        return given

    def _fill(self, store: Any) -> None:
        """Give the store the parameters, which are then where the first context has them."""
        refuse_workers(self._optimizer, store.type)
        if self._compression_params:
            store.set_gradient_compression(self._compression_params)
        if self._update_on_kvstore:
            store.set_optimizer(self._optimizer)
        for name, block in zip(self._param_names, self._group("init_optimizer").param_arrays, strict=True):
            store.broadcast(name, block[0], block)

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of a module whose parameters these are."""
        shared_module._need("borrow_optimizer", optimizer=True)
        self._optimizer, self._updaters = shared_module._optimizer, shared_module._updaters
        self._kvstore, self._update_on_kvstore = shared_module._kvstore, shared_module._update_on_kvstore
        self.optimizer_initialized = True

    def update(self) -> None:
        """Update the parameters by the gradients of the last backward pass, all in one call of the optimizer."""
        self._need("update", optimizer=True)
        group = self._group("update")
        blocks = group.param_names, group.param_arrays, group.grad_arrays
        if self._update_on_kvstore:
            updates.on_store(self._kvstore, *blocks)
        else:
            updates.in_contexts(self._updaters, self._kvstore, *blocks)

    # ------------------------------------------------------------ computing

    def forward(self, data_batch: DataBatch | list[DataBatch], is_train: bool | None = None) -> None:
        """Compute the outputs for a batch, or a list of one for each context. Other shapes of a batch are taken."""
        self._need("forward")
        group = self._group("forward")
        if not isinstance(data_batch, list):
            provided = getattr(data_batch, "provide_data", None), getattr(data_batch, "provide_label", None)
            data = of_batch(group.data_shapes, provided[0], data_batch.data)
            if data != group.data_shapes:
                label = getattr(data_batch, "label", None)
                known = bool(group.label_shapes and (provided[1] or label))
                self.reshape(
                    data, of_batch(group.label_shapes, provided[1], label) if known else group.labels_for(data)
                )
        group.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._need("backward")
        self._group("backward").backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._need("get_outputs")
        return self._group("get_outputs").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._need("get_input_grads")
        if not self.inputs_need_grad:
            raise MXNetError("get_input_grads: bind with inputs_need_grad=True first")
        return self._group("get_input_grads").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self._need("get_states")
        return self._group("get_states").get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Write `states`, as `get_states` or outputs are, or one `value` to all of them."""
        self._need("set_states")
        self._group("set_states").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        self._group("update_metric").update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._group("install_monitor").install_monitor(mon)
