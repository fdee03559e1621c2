"""The table of layers, and the layers here beside PyTorch's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
Module = Callable[[str], Any]


def test_a_process_times_what_a_layer_has() -> None:
    """A layer without a gradient answers NaN for it."""
    command = [sys.executable, str(ROOT / "benchmarks" / "layer_calls.py"), "runtime"]
    lines = "0 forward max 2x2; 8x64x56x56\n0 gradient max 2x2; 8x64x56x56\n0 gradient MultiBoxPrior; 38x38\n"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, env=environment)
    forward, gradient, none = done.stdout.split()
    assert float(forward) > 0 and float(gradient) > 0
    assert none == "nan"


def test_layers_have_the_shapes_of_pytorch(module: Module) -> None:
    torch = pytest.importorskip("torch")
    import runtime

    for group in ("DCGAN", "3-D", "recurrent", "pooling", "losses"):
        for layer in module("layer_calls").GROUPS[group]:
            ours = layer.gluon(runtime)
            if isinstance(ours, runtime.gluon.Block):
                ours.initialize()
            x = runtime.nd.zeros(layer.shape)
            assert ours(x).shape == tuple(layer.torch(torch)(torch.zeros(layer.shape)).shape), layer.name


def test_ratios_are_of_pairs(module: Module) -> None:
    rows = {"a": {"runtime: forward": [2.0, 6.0, 9.0], "pytorch: forward": [1.0, 2.0, 9.0]}}
    head, line = module("layers").table(rows)
    assert dict(zip(head, line, strict=True))["runtime/pytorch: forward"] == "2.00"
    assert line[-1] == "-"
