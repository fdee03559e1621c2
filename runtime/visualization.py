"""Graphs for people: `print_summary`, a table of the layers, and `plot_network`, a drawing by Graphviz."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from runtime.base import ArgumentError
from runtime.symbol import Symbol

Shape = Sequence[int]

_WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")


@dataclass(frozen=True)
class _Node:
    """A variable, whose `op` is "null", or an operator: `inputs` names the nodes before it, `tensors` their outputs."""

    name: str
    op: str
    attrs: dict[str, str]
    inputs: list[str]
    tensors: list[str]


def _nodes(symbol: Symbol) -> list[_Node]:
    """The nodes of the graph, each after its inputs."""
    if not isinstance(symbol, Symbol):
        raise TypeError(f"what is shown must be a Symbol, not {type(symbol).__name__}")
    table = json.loads(symbol.tojson())["nodes"]
    outputs = {name for name in symbol.get_internals().list_outputs()}

    def tensor(node: int, output: int) -> str:
        name = table[node]["name"]
        return next((t for t in (f"{name}_output{output}", f"{name}_output") if t in outputs), name)

    return [
        _Node(
            node["name"],
            node["op"],
            node.get("attrs", {}),
            [table[i]["name"] for i, *_ in node["inputs"]],
            [tensor(i, output) for i, output, *_ in node["inputs"]],
        )
        for node in table
    ]


def _known(symbol: Symbol, shape: Mapping[str, Shape] | None) -> dict[str, Shape]:
    """The shapes of the outputs of all nodes, where those of the inputs are given."""
    if shape is None:
        return {}
    internals = symbol.get_internals()
    found = internals.infer_shape(**shape)[1]
    if found is None:
        raise ArgumentError("the shapes given are not enough to know all others: name every input")
    return dict(zip(internals.list_outputs(), found, strict=True))


def _text(shape: Shape) -> str:
    """A shape without the size of the batch: '3x224x224'."""
    return "x".join(str(n) for n in shape[1:])


# ---------------------------------------------------------------- a table


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Shape] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print the layers of a graph: their outputs' shapes without the batch, parameters, and the layers before them.

    Parameters
    ----------
    shape: the shapes of the inputs by their names. Without it neither shapes nor numbers of parameters are known.
    line_length: characters of a line.
    positions: the ends of the four columns, in characters or as parts of a line.
    """
    nodes = _nodes(symbol)
    known = _known(symbol, shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else [int(p) for p in positions]
    inputs = {*(shape or ()), *(node.name for node in nodes[:1] if node.op == "null")}
    sizes = _sizes(symbol, known, inputs)
    print("_" * line_length)
    _print_row(["Layer (type)", "Output Shape", "Param #", "Previous Layer"], ends)
    print("=" * line_length)
    layers = [node for node in nodes if node.op != "null" or node.name in inputs]
    shown = {node.name for node in layers}
    total = 0
    for number, node in enumerate(layers):
        own = sum(sizes.pop(tensor, 0) for tensor in node.tensors)
        before = [name for name in node.inputs if name in shown]
        _print_row([f"{node.name}({node.op})", _output(node.name, known), str(own), *(before[:1] or [""])], ends)
        for name in before[1:]:
            _print_row(["", "", "", name], ends)
        print(("=" if number == len(layers) - 1 else "_") * line_length)
        total += own
    print(f"Total params: {total}")
    print("_" * line_length)


def _sizes(symbol: Symbol, known: Mapping[str, Shape], inputs: Iterable[str]) -> dict[str, int]:
    """The number of elements of each parameter. Labels, as all that training does not change, are none."""
    parameters = [name for name in symbol.list_arguments() if name not in inputs and not name.endswith("label")]
    return {name: prod(known[name]) for name in parameters if name in known}


def _output(name: str, known: Mapping[str, Shape]) -> str:
    """The shape of a node's first output, if it is known."""
    return next((_text(known[key]) for key in (f"{name}_output", f"{name}_output0", name) if key in known), "")


def _print_row(fields: Sequence[str], ends: Sequence[int]) -> None:
    line = ""
    for field, end in zip(fields, ends, strict=False):
        line = (line + field)[:end].ljust(end)
    print(line)


# ---------------------------------------------------------------- a drawing

_COLORS = {
    "null": "#8dd3c7",
    **dict.fromkeys(("Convolution", "FullyConnected"), "#fb8072"),
    **dict.fromkeys(("Activation", "LeakyReLU"), "#ffffb3"),
    "BatchNorm": "#bebada",
    "Pooling": "#80b1d3",
    **dict.fromkeys(("Concat", "Flatten", "Reshape"), "#fdb462"),
    **dict.fromkeys(("softmax", "SoftmaxActivation"), "#b3de69"),
}
"""Colors of nodes, of ColorBrewer's Set3."""
_OTHERS = "#fccde5"


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Shape] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """A drawing of a graph: a `graphviz.Digraph`, which notebooks show, and whose `view()` and `render()` make files.

    It needs the package `graphviz`, and files need the program of this name.

    Parameters
    ----------
    title, save_format: the name and the type of the file.
    shape, dtype: shapes and element types of the inputs by their names. Arrows are labelled by those of the outputs.
    node_attrs: Graphviz's attributes of nodes, as in `{"fixedsize": "false"}`.
    hide_weights: leave parameters out.
    """
    try:
        from graphviz import Digraph
    except ImportError:
        raise ImportError("plot_network draws with the package 'graphviz': pip install graphviz") from None
    nodes = _nodes(symbol)
    _warn_of_repeated([node.name for node in nodes])
    known, types = _known(symbol, shape), _types(symbol, dtype)
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    hidden = {node.name for node in nodes if hide_weights and node.op == "null" and node.name.endswith(_WEIGHTS)}
    graph = Digraph(name=title, format=save_format)
    for node in nodes:
        if node.name not in hidden:
            own = (
                style | {"fillcolor": _COLORS.get(node.op, _OTHERS)} | ({"shape": "oval"} if node.op == "null" else {})
            )
            graph.node(name=node.name, label=_label(node), **own | dict(node_attrs or {}))
    for node in nodes:
        for name, tensor in zip(node.inputs, node.tensors, strict=True):
            if name not in hidden:
                label = _text(known[tensor]) if tensor in known else ""
                label += f"({np.dtype(types[tensor]).name})" if tensor in types else ""
                graph.edge(tail_name=node.name, head_name=name, dir="back", arrowtail="open", label=label)
    return graph


