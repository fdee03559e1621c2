"""Blocks made of graphs: `SymbolBlock`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import symbol
from runtime.base import ArgumentError, did_you_mean
from runtime.context import Context
from runtime.core.dtypes import element_type
from runtime.gluon.block.hybrid import HybridBlock
from runtime.gluon.block.nested import _flatten, _regroup
from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.gluon.parameter.loading import load_into
from runtime.ndarray import serialization
from runtime.symbol import Symbol
from runtime.symbol.evaluate import run
from runtime.symbol.graph import Entry, Node, order, rebuilt, variables
from runtime.symbol.infer import shapes_of
from runtime.symbol.storages import storage_of

Files = str | os.PathLike[str]


class SymbolBlock(HybridBlock):
    """A block that computes a graph. Variables that are none of its inputs are its parameters. `initialize` alone
    gives them first values: initializers in the graph are those of `Module`.

    Parameters
    ----------
    outputs: a Symbol, or a list of them: what the block computes.
    inputs: a Symbol, or a list of them: the variables that the block is called with, in this order.
    params: parameters by name, to share those of another block.

    Both lists may be nested, and the arrays of a call and of its result are nested in the same way. Who has set
    `_in_format` and `_out_format` (those of the block that was exported) has the nesting of a graph from a file.
    """

    def __init__(
        self, outputs: Symbol | Sequence[Symbol], inputs: Symbol | Sequence[Symbol], params: ParameterDict | None = None
    ) -> None:
        super().__init__()
        self._prefix = ""  # parameters are named as the variables are
        self._params = ParameterDict("", params)
        inputs = [inputs] if isinstance(inputs, Symbol) else inputs
        variables_given, self._in_format = _flatten(list(inputs), "input")
        outputs = outputs if isinstance(outputs, Symbol) or len(outputs) > 1 else outputs[0]
        parts, self._out_format = _flatten(outputs, "output")
        graph = parts[0] if len(parts) == 1 else symbol.Group(parts)
        given = [entry for x in variables_given for entry in x._entries]
        for node, _ in given:
            if node.operator is not None:
                raise ArgumentError(f"SymbolBlock: the input '{node.name}' must be a variable, and is an operation")
        self._entries = graph._entries
        self._nodes = order(self._entries)
        self._inputs = [entry.node.name for entry in given]
        arguments, states = variables(self._entries)
        self._variables = {node: node.name for node in (*arguments, *states)}
        types = graph.infer_type()
        for nodes, dtypes, is_state in ((arguments, types[0], False), (states, types[2], True)):
            for node, dtype in zip(nodes, dtypes, strict=True):
                if node.name not in self._inputs:
                    self._reg_params[node.name] = self._parameter(node, dtype, is_state)

    def _parameter(self, node: Node, dtype: Any, state: bool) -> Parameter:
        stored = storage_of(node)
        if stored != "default":
            raise ArgumentError(f"SymbolBlock: the parameter '{node.name}' is {stored}, and must be dense")
        text = node.attributes.get("__shape__")
        try:
            shape = None if text is None else tuple(symbol.attributes.parse_shape(text))
        except ValueError as error:
            raise ArgumentError(f"__shape__ of the variable '{node.name}' is '{text:.60}': {error}") from None
        wanted = {"grad_req": "null"} if state else {}
        return self.params.get(node.name, shape=shape, dtype=dtype, allow_deferred_init=True, **wanted)

    @staticmethod
    def imports(
        symbol_file: Files,
        input_names: str | Sequence[str],
        param_file: Files | None = None,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """The network in files that `HybridBlock.export`, or MXNet, wrote, with its parameters in `ctx`.

        Without `param_file` the parameters have no values yet: `initialize()` gives them some. ArgumentError names
        parameters that the file lacks (unless `allow_missing`), or has too many (unless `ignore_extra`).
        """
        graph = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        known = graph.list_inputs()
        values = {} if param_file is None else serialization.without_kinds(serialization.load_named(param_file))
        open_names = set(known).difference(names, values)
        for name in names:
            if name not in known and open_names:  # where none is open, the network ignores an input
                raise ArgumentError(f"'{os.fspath(symbol_file)}' has no variable '{name}'{did_you_mean(name, known)}")
        internals = graph.get_internals()
        block = SymbolBlock(graph, [internals[name] if name in known else symbol.var(name) for name in names])
        if param_file is not None:
            load_into(
                block._reg_params, values, f"'{os.fspath(param_file)}'", ctx, allow_missing, ignore_extra,
                cast_dtype=True, dtype_source="saved",
            )  # fmt: skip
        return block

    def forward(self, x: Any, *args: Any) -> Any:
        """The outputs: one array, or a list of several; symbols of symbols."""
        inputs, nesting = _flatten([x, *args], "input")
        if len(inputs) != len(self._inputs):
            raise ArgumentError(f"SymbolBlock takes {', '.join(self._inputs)}, and got {len(inputs)} inputs")
        if nesting != self._in_format:
            raise ArgumentError(f"SymbolBlock takes inputs nested as in {self._in_format}, and got {nesting}")
        return _regroup(super().forward(*inputs), self._out_format)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **params: Any) -> Any:
        values = dict(zip(self._inputs, (x, *args), strict=True)) | params
        if F is symbol:
            found: list[Any] = [Symbol([entry]) for entry in rebuilt(self._entries, lambda n, i: _placed(n, i, values))]
        else:
            found = run(self._entries, {node: values[name] for node, name in self._variables.items()}, self._nodes)
        return found

    def _graph(self, purpose: str) -> Symbol:
        return Symbol(self._entries)

    def infer_shape(self, *args: Any) -> None:
        by_name = {name: node for node, name in self._variables.items()}
        given = {by_name[name]: x.shape for name, x in zip(self._inputs, args, strict=True) if name in by_name}
        given |= {
            by_name[name]: tuple(n if n > 0 else -1 for n in param.shape)
            for name, param in self._reg_params.items()
            if param.shape is not None
        }
        found = shapes_of(self._entries, given)
        for name, param in self._reg_params.items():
            shape = found[Entry(by_name[name])]
            if shape is not None and -1 not in shape:
                param.shape = shape

    def cast(self, dtype: Any) -> None:
        """Convert all parameters, those of batch normalization to float32 at least."""
        self._clear_cached_op()
        kept = _of_batch_norms(self._nodes) if element_type(dtype).itemsize == 2 else set()
        for name, param in self._reg_params.items():
            param.cast("float32" if name in kept else dtype)

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Move the parameters to one or several contexts."""
        self.collect_params().reset_ctx(ctx)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by `prefix` and their names, without the beginning that all of these have: that is the name of a
        block, and may be another one where the parameters are loaded."""
        names = list(self._reg_params)
        same = [len(set(letters)) == 1 for letters in zip(*names, strict=False)] if len(names) > 1 else []
        start = [*same, False].index(False)
        prefix = prefix and prefix + "."
        return {prefix + name[start:]: param for name, param in self._reg_params.items()}

    def __repr__(self) -> str:
        return f"SymbolBlock(\n{Symbol(self._entries)!r} : {len(self._inputs)} -> {len(self._entries)}\n)"


def _of_batch_norms(nodes: Sequence[Node]) -> set[str]:
    """The names of the variables that are parameters and statistics of batch normalization."""
    found: set[str] = set()
    for node in nodes:
        keys = [key for key, _ in node.input_names]
        if "moving_var" in keys:
            found.update(entry.node.name for entry in node.inputs[keys.index("gamma") :])
    return found


def _placed(node: Node, inputs: tuple[Entry, ...], values: Mapping[str, Symbol]) -> Node | Entry:
    """The node in a graph where symbols are in the place of variables."""
    if node.operator is None:
        return values[node.name]._entries[0]
    return node.reading(inputs)
