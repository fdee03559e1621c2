"""The executors of one graph, one in each context: a batch is split over them, and their outputs are merged."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.io import DataBatch, DataDesc
from runtime.metric import EvalMetric
from runtime.module.descriptions import described
from runtime.ndarray import NDArray
from runtime.symbol import Symbol
from runtime.symbol.executor import Executor

Requests = str | Sequence[str] | Mapping[str, str]
Split = tuple[int, slice]
"""The axis of the batch, or -1 for what has none, and a context's part of it."""


class DataParallelExecutorGroup:
    """Executors of `symbol`, each with all parameters and a part of the batch.

    Parameters
    ----------
    symbol, contexts: the graph, and where it is computed.
    workload: how large a part of the batch each context gets, in proportion.
    data_shapes, label_shapes: DataDesc or (name, shape) of whole batches. N in their layouts is the axis of the batch.
    param_names: the arguments that are trained.
    for_training: whether gradients are wanted; `inputs_need_grad`: those of data as well.
    shared_group: a group to share parameters and memory with.
    fixed_param_names: parameters without gradients.
    grad_req: 'write', 'add' or 'null', for all or by name.
    state_names: arguments that are neither data nor trained.
    group2ctxs: for each context, a dict: the context of operations by their attribute `ctx_group`. One dict stands for
        all, and its values may be lists with a context for each of `contexts`.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Requests = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol, self.contexts = symbol, list(contexts)
        self.workload = list(workload or [1] * len(self.contexts))
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.arg_names, self.aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.param_names = [name for name in self.arg_names if name in set(param_names)]
        self.state_names = list(state_names or ())
        self._groups = _groups(group2ctxs, len(self.contexts))
        self._describe(data_shapes, label_shapes)
        self.grad_req = self._requests(grad_req, set(fixed_param_names or ()))
        self.output_axes = [DataDesc.get_batch_axis(x.attr("__layout__")) for x in symbol]
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in self.contexts] if shared_group is None else shared_group.shared_data_arrays
        )
        self.execs: list[Executor] = [
            self._bound(k, None if shared_group is None else shared_group.execs[k]) for k in range(len(self.contexts))
        ]

    # ------------------------------------------------------------ binding

    def _describe(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        self.data_shapes, self.label_shapes = described(data_shapes), described(label_shapes)
        sizes = {x.name: x.shape[_axis(x)] for x in (*self.data_shapes, *self.label_shapes) if _axis(x) >= 0}
        data = [sizes[x.name] for x in self.data_shapes if x.name in sizes]
        if len(set(data)) > 1:
            raise ArgumentError(f"the batch must have one size in all data, not {sizes}")
        self.batch_size: int = data[0] if data else 0
        self.slices = parts_of(self.batch_size, self.workload)
        self._splits: dict[str, list[Split]] = {
            x.name: [(_axis(x), self._scaled(part, sizes.get(x.name, 0))) for part in self.slices]
            for x in (*self.data_shapes, *self.label_shapes)
        }

    def _scaled(self, part: slice, size: int) -> slice:
        """The part of an array with more samples, or fewer, than the data have, as labels of sequences do."""
        if size == self.batch_size or not self.batch_size:
            return part
        return slice(part.start * size // self.batch_size, part.stop * size // self.batch_size)

    def labels_for(self, data_shapes: Sequence[DataDesc]) -> list[DataDesc]:
        """The descriptions of labels for a batch of another size, which comes without labels."""
        axis = _axis(data_shapes[0])
        size = data_shapes[0].shape[axis] if axis >= 0 else self.batch_size
        found = []
        for x in self.label_shapes:
            a = _axis(x)
            n = x.shape[a] * size // max(self.batch_size, 1)
            found.append(x if a < 0 else DataDesc(x.name, (*x.shape[:a], n, *x.shape[a + 1 :]), x.dtype, x.layout))
        return found

    def _requests(self, grad_req: Requests, fixed: set[str]) -> dict[str, str]:
        """What is done with the gradient of each argument."""
        data = {x.name for x in self.data_shapes}
        wanted = dict.fromkeys(self.arg_names, "null")
        if self.for_training:
            general = grad_req if isinstance(grad_req, str) else "write"
            trained = {name for name in self.param_names if name not in fixed}
            wanted |= dict.fromkeys(trained | (data & wanted.keys() if self.inputs_need_grad else set()), general)
            if not isinstance(grad_req, str):
                given = grad_req if isinstance(grad_req, Mapping) else zip(self.arg_names, grad_req, strict=True)
                wanted |= dict(given)
        return wanted

    def _shapes(self, k: int) -> dict[str, tuple[int, ...]]:
        """The shapes of data and labels in context k."""
        shapes = {}
        for x in (*self.data_shapes, *self.label_shapes):
            axis, part = self._splits[x.name][k]
            shapes[x.name] = x.shape if axis < 0 else (*x.shape[:axis], part.stop - part.start, *x.shape[axis + 1 :])
        return {name: shape for name, shape in shapes.items() if name in self.arg_names}

    def _bound(self, k: int, shared: Executor | None) -> Executor:
        types = {x.name: x.dtype for x in (*self.data_shapes, *self.label_shapes) if x.name in self.arg_names}
        return self.symbol.simple_bind(
            self.contexts[k],
            self.grad_req,
            type_dict=types,
            shared_arg_names=self.param_names,
            shared_exec=shared,
            shared_buffer=self.shared_data_arrays[k],
            group2ctx=self._groups[k],
            **self._shapes(k),
        )

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Take batches of other shapes from now on.

        Those that need parameters of other shapes, whose values would be lost, raise ArgumentError. After an error,
        batches are of the shapes before.
        """
        before = self.data_shapes, self.label_shapes
        try:
            self._describe(data_shapes, label_shapes)
            self.execs = [self._reshaped(k) for k in range(len(self.execs))]
        except Exception:
            self._describe(*before)
            raise

    def _reshaped(self, k: int) -> Executor:
        """The executor of context k for the shapes that are described now."""
        exe = self.execs[k].reshape(partial_shaping=True, allow_up_sizing=True, **self._shapes(k))
        for name, old in self.execs[k].arg_dict.items():
            if name in self.param_names and exe.arg_dict[name].shape != old.shape:
                raise ArgumentError(
                    f"a batch of {self._shapes(k)} needs '{name}' of shape {exe.arg_dict[name].shape}, and the module "
                    f"was bound with {old.shape}"
                )
        return exe

    # ------------------------------------------------------------ parameters

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter its arrays, one in each context."""
        return [[exe.arg_dict[name] for exe in self.execs] for name in self.param_names]

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """For each parameter its gradients, one in each context."""
        return [[exe.grad_dict[name] for exe in self.execs] for name in self.param_names]

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        return [[exe.aux_dict[name] for exe in self.execs] for name in self.aux_names]

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray], allow_extra: bool = False
    ) -> None:
        """Copy values into all contexts. ValueError for a name that the graph does not have, unless `allow_extra`."""
        for exe in self.execs:
            exe.copy_params_from(arg_params, aux_params, allow_extra)

    def get_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        """Put copies of parameters and auxiliary states, their means over the contexts, into the dicts."""
        names = (*self.param_names, *self.aux_names)
        for name, block in zip(names, (*self.param_arrays, *self.aux_arrays), strict=True):
            copies = [x.copyto(Context("cpu", 0)) for x in block]
            mean = copies[0] if len(copies) == 1 else (sum(copies[1:], copies[0]) / len(copies)).astype(block[0].dtype)
            (arg_params if name in self.arg_names else aux_params)[name] = mean

    # ------------------------------------------------------------ computing

    def forward(self, data_batch: DataBatch | list[DataBatch], is_train: bool | None = None) -> None:
        """Compute the outputs for a batch, or for a list of batches, one for each context."""
        sliced = isinstance(data_batch, list)  # a batch may be a named tuple
        for k, exe in enumerate(self.execs):
            batch = data_batch[k] if sliced else data_batch
            self._load(k, self.data_shapes, batch.data, sliced)
            if self.label_shapes and getattr(batch, "label", None):
                self._load(k, self.label_shapes, batch.label, sliced)
            exe.forward(self.for_training if is_train is None else is_train)

    def _load(self, k: int, descriptions: Sequence[DataDesc], arrays: Sequence[NDArray], sliced: bool) -> None:
        """Copy the part of a batch to context k."""
        arguments = self.execs[k].arg_dict
        for x, array in zip(descriptions, arrays, strict=True):
            if x.name in arguments:
                own = array if sliced else _cut(array, *self._splits[x.name][k], len(self.execs))
                own.copyto(arguments[x.name])

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients, given those of the outputs, of whole batches, by default 1."""
        if not self.for_training:
            raise MXNetError("backward: the module was bound with for_training=False")
        grads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        for k, (exe, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            if grads is None:
                exe.backward()
                continue
            sizes = [y.shape[axis] if axis >= 0 else 0 for y, axis in zip(exe.outputs, self.output_axes, strict=True)]
            starts = [
                sum(other.outputs[i].shape[axis] for other in self.execs[:k]) if axis >= 0 else part.start
                for i, axis in enumerate(self.output_axes)
            ]
            given = zip(grads, self.output_axes, starts, sizes, strict=False)  # fewer, if the last ones are losses
            exe.backward([_cut(g, axis, slice(at, at + n), len(self.execs)) for g, axis, at, n in given])

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """The names and shapes of the outputs of a whole batch."""
        shapes = {x.name: x.shape for x in (*self.data_shapes, *self.label_shapes) if x.name in self.arg_names}
        return list(zip(self.symbol.list_outputs(), self.symbol.infer_shape(**shapes)[1], strict=True))

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last batch; unmerged, a list with one of each context for each."""
        blocks = [list(block) for block in zip(*(exe.outputs for exe in self.execs), strict=True)]
        return self._merged(blocks, self.output_axes) if merge_multi_context else blocks

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the data; the group must have been bound with `inputs_need_grad`."""
        blocks = [[exe.grad_dict[x.name] for exe in self.execs] for x in self.data_shapes]
        axes = [_axis(x) for x in self.data_shapes]
        return self._merged(blocks, axes) if merge_multi_context else blocks

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        blocks = [[exe.arg_dict[name] for exe in self.execs] for name in self.state_names]
        return self._merged(blocks, [0] * len(blocks)) if merge_multi_context else blocks

    def set_states(self, states: Sequence[Any] | None, value: float | None) -> None:
        """Write states, whole or a list with one of each context for each, or one value to all of them."""
        if (states is None) == (value is None):
            raise ArgumentError("set_states takes either states or a value")
        for i, block in enumerate(self.get_states(merge_multi_context=False)):
            for k, x in enumerate(block):
                if states is None:
                    x[:] = value
                else:
                    n = x.shape[0]
                    given = states[i][k] if isinstance(states[i], (list, tuple)) else states[i][k * n : (k + 1) * n]
                    x[:] = given.as_in_context(x.context)

    def _merged(self, blocks: Sequence[Sequence[NDArray]], axes: Sequence[int]) -> list[NDArray]:
        """One array in place of each list: along the axis of the batch, or the first where there is none."""
        return [
            block[0]
            if len(block) == 1 or axis < 0
            else nd.concat(*[x.as_in_context(block[0].context) for x in block], dim=axis)
            for block, axis in zip(blocks, axes, strict=True)
        ]

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Add the outputs of the last batch to a metric. `pre_sliced`: `labels` has a list for each context."""
        for k, exe in enumerate(self.execs):
            if pre_sliced:
                own = labels[k]
            else:
                own = [
                    _cut(label, *self._splits[x.name][k], len(self.execs))
                    for x, label in zip(self.label_shapes, labels or (), strict=False)
                ]
            named = {x.name: label for x, label in zip(self.label_shapes, own, strict=False)}
            eval_metric.update_dict(named, exe.output_dict)

    def install_monitor(self, mon: Any) -> None:
        for exe in self.execs:
            mon.install(exe)


def parts_of(size: int, workload: Sequence[float]) -> list[slice]:
    """A batch in consecutive parts, in proportion to `workload`. ValueError where a part would be empty."""
    ends = [round(size * sum(workload[: i + 1]) / sum(workload)) for i in range(len(workload))]
    starts = [0, *ends[:-1]]
    if any(start >= end for start, end in zip(starts, ends, strict=True)) and len(workload) > 1:
        raise ArgumentError(f"a batch of {size} cannot be split over {len(workload)} contexts")
    return [slice(start, end) for start, end in zip(starts, ends, strict=True)]


def _axis(x: DataDesc) -> int:
    return DataDesc.get_batch_axis(x.layout)


def _cut(x: NDArray, axis: int, part: slice, count: int) -> NDArray:
    """The part of an array along the axis of the batch."""
    if axis < 0 or count == 1:
        return x
    if axis == 0:
        return x[part]
    return nd.slice_axis(x, axis=axis, begin=part.start, end=part.stop)


def _groups(group2ctxs: Any, count: int) -> list[dict[str, Context]]:
    """For each of `count` contexts, the contexts of operations by their groups; ArgumentError for other numbers."""
    if isinstance(group2ctxs, Mapping):
        spread = {group: [x] if isinstance(x, Context) else list(x) for group, x in group2ctxs.items()}
        spread = {group: x * count if len(x) == 1 else x for group, x in spread.items()}
        if any(len(x) != count for x in spread.values()):
            raise ArgumentError(f"group2ctxs must have 1 or {count} contexts for each group: {group2ctxs}")
        return [{group: x[k] for group, x in spread.items()} for k in range(count)]
    found = [{}] * count if group2ctxs is None else list(group2ctxs)
    if len(found) != count:
        raise ArgumentError(f"group2ctxs has {len(found)} dicts for {count} contexts")
    return found
