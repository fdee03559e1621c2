"""Every spec that a library in C can have, beside Python's steps; in `make stress`."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.cli import main
from optgen.cli.library import prefix_of
from tests.library.c_library import CLibrary, Context

pytestmark = [pytest.mark.stress, pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")]

SHAPES: list[tuple[int, ...]] = [(37,), (70, 90), (3, 4, 5), (), (128, 64)]
STEPS = 3


@pytest.mark.parametrize("name", specfiles.all_available())
def test_a_context_steps_as_python_does(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = optgen.load(name)
    if main(["build", name, "--cpu", "native", "--name", "own", "-o", str(tmp_path)]) == 2:
        pytest.skip(capsys.readouterr().err)
    own, rng = CLibrary(tmp_path, "own").spec(prefix_of(name)), np.random.default_rng(0)
    only_matrices = any("rank" in require.names for require in rule.spec.requires)
    shapes = [x for x in SHAPES if len(x) == 2 or not only_matrices]
    weights, grads = ([rng.normal(size=x).astype(np.float32) for x in shapes] for _ in range(2))
    inputs = {x: [rng.normal(size=s).astype(np.float32) for s in shapes] for x in own.inputs}
    given = dict.fromkeys(rule.spec.given, 0.5)
    others, hyper = [w.copy() for w in weights], own.hyper(**given)
    context = Context(own, weights, grads, inputs, hyper)
    bound = rule.bind(others, grads, **({"inputs": inputs} if inputs else {}))
    for _ in range(STEPS):
        for phase in own.entry["phases"] or [""]:
            for g in grads:
                g[...] = rng.normal(size=g.shape)
            context.step(hyper, phase)
            (getattr(bound, phase) if phase else bound)(**given)
    assert [w.tobytes() for w in weights] == [w.tobytes() for w in others]
    for state, kept in bound.state.arrays.items():
        for i, x in enumerate(kept):
            assert x is None or context.state(i, state) == np.asarray(x).tobytes(), (state, i)
    context.destroy()
