"""A graph bound to arrays: `forward` computes its outputs, `backward` the gradients of its arguments."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime import autograd
from runtime import ndarray as nd
from runtime.base import ArgumentError, ArgumentTypeError, MXNetError, did_you_mean
from runtime.context import Context
from runtime.core.generator import generator
from runtime.ndarray import NDArray, custom
from runtime.ndarray.creation import blank
from runtime.symbol import infer
from runtime.symbol.evaluate import run
from runtime.symbol.gradients import needed, needs_none, on_the_way
from runtime.symbol.graph import Entry, Node, listing, order, variables
from runtime.symbol.sharing import shared

if TYPE_CHECKING:
    from runtime.symbol.plans import GraphPlans

SYMBOL_MAKERS: dict[str, Callable[[Sequence[Entry]], Any]] = {}
"""`Symbol`, which is entered here where it is defined: it binds graphs."""


class Executor:
    """Arrays for all variables of a graph, and what is computed from them.

    `arg_arrays`, `grad_arrays` (None where no gradient is wanted) and `aux_arrays` are in the order of the symbol's
    names; `arg_dict`, `grad_dict` and `aux_dict` have the same arrays by name. They can be written to between calls.
    Operations in `contexts` are computed there, others in `ctx`.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        ctx: Context,
        args: Sequence[NDArray],
        grads: Sequence[NDArray | None],
        requests: Sequence[str],
        states: Sequence[NDArray],
        contexts: Mapping[Node, Context] | None = None,
    ) -> None:
        merged = not contexts and os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") != "0"
        self._entries, self._ctx = tuple(shared(entries) if merged else entries), ctx
        self._nodes = order(self._entries)
        self._arguments, self._states = variables(self._entries)
        self._requests, self._contexts = list(requests), dict(contexts or {})
        self.arg_arrays, self.grad_arrays, self.aux_arrays = list(args), list(grads), list(states)
        self._outputs: list[NDArray] | None = None
        self._recorded: list[NDArray] | None = None
        self._converted: list[tuple[NDArray, NDArray]] = []
        """Gradients of another element type than their arguments, and arrays of the arguments' types in their place."""
        self._marked: list[NDArray] = []
        """The arguments of the last pass that get gradients."""
        self._monitor: Callable[..., object] | None = None
        self._monitor_inputs = False
        self._plans: GraphPlans | None = None
        self._operators: dict[Node, custom.CustomOp] = {}
        self._wanted = any(grad is not None for grad in self.grad_arrays)
        self._draws: Any = None
        """The state of the generator before the last pass, if that one did not record."""
        self._passed: list[tuple[Node, int, NDArray]] = []
        """What operations were computed from, which the monitor wants the gradients of: node, number of the input."""

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        return _by_name(self._arguments, self.arg_arrays)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        return _by_name(self._arguments, self.grad_arrays)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        return _by_name(self._states, self.aux_arrays)

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs of the last `forward`, which is called if there was none.

        They are the same arrays after each pass, so that those taken once show what came last.
        """
        if self._outputs is None:
            self.forward()
        assert self._outputs is not None
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        return dict(zip([entry.name for entry in self._entries], self.outputs, strict=True))

    # ------------------------------------------------------------ computing

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs. Arguments that are named get the values given first.

        `is_train` says that `backward` will follow, and that the pass counts as training.
        """
        arguments = self.arg_dict
        for name, value in kwargs.items():
            if name not in arguments:
                raise TypeError(f"no argument is called '{name}'{did_you_mean(name, arguments)}")
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ValueError(f"'{name}' must be an NDArray or a NumPy array, not {type(value).__name__}")
            if value.shape != arguments[name].shape:
                raise ValueError(f"'{name}' has shape {arguments[name].shape}, not {value.shape}")
            own = arguments[name]
            own[:] = value.as_in_context(own.context) if isinstance(value, NDArray) else value
        self._draws = generator.bit_generator.state if not is_train and self._wanted else None
        self._recorded = None  # the memory of a plan is free for the next pass
        found = self._run(is_train, is_train)
        self._recorded = found if is_train else None
        self._outputs = _shown_in(self._outputs, found)
        return self._outputs

    def _run(self, recorded: bool, training: bool) -> list[NDArray]:
        """The outputs; where `recorded`, those that gradients can be computed from."""
        given = [_handle(x) for x in self.arg_arrays]
        self._converted = converted = []
        self._marked = []
        for x, grad, request in zip(given, self.grad_arrays, self._requests, strict=True):
            if recorded and grad is not None and request != "null":
                own = grad if grad.dtype == x.dtype else grad.astype(x.dtype)
                autograd.mark_variables(x, own, request)
                self._marked.append(x)
                if own is not grad:
                    converted.append((grad, own))
        arrays = [*given, *self.aux_arrays]
        self._passed = []
        watched = self._monitor is not None
        with self._ctx, autograd.record(training) if recorded else autograd.pause(training):
            if not watched and not self._contexts and all(type(x) is NDArray and x._ctx.on_cpu for x in arrays):
                return self._planned(arrays)
            again = recorded and not training  # the monitor has seen it
            monitor = self._watch if watched and not again else None
            taken = self._apart if watched and recorded else None
            return self._computed(arrays, monitor, taken)

    def _computed(self, arrays: Sequence[NDArray], monitor: Any = None, taken: Any = None) -> list[NDArray]:
        """The outputs by the operators of the graph, given an array for each variable."""
        values = dict(zip((*self._arguments, *self._states), arrays, strict=True))
        with custom.with_operators(self._operators):
            return run(self._entries, values, self._nodes, monitor, taken, self._contexts)

    def _planned(self, arrays: list[NDArray]) -> list[NDArray]:
        """The outputs, computed by a plan where there can be one."""
        if self._plans is None:
            from runtime.symbol.plans import GraphPlans  # takes long to import

            varying = [i for i, grad in enumerate(self.grad_arrays) if grad is None]
            self._plans = GraphPlans(self._computed, varying)
        return self._plans(arrays)

    def backward(
        self, out_grads: NDArray | Sequence[NDArray] | Mapping[str, NDArray] | None = None, is_train: bool = True
    ) -> None:
        """Compute the gradients of the arguments into `grad_arrays`, given those of the outputs, by default 1.

        They are converted to the context and the dtype of their outputs. Losses among the operators, as SoftmaxOutput,
        need none, and ignore them: those of the last outputs may be left out if these are losses, or pass no gradient
        on, as BlockGrad. What is given for more outputs than there are is ignored. After `forward(is_train=False)` the
        graph is computed again, in the mode of that call.
        """
        if self._recorded is None:
            with generator.replayed(self._draws):
                self._recorded = self._run(recorded=True, training=False)
        if isinstance(out_grads, Mapping):
            out_grads = [out_grads[entry.name] for entry in self._entries]
        grads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        passing = on_the_way(self._entries, self._nodes, self._arguments)
        if grads is not None:
            if not isinstance(grads, (list, tuple)) or not all(x is None or isinstance(x, NDArray) for x in grads):
                raise ArgumentTypeError(f"backward takes gradients in NDArrays, not {_types(grads)}")
            for entry in self._entries[len(grads) :]:
                if entry.node in passing and not needs_none(entry.node):
                    raise MXNetError(f"{len(grads)} gradients, but '{entry.name}' has none, and is no loss")
            grads = [*grads, *[None] * len(self._entries)]
        for x in self._marked:
            x._node.fresh = False
        for grad, own in self._converted:
            own[:] = grad
        heads = [
            (y, None if grads is None or grads[i] is None else grads[i].as_in_context(y.context).astype(y.dtype, False))
            for i, (y, entry) in enumerate(zip(self._recorded, self._entries, strict=True))
            if y._in_graph() and entry.node in passing
        ]
        if heads:
            autograd.backward([y for y, _ in heads], [g for _, g in heads], retain_graph=True, train_mode=is_train)
        for x in self._marked:
            if x._node.grad_req == "write" and not x._node.fresh:
                x._node.grad[:] = 0  # no output depends on it
        for grad, own in self._converted:
            grad[:] = own
        if self._passed and heads:
            self._watch_backward(heads, passing)

    def _apart(self, node: Node, inputs: list[NDArray]) -> list[NDArray]:
        """The inputs of an operation as arrays of their own, whose gradients are what the operation passes back."""
        own = []
        for i, ((_, auxiliary), x) in enumerate(zip(node.input_names, inputs, strict=True)):
            if not auxiliary and x.stype == "default" and np.issubdtype(x.dtype, np.floating):
                if x._in_graph():
                    x = nd.identity(x)
                else:
                    x = x.detach()
                    x.attach_grad()
                self._passed.append((node, i, x))
            own.append(x)
        return own

    def _watch_backward(self, heads: Sequence[tuple[NDArray, NDArray | None]], passing: set[Node]) -> None:
        """Call the monitor with what each operation passes back, the last operation first."""
        assert self._monitor is not None
        passed = [x for x in self._passed if x[0] in passing]
        arrays = [x for _, _, x in passed]
        states = [x.copy() for x in self.aux_arrays]
        found = autograd.grad([y for y, _ in heads], arrays, [g for _, g in heads], retain_graph=True)
        for own_state, state in zip(self.aux_arrays, states, strict=True):
            own_state[:] = state  # running averages have moved in `backward`, and would a second time
        gradients: dict[Node, list[NDArray]] = {}
        for (node, _, _), gradient in zip(passed, found, strict=True):
            gradients.setdefault(node, []).append(gradient)
        for node, own in reversed(gradients.items()):
            for i, gradient in enumerate(own):
                self._monitor(f"{node.name}_backward_output{i if len(own) > 1 else ''}", gradient)

    def _watch(self, node: Node, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> None:
        assert self._monitor is not None
        if self._monitor_inputs:
            for (name, _), entry, x in zip(node.input_names, node.inputs, inputs, strict=True):
                if entry.node.operator is None:
                    self._monitor(entry.name, x)
                self._monitor(f"{node.name}_{name if _has_named_input(node) else 'input0'}", x)
        for name, y in zip(node.output_names, outputs, strict=False):
            self._monitor(f"{node.name}_{name}", y)

    def set_monitor_callback(self, callback: Callable[[str, NDArray], object], monitor_all: bool = False) -> None:
        """Call `callback(name, array)` with each output of each operation, and with its inputs if `monitor_all`, a
        variable by its own name first.

        `backward` calls it with the gradients that each operation passes back to its inputs, as
        `NAME_backward_output0`, `NAME_backward_output1`, ..., or `NAME_backward_output` if it has one input.
        """
        self._monitor, self._monitor_inputs = callback, monitor_all

    # ------------------------------------------------------------ arrays

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into arguments and auxiliary states, by name. ValueError for names that are none of them."""
        for given, own in ((arg_params, self.arg_dict), (aux_params or {}, self.aux_dict)):
            for name, value in given.items():
                if name in own:
                    _check_value(name, value, own[name])
                    own[name][:] = value.astype(own[name].dtype).as_in_context(own[name].context)
                elif not allow_extra_params:
                    raise ValueError(f"'{name}' is in no place of the graph{did_you_mean(name, own)}")

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sequence[int]
    ) -> Executor:
        """An Executor of the same graph for arguments of other shapes, which shares the arrays that keep their shapes.

        It has the same monitor. `partial_shaping` allows arguments that are not named to change; `allow_up_sizing`
        allows larger arrays.
        """
        shapes, _, state_shapes = infer.shapes(self._entries, (), kwargs, partial=False)
        if shapes is None:
            raise ValueError("reshape: the shapes given do not tell those of all arguments; see the warning")
        names = [node.name for node in self._arguments]
        args, grads = [], []
        for name, shape, x, grad in zip(names, shapes, self.arg_arrays, self.grad_arrays, strict=True):
            if shape != x.shape and not (partial_shaping or name in kwargs):
                raise ArgumentError(
                    f"the shape of '{name}' would change to {shape}: name it, or say partial_shaping=True"
                )
            args.append(_resized(name, x, shape, allow_up_sizing))
            grads.append(None if grad is None else _resized(name, grad, shape, allow_up_sizing))
        states = [
            _resized(node.name, x, shape, allow_up_sizing)
            for node, x, shape in zip(self._states, self.aux_arrays, state_shapes, strict=True)
        ]
        found = Executor(self._entries, self._ctx, args, grads, self._requests, states, self._contexts)
        found._monitor, found._monitor_inputs = self._monitor, self._monitor_inputs
        return found

    def get_optimized_symbol(self) -> Any:
        """The graph as a Symbol, as it is computed: operations that repeat others are left out."""
        return SYMBOL_MAKERS["symbol"](self._entries)

    def debug_str(self) -> str:
        """The graph as text, and in the last line but one the memory that the outputs of its operations take."""
        arrays = dict(zip((*self._arguments, *self._states), (*self.arg_arrays, *self.aux_arrays), strict=True))
        asked = zip(self._arguments, self.grad_arrays, self._requests, strict=True)
        wanted = [node for node, grad, request in asked if grad is not None and request != "null"]
        total = needed(self._entries, self._nodes, arrays, wanted)
        return f"{listing(self._entries)}Total {total >> 20} MB allocated\nTotal 0 TempSpace resource requested\n"


def _types(given: Any) -> str:
    """The type of what was given, or the types of its elements."""
    if isinstance(given, (list, tuple)):
        return ", ".join(type(x).__name__ for x in given)
    return type(given).__name__


def _check_value(name: str, value: Any, own: NDArray) -> None:
    """ArgumentError for a value that is no array, or has another shape than its place."""
    if not isinstance(value, NDArray):
        raise ArgumentTypeError(f"the value of '{name}' must be an NDArray, not {type(value).__name__}")
    if value.shape != own.shape:
        raise ArgumentError(f"'{name}' has shape {own.shape}, and the value given {value.shape}")


def _handle(x: NDArray) -> NDArray:
    """Another object for the same memory, which can be marked without a trace on the user's own."""
    return x.detach() if x.stype == "default" else x


def _shown_in(outputs: list[NDArray] | None, found: Sequence[NDArray]) -> list[NDArray]:
    """The arrays of the last pass, now with the memory of this one; new ones at first and where one is sparse."""
    if outputs is None or any(type(x) is not NDArray for x in (*outputs, *found)):
        return [x.detach() for x in found]
    for output, x in zip(outputs, found, strict=True):
        output._data = x._data
    return outputs


def _by_name(nodes: Sequence[Node], arrays: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((node.name for node in nodes), arrays, strict=True))


def _resized(name: str, x: NDArray, shape: tuple[int, ...], larger: bool) -> NDArray:
    """The array itself if it has the shape, the start of its memory if that is enough, else a new one."""
    if x.shape == shape:
        return x
    size = math.prod(shape)
    if size <= x.size:
        return x.reshape((-1,))[:size].reshape(shape)
    if not larger:
        raise ArgumentError(f"'{name}' would grow from {x.shape} to {shape}: say allow_up_sizing=True")
    return blank(shape, x.context, x.dtype)


_NAMED = frozenset(
    ("_contrib_BilinearResize2D", "_contrib_MultiBoxPrior", "_contrib_index_array", "_contrib_quadratic",
     "_contrib_quantize_v2", "_histogram", "_image_to_tensor", "_ravel_multi_index", "_split_v2", "_unravel_index",
     "all_finite", "col2im", "depth_to_space", "diag", "Dropout", "GridGenerator", "im2col", "L2Normalization",
     "LeakyReLU", "log_softmax", "LRN", "MakeLoss", "moments", "Pad", "Pooling", "Pooling_v1", "repeat", "reverse",
     "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel", "softmax", "space_to_depth", "squeeze",
     "SwapAxis", "tile")
)  # fmt: skip
"""Operators of `data` alone whose input has that name for MXNet's monitors too; that of others is `input0`."""


def _has_named_input(node: Node) -> bool:
    assert node.operator is not None
    return [name for name, _ in node.input_names] != ["data"] or node.operator.name in _NAMED