def _types(symbol: Symbol, dtype: Mapping[str, Any] | None) -> dict[str, Any]:
    """The element types of the outputs of all nodes, where those of the inputs are given."""
    if dtype is None:
        return {}
    internals = symbol.get_internals()
    found = internals.infer_type(**dtype)[1]
    if found is None:
        raise ArgumentError("the types given are not enough to know all others: name every input")
    return dict(zip(internals.list_outputs(), found, strict=True))


def _warn_of_repeated(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        message = "There are multiple variables with the same name in your graph, drawn as one, perhaps in a circle"
        warnings.warn(f"{message}: {', '.join(repeated)}", RuntimeWarning, stacklevel=3)


def _label(node: _Node) -> str:
    """What a node is called: its name, or its operator with the attributes that matter most."""
    attrs = node.attrs
    match node.op:
        case "Convolution":
            return f"Convolution\n{_window(attrs)}, {attrs['num_filter']}"
        case "Pooling":
            return f"Pooling\n{attrs.get('pool_type', 'max')}, {_window(attrs)}"
        case "FullyConnected":
            return f"FullyConnected\n{attrs['num_hidden']}"
        case "Activation" | "LeakyReLU":
            return f"{node.op}\n{attrs.get('act_type', 'leaky')}"
        case "Custom":
            return attrs["op_type"]
    return node.name


def _window(attrs: Mapping[str, str]) -> str:
    """Kernel and strides: '3x3/2x2'."""
    kernel, stride = (ast.literal_eval(attrs.get(key, "()")) for key in ("kernel", "stride"))
    return f"{'x'.join(map(str, kernel)) or 'all'}/{'x'.join(map(str, stride)) or '1'}"
