"""Graphs in 8 bits: which operators are replaced, by what, and where numbers are converted.

An output of 8 bits is three: the numbers, and the ends of the range that they stand for. Where an operator of 8 bits
reads floats there is a quantize_v2 between, and where one of floats reads 8 bits a dequantize. Sums of int32 are
brought to 8 bits by a requantize at once. Names are MXNet's: `quantized_x`, `requantize_x`, `x_dequantize`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.symbol import Symbol, table
from runtime.symbol.graph import Entry, Node, order, rebuilt

Ranges = Mapping[str, tuple[float, float]]
"""The least and the largest number of an output, by the output's name."""
Small = tuple[Entry, Entry, Entry]
"""Numbers of 8 bits, and the ends of their range."""


@dataclass(frozen=True)
class Replacement:
    """The operator of 8 bits that takes the place of one of floats.

    `floats` are the numbers of the inputs that stay floats. `wide` is whether the result is of int32, and `main`
    whether it is for this operator that a network is quantized: others follow in the mode 'smart'.
    """

    operator: str
    floats: tuple[int, ...] = ()
    wide: bool = False
    main: bool = False
    fits: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether it is there for these attributes."""


REPLACEMENTS = {
    "Activation": Replacement("_contrib_quantized_act", fits=lambda values: values["act_type"] == "relu"),
    "BatchNorm": Replacement(
        "_contrib_quantized_batch_norm", floats=(1, 2, 3, 4), fits=lambda values: not values["output_mean_var"]
    ),
    "Concat": Replacement("_contrib_quantized_concat"),
    "Convolution": Replacement("_contrib_quantized_conv", wide=True, main=True),
    "Embedding": Replacement("_contrib_quantized_embedding", floats=(0,)),
    "Flatten": Replacement("_contrib_quantized_flatten"),
    "FullyConnected": Replacement("_contrib_quantized_fully_connected", wide=True, main=True),
    "Pooling": Replacement("_contrib_quantized_pooling", fits=lambda values: values["pool_type"] in ("avg", "max")),
    "elemwise_add": Replacement("_contrib_quantized_elemwise_add", wide=True),
    "elemwise_mul": Replacement("_contrib_quantized_elemwise_mul", wide=True),
}


def _quantize_symbol(
    sym: Symbol,
    ctx: Context,
    excluded_symbols: Collection[str] | None = None,
    excluded_operators: Collection[str] | None = None,
    offline_params: Collection[str] | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
) -> tuple[Symbol, list[str]]:
    """The graph in 8 bits, and the names of the outputs whose ranges it needs.

    Nodes and operators named in `excluded_*` stay as they are. Variables in `offline_params` become `x_quantize`,
    `x_quantize_min` and `x_quantize_max`. ValueError names a type, mode or granularity that is not there.
    """
    for name, value, known in (
        ("quantized_dtype", quantized_dtype, ("int8", "uint8", "auto")),
        ("quantize_mode", quantize_mode, ("full", "smart")),
        ("quantize_granularity", quantize_granularity, ("tensor-wise", "channel-wise")),
    ):
        if value not in known:
            raise ValueError(f"{name} is {', '.join(map(repr, known))}, not {value!r}")
    known_operators = set(table.names())
    operators = {table.find(x).name if x in known_operators else x for x in excluded_operators or ()}
    nodes = order(sym._entries)
    chosen = {
        node
        for node in nodes
        if node.operator is not None
        and node.operator.name in REPLACEMENTS
        and REPLACEMENTS[node.operator.name].fits(node.values)
        and node.operator.name not in operators
        and node.name not in (excluded_symbols or ())
    }
    if quantize_mode == "smart":
        chosen = _between(nodes, chosen)
    entries = _Rewriting(chosen, frozenset(offline_params or ()), quantized_dtype).graph(sym._entries)
    keys = (calibration_key(node) for node in order(entries))
    return Symbol(entries), list(dict.fromkeys(key for key in keys if key is not None))


def _between(nodes: Sequence[Node], chosen: set[Node]) -> set[Node]:
    """Those of the chosen nodes that are main ones, or have one before them and one behind with only chosen between."""
    main = {node for node in chosen if _replacement(node).main}
    before, behind = set(main), set(main)
    for node in nodes:
        if node in chosen and any(x.node in behind for x in node.inputs):
            behind.add(node)
    for node in reversed(nodes):
        if node in before:
            before.update(x.node for x in node.inputs if x.node in chosen)
    return before & behind


def _replacement(node: Node) -> Replacement:
    assert node.operator is not None
    return REPLACEMENTS[node.operator.name]


class _Rewriting:
    """The outputs of a graph while it is rewritten, as floats and as numbers of 8 bits, each made once."""

    def __init__(self, chosen: Collection[Node], offline: Collection[str], kind: str) -> None:
        self._chosen, self._offline, self._kind = chosen, offline, kind
        self._floats: dict[Entry, Entry] = {}
        self._smalls: dict[Entry, Small] = {}

    def graph(self, entries: Iterable[Entry]) -> list[Entry]:
        for node in order(entries):
            if node in self._chosen:
                self._smalls[Entry(node)] = self._replaced(node)
            else:
                new = node.reading(tuple(map(self._as_floats, node.inputs)))
                self._floats |= {Entry(node, i): Entry(new, i) for i in range(node.output_count)}
        return list(map(self._as_floats, entries))

    def _as_floats(self, entry: Entry) -> Entry:
        if entry not in self._floats:
            node = _call("_contrib_dequantize", f"{entry.node.name}_dequantize", self._smalls[entry])
            self._floats[entry] = Entry(node)
        return self._floats[entry]

    def _as_small(self, entry: Entry) -> Small:
        if entry not in self._smalls:
            name = f"{entry.name}_quantize"
            if entry.node.operator is None and entry.node.name in self._offline:
                low, high = (Entry(Node(None, name + end)) for end in ("_min", "_max"))
                found = Entry(Node(None, name)), low, high
            else:
                found = _three(_call("_contrib_quantize_v2", name, (self._floats[entry],), out_type=self._kind))
            self._smalls[entry] = found
        return self._smalls[entry]

    def _replaced(self, node: Node) -> Small:
        """The numbers that take the place of a node's output."""
        rule = _replacement(node)
        small = {i: self._as_small(x) for i, x in enumerate(node.inputs) if i not in rule.floats}
        arrays = [small[i][0] if i in small else self._as_floats(x) for i, x in enumerate(node.inputs)]
        bounds = [end for triple in small.values() for end in triple[1:]]
        found = _three(_call(rule.operator, f"quantized_{node.name}", (*arrays, *bounds), **node.attributes))
        if rule.wide:
            found = _three(_call("_contrib_requantize", f"requantize_{node.name}", found, out_type=self._kind))
        return found


