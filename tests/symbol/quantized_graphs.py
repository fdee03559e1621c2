"""Graphs to be quantized, and what MXNet 1.9.1 makes of them, in data/quantized_graphs.json.gz.

Run where MXNet is installed, in the root of the repository: python -m tests.symbol.quantized_graphs
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "quantized_graphs.json.gz"
IMAGES = {"data": (2, 4, 8, 8)}


def lenet(S: Any) -> Any:
    x = S.Activation(S.Convolution(S.var("data"), kernel=(5, 5), num_filter=8, name="c1"), act_type="relu", name="r1")
    x = S.Convolution(S.Pooling(x, kernel=(2, 2), stride=(2, 2), name="p1"), kernel=(5, 5), num_filter=16, name="c2")
    x = S.Pooling(S.Activation(x, act_type="tanh", name="t2"), kernel=(2, 2), stride=(2, 2), pool_type="avg", name="p2")
    x = S.FullyConnected(S.Flatten(x, name="flat"), num_hidden=32, name="f1")
    return S.FullyConnected(S.Activation(x, act_type="relu", name="r3"), num_hidden=10, name="f2")


def residual(S: Any) -> Any:
    def layer(x: Any, name: str, **options: Any) -> Any:
        y = S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name=f"c{name}")
        return S.BatchNorm(y, fix_gamma=False, name=f"b{name}", **options)

    x = S.Activation(layer(S.var("data"), "0"), act_type="relu", name="r0")
    y = S.Activation(S.elemwise_add(x, layer(x, "1"), name="add"), act_type="relu", name="r1")
    y = S.Pooling(S.Concat(y, x, name="cat"), global_pool=True, kernel=(1, 1), pool_type="avg", name="gap")
    return S.FullyConnected(y, num_hidden=10, name="fc")


def graphs(S: Any) -> dict[str, tuple[Any, dict[str, tuple[int, ...]]]]:
    """Graphs by what they are for, with the shapes of what is no parameter."""
    data, row = S.var("data"), {"data": (2, 4)}
    conv = S.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    parts = S.SliceChannel(conv, num_outputs=2, name="parts")
    embedded = S.Embedding(data, input_dim=10, output_dim=3, name="e")

    def dense(x: Any, name: str = "fc", **options: Any) -> Any:
        return S.FullyConnected(x, num_hidden=4, name=name, **options)

    return {
        "lenet": (lenet(S), {"data": (2, 1, 28, 28)}),
        "residual": (residual(S), {"data": (2, 3, 8, 8)}),
        "one output read in 8 bits and in floats": (S.Group([dense(conv), S.tanh(conv, name="t")]), IMAGES),
        "an output of several": (
            S.Group([dense(parts[0]), dense(parts[1], "fc2"), S.tanh(parts[1], name="t")]),
            IMAGES,
        ),
        "data twice": (S.Group([dense(data), S.Convolution(data, kernel=(3, 3), num_filter=2, name="c")]), IMAGES),
        "a weight twice": (dense(dense(data, weight=S.var("w")), "fc2", weight=S.var("w"), no_bias=True), row),
        "a weight as numbers too": (
            S.Group([dense(data, weight=S.var("w"), no_bias=True), S.tanh(S.var("w"), name="t")]),
            row,
        ),
        "a weight that is data": (dense(data, weight=S.var("x"), no_bias=True), row | {"x": (4, 4)}),
        "embedding": (dense(embedded), row),
        "embedding last": (embedded, row),
        "flat last": (S.Flatten(conv, name="flat"), IMAGES),
        "excluded": (dense(S.Convolution(data, kernel=(3, 3), num_filter=4, name="excluded")), IMAGES),
        "product": (dense(S.elemwise_mul(conv, S.tanh(data, name="t"), name="mul")), IMAGES),
    }


def quantized(mx: Any, quantization: Any, name: str, mode: str) -> dict[str, Any]:
    """The nodes of a graph in 8 bits with ranges, its heads, and the names of the outputs whose ranges it needs."""
    graph, shapes = graphs(mx.sym)[name]
    params = [key for key in graph.list_arguments() if key not in shapes]
    graph, layers = quantization._quantize_symbol(
        graph, mx.cpu(), ["excluded"], [], params, quantized_dtype="auto", quantize_mode=mode
    )
    graph = quantization._calibrate_quantized_sym(graph, dict.fromkeys(layers, (-0.5, 1.25)))
    found = json.loads(graph.tojson())
    nodes = found["nodes"]

    def entries(places: list) -> list:
        return [[_same(nodes[place[0]]["name"]), place[1]] for place in places]

    return {
        "nodes": {_same(x["name"]): [x["op"], entries(x["inputs"]), _attributes(x)] for x in nodes},
        "heads": entries(found["heads"]),
        "layers": sorted(layers),
    }


def _same(name: str) -> str:
    """MXNet calls the output of some operators 0 here."""
    return name.replace("_0_quantize", "_output_quantize")


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    own = node.get("attrs", {}) if node["op"] != "null" else {}
    return {key: float(x) if key.endswith("_calib_range") else x for key, x in own.items()}


if __name__ == "__main__":
    import mxnet
    from mxnet.contrib import quantization

    made = {
        f"{name} {mode}": quantized(mxnet, quantization, name, mode)
        for name in graphs(mxnet.sym)
        for mode in ("full", "smart")
    }
    DATA.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), 9, mtime=0))
