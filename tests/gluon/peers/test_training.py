"""Twenty steps of training beside MXNet 1.9.1, from the same start: losses, first gradients and final parameters.

What MXNet computes is in data/, written by mxnet_make.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from tests.gluon.peers.networks import CASES, train

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).parent / "data" / "mxnet.npz") as file:
        return dict(file)


@pytest.mark.parametrize("name", CASES)
def test_training_is_that_of_mxnet(name: str, recorded: dict[str, np.ndarray]) -> None:
    found = train(mx, CASES[name])
    wanted = {key.split("/")[1]: array for key, array in recorded.items() if key.startswith(f"{name}/")}
    assert found.keys() == wanted.keys()
    for what, array in wanted.items():
        assert found[what].shape == array.shape, what
        np.testing.assert_allclose(found[what], array, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{name}: {what}")
