"""Traces: what is timed, what is written, and that nothing is timed otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd, profiler
from runtime.ndarray.operator import Operator
from runtime.profiler import control, records
from tests.process import run

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    config = dict(control.config)
    yield
    profiler.stop()
    profiler.dumps(reset=True)
    control.config.clear()
    control.config.update(config)


def names() -> dict[str, dict[str, float]]:
    return json.loads(profiler.dumps(format="json"))["Time"].get("operator", {})


def test_a_step_of_training_is_traced(tmp_path: Path) -> None:
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    untimed = Operator.__call__
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    profiler.set_state("run")
    for _ in range(2):
        with autograd.record():
            loss = net(nd.ones((2, 4))).sum()
        loss.backward()
        trainer.step(2)
    profiler.pause()
    nd.ones(3).exp()
    profiler.resume()
    nd.ones(3).sin()
    profiler.set_state("stop")
    nd.ones(3).cos()
    assert Operator.__call__ is untimed
    found = names()
    assert {"FullyConnected", "_backward_FullyConnected", "update_SGD", "sin"} <= found.keys()
    assert not {"exp", "cos"} & found.keys()
    linear = found["FullyConnected"]
    assert linear["Count"] == 2 and 0 < linear["Min"] <= linear["Avg"] <= linear["Max"] <= linear["Total"]
    totals = [x["Total"] for x in found.values()]
    assert totals == sorted(totals, reverse=True)
    table = profiler.dumps(sort_by="count", ascending=True)
    assert "operator\n=================\nName " in table and "update_SGD" in table
    profiler.dump()
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in trace if event["ph"] == "X"]
    assert len(spans) == sum(x["Count"] for x in found.values())
    backward = next(s for s in spans if s["name"] == "_backward_FullyConnected")
    inner = next(s for s in spans if s["name"] == "FullyConnected")
    assert inner["ts"] + inner["dur"] <= backward["ts"] and {"pid", "tid", "cat"} <= backward.keys()


def test_an_error_in_an_operator_is_raised_and_timed() -> None:
    profiler.start()
    with pytest.raises(mx.MXNetError):
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    nd.ones(2).exp()
    assert "exp" in names()


def test_operators_have_the_names_of_mxnet() -> None:
    x = nd.ones((2, 2))
    x.attach_grad()
    profiler.start()
    nd.zeros(3)
    (x + 1) + 1
    2 - x
    with autograd.record():
        y = x * x + 3 / x
    y.backward()
    profiler.stop()
    counts = {name: int(x["Count"]) for name, x in names().items()}
    assert {name: counts[name] for name in ("_zeros", "_plus_scalar", "_rminus_scalar", "_rdiv_scalar")} == {
        "_zeros": 1,
        "_plus_scalar": 2,
        "_rminus_scalar": 1,
        "_rdiv_scalar": 1,
    }
    assert {"broadcast_mul", "broadcast_add", "_backward_broadcast_mul", "_backward_rdiv_scalar"} <= counts.keys()


def test_operators_of_users_are_a_category() -> None:
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: list, in_data: list, out_data: list, aux: list) -> None:
            nd.zeros(3)
            self.assign(out_data[0], req[0], in_data[0] + in_data[0])

        def backward(self, req: list, out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> mx.operator.CustomOp:
            return Twice()

    mx.operator.register("profiled_twice")(TwiceProp)
    x = nd.ones(3)
    x.attach_grad()
    profiler.start()
    with autograd.record():
        y = nd.Custom(x, op_type="profiled_twice")
    y.backward()
    y.exp()
    profiler.stop()
    found = json.loads(profiler.dumps(format="json"))["Time"]
    parts = found["Custom Operator"].keys()
    assert {f"profiled_twice::{name}" for name in ("pure_python", "_zeros", "broadcast_add")} <= parts
    assert {f"_backward_profiled_twice::{name}" for name in ("pure_python", "_mul_scalar")} <= parts
    assert "exp" in found["operator"]


def test_parts_that_a_program_names(tmp_path: Path) -> None:
    profiler.set_config(filename=str(tmp_path / "trace.json"), profile_imperative=False)
    domain = profiler.Domain("work")
    counter = domain.new_counter("seen", 5)  # not recorded yet
    profiler.start()
    nd.ones(2).exp()
    with domain.new_task("task"), profiler.Event("event"):
        frame = domain.new_frame("frame")
        frame.start()
        frame.stop()
    counter += 2
    counter -= 1
    domain.new_marker("here").mark("global")
    found = json.loads(profiler.dumps(format="json"))["Time"]
    assert "operator" not in found and found["work"].keys() == {"task", "frame", "seen"} and "event" in found["event"]
    assert (found["work"]["seen"]["Max"], found["work"]["seen"]["Min"], counter.value) == (7, 6, 6)
    profiler.dump()
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"] for event in trace if event["ph"] == "C"] == [{"seen": 7}, {"seen": 6}]
    assert [(event["name"], event["s"]) for event in trace if event["ph"] == "i"] == [("here", "g")]
    assert profiler.dumps(reset=True) and not records.records


def test_errors() -> None:
    with pytest.raises(ValueError, match="set_config has no argument 'file_name'; did you mean 'filename'"):
        profiler.set_config(file_name="x")
    with pytest.raises(ValueError, match="set_config: filename is a path, not 1"):
        profiler.set_config(filename=1)
    with pytest.raises(ValueError, match="state is 'run' or 'stop', not 'go'"):
        profiler.set_state("go")
    with pytest.raises(AssertionError, match="sort_by is one of"):
        profiler.dumps(sort_by="name")
    with pytest.raises(ValueError, match="each process records its own operators"):
        profiler.set_state("run", profile_process="server")


def test_the_file_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profiler.set_config(filename="trace.json")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    profiler.dump()
    assert (tmp_path / "trace.json").exists() and not (tmp_path / "other" / "trace.json").exists()


def test_counters_take_numbers_of_numpy(tmp_path: Path) -> None:
    profiler.set_config(filename=str(tmp_path / "trace.json"))
    profiler.start()
    counter = profiler.Counter(profiler.Domain("own"), "n", np.float32(1.5))
    counter += np.int64(2)
    profiler.stop()
    profiler.dump()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [x["args"]["n"] for x in events if x["ph"] == "C"] == [1.5, 3.5]


END = """
import os, sys
from runtime import profiler

profiler.set_config(filename=sys.argv[1])
profiler.start()
os.rmdir(sys.argv[2])
profiler.Counter(profiler.Domain("own"), "n", 1)
"""


@pytest.mark.parametrize(("name", "why"), [("gone/trace.json", "No such file or dir"), ("/dev/full", "No space left")])
def test_an_error_at_the_end_of_a_program_is_a_sentence(name: str, why: str, tmp_path: Path) -> None:
    path, gone = tmp_path / name, tmp_path / "gone"
    gone.mkdir()
    done = run([sys.executable, "-c", END, path, gone], timeout=120, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0
    assert done.stderr.startswith(f"profiler: '{path}' was not written: {why}") and done.stderr.count("\n") == 1
    assert done.stderr.endswith("; name another file: profiler.set_config(filename=...)\n")
