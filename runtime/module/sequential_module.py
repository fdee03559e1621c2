"""`SequentialModule`: modules one after the other, the outputs of each being the data of the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.base import ArgumentError, MXNetError, did_you_mean
from runtime.initializer import Initializer
from runtime.io import DataBatch, DataDesc
from runtime.metric import EvalMetric
from runtime.module.base_module import DEFAULT, BaseModule, Params
from runtime.module.descriptions import described
from runtime.ndarray import NDArray


class SequentialModule(BaseModule):
    """A chain of modules, which `add` makes longer.

    A module that is added with `take_labels=True` is given the labels. With `auto_wiring=True`, the outputs before it
    are its data in their order; else they must have the names of its data.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: list[DataDesc] | None = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Add a module at the end; returns this one. It must then be bound and initialized anew."""
        known = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
        for key in kwargs:
            if key not in known:
                raise ArgumentError(f"SequentialModule.add has no argument '{key}'{did_you_mean(key, known)}")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    # ------------------------------------------------------------ what it has

    @property
    def data_names(self) -> list[str]:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._need("data_shapes", params=False)
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._need("label_shapes", params=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        self._need("output_shapes", params=False)
        return self._modules[-1].output_shapes

    # ------------------------------------------------------------ making

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
        """Bind all modules, each to the shapes of the outputs before it."""
        if self._is_bound(force_rebind):
            return
        if shared_module is not None:
            raise ArgumentError("a SequentialModule shares its arrays with no other module")
        if not self._modules:
            raise MXNetError("bind: the SequentialModule is empty; add modules first")
        labelled = [bool(meta.get(self.META_TAKE_LABELS)) for meta in self._metas]
        self._label_shapes = described(label_shapes) if any(labelled) and label_shapes else None
        shapes: Sequence[Any] = data_shapes
        for i, (module, meta, takes) in enumerate(zip(self._modules, self._metas, labelled, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                names = module.data_names
                shapes = [(name, tuple(x[1])) for name, x in zip(names, described(shapes), strict=True)]
            needs = for_training and (inputs_need_grad or i > 0)
            module.bind(shapes, label_shapes if takes else None, for_training, needs, force_rebind, None, grad_req)
            shapes = module.output_shapes
        self.binded, self.for_training, self.inputs_need_grad = True, for_training, inputs_need_grad

    def init_params(
        self,
        initializer: Initializer | None = DEFAULT,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize all modules; see `BaseModule.init_params`. The dicts have the parameters of all of them.

        MXNetError where two modules have a parameter of the same name.
        """
        if self.params_initialized and not force_init:
            return
        self._need("init_params", params=False)
        owners: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra=True)
            for name in (*module.get_params()[0], *module.get_params()[1]):
                if name in owners:
                    raise MXNetError(f"the modules {owners[name]} and {i} both have a parameter '{name}'")
                owners[name] = i
        extra = [name for name in (*(arg_params or ()), *(aux_params or ())) if name not in owners]
        if extra and not allow_extra:
            raise ArgumentError(f"'{extra[0]}' is no parameter of any module{did_you_mean(extra[0], owners)}")
        self.params_initialized = True

    def get_params(self) -> tuple[Params, Params]:
        self._need("get_params")
        found = [module.get_params() for module in self._modules]
        return {k: x for a, _ in found for k, x in a.items()}, {k: x for _, b in found for k, x in b.items()}

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
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    # ------------------------------------------------------------ computing

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._need("forward")
        batch = data_batch
        for module in self._modules:
            module.forward(batch, is_train)
            batch = DataBatch(module.get_outputs(), data_batch.label, data_batch.pad, data_batch.index)

    def backward(self, out_grads: Any = None) -> None:
        self._need("backward")
        for i in reversed(range(len(self._modules))):
            self._modules[i].backward(out_grads)
            if i:
                out_grads = self._modules[i].get_input_grads()

    def update(self) -> None:
        self._need("update", optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._need("get_outputs")
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._need("get_input_grads")
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs of the modules that take labels."""
        self._need("update_metric")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._need("install_monitor", params=False)
        for module in self._modules:
            module.install_monitor(mon)
