"""Tables and drawings of graphs."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import runtime as mx

TABLE = """\
________________________________________________________________________
Layer (type)             Output Shape   Param #   Previous Layer        
========================================================================
data(null)               3x32x32        0                               
________________________________________________________________________
conv(Convolution)        8x16x16        224       data                  
________________________________________________________________________
bn(BatchNorm)            8x16x16        16        conv                  
________________________________________________________________________
sum(elemwise_add)        8x16x16        0         bn                    
                                                  conv                  
________________________________________________________________________
pool(Pooling)            8x1x1          0         sum                   
________________________________________________________________________
fc(FullyConnected)       10             90        pool                  
________________________________________________________________________
softmax(SoftmaxOutput)   10             0         fc                    
========================================================================
Total params: 330
________________________________________________________________________
"""


def network() -> Any:
    conv = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, pad=(1, 1), stride=(2, 2), name="conv")
    x = mx.sym.elemwise_add(mx.sym.BatchNorm(conv, name="bn"), conv, name="sum")
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", name="pool")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=10, name="fc"), name="softmax")


def test_a_table_of_layers(capsys: pytest.CaptureFixture[str]) -> None:
    mx.viz.print_summary(network(), {"data": (1, 3, 32, 32)}, 72, (25, 40, 50, 72))
    assert capsys.readouterr().out == TABLE
    mx.viz.print_summary(network())
    assert "Total params: 0" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="do not follow"), pytest.raises(ValueError, match="name every input"):
        mx.viz.print_summary(mx.sym.var("x") + mx.sym.var("y"), {"x": ()})
    with pytest.raises(TypeError, match="must be a Symbol, not list"):
        mx.viz.print_summary([])


class Digraph:
    """What `plot_network` uses of the package graphviz."""

    def __init__(self, name: str, format: str) -> None:
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: dict[tuple[str, str], str] = {}

    def node(self, name: str, **attrs: str) -> None:
        self.nodes[name] = attrs

    def edge(self, tail_name: str, head_name: str, label: str, **attrs: str) -> None:
        self.edges[tail_name, head_name] = label


def test_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", SimpleNamespace(Digraph=Digraph))
    graph = mx.viz.plot_network(network(), shape={"data": (1, 3, 32, 32)}, dtype={"data": "float16"})
    assert list(graph.nodes) == ["data", "conv", "bn", "sum", "pool", "fc", "softmax_label", "softmax"]
    assert graph.nodes["conv"]["label"] == "Convolution\n3x3/2x2, 8" and graph.nodes["data"]["shape"] == "oval"
    assert graph.nodes["pool"]["label"] == "Pooling\navg, all/1"
    assert graph.edges["bn", "conv"] == "8x16x16(float16)" and ("conv", "conv_weight") not in graph.edges
    graph = mx.viz.plot_network(network(), hide_weights=False, node_attrs={"fixedsize": "false"})
    assert graph.edges["conv", "conv_weight"] == "" and graph.nodes["fc_bias"]["fixedsize"] == "false"
    with pytest.warns(RuntimeWarning, match="multiple variables with the same name in your graph, .* in a circle: a"):
        mx.viz.plot_network(
            mx.sym.Group([mx.sym.relu(mx.sym.var("x"), name="a"), mx.sym.exp(mx.sym.var("x"), name="a")])
        )
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz"):
        mx.viz.plot_network(network())


def test_shapes_of_outputs_by_name() -> None:
    x = mx.sym.Group([mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc"), mx.sym.Variable("y")])
    assert mx.symbol_doc.SymbolDoc.get_output_shape(x, x=(2, 5), y=(4,)) == {"fc_output": (2, 3), "y": (4,)}
