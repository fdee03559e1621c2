"""Random graphs in ONNX files, of each operator: what they compute here is what onnxruntime, or ONNX's own evaluator,
computes from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from tests.runtime.onnx_nodes.drawn import Drawn
from tests.runtime.onnx_nodes.table import DRAWS
from tests.sweeps import swept

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the files, is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from runtime.onnx.reading import READINGS  # noqa: E402

GRAPHS = 60
"""Graphs of each operator in `make stress`, more than 5,000 in all; `make test` draws one."""


class Graph:
    """A file of two nodes of one operator, with data and constants of their own, that may have no name, or the same."""

    def __init__(self, operator: str, draw: np.random.Generator) -> None:
        self.data: dict[str, np.ndarray] = {}
        self._constants, self._nodes, self._outputs = [], [], []
        name = ["", operator, "node"][draw.integers(3)]
        opset = 0
        for i in range(2):
            drawn = DRAWS[operator](draw)
            if opset and drawn.opset != opset:
                break
            opset = drawn.opset
            given = [self._input(f"x{i}{k}", x, k in drawn.fixed, draw) for k, x in enumerate(drawn.inputs)]
            self._add(operator, name, given, drawn, i)
        graph = helper.make_graph(self._nodes, "g", self._values(draw), self._outputs, self._constants)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    def _input(self, name: str, x: np.ndarray | None, fixed: bool, draw: np.random.Generator) -> str:
        if x is None:
            return ""
        if x.dtype == bool:  # no data of this type are fed
            self.data[name] = np.where(x, np.float32(1), np.float32(-1))
            self._nodes.append(helper.make_node("Greater", [name, "zero"], [f"{name}_true"]))
            self._constants = [c for c in self._constants if c.name != "zero"]
            self._constants.append(numpy_helper.from_array(np.zeros(1, np.float32), "zero"))
            return f"{name}_true"
        if not fixed and x.ndim and (name.endswith("0") or draw.random() < 0.5):
            self.data[name] = x
        else:
            self._constants.append(numpy_helper.from_array(x, name))
        return name

    def _add(self, operator: str, name: str, given: list[str], drawn: Drawn, i: int) -> None:
        while given and not given[-1]:
            given.pop()
        made = [f"y{i}{k}" for k in range(drawn.outputs)]
        self._nodes.append(helper.make_node(operator, given, made, name, **drawn.attributes))
        self._outputs += [onnx.ValueInfoProto(name=x) for x in made]

    def _values(self, draw: np.random.Generator) -> list[Any]:
        """The inputs. In some graphs they have lengths that are not known before the data are."""
        least = 0.7 if draw.random() < 0.3 else 1
        shapes = {name: [n if draw.random() < least else None for n in x.shape] for name, x in self.data.items()}
        return [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]

    def here(self, path: Path) -> list[np.ndarray]:
        graph, arguments, states = mx.onnx.import_model(path)
        data = {name: nd.array(x, dtype=x.dtype) for name, x in self.data.items() if name in graph.list_arguments()}
        bound = graph.bind(mx.cpu(), {**arguments, **data}, None, "null", states)
        return [y.asnumpy() for y in bound.forward()]

    def expected(self) -> list[list[np.ndarray]]:
        """The outputs by onnxruntime, for which no two nodes have one name, and by ONNX's evaluator, if they run it."""
        unnamed = onnx.ModelProto.FromString(self.model.SerializeToString())
        for node in unnamed.graph.node:
            node.name = ""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        found = []
        for run in (
            lambda: onnxruntime.InferenceSession(unnamed.SerializeToString(), options, ["CPUExecutionProvider"]).run(
                None, self.data
            ),
            lambda: ReferenceEvaluator(self.model).run(None, self.data),
        ):
            try:
                found.append(run())
            except Exception:
                continue
        return found


def differ(found: list[np.ndarray], wanted: list[np.ndarray]) -> str:
    for i, (y, z) in enumerate(zip(found, wanted, strict=True)):
        z = np.asarray(z)
        if y.shape != (z.shape or (1,)):
            return f"output {i} has shape {y.shape}, not {z.shape}"
        if not np.allclose(y.reshape(z.shape).astype(np.float64), z.astype(np.float64), 1e-4, 1e-4, equal_nan=True):
            return f"output {i} is\n{y}, and not\n{z}"
    return ""


def test_each_operator_is_drawn() -> None:
    assert DRAWS.keys() == READINGS.keys()


def test_what_is_compared_differs() -> None:
    ones = np.ones((2, 2), np.float32)
    assert not differ([ones], [ones + 1e-6])
    assert "shape" in differ([ones], [ones[0]]) and "and not" in differ([ones], [ones + 0.01])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("operator", "graphs"), swept([(x, n) for x in DRAWS for n in (1, GRAPHS)], lambda x: x[1] == 1)
)
def test_random_graphs(operator: str, graphs: int, tmp_path: Path) -> None:
    """A graph that cannot be read is refused, and says why; some of each operator can."""
    read = 0
    for seed in range(graphs):
        graph = Graph(operator, np.random.default_rng([seed, *operator.encode()]))
        onnx.save(graph.model, tmp_path / "graph.onnx")
        expected = graph.expected()
        assert expected, f"graph {seed} cannot be run"
        try:
            found = graph.here(tmp_path / "graph.onnx")
        except mx.MXNetError as error:
            assert "of the ONNX file cannot be read: " in str(error), f"graph {seed}"
            continue
        read += 1
        differences = [differ(found, wanted) for wanted in expected]
        assert not all(differences), f"graph {seed}: {' | '.join(differences)}"
    assert read or graphs == 1
