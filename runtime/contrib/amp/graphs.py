"""Mixed precision in graphs: casts are nodes, between operations that compute in different types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from runtime.base import ArgumentError, did_you_mean
from runtime.contrib.amp import casting
from runtime.core.dtypes import element_type
from runtime.ndarray import NDArray
from runtime.symbol import Symbol, table
from runtime.symbol.attributes import dtype_of_variable, number_of_dtype
from runtime.symbol.graph import Entry, Node, inputs_of, order, rebuilt
from runtime.symbol.type_rules import type_rule

_FLOAT32 = np.dtype(np.float32)


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    data_names: Iterable[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """The graph with casts, of variables in float32, as mixed precision has them; the lists are as for `init`. Outputs
    are float32.

    Parameters
    ----------
    excluded_sym_names: nodes that compute in float32, whatever the lists say.
    data_names: the variables that are data; the others are parameters. By default those without an element type.
    cast_optional_params: parameters that only operators of 16 bits read are variables of that type, and not cast.
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"convert_symbol takes a Symbol, not {type(sym).__name__}")
    chosen = casting.casts(target_dtype, target_dtype_ops, conditional_fp32_ops, fp32_ops)
    nodes = order(sym._entries)
    names = [node.name for node in nodes]
    excluded = frozenset(excluded_sym_names or ())
    for name in excluded.difference(names):
        raise ArgumentError(f"convert_symbol: the graph has no '{name}' to exclude{did_you_mean(name, names)}")
    found = inputs_of(sym._entries)
    data = {x.name for x in found if "__dtype__" not in x.attributes} if data_names is None else set(data_names)
    parameters = {x for x in found if x.name not in data}
    converter = _Converter(chosen, excluded)
    low = _read_low(nodes, converter) & parameters if cast_optional_params else set()
    types = {x: chosen.low if x in low else _FLOAT32 for x in parameters}
    return Symbol(
        converter.in_float32(x)
        for x in rebuilt(sym._entries, lambda node, inputs: converter.changed(node, inputs, types))
    )


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """`convert_symbol` of a model, and its arguments and auxiliary states in the types of their variables."""
    given = arg_params.keys() | aux_params.keys()
    data = [name for name in sym.list_inputs() if name not in given]
    graph = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, data,
        cast_optional_params,
    )  # fmt: skip
    types = {node.name: node.attributes.get("__dtype__", "-1") for node in inputs_of(graph._entries)}

    def typed(params: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return {
            key: x if types.get(key, "-1") == "-1" else x.astype(dtype_of_variable(types[key]))
            for key, x in params.items()
        }

    return graph, typed(arg_params), typed(aux_params)


def _read_low(nodes: Sequence[Node], converter: _Converter) -> set[Node]:
    """The variables that operators of 16 bits alone read."""
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for x in node.inputs:
            readers.setdefault(x.node, []).append(node)
    return {x for x, own in readers.items() if x.operator is None and all(map(converter.is_low, own))}


class _Converter:
    """Puts casts into a graph, node by node; it knows the element type of each entry it has made."""

    def __init__(self, chosen: casting.Casts, excluded: frozenset[str]) -> None:
        self._chosen, self._excluded = chosen, excluded
        self._low, self._full, self._widest = map(_operators, (chosen.low_ops, chosen.full_ops, chosen.widest_ops))
        self._conditional = {op: x for name, x in chosen.conditional.items() for op in _operators([name])}
        self._types: dict[Entry, np.dtype] = {}
        self._casts: dict[tuple[Entry, np.dtype], Entry] = {}

    def is_low(self, node: Node) -> bool:
        """Whether a node computes in 16 bits."""
        return node.operator is not None and node.operator.name in self._low and node.name not in self._excluded

    def changed(self, node: Node, inputs: tuple[Entry, ...], types: Mapping[Node, np.dtype]) -> Node:
        """The node with casts before it. `types` are those of parameters."""
        if node.operator is None:
            if node in types:
                dtype = types[node]
                made = replace(node, attributes=node.attributes | {"__dtype__": number_of_dtype(dtype)})
            else:
                made, text = node, node.attributes.get("__dtype__", "-1")
                dtype = _FLOAT32 if text == "-1" else dtype_of_variable(text)
            self._types[Entry(made)] = dtype
            return made
        made = node.reading(self._inputs(node, inputs))
        self._record(made)
        return made

    def in_float32(self, x: Entry) -> Entry:
        """An output of the graph, with a cast behind it if it has 16 bits."""
        return self._in_type(x, _FLOAT32) if x in self._types and self._types[x] == self._chosen.low else x

    def _inputs(self, node: Node, inputs: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """The inputs of a node as it is to have them."""
        assert node.operator is not None
        name = node.operator.name
        if self.is_low(node):
            return self._cast(node, inputs, self._chosen.low)
        key, values = self._conditional.get(name, ("", frozenset()))
        if name in self._full or node.name in self._excluded or node.subgraphs or node.values.get(key) in values:
            return self._cast(node, inputs, _FLOAT32)
        mixed = {self._chosen.low, _FLOAT32} <= {self._types[x] for x in inputs}
        if mixed and name in self._widest:
            attributes = {"num_outputs": str(len(inputs))}
            wide = Node(table.find("amp_multicast"), f"{inputs[0].name}_amp_multicast", attributes, inputs)
            self._record(wide)
            return tuple(wide.entries())
        if mixed and not self._fits(node.reading(inputs)):
            return self._cast(node, inputs, _FLOAT32)
        return inputs

    def _cast(self, node: Node, inputs: tuple[Entry, ...], dtype: np.dtype) -> tuple[Entry, ...]:
        """The inputs, with a cast before each float that is of the other type; auxiliary states stay as they are."""
        other = {self._chosen.low, _FLOAT32} - {dtype}
        return tuple(
            self._in_type(x, dtype) if self._types[x] in other and not auxiliary else x
            for x, (_, auxiliary) in zip(inputs, node.input_names, strict=True)
        )

    def _in_type(self, x: Entry, dtype: np.dtype) -> Entry:
        found = self._casts.get((x, dtype))
        if found is None:
            name = f"{x.name}_amp_cast_{dtype.name}"
            found = self._casts[x, dtype] = Entry(Node(table.find("amp_cast"), name, {"dtype": dtype.name}, (x,)))
            self._types[found] = dtype
        return found

    def _fits(self, node: Node) -> bool:
        """Whether an operator takes inputs of these types."""
        try:
            type_rule(node, [self._types[x] for x in node.inputs], [None] * len(node.output_names))
        except ValueError:
            return False
        return True

    def _record(self, node: Node) -> None:
        """Note the types of a node's outputs."""
        given: list[Any] = [self._types[x] for x in node.inputs]
        if node.subgraphs:
            found: Sequence[Any] = [None] * len(node.output_names)
        else:
            _, found = type_rule(node, given, [None] * len(node.output_names))
        for entry, dtype in zip(node.entries(), found, strict=True):
            self._types[entry] = dtype or element_type()


def _operators(names: Iterable[str]) -> frozenset[str]:
    """What the table calls the operators of `nd` with these names."""
    known = set(table.names())
    return frozenset(table.find(x).name for name in names for x in (name, f"_{name}") if x in known)