def _call(operator: str, name: str, inputs: tuple[Entry, ...], **attributes: str) -> Node:
    return Node(table.find(operator), name, attributes, inputs)


def _three(node: Node) -> Small:
    return Entry(node, 0), Entry(node, 1), Entry(node, 2)


# ---------------------------------------------------------------- ranges and parameters


def calibration_key(node: Node) -> str | None:
    """The name of the output of the graph in floats whose range a node of that in 8 bits can be given."""
    operator = node.operator and node.operator.name
    if operator == "_contrib_quantize_v2":
        return node.inputs[0].name
    if operator == "_contrib_requantize":
        return f"{node.name.removeprefix('requantize_')}_output"
    if operator == "_contrib_quantized_batch_norm":
        return f"{node.name.removeprefix('quantized_')}_output"
    return None


def _calibrate_quantized_sym(qsym: Symbol, th_dict: Ranges | None) -> Symbol:
    """A graph in 8 bits whose nodes have the ranges that are given."""
    ranges = th_dict or {}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Node:
        key = calibration_key(node)
        if key not in ranges:
            return node.reading(inputs)
        low, high = (f"{float(x):.9g}" for x in ranges[key])
        own = {**node.attributes, "min_calib_range": low, "max_calib_range": high}
        return replace(node, inputs=inputs, attributes=own)

    return Symbol(rebuilt(qsym._entries, change))


def _quantize_params(qsym: Symbol, params: Mapping[str, NDArray], th_dict: Ranges | None = None) -> dict[str, NDArray]:
    """The arguments of a graph in 8 bits from those of the graph in floats: int8 with ranges, and others as they are.

    MXNetError names a parameter that is no numbers in 8 bits: one with NaN or infinity.
    """
    found: dict[str, NDArray] = {}
    for name in qsym.list_arguments():
        source = name.removesuffix("_quantize")
        if name in params:
            found[name] = params[name]
        elif name != source and source in params:
            x = params[source]
            ends = nd.min(x), nd.max(x)
            if not all(abs(float(end)) < float("inf") for end in ends):
                raise MXNetError(f"the parameter '{source}' has NaN or infinity, which 8 bits cannot hold")
            stored = nd.contrib.quantize(x, *ends, out_type="int8")
            found |= zip((name, f"{name}_min", f"{name}_max"), stored, strict=True)
    return found
