"""Operators, layers and losses beside MXNet 1.9.1, whose numbers are in data/, written by mxnet_make.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from tests.gluon.layers.cases import CASES
from tests.gluon.layers.zoo import NAMES, fingerprint

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    return dict(np.load(DATA / "mxnet.npz"))


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, expected: dict[str, np.ndarray]) -> None:
    found = np.concatenate([a.asnumpy().ravel() for a in CASES[name](mx)])
    np.testing.assert_allclose(found, expected[name], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_networks_have_the_same_parameters(name: str) -> None:
    """Names, shapes before the first batch, gradient requests, and places in files."""
    hashes = json.loads((DATA / "model_zoo.json").read_text())
    assert fingerprint(mx.gluon.model_zoo.vision.get_model(name)) == hashes[name]
