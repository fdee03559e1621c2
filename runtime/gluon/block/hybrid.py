"""Blocks whose computation is written in operators `F`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from runtime import autograd, context, symbol
from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.gluon.block.block import Block
from runtime.gluon.block.graphs import graph_of, write_graph
from runtime.gluon.block.monitor import Monitored
from runtime.gluon.block.nested import Format
from runtime.gluon.block.shape_inference import infer
from runtime.gluon.block.signature import Calls, check_contexts, check_structure
from runtime.gluon.parameter import DeferredInitializationError, Parameter
from runtime.ndarray import NDArray

if TYPE_CHECKING:
    from runtime.plan.plans import Plans

_calls = Calls()
_NO_GRAPH = "graphs are computed by this library's own operators"


class HybridBlock(Block):
    """A block that computes in `hybrid_forward(F, x, ..., **params)`: `F` holds the operators, and `params` are its own
    parameters as arrays.

    The arrays of the parameters are in the context of the first array among the inputs, which may be nested in lists.
    New arrays are created in that context too. `infer_shape(x, ...)` sets shapes that are unknown at the first call.
    """

    _active = False
    _structure: list | None = None
    _plans: Plans | None = None
    _plan_params: list[Parameter] | None = None
    _in_format: Format | None = None
    _out_format: Format | None = None
    """How the inputs and outputs of the exported graph are nested. Libraries store both beside the graph."""
    _monitor: tuple[Callable[[bytes, bytes, NDArray], object], bool] | None = None

    def register_child(self, block: Block, name: str | None = None) -> None:
        if not isinstance(block, HybridBlock):
            raise ArgumentError(
                f"the parts of {type(self).__name__} '{self.name}' must be HybridBlocks, and {type(block).__name__} "
                f"'{getattr(block, 'name', '')}' is none; use Block, or nn.Sequential, for the whole"
            )
        self._clear_cached_op()
        super().register_child(block, name)

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Compile what the block computes, for each kind of input from its second call on; see `runtime.plan`.

        The inputs of later calls must have the structure of the first call; see `runtime.gluon.block.signature`.

        Parameters
        ----------
        active: False undoes it.
        static_alloc: keep all memory that compiled calls have used; otherwise that of one call is kept.
        static_shape: keep what was compiled for the last kind of inputs alone.
        inline_limit, forward_bulk_size, backward_bulk_size, backend, clear: accepted for code that gives them.
        """
        self._active, self._structure, self._plans = active, None, None
        if active:
            from runtime.plan.plans import Plans  # takes long to import, and is for blocks that are hybridized

            self._plans = Plans(static_alloc, static_shape)
        super().hybridize(active, static_alloc=static_alloc, static_shape=static_shape)

    def cast(self, dtype: Any) -> None:
        """`Block.cast`. The next inputs of a hybridized block may be of another structure."""
        self._clear_cached_op()
        super().cast(dtype)

    def _clear_cached_op(self) -> None:
        """Forget what earlier calls were like. Blocks written for MXNet call it when they change."""
        self._structure = self._plan_params = None
        if self._plans is not None:
            self._plans.clear()

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute the output: `hybrid_forward` with the parameters' values.

        A subclass that has a `forward` of its own may call this from there, any number of times.
        """
        if type(x) is not NDArray and _has_symbols((x, *args)):
            return self._trace(x, *args)
        if not self._active or _calls.inside:
            return self._compute(x, *args)
        structure = check_structure(self, (x, *args), self._structure)
        if structure != ["array"]:
            check_contexts(self, (x, *args))
        if self._structure is None:  # to set an attribute of a Block takes longer than the check
            self._structure = structure
        _calls.inside = True
        try:
            return self._planned(x, *args)
        finally:
            _calls.inside = False

    def _planned(self, *inputs: Any) -> Any:
        """The output, computed by a plan where there can be one."""
        data = [x for x in inputs if x is not None]
        plans = self._plans
        on_cpu = all([type(x) is NDArray and x._ctx.on_cpu for x in data])
        if not (data and on_cpu and plans and plans.pays and self._monitor is None):
            return self._computed(*inputs)
        params = self._plan_params
        if params is None:
            params = list(self.collect_params().values())
            if not all(p._data is not None and p._stype == p._grad_stype == "default" for p in params):
                return self._computed(*inputs)
            self._plan_params = params
        given = [x is not None for x in inputs]

        def function(*arrays: NDArray) -> Any:
            waiting = iter(arrays)
            outer, _calls.inside = _calls.inside, True  # it is also called by `backward`, outside of any block
            try:
                return self._compute(*[next(waiting) if there else None for there in given])
            finally:
                _calls.inside = outer

        return plans(function, data, params)

    def _computed(self, *inputs: Any) -> Any:
        """The output without a plan, in memory of its own, as plans have it."""
        from runtime.plan.outputs import own_outputs

        result = self._compute(*inputs)
        params = self.collect_params().values() if self._plan_params is None else self._plan_params
        return own_outputs(result, [*inputs, *[p._data for p in params]])

    def _trace(self, *inputs: Any) -> Any:
        """The output as symbols, of inputs that are symbols: `hybrid_forward` with `F` being `sym`."""
        if any(isinstance(x, NDArray) for x in inputs):
            self._explain_inputs(inputs)
        params = {key: param.var() for key, param in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbol, *inputs, **params)

    def _compute(self, x: Any, *args: Any) -> Any:
        ctx = x._ctx if isinstance(x, NDArray) else self._context((x, *args))
        try:
            params = {key: param.data(ctx) for key, param in self._reg_params.items()}
        except DeferredInitializationError:
            params = None
        if params is None:  # not in the handler: an error from here is not caused by the one above
            self._finish_deferred_init(x, *args)
            params = {key: param.data(ctx) for key, param in self._reg_params.items()}
        F = nd if self._monitor is None else Monitored(nd, self.prefix, *self._monitor)
        try:
            if ctx is context.current_context():
                return self.hybrid_forward(F, x, *args, **params)
            with ctx:
                return self.hybrid_forward(F, x, *args, **params)
        except (AttributeError, TypeError):
            self._check_call((x, *args), params)
            raise

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, **params: NDArray) -> Any:
        """Compute the output with the operators `F`."""
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")

    def _context(self, inputs: Any) -> context.Context:
        """The context of the first array in nested inputs."""
        array = _first_array(inputs)
        if array is None:
            self._explain_inputs(inputs)
        return array._ctx

    # ------------------------------------------------------------ errors

    def _check_call(self, inputs: tuple[Any, ...], params: dict[str, NDArray]) -> None:
        """After an error in `hybrid_forward`: raise a clearer one if the arguments do not fit its signature."""
        signature = inspect.signature(self.hybrid_forward)
        try:
            signature.bind(nd, *inputs, **params)
        except TypeError as error:
            own = ", ".join(params) or "none"
            raise TypeError(
                f"{type(self).__name__} '{self.name}': hybrid_forward({', '.join(signature.parameters)}) is called "
                f"with F, the inputs (here {len(inputs)}), and the block's own parameters by name (here {own}): {error}"
            ) from None
        if any(isinstance(x, (np.ndarray, symbol.Symbol)) for x in inputs):
            self._explain_inputs(inputs)

    def _explain_inputs(self, inputs: tuple[Any, ...]) -> NoReturn:
        arrays = any(isinstance(x, np.ndarray) for x in inputs)
        raise ArgumentError(
            f"{type(self).__name__} '{self.name}' takes NDArrays, alone or in lists, and got "
            f"{', '.join(type(x).__name__ for x in inputs)}{'; nd.array() makes one of an ndarray' if arrays else ''}"
        ) from None

    # ------------------------------------------------------------ shapes and types from the first inputs

    def _finish_deferred_init(self, *args: Any) -> None:
        if not all(param._is_shape_known() for param in self._reg_params.values()):
            self.infer_shape(*args)
        for param in self._reg_params.values():
            param._finish_deferred_init()

    def infer_shape(self, *args: Any) -> None:
        """Set the unknown shapes of the parameters of this block, or of its children, from inputs.

        The block is run, and each operator with weights reports their shapes. A block that changes a parameter before
        it gives it to an operator defines its own infer_shape.
        """
        if all(param._is_shape_known() for param in self._reg_params.values()):
            with autograd.pause():
                self.forward(*args)
        else:
            infer(self, args, self._context(args))

    def infer_type(self, *args: Any) -> None:
        """Convert the parameters to the element type of the first array among the inputs."""
        array = _first_array(args)
        if array is None:
            raise ArgumentError(f"{type(self).__name__} '{self.name}': infer_type takes NDArrays")
        self.cast(array.dtype)

    # ------------------------------------------------------------ operator hooks

    def register_op_hook(self, callback: Callable[[bytes, bytes, NDArray], object], monitor_all: bool = False) -> None:
        """Call `callback(name, operator, array)` with each output of the operators of `F`, here and in the children.

        The name is the block's prefix, the operator's `name=` (or its own name and a count) and `_output`; with
        `monitor_all` the inputs come before it, with the names of the operator's arguments. Both are bytes, as MXNet
        gives them. Computations without `F`, such as x + y, are not reported.
        """
        self._monitor = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    # ------------------------------------------------------------ graphs

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write the network as a graph, `path-symbol.json`, and its parameters, `path-0000.params` (epoch 0).

        Both are files of MXNet's, which `SymbolBlock.imports` and `model.load_checkpoint`, here and there, read. The
        inputs are called data, or data0, data1, ... RuntimeError unless the block is hybridized and was called once,
        which tells how many there are. Returns the names of the files.
        """
        return write_graph(path, epoch, self, self._graph("export()"), remove_amp_cast)

    def _graph(self, purpose: str) -> symbol.Symbol:
        """What the block computes; `purpose` is what it is for, in errors."""
        if not self._active or self._structure is None:
            raise RuntimeError(
                f"{type(self).__name__} '{self.name}': before {purpose}, call hybridize() and run a batch through it"
            )
        graph, self._in_format, self._out_format = graph_of(self, self._structure)
        return graph

    # ------------------------------------------------------------ not provided

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> NoReturn:
        """Not provided: there are no backends."""
        if not backend:
            raise ArgumentError("optimize_for needs the name of a backend")
        raise NotImplementedError(f"there is no backend '{backend}': {_NO_GRAPH}. Call the block as it is")


def _has_symbols(inputs: Any) -> bool:
    """Whether the first thing that is no list in nested inputs is a symbol."""
    while isinstance(inputs, (list, tuple)):
        if not inputs:
            return False
        inputs = inputs[0]
    return isinstance(inputs, symbol.Symbol)


def _first_array(inputs: Any) -> NDArray | None:
    """The first array in nested lists and tuples."""
    if isinstance(inputs, NDArray):
        return inputs
    if isinstance(inputs, (list, tuple)):
        for x in inputs:
            array = _first_array(x)
            if array is not None:
                return array
    return None
