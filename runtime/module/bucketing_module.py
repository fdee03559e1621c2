"""`BucketingModule`: a module for each of several symbols, as for sentences of several lengths, with one set of
parameters."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import model
from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.initializer import Initializer
from runtime.io import DataBatch, DataDesc
from runtime.metric import EvalMetric
from runtime.module.base_module import DEFAULT, BaseModule, Params
from runtime.module.module import Module
from runtime.name import NameManager
from runtime.ndarray import NDArray, serialization
from runtime.symbol import Symbol

Generator = Callable[[Any], tuple[Symbol, Sequence[str], Sequence[str]]]


class BucketingModule(BaseModule):
    """A module that has a symbol for each bucket. Batches say by their `bucket_key` which one they are for.

    Parameters
    ----------
    sym_gen: from the key of a bucket to its symbol and the names of data and labels.
    default_bucket_key: the bucket with all parameters and the largest arrays.
    others: as those of Module.
    """

    def __init__(
        self,
        sym_gen: Generator,
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise ArgumentError("BucketingModule needs default_bucket_key")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._options: dict[str, Any] = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        self._monitor: Any = None
        self._grad_req: Any = "write"
        self._loaded: tuple[Params, Params] | None = None
        self._reset()
        self._made(default_bucket_key)  # errors of names are raised here

    def _reset(self) -> None:
        self.binded = False
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Module | None = None
        self._curr_bucket_key: Any = None

    def _generated(self, key: Any) -> tuple[Symbol, Sequence[str], Sequence[str]]:
        """What `sym_gen` gives for a bucket. Names that it leaves to be counted are so from 0."""
        with NameManager():
            return self._sym_gen(key)

    def _made(self, key: Any) -> Module:
        symbol, data_names, label_names = self._generated(key)
        return Module(symbol, data_names, label_names, **self._options)

    def _current(self, what: str, params: bool = True, optimizer: bool = False) -> Module:
        self._need(what, params, optimizer)
        assert self._curr_module is not None
        return self._curr_module

    # ------------------------------------------------------------ what it has

    @property
    def data_names(self) -> list[str]:
        return self._curr_module.data_names if self._curr_module else list(self._generated(self._default_bucket_key)[1])

    @property
    def output_names(self) -> list[str]:
        symbol = self.symbol or self._generated(self._default_bucket_key)[0]
        return symbol.list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._current("data_shapes", params=False).data_shapes

    @property
    def label_shapes(self) -> list[DataDesc]:
        return self._current("label_shapes", params=False).label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._current("output_shapes", params=False).output_shapes

    @property
    def symbol(self) -> Symbol | None:
        """The symbol of the current bucket; None before bind."""
        return self._curr_module.symbol if self._curr_module else None

    # ------------------------------------------------------------ buckets

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
        """Make the arrays of the default bucket, for batches of these shapes."""
        if shared_module is not None:
            raise ArgumentError("a BucketingModule shares its arrays with no other module")
        if self._is_bound(force_rebind):
            return
        kept = self.get_params() if self.binded and self.params_initialized else self._loaded
        module = self._made(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._reset()
        self._buckets[self._default_bucket_key] = self._curr_module = module
        self._curr_bucket_key = self._default_bucket_key
        self.binded, self.for_training, self.inputs_need_grad = True, for_training, inputs_need_grad
        self._grad_req, self._loaded = grad_req, None
        if kept is not None:
            module.init_params(None, *kept, allow_extra=True)
            self.params_initialized = True

    def switch_bucket(self, bucket_key: Any, data_shapes: Sequence[Any], label_shapes: Any = None) -> None:
        """Make a bucket the current one. One that is new is bound to these shapes, with the parameters there are."""
        default = self._buckets.get(self._default_bucket_key)
        self._need("switch_bucket", params=False)
        if bucket_key not in self._buckets:
            module = self._made(bucket_key)
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=default,
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Callable[..., Any] | None = None) -> None:
        """Bind the bucket of a batch, and stay in the current one."""
        self._need("prepare")
        before = self._curr_bucket_key
        self._switch(data_batch)
        self._curr_module, self._curr_bucket_key = self._buckets[before], before

    def _switch(self, batch: DataBatch) -> None:
        key = self._default_bucket_key if batch.bucket_key is None else batch.bucket_key
        if key in self._buckets:
            self._curr_module, self._curr_bucket_key = self._buckets[key], key
        else:
            self.switch_bucket(key, batch.provide_data, batch.provide_label)

    # ------------------------------------------------------------ parameters and optimizer

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
            return
        self._need("init_params", params=False)
        self._buckets[self._default_bucket_key].init_params(
            initializer, arg_params, aux_params, allow_missing, True, allow_extra
        )
        for module in self._buckets.values():
            module.params_initialized = True
        self.params_initialized = True

    def get_params(self) -> tuple[Params, Params]:
        self._need("get_params")
        return self._buckets[self._default_bucket_key].get_params()

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        self._need("init_optimizer")
        if self._has_optimizer(force_init):
            return
        default = self._buckets[self._default_bucket_key]
        default.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not default:
                module.borrow_optimizer(default)
        self.optimizer_initialized = True

    def update(self) -> None:
        self._current("update", optimizer=True).update()

    # ------------------------------------------------------------ computing

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._need("forward")
        self._switch(data_batch)
        self._current("forward").forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._current("backward").backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        return self._current("get_outputs").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        return self._current("get_input_grads").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        return self._current("get_states").get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        self._current("set_states").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        self._current("update_metric").update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._need("install_monitor", params=False)
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # ------------------------------------------------------------ files

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the symbol of each bucket there is, `prefix-KEY-symbol.json`, and `prefix-0001.params` (epoch 1).

        Keys that are whole numbers are in `prefix.buckets`, which MXNet reads; here `load` asks `sym_gen`.
        """
        self._need("save_checkpoint")
        for key, module in self._buckets.items():
            assert module.symbol is not None
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast)
        model.save_checkpoint(prefix, epoch, None, *self.get_params())
        if all(isinstance(key, numbers.Integral) for key in self._buckets):
            serialization.save_params(f"{prefix}.buckets", [nd.array(list(self._buckets), dtype="int32")])

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Generator | None = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """The module with the parameters of a checkpoint. See `BucketingModule`."""
        arg_params, aux_params = model.load_params(prefix, epoch)
        return BucketingModule.load_dict(None, sym_gen, default_bucket_key, arg_params, aux_params, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Symbol] | None = None,
        sym_gen: Generator | None = None,
        default_bucket_key: Any = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """The module with these parameters. Symbols come from `sym_gen`, or from `sym_dict` by their buckets' keys,
        with the names `data` and `softmax_label`."""
        if sym_gen is None:
            if sym_dict is None:
                raise ArgumentError("a BucketingModule needs sym_gen or sym_dict")
            found = sym_dict

            def sym_gen(key: Any) -> tuple[Symbol, Sequence[str], Sequence[str]]:
                return found[key], ("data",), ("softmax_label",)

        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._loaded = dict(arg_params or {}), dict(aux_params or {})
        module.params_initialized = True
        return module
