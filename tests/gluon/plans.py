"""What tests of plans share."""

from __future__ import annotations

import numpy as np

TOLERANCE = 2e-6


def entries(net) -> list:
    """What the plans of a block know, one for each kind of input."""
    return list(net._plans._entries.values())


def assert_alike(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, TOLERANCE, TOLERANCE * max(1, np.abs(y).max()))
