"""Specs of which little or nothing is left to do: no sweep, none that stores, nothing that is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import bandwidth, cli, pipeline
from optgen.execute.buffers import numpy_dtype
from optgen.ir import Variant
from tests.compiler.harness import Case, Shape
from tests.compiler.test_differential import MODES, compare
from tests.sweeps import swept

EQUATIONS = {
    "the weight stays": "update:\n  w' = w",
    "the weight is a number": "update:\n  w' = lr",
    "the weight and its copy": "state m = w\nupdate:\n  m' = w\n  w' = w",
    "states stay": "state x0 = w\nstate m = 0\nupdate:\n  x0' = x0\n  m' = m\n  w' = w",
    "a state alone": "state m = 0\nupdate:\n  m' = m + g\n  w' = w",
    "a draw that nothing reads": "update:\n  z = normal()\n  w' = w",
    "reductions that nothing reads": "update:\n  r = norm(w)\n  c = max(g, per col)\n  w' = w",
    "host values": "state n: host = 0\nupdate:\n  n' = n + lr*t\n  w' = w",
    "one per tensor": "state T: tensor = 0\nupdate:\n  T' = 0.5*T + lr\n  w' = w",
    "a number per tensor": "state T: tensor = 0\nupdate:\n  T' = 0.5\n  w' = w",
    "a norm": "state T: tensor = 0\nupdate:\n  T' = norm(g)\n  w' = w",
    "rows that no element meets": "state R: row = 1\nupdate:\n  R' = 0.5*R + cols\n  w' = w - lr*g",
    "a number per row and column": "state R: row = 1\nstate C: col = 1\nupdate:\n  R' = 0.5\n  C' = lr\n  w' = w",
    "sums of rows and columns": (
        "state R: row = 1\nstate C: col = 1\nupdate:\n  R' = R + sum(C)\n  C' = C*0.5 + max(R')\n  w' = w"
    ),
    "columns of which there may be none": (
        "state C: col = 2\nstate T: tensor = 0\nstate U: tensor = 0\nstate V: tensor = 0\n"
        "update:\n  C' = C + 1\n  T' = max(C')\n  U' = min(mean(w, per col) + C)\n  V' = sum(C') + norm(C)\n  w' = w"
    ),
    "a mean of rows times columns": (
        "state R: row = 1\nstate C: col = 1\nstate T: tensor = 0\n"
        "update:\n  R' = R + 1\n  C' = 2*C\n  T' = mean(R'*C')\n  w' = w"
    ),
    "rows times columns by row and by column": (
        "state R: row = 1\nstate C: col = 1\nupdate:\n  x = R*C + 1\n  R' = max(x, per row)\n  C' = sum(x, per col)\n"
        "  w' = w"
    ),
    "shared by all": "state D: shared = 0\nupdate:\n  D' = D + step\n  w' = w",
    "a sum over all": "state D: shared = 0\nupdate:\n  D' = D + sum(g, over params)\n  w' = w",
    "a sum over all that takes no sweep": "state D: shared = 0\nupdate:\n  D' = D + sum(lr, over params)\n  w' = w",
    "weights to evaluate with": "state n: host = 1\nupdate:\n  n' = n + 1\n  w' = w\neval:\n  w' = n",
}
SPECS = {name: f"optimizer Little\n{text}\n" for name, text in EQUATIONS.items()}
SHAPES: tuple[Shape, ...] = ((), (3,), (0, 4), (70, 130))


@pytest.mark.parametrize("mode", swept(["float64", "mixed-master"], ["mixed-master"]))
@pytest.mark.parametrize("name", SPECS)
def test_a_step_is_what_the_interpreter_says(name: str, mode: str) -> None:
    compare(Case(optgen.parse(SPECS[name]), {}), (*SHAPES, (4, 0)), MODES[mode])


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_swept_in_vain(name: str) -> None:
    """A sweep stores an element or reduces some, and none is there where nothing does."""
    kernel = pipeline.plan(pipeline.build(optgen.parse(SPECS[name]), Variant({})))
    kinds = [p.kind for p in kernel.phases]
    assert kinds.count("sweep") == (name in ("the weight is a number", "the weight and its copy", *SWEPT))


SWEPT = (
    "a state alone",
    "a norm",
    "rows that no element meets",
    "a sum over all",
    "columns of which there may be none",
    "a mean of rows times columns",
    "rows times columns by row and by column",
)


REPEATED = """\
optimizer Repeated "states take values smaller than their own, and are reduced as what they are"
state m      = 0
state n      = 0
state R: row = 0
state C: col = 0
state T: tensor = 0
update:
  R' = lr
  C' = 2*lr
  m' = lr
  n' = R'
  u  = abs(m')
  a  = {}
  T' = a
  w' = w + a
"""
REDUCED = {
    "sum(m')": 24,
    "sum(u)": 24,
    "mean(m')": 2,
    "rms(2*m')": 4,
    "norm(m')^2": 48,
    "max(m')": 2,
    "sum(R')": 6,
    "norm(C')^2": 64,
    "sum(R' + C')": 72,
    "max(sum(m', per row))": 8,
    "sum(mean(m', per col))": 8,
    "max(sum(n', per col))": 6,
    "sum(sum(n', per row))": 24,
    "min(where(m' > 1, n', 0))": 2,
}
"""What `a` can be, and is for lr = 2 and 3 rows of 4."""


@pytest.mark.parametrize("dtype", swept(["float32", "float64"], ["float32"]))
def test_a_repeated_value_is_reduced_as_many_times_as_it_is_there(dtype: str) -> None:
    for text, expected in REDUCED.items():
        spec = optgen.parse(REPEATED.format(text))
        step = optgen.load(spec, dtype).bind([w := np.zeros((3, 4), dtype)], [np.ones((3, 4), dtype)])
        step(lr=2)
        np.testing.assert_allclose(w, expected, rtol=1e-6, err_msg=text)
        compare(Case(spec, {}), SHAPES, MODES.get(dtype))


def test_rows_that_no_element_meets() -> None:
    """They were left as they are where nothing else goes by rows."""
    rule = optgen.load(optgen.parse(SPECS["rows that no element meets"]))
    step = rule.bind([np.ones((3, 4), np.float32)], [np.ones((3, 4), np.float32)])
    step()
    assert step.state.arrays["R"][0].tolist() == [4.5] * 3
    assert rule.cut((3, 4)) == "tensors"


def test_pieces_have_no_part_of_rows() -> None:
    """A row's state is one for the tensor, even if its new value is known without the row."""
    rule = optgen.load(optgen.parse(SPECS["a number per row and column"]))
    assert rule.cut((3, 4)) == "tensors"


FREEZING = """\
optimizer Freezing
flag  frozen per param = false
state m = 0
update:
  m' = m           if frozen
  m' = 0.9*m + g   otherwise
  w' = w           if frozen
  w' = w - lr*m'   otherwise
"""


@pytest.mark.parametrize("more", [{}, {"dtype": "bfloat16", "master": True}, {"storage": "int8_dynamic"}], ids=str)
def test_freezing_some_parameters(more: dict[str, Any]) -> None:
    rule = optgen.load(optgen.parse(FREEZING), **more)
    params = [np.ones((70, 130), numpy_dtype(rule.dtype)) for _ in range(4)]
    rows = optgen.RowSparse(np.array([1, 69]), np.ones_like(params[0][:2]))
    flags = {"frozen": [True, False, True, False]}
    step = rule.bind(params, [*map(np.ones_like, params[:2]), rows, rows], flags=flags)
    step(lr=0.5)
    assert [p.astype("f").sum() / 130 for p in params] == [70, 35, 70, 69]
    assert step.state.t.tolist() == [1] * 4
    assert all(bool(np.any(x)) != frozen for x, frozen in zip(step.state.arrays["m"], flags["frozen"], strict=True))


@pytest.mark.parametrize("text", [SPECS["the weight stays"], SPECS["the weight is a number"], FREEZING])
def test_commands(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bandwidth, "bandwidth", lambda: 1e10)
    spec, out = str(tmp_path / "spec.opt"), str(tmp_path)
    Path(spec).write_text(text)
    lines = [["check", spec], ["explain", spec], ["build", spec, "--all", "--dtype", "bfloat16", "-o", out]]
    lines += [["show", spec, "--stage", stage] for stage in ("model", "ir", "llvm", "asm", "nvvm", "ptx")]
    for line in lines:
        assert cli.main(line) == 0, (line, capsys.readouterr().err)
    assert "0 read, 0 written" in capsys.readouterr().out or text == SPECS["the weight is a number"]


PAST = """\
optimizer Past
state c[5]: col = 1
update:
  c' = max(g, per col) + c[-5]
  w' = w - lr*g*c[-2]
"""


@pytest.mark.parametrize("name", ["adafactor", "came", PAST], ids=lambda x: x.split()[-1])
def test_column_states_of_rows_without_elements_have_no_memory(name: str) -> None:
    """An empty tensor of PyTorch has no address."""
    torch = pytest.importorskip("torch")
    params, grads = ([torch.ones(3, 0), torch.ones(2, 3)] for _ in range(2))
    rule = optgen.load(optgen.parse(name) if name is PAST else name)
    start = rule.init(params)
    arrays = {key: [torch.from_numpy(np.array(x)) for x in xs] for key, xs in start.arrays.items()}
    step = rule.bind(params, grads, optgen.State(arrays, start.t))
    for _ in range(6):
        step()
    assert step.state.t.tolist() == [6, 6] and bool((params[1] != 1).all())
